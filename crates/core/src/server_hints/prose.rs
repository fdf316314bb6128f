//! Delays in the prose of an error.

use super::date::{http_date, iso8601};
use super::duration::{
    DAY, HOUR, MILLISECOND, MINUTE, Number, SECOND, digits, letters, short_unit, whole_millis,
};
use std::time::Duration;

/// Returns the delay that an error's prose asks for: `try again in 1m2.5s`, `retry after 33 seconds`, `wait 2 minutes`;
/// if there are several, the longest. A number counts only with a unit and after such words.
#[must_use]
pub fn delay_in_prose(text: &str) -> Option<Duration> {
    let text = text.to_ascii_lowercase();
    let delays = after_cues(&text).filter_map(|(after, alone)| delay_after_cue(after, alone));
    // The longest: before it, a retry meets the limit that it belongs to.
    delays.max().map(whole_millis)
}

/// Returns the latest date at which the prose says to come back, as time since 1970: `try after 2026-08-21T12:00:25Z.`,
/// `resets at 2026-08-21 15:00:00 UTC`, `retry after Fri, 21 Aug 2026 12:10:00 GMT`. A date without an offset may be in
/// any time zone, and does not count.
#[must_use]
pub fn date_in_prose(text: &str) -> Option<Duration> {
    const CUES: [&str; 9] = [
        "access",
        "after",
        "again",
        "available",
        "refresh",
        "reset",
        "retry",
        "until",
        "wait",
    ];
    // ASCII case alone, so that the same places of both texts have the same characters.
    let lower = text.to_ascii_lowercase();
    let ends = CUES.into_iter().flat_map(|cue| cue_ends(&lower, cue));
    let dates = ends.filter_map(|end| leading_date(text.get(end_of_fillers(&lower, end)?..)?));
    dates.max()
}

/// Returns the text after each cue at the start of a word, and whether that cue needs no `in` or `after`.
fn after_cues(text: &str) -> impl Iterator<Item = (&str, bool)> {
    const CUES: [(&str, bool); 8] = [
        ("try again", false),
        ("come back", false),
        ("retry", false),
        ("reset", false),
        ("available", false),
        ("wait", true),
        ("request after", true),
        ("requests after", true),
    ];
    CUES.into_iter().flat_map(move |(cue, alone)| {
        let ends = cue_ends(text, cue);
        ends.filter_map(move |end| Some((text.get(end..)?, alone)))
    })
}

/// Returns the end of each occurrence of a cue that starts a word.
fn cue_ends<'a>(text: &'a str, cue: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(cue).filter_map(|(at, cue)| {
        // In any script, as in `letters`: each cue within a word would read that word to its end.
        let starts = !text.get(..at)?.ends_with(char::is_alphanumeric);
        starts.then(|| at.saturating_add(cue.len()))
    })
}

/// The most words between a cue and its delay or date.
const MAX_WORDS: usize = 8;

/// The characters between the words of a cue.
const BETWEEN_WORDS: [char; 13] = [
    ' ', '\n', ':', '=', '~', '-', '_', '"', '\'', '`', '*', '(', '>',
];

fn is_preposition(word: &str) -> bool {
    matches!(word, "in" | "after" | "for" | "within")
}

/// Returns the place behind the filler words and prepositions that follow a cue.
fn end_of_fillers(lower: &str, cue_end: usize) -> Option<usize> {
    let mut rest = lower.get(cue_end..)?;
    for _ in 0..MAX_WORDS {
        rest = rest.trim_start_matches(BETWEEN_WORDS);
        let (word, after) = letters(rest);
        let fills = matches!(word, "by" | "on" | "until") || FILLERS.contains(&word);
        if !fills && !is_preposition(word) {
            break;
        }
        rest = after;
    }
    lower.len().checked_sub(rest.len())
}

/// Reads the date that a text begins with.
fn leading_date(text: &str) -> Option<Duration> {
    /// The longest date, `Sunday, 06-Nov-94 08:49:37 GMT`, has 30 bytes; a fraction of a second may be longer.
    const MAX_DATE_BYTES: usize = 48;
    const MAX_DATE_WORDS: usize = 6;
    if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let mut end = text.len().min(MAX_DATE_BYTES);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let start = text.get(..end).filter(|start| start.contains(':'))?;
    let blanks = start.match_indices(|c: char| c.is_ascii_whitespace());
    let blanks = blanks.map(|(at, _)| at);
    let ends: Vec<usize> = blanks.take(MAX_DATE_WORDS).chain([end]).collect();
    // From the longest on: the offset may be a word of its own.
    let mut dates = ends.iter().rev().filter_map(|end| {
        let date = start.get(..*end)?;
        let date = date.trim_end_matches(['.', ',', ';', ':', ')', '(', '"', '\'']);
        iso8601(date).or_else(|| http_date(date))
    });
    dates.next()
}

/// The filler words that may precede a delay.
const FILLERS: [&str; 20] = [
    "about",
    "again",
    "and",
    "another",
    "approximately",
    "around",
    "at",
    "ing",
    "least",
    "minimum",
    "please",
    "request",
    "roughly",
    "s",
    "sending",
    "the",
    "this",
    "to",
    "try",
    "your",
];

/// Reads the text after a cue such as `retry`: filler words, one of `in`, `after`, `for` and `within` unless the cue
/// needs none (`alone`), and then a number with its unit.
fn delay_after_cue(text: &str, alone: bool) -> Option<u128> {
    let is_header = text.starts_with("-after") || text.starts_with("_after");
    let (mut rest, mut has_preposition) = (text, alone);
    for _ in 0..MAX_WORDS {
        rest = rest.trim_start_matches(BETWEEN_WORDS);
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            // `retry 3 times` is a count, and not a delay.
            return parse_spoken(rest, is_header).filter(|_| has_preposition);
        }
        let (word, after) = letters(rest);
        match word {
            "a" | "an" | "one" => return one_unit(after).filter(|_| has_preposition),
            _ if is_preposition(word) => has_preposition = true,
            _ if FILLERS.contains(&word) => {}
            _ => return None,
        }
        rest = after;
    }
    None
}

/// Parses the unit of `a minute` or `one hour`.
fn one_unit(text: &str) -> Option<u128> {
    let (name, _) = letters(text.trim_start_matches([' ', '-', '\u{a0}']));
    long_unit(name)
}

/// Parses `1m2.5s`, `1.5 minutes`, `1 minute and 30 seconds`, and after the name of a header also a bare number.
fn parse_spoken(text: &str, is_header: bool) -> Option<u128> {
    const MAX_PARTS: usize = 6;
    let (mut rest, mut total) = (text, None);
    for _ in 0..MAX_PARTS {
        let Some((number, after)) = Number::read_grouped(rest) else {
            break;
        };
        let (name, end) = letters(after.trim_start_matches([' ', '-', '\u{a0}']));
        let Some(unit) = short_unit(name).or_else(|| long_unit(name)) else {
            let is_bare = is_header && total.is_none() && ends_clause(after);
            // Other numbers may follow the delay: `in 20s, 3 attempts left`.
            return if is_bare {
                Some(number.times(SECOND))
            } else {
                total
            };
        };
        total = Some(number.times(unit).saturating_add(total.unwrap_or(0)));
        let joint = end.trim_start_matches([' ', ',']);
        rest = joint.strip_prefix("and ").unwrap_or(joint).trim_start();
    }
    total
}

/// Returns `true` if a number without a unit ends its clause, unlike the year of a date or a time of day.
fn ends_clause(after: &str) -> bool {
    let mut next = after.trim_start_matches(' ').chars();
    next.next()
        .is_none_or(|c| matches!(c, '.' | ',' | ';' | ')' | '"' | '\'' | '\n'))
}

fn long_unit(name: &str) -> Option<u128> {
    Some(match name {
        "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => MILLISECOND,
        "sec" | "secs" | "second" | "seconds" => SECOND,
        "min" | "mins" | "minute" | "minutes" => MINUTE,
        "hr" | "hrs" | "hour" | "hours" => HOUR,
        "day" | "days" => DAY,
        _ => return None,
    })
}

impl Number {
    /// Reads a number like [`Number::read`], also with commas between thousands.
    fn read_grouped(text: &str) -> Option<(Self, &str)> {
        let (mut end, mut rest) = {
            let (first, rest) = digits(text);
            (first.len(), rest)
        };
        while let Some((group, after)) = rest.strip_prefix(',').map(digits) {
            // `1,20` and `,200` are no thousands: the comma ends the number.
            if group.len() != 3 || end == 0 {
                break;
            }
            end = end.saturating_add(4);
            rest = after;
        }
        let whole = text.get(..end).unwrap_or("").replace(',', "");
        Self::with_places(&whole, rest)
    }
}

#[cfg(test)]
mod tests;
