//! Delays as text: in header values, and in the prose of an error.

use std::time::Duration;

const MICROSECOND: u128 = 1_000;
const MILLISECOND: u128 = 1_000_000;
const SECOND: u128 = 1_000_000_000;
const MINUTE: u128 = 60_000_000_000;
const HOUR: u128 = 3_600_000_000_000;
const DAY: u128 = 86_400_000_000_000;

/// A header's delay: `1m2.5s` and the other durations as Go writes them, a bare number for seconds. Rounded up to the
/// millisecond; too large a one saturates.
pub(crate) fn header_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    bare_seconds(text).or_else(|| with_units(text, |rest| rest))
}

/// A duration with units, also with blanks around them: `1h 2m`.
pub(super) fn spaced_duration(text: &str) -> Option<Duration> {
    with_units(text, str::trim_ascii_start)
}

/// A number of seconds without its unit, with decimals or without.
pub(super) fn bare_seconds(text: &str) -> Option<Duration> {
    let (seconds, rest) = Number::read(text)?;
    rest.is_empty().then(|| whole_millis(seconds.times(SECOND)))
}

/// Seconds as `Retry-After` has them: digits, or digits, a point and digits.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    plain(text, Duration::from_secs, SECOND)
}

/// The same in milliseconds.
pub(super) fn millis(text: &str) -> Option<Duration> {
    plain(text, Duration::from_millis, MILLISECOND)
}

fn plain(text: &str, whole: fn(u64) -> Duration, unit: u128) -> Option<Duration> {
    match digits(text) {
        ("", _) => None,
        // Almost every header; dividing 128 bits takes several times as long.
        (all, "") => Some(whole(all.parse().unwrap_or(u64::MAX))),
        _ => {
            let (number, rest) = Number::read(text)?;
            rest.is_empty().then(|| whole_millis(number.times(unit)))
        }
    }
}

fn with_units(text: &str, skip: fn(&str) -> &str) -> Option<Duration> {
    let (mut rest, mut total) = (text, None);
    while !rest.is_empty() {
        let (number, after) = Number::read(rest)?;
        let (name, after) = letters(skip(after));
        let part = number.times(short_unit(name)?);
        total = Some(part.saturating_add(total.unwrap_or(0)));
        rest = skip(after);
    }
    total.map(whole_millis)
}

/// The delay that an error's prose asks for: `try again in 1m2.5s`, `retry after 33 seconds`, `wait 2 minutes`. Of
/// several the longest. A number counts only behind such words and with a unit.
pub(crate) fn delay_in_prose(text: &str) -> Option<Duration> {
    let text = text.to_ascii_lowercase();
    let delays = behind_cues(&text).filter_map(|(after, alone)| delay_after_cue(after, alone));
    delays.max().map(whole_millis)
}

/// What stands behind each cue at the start of a word, and whether that cue can do without `in` or `after`.
fn behind_cues(text: &str) -> impl Iterator<Item = (&str, bool)> {
    const CUES: [(&str, bool); 5] = [
        ("try again", false),
        ("retry", false),
        ("reset", false),
        ("available", false),
        ("wait", true),
    ];
    CUES.into_iter().flat_map(move |(cue, alone)| {
        let found = text.match_indices(cue);
        found.filter_map(move |(at, cue)| {
            let (before, rest) = text.split_at_checked(at)?;
            // Of any script: what `letters` runs over holds no other start of a word.
            let starts = !before.ends_with(char::is_alphanumeric);
            let after = rest.strip_prefix(cue).filter(|_| starts)?;
            Some((after, alone))
        })
    })
}

/// What follows `retry`: some small words, one of them `in`, `after` or `for` unless the cue can do without, and then a
/// number with its unit.
fn delay_after_cue(text: &str, alone: bool) -> Option<u128> {
    const SMALL: [&str; 20] = [
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
    const MOST_WORDS: usize = 8;
    let is_header = text.starts_with("-after") || text.starts_with("_after");
    let (mut rest, mut joined) = (text, alone);
    for _ in 0..MOST_WORDS {
        rest = rest.trim_start_matches([
            ' ', '\n', ':', '=', '~', '-', '_', '"', '\'', '`', '*', '(', '>',
        ]);
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return spoken(rest, is_header).filter(|_| joined);
        }
        let (word, after) = letters(rest);
        match word {
            "in" | "after" | "for" | "within" => joined = true,
            _ if SMALL.contains(&word) => {}
            _ => return None,
        }
        rest = after;
    }
    None
}

/// `1m2.5s`, `1.5 minutes`, `1 minute and 30 seconds`; behind the name of a header also a bare number.
fn spoken(text: &str, is_header: bool) -> Option<u128> {
    const MOST_PARTS: usize = 6;
    let (mut rest, mut total) = (text, None);
    for _ in 0..MOST_PARTS {
        let Some((number, after)) = Number::read_grouped(rest) else {
            break;
        };
        let (name, end) = letters(after.trim_start_matches([' ', '-', '\u{a0}']));
        let Some(unit) = short_unit(name).or_else(|| long_unit(name)) else {
            let bare = is_header && total.is_none() && ends_clause(after);
            return if bare {
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

/// Whether a number without a unit ends its clause, unlike the year of a date or a time of the day.
fn ends_clause(after: &str) -> bool {
    let mut next = after.trim_start_matches(' ').chars();
    next.next()
        .is_none_or(|c| matches!(c, '.' | ',' | ';' | ')' | '"' | '\'' | '\n'))
}

/// The word that a text starts with, but no more of it than of the longest that is known here, and what follows.
fn letters(text: &str) -> (&str, &str) {
    const LONGEST: usize = 16;
    let mut next = text.char_indices().take(LONGEST);
    let end = next.find(|(_, c)| !c.is_alphabetic());
    let longest = || text.char_indices().nth(LONGEST);
    let end = end.or_else(longest).map_or(text.len(), |(at, _)| at);
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn short_unit(name: &str) -> Option<u128> {
    Some(match name {
        "ns" => 1,
        // The micro sign and the Greek letter, both in use.
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return None,
    })
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

/// A decimal without a sign: what stands before the dot, and 10^-18 parts of what stands behind it, rounded up.
#[derive(Clone, Copy)]
struct Number {
    whole: u128,
    parts: u128,
}

const PLACES: usize = 18;
const ONE: u128 = 1_000_000_000_000_000_000;

impl Number {
    fn read(text: &str) -> Option<(Self, &str)> {
        let (whole, rest) = digits(text);
        Self::with_places(whole, rest)
    }

    /// The same, also with commas between thousands.
    fn read_grouped(text: &str) -> Option<(Self, &str)> {
        let (mut end, mut rest) = {
            let (first, rest) = digits(text);
            (first.len(), rest)
        };
        while let Some((group, after)) = rest.strip_prefix(',').map(digits) {
            if group.len() != 3 || end == 0 {
                break;
            }
            end = end.saturating_add(4);
            rest = after;
        }
        let whole = text.get(..end).unwrap_or("").replace(',', "");
        Self::with_places(&whole, rest)
    }

    fn with_places<'a>(whole: &str, rest: &'a str) -> Option<(Self, &'a str)> {
        let behind = rest.strip_prefix('.').map(digits);
        let (places, rest) = behind
            .filter(|(places, _)| !places.is_empty())
            .unwrap_or(("", rest));
        let none = whole.is_empty() && places.is_empty();
        let number = Self {
            whole: saturating(whole),
            parts: parts(places),
        };
        (!none).then_some((number, rest))
    }

    /// So many nanoseconds, rounded up.
    fn times(self, unit: u128) -> u128 {
        let whole = self.whole.saturating_mul(unit);
        let parts = self.parts.saturating_mul(unit).div_ceil(ONE);
        whole.saturating_add(parts)
    }
}

/// The digits that a text begins with, and what follows them.
pub(super) fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at_checked(end.unwrap_or(text.len()))
        .unwrap_or((text, ""))
}

fn saturating(digits: &str) -> u128 {
    match digits {
        "" => 0,
        _ => digits.parse().unwrap_or(u128::MAX),
    }
}

fn parts(places: &str) -> u128 {
    let (kept, cut) = places.split_at_checked(PLACES).unwrap_or((places, ""));
    let kept = saturating(&format!("{kept:0<PLACES$}"));
    let more = cut.bytes().any(|digit| digit != b'0');
    kept.saturating_add(u128::from(more))
}

/// So many nanoseconds, rounded up to a millisecond; the longest duration where they do not fit.
fn whole_millis(count: u128) -> Duration {
    let millis = count.div_ceil(MILLISECOND);
    let fraction = Duration::from_millis(u64::try_from(millis % 1_000).unwrap_or_default());
    u64::try_from(millis / 1_000).map_or(Duration::MAX, |seconds| {
        Duration::from_secs(seconds).saturating_add(fraction)
    })
}

#[cfg(test)]
mod tests;
