//! Prose that reports a prompt as too long for the model, and the time window of the limit that an error names.

/// Returns `true` if a sentence reports that the prompt is too long for the model.
///
/// Not every provider has a code for this, so a sentence counts if it names both the measure (the context length, the
/// input tokens) and that it is exceeded. The length of a field, or of the output alone, does not count.
pub(super) fn overflows(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut sentences = text.split(['\n', ';']).flat_map(|line| line.split(". "));
    sentences.any(|sentence| {
        let has = |words: &str| words.split('|').any(|words| sentence.contains(words));
        has(PLAIN) || (has(MEASURED) && has(CONTEXT_EXCEEDED))
    })
}

const PLAIN: &str = "prompt is too long|prompt too long|input is too long|input too long|too many tokens|\
     too many input tokens|prompt exceeds max|input exceeds max";

const MEASURED: &str = "context length|context limit|context size|context window|decoder prompt|input length|\
     input token|input tokens|`inputs`|model length|number of tokens|prompt contains|prompt length|\
     prompt token|model token limit|token count|tokens in the prompt|total tokens";

const CONTEXT_EXCEEDED: &str = "at most|beyond|exceed|greater than|larger than|less than|longer than|maximum|must be <=|\
     only supports|overflow|too large|too long|too many";

/// Returns `true` if a sentence reports that a limit of two hours or longer is reached, and none names a shorter one.
///
/// A sentence counts if it names the window and that it is used up, as in `Rate limit exceeded: free-models-per-day`,
/// `You have hit your weekly limit` and `5-hour limit reached`; the allowance of a larger plan (`upgrade for 1000
/// requests per day`) does not. If a minute or an hour is named as well, it is unknown which of the two was reached.
pub(super) fn names_long_window(text: &str) -> bool {
    let text = text.to_lowercase();
    let windows = windows(&text);
    windows.long_is_reached && !windows.short
}

/// Returns `true` if the prose names a limit of an hour or less, which opens again soon.
pub(super) fn names_short_window(text: &str) -> bool {
    windows(&text.to_lowercase()).short
}

/// Returns `true` if a sentence reports that the allowance of a plan or a session is used up. A limit whose reset is a
/// time of day, as in `you've hit your limit · resets 3pm`, is one.
pub(super) fn names_spent_allowance(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut clauses = clauses(&text);
    clauses.any(|clause| {
        let named = ALLOWANCES.iter().any(|words| clause.contains(words));
        let words = || words(clause);
        let of_a_day = || words().any(|word| word == "limit") && resets_at_an_hour(words());
        (named || of_a_day()) && words().any(is_used_up)
    })
}

/// Returns `true` if the words name a time of day for a reset: `resets 3pm`, `resets at 2:10 PM`.
fn resets_at_an_hour<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let mut after_number = false;
    let behind = words.skip_while(|word| !word.starts_with("reset"));
    behind.into_iter().any(|word| {
        let hour = ["am", "pm"].iter().find_map(|half| word.strip_suffix(half));
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        let is_hour = hour.is_some_and(|hour| is_number(hour) || (hour.is_empty() && after_number));
        after_number = is_number(word);
        is_hour
    })
}

const ALLOWANCES: [&str; 9] = [
    "free allocated quota",
    "hour allocated quota",
    "month allocated quota",
    "session limit",
    "usage cap",
    "usage limit",
    "usage quota",
    "week allocated quota",
    "free usage",
];

fn is_used_up(word: &str) -> bool {
    LIMIT_REACHED.iter().any(|start| word.starts_with(start))
}

#[derive(Default)]
struct Windows {
    short: bool,
    long_is_reached: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Window {
    Short,
    Long,
}

fn windows(text: &str) -> Windows {
    let mut found = Windows::default();
    for clause in clauses(text) {
        let words: Vec<&str> = words(clause).collect();
        let (mut long, mut reached) = (false, false);
        for (at, word) in words.iter().enumerate() {
            let (before, behind) = words.split_at_checked(at).unwrap_or_default();
            match window(before, word, behind.get(1)) {
                Some(Window::Short) => found.short = true,
                Some(Window::Long) => long = true,
                None => {}
            }
            reached |= is_used_up(word) || (*word == "up" && before.last() == Some(&"used"));
        }
        found.long_is_reached |= long && reached;
    }
    found
}

fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.split(['\n', ';', '?', '!']);
    let sentences = lines.flat_map(|line| line.split(". "));
    sentences.flat_map(|sentence| sentence.split(", "))
}

/// Returns the words of a clause and the slashes between them; URLs are ignored.
fn words(clause: &str) -> impl Iterator<Item = &str> {
    let said = clause
        .split_whitespace()
        .filter(|part| !part.contains("://"));
    said.flat_map(|part| part.split_inclusive('/'))
        .flat_map(|part| {
            let (part, stroke) = match part.strip_suffix('/') {
                Some(part) => (part, Some("/")),
                None => (part, None),
            };
            let words = part.split(|c: char| !c.is_alphanumeric());
            words.filter(|word| !word.is_empty()).chain(stroke)
        })
}

/// The beginnings of words that report a limit as used up.
const LIMIT_REACHED: [&str; 8] = [
    "deplet", "exceed", "exhaust", "hit", "limited", "many", "past", "reach",
];

/// Returns the window that a word names, by the words before it and the one behind it.
fn window(before: &[&str], word: &str, behind: Option<&&str>) -> Option<Window> {
    let mut before = before.iter().rev().copied();
    let last = before.next().unwrap_or_default();
    match word {
        "daily" | "weekly" | "monthly" | "rpd" | "tpd" => return Some(Window::Long),
        "hourly" | "rpm" | "tpm" | "rps" | "tps" | "rph" | "tph" => return Some(Window::Short),
        "today" if last == "for" => return Some(Window::Long),
        _ => {}
    }
    let number: Option<u32> = last.parse().ok();
    let is_counted = match number {
        None => is_rate(last),
        Some(_) => {
            let joint = before.next().unwrap_or_default();
            let is_limit = |word: &&str| matches!(*word, "limit" | "quota" | "usage" | "window");
            is_rate(joint)
                || matches!(joint, "last" | "past" | "rolling")
                || behind.is_some_and(is_limit)
        }
    };
    let hours = number.unwrap_or(1);
    match word.strip_suffix('s').unwrap_or(word) {
        _ if !is_counted => None,
        "day" | "week" | "month" => Some(Window::Long),
        "hour" | "hr" | "h" if hours > 1 => Some(Window::Long),
        "hour" | "hr" | "h" | "minute" | "min" | "second" | "sec" => Some(Window::Short),
        _ => None,
    }
}

/// Returns `true` if the word before a unit makes it that of a rate, as in `per day`.
fn is_rate(word: &str) -> bool {
    matches!(word, "per" | "/" | "a" | "an" | "each" | "every")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_does_not_fit_is_told_in_many_words() {
        for text in [
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            "Your input exceeds the context window of this model.",
            "prompt is too long: 213462 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            "Input is too long for requested model.",
            "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
            "The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).",
            "the request exceeds the available context size. try increasing the context size",
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            "Prompt exceeds max length",
            "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)",
            "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
        ] {
            assert!(overflows(text), "{text}");
        }
    }

    #[test]
    fn a_field_or_an_answer_that_is_too_long_is_something_else() {
        for text in [
            "Invalid 'user': string too long. Expected a string with maximum length 64, but got 80 instead.",
            "max_tokens is too large: 20000. This model supports at most 16384 completion tokens.",
            "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for the model",
            "The context window beta is not enabled. A maximum of 3 betas is allowed.",
            "Invalid token ids: [15, 429, 88].",
            "Request too large",
            "",
        ] {
            assert!(!overflows(text), "{text}");
        }
    }

    #[test]
    fn a_limit_of_a_day_is_told_from_a_shorter_one() {
        for text in [
            "Rate limit exceeded: free-models-per-day. Add 10 credits",
            "Rate limit exceeded: limit_rpd/google/gemini",
            "You have exceeded your daily quota",
            "TOO MANY TOKENS PER DAY, please wait",
            "limited to 1000 API calls / month",
            "limited to 1000 calls/month.",
            "50 requests per 24 hours exceeded",
            "no more for today: limit reached",
            "requests every 2 days: exhausted",
            "you have reached your limit of 50 messages a day",
            "5-hour usage limit reached for Token Plan Starter",
            "Usage limit reached for the past 5 hours. Upgrade",
            "You have exceeded the 5-hour usage quota.",
            "50 requests per 3 hours exceeded",
            "you have used up your daily free allocation of 10,000 neurons, please upgrade",
        ] {
            assert!(
                names_long_window(text) && !names_short_window(text),
                "{text}"
            );
        }
        for text in [
            "limited to 20 API calls / minute",
            "Tokens per minute limit exceeded",
            "exceeded 100 requests per 60 seconds",
            "tokens per min (TPM): limit reached",
            "hourly limit exceeded",
            "daily limit reached: wait a minute",
            "exceeded: 5 per minute, and 100 per day",
        ] {
            assert!(
                !names_long_window(text) && names_short_window(text),
                "{text}"
            );
        }
    }

    #[test]
    fn a_day_that_is_no_limit_that_was_reached_says_nothing() {
        for text in [
            "",
            "Rate limit exceeded",
            "Unlock 1000 free model requests per day",
            "You have reached your rate limit, upgrade for 1000 requests per day",
            "Rate limit reached. Upgrade to Dev Tier today",
            "exceeded: see https://api.example/per/day",
            "as per daybreak we have exceeded",
            "you have exceeded the limit for 31 days of audio",
            "have a good day, you are past it",
            "/",
            "per",
        ] {
            assert!(
                !names_long_window(text) && !names_short_window(text),
                "{text}"
            );
        }
    }

    #[test]
    fn a_spent_allowance_is_told_from_one_that_is_offered() {
        for text in [
            "you (name) have reached your session usage limit, upgrade for higher limits",
            "The usage limit has been reached",
            "You've hit your session limit · resets 4pm",
            "You've hit your limit · resets 2:10pm (America/Sao_Paulo)",
            "limit reached ∙ resets Apr 23 at 4 PM",
            "week allocated quota exceeded.",
            "Free allocated quota exceeded.",
            "Free usage exceeded, add credits",
        ] {
            assert!(names_spent_allowance(text), "{text}");
        }
        for text in [
            "Allocated quota exceeded, please increase your quota limit.",
            "concurrency allocated quota exceeded",
            "Rate limit exceeded, raise your usage limit",
            "Usage is growing too fast.",
            "Rate limit reached ∙ resets in 3 s",
            "You've hit your limit: it resets when I am back",
            "it resets 3pm",
            "Too many requests",
            "",
        ] {
            assert!(!names_spent_allowance(text), "{text}");
        }
    }

    #[test]
    fn a_long_text_is_gone_through_once() {
        for part in ["per ", "/", "per 1 ", "-", ", ", "é", "day "] {
            let text = part.repeat(200_000 / part.len());
            assert!(!names_long_window(&text), "{part}");
            assert!(!names_spent_allowance(&text), "{part}");
        }
    }
}
