//! Token counts in the prose of an error.

/// The token counts in the error for a request that did not fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TokenCounts {
    /// The tokens of the prompt.
    pub(crate) input: Option<u64>,
    /// The tokens reserved for the output.
    pub(crate) output: Option<u64>,
    /// The limit of the model, or of one request.
    pub(crate) limit: Option<u64>,
}

/// Returns the counts of a message such as `maximum context length is 8192 tokens, your messages resulted in 9000`.
///
/// Each number is interpreted by the words around it, since every provider has its own sentence.
pub(crate) fn context_counts(text: &str) -> TokenCounts {
    let text = text.to_ascii_lowercase();
    let parts = parts(&text);
    sum(&parts).unwrap_or_else(|| by_words(&parts))
}

/// Returns the two counts of `Limit N, Requested M`.
pub(crate) fn limit_and_requested(text: &str) -> Option<(u64, u64)> {
    let text = text.to_ascii_lowercase();
    let parts = parts(&text);
    let limit = behind(&parts, "limit").next()?;
    let requested = behind(&parts, "requested").next()?;
    Some((limit, requested))
}

/// Returns `true` if the prose names a limit of zero, for which no wait can help.
pub(super) fn has_zero_limit(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    behind(&parts(&text), "limit").any(|limit| limit == 0)
}

/// The most parts of a message that are read: more than any message needs, so that an echoed prompt costs little.
const MAX_PARTS: usize = 4_096;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CountToken<'a> {
    Word(&'a str),
    Number(u64),
    Mark(char),
}

/// Splits a text in lower case into words, whole numbers and marks; a number inside a name, or with a fraction, is a
/// word.
fn parts(text: &str) -> Vec<CountToken<'_>> {
    let (mut rest, mut parts) = (text.trim_start(), Vec::new());
    while let Some(first) = rest.chars().next() {
        if parts.len() >= MAX_PARTS {
            break;
        }
        let word = word(rest);
        let length = word.len().max(first.len_utf8());
        parts.push(match word {
            "" => CountToken::Mark(first),
            _ => whole_number(word).map_or(CountToken::Word(word), CountToken::Number),
        });
        rest = rest
            .get(length..)
            .unwrap_or("")
            .trim_start_matches([' ', '\t', '\r', '`', '\'', '"']);
    }
    parts
}

/// Returns the leading word: letters, digits and the marks that join them, as in `gpt-4.1-mini`, `max_tokens`,
/// `200,000`.
fn word(text: &str) -> &str {
    let mut end = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let joins = matches!(c, '-' | '.' | ',' | '/')
            && at > 0
            && next.is_some_and(|next| next.is_ascii_digit() || (c == '-' && next.is_alphabetic()));
        if !(c.is_alphanumeric() || c == '_' || joins) {
            break;
        }
        end = at.saturating_add(c.len_utf8());
    }
    text.get(..end).unwrap_or("")
}

fn whole_number(word: &str) -> Option<u64> {
    let mut groups = word.split(',');
    let first = groups.next()?;
    let grouped = groups.all(|group| group.len() == 3);
    let digits = word.bytes().all(|b| b == b',' || b.is_ascii_digit());
    let number = digits && grouped && !first.is_empty();
    number.then(|| word.replace(',', "").parse().unwrap_or(u64::MAX))
}

/// Returns the numbers directly after a word.
fn behind<'a>(parts: &'a [CountToken<'_>], word: &'a str) -> impl Iterator<Item = u64> + 'a {
    let mut after_word = false;
    parts.iter().filter_map(move |part| {
        let (found, still) = match part {
            CountToken::Number(number) => (Some(*number).filter(|_| after_word), false),
            CountToken::Word(own) => (None, *own == word),
            CountToken::Mark(mark) => (None, after_word && matches!(mark, ':' | '~' | '=')),
        };
        after_word = still;
        found
    })
}

/// Returns the counts of `188240 + 21333 > 200000`, `213462 > 200000` and `(5000 > 4096 - 100)`.
fn sum(parts: &[CountToken<'_>]) -> Option<TokenCounts> {
    use CountToken::{Mark, Number, Word};
    let counts = |input, output, limit| TokenCounts {
        input: Some(input),
        output,
        limit: Some(limit),
    };
    (0..parts.len()).find_map(|at| match parts.get(at..)? {
        [
            Number(input),
            Mark('+'),
            Number(output),
            Mark('>'),
            Number(limit),
            ..,
        ] => Some(counts(*input, Some(*output), *limit)),
        [
            Number(output),
            Mark('>'),
            Number(limit),
            Mark('-'),
            Number(input),
            ..,
        ] => Some(counts(*input, Some(*output), *limit)),
        [Number(input), Mark('>'), Number(limit), ..]
        | [Number(input), Word(_), Mark('>'), Number(limit), ..] => {
            Some(counts(*input, None, *limit))
        }
        _ => None,
    })
}

/// The meaning that the words around a number give it. If several are clear, the last one decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cue {
    Limit,
    Input,
    Output,
    Neither,
}

fn by_words(parts: &[CountToken<'_>]) -> TokenCounts {
    let mut counts = TokenCounts::default();
    let (mut clear, mut vague) = (None, None);
    for (at, part) in parts.iter().enumerate() {
        match part {
            CountToken::Word(word) => {
                clear = clear_cue(word).or(clear);
                vague = vague_cue(word).or(vague);
            }
            // A number ends its phrase, so the words before it give no meaning to the next number.
            CountToken::Number(number) => {
                let after = parts.get(at.saturating_add(1)..).unwrap_or_default();
                counts.note(*number, clear.or(vague), following(after));
                (clear, vague) = (None, None);
            }
            CountToken::Mark('.' | ';' | '\n') => (clear, vague) = (None, None),
            CountToken::Mark('>' | '<') => clear = Some(Cue::Limit),
            CountToken::Mark(_) => {}
        }
    }
    counts
}

impl TokenCounts {
    /// Notes a number. A part that is named after its number, as in `4500 in the messages`, takes precedence over a
    /// total.
    fn note(&mut self, number: u64, before: Option<Cue>, after: Option<Cue>) {
        match (before, after) {
            (Some(Cue::Limit), Some(Cue::Output)) | (Some(Cue::Neither), _) => {}
            (Some(Cue::Limit), _) | (_, Some(Cue::Limit)) => {
                self.limit.get_or_insert(number);
            }
            (_, Some(Cue::Input)) => self.input = Some(number),
            (_, Some(Cue::Output)) => self.output = Some(number),
            (Some(Cue::Input), _) => {
                self.input.get_or_insert(number);
            }
            (Some(Cue::Output), _) => {
                self.output.get_or_insert(number);
            }
            (None, _) => {}
        }
    }
}

fn clear_cue(word: &str) -> Option<Cue> {
    Some(match word {
        "maximum" | "max" | "limit" | "exceed" | "exceeds" | "exceeded" | "exceeding" | "than"
        | "most" | "supports" | "allowed" | "only" | "size" | "window" => Cue::Limit,
        "requested" | "resulted" | "received" | "contains" | "has" | "have" | "given" | "got"
        | "provided" | "count" | "sent" => Cue::Input,
        "max_tokens" | "max_new_tokens" | "max_completion_tokens" | "max_output_tokens" => {
            Cue::Output
        }
        "by" | "used" => Cue::Neither,
        _ => return None,
    })
}

fn vague_cue(word: &str) -> Option<Cue> {
    let is_input = matches!(word, "prompt" | "input" | "inputs" | "messages" | "request");
    is_input.then_some(Cue::Input)
}

/// Returns the meaning that the few words after a number, up to the end of the clause, give it.
fn following(parts: &[CountToken<'_>]) -> Option<Cue> {
    const MAX_WORDS: usize = 5;
    let words = parts.iter().map_while(|part| match part {
        CountToken::Word(word) => Some(*word),
        CountToken::Number(_) | CountToken::Mark(_) => None,
    });
    words
        .take(MAX_WORDS)
        .enumerate()
        .find_map(|(at, word)| match word {
            "maximum" | "max" if at == 0 => Some(Cue::Limit),
            "completion" | "output" | "max_tokens" | "max_new_tokens" => Some(Cue::Output),
            "messages" | "prompt" | "input" | "inputs" => Some(Cue::Input),
            "exceeds" | "exceed" => Some(Cue::Neither),
            _ => None,
        })
}

#[cfg(test)]
mod tests;
