//! Delays in header values, and the numbers and units in them.

use std::time::Duration;

/// A unit of time is its number of nanoseconds.
const MICROSECOND: u128 = 1_000;
pub(super) const MILLISECOND: u128 = 1_000_000;
pub(super) const SECOND: u128 = 1_000_000_000;
pub(super) const MINUTE: u128 = 60_000_000_000;
pub(super) const HOUR: u128 = 3_600_000_000_000;
pub(super) const DAY: u128 = 86_400_000_000_000;

/// Parses a delay in a header: a duration as Go writes it, such as `1m2.5s`, or a bare number of seconds. Rounds up to
/// the millisecond and saturates.
pub(crate) fn header_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    bare_seconds(text).or_else(|| with_units(text, |rest| rest))
}

/// Parses a duration with units, with optional blanks around them: `1h 2m`.
pub(super) fn spaced_duration(text: &str) -> Option<Duration> {
    with_units(text, str::trim_ascii_start)
}

/// Parses a number of seconds without a unit, with or without decimals.
pub(super) fn bare_seconds(text: &str) -> Option<Duration> {
    bare(text, SECOND)
}

/// Parses the seconds of `Retry-After`: digits, or digits, a point and digits.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    plain(text, Duration::from_secs, SECOND)
}

/// Parses the same format in milliseconds.
pub(super) fn millis(text: &str) -> Option<Duration> {
    plain(text, Duration::from_millis, MILLISECOND)
}

/// Parses a number without a unit name, with or without decimals, and rounds it up to the millisecond.
#[inline(never)]
pub(super) fn bare(text: &str, unit: u128) -> Option<Duration> {
    if let (Some(whole), Ok(number)) = (whole_unit(unit), text.parse()) {
        // `parse` alone accepts a sign.
        return text
            .starts_with(|c: char| c.is_ascii_digit())
            .then(|| whole(number));
    }
    let (number, rest) = Number::read(text)?;
    rest.is_empty().then(|| whole_millis(number.times(unit)))
}

/// Returns the constructor for a whole number of this unit: most numbers are whole, and skip the 128-bit division,
/// which takes several times as long.
fn whole_unit(unit: u128) -> Option<fn(u64) -> Duration> {
    match unit {
        SECOND => Some(Duration::from_secs),
        MILLISECOND => Some(Duration::from_millis),
        _ => None,
    }
}

#[inline(never)]
fn plain(text: &str, whole: fn(u64) -> Duration, unit: u128) -> Option<Duration> {
    match digits(text) {
        ("", _) => None,
        // As in `bare`.
        (all, "") => Some(all.parse().map_or(Duration::MAX, whole)),
        _ => bare(text, unit),
    }
}

#[inline(never)]
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

/// Splits off the leading word of a text, up to the length of the longest known unit.
pub(super) fn letters(text: &str) -> (&str, &str) {
    // Bounded, so that a long word costs no more than a unit.
    const MAX_UNIT_LETTERS: usize = 16;
    let mut next = text.char_indices().take(MAX_UNIT_LETTERS);
    let end = next.find(|(_, c)| !c.is_alphabetic());
    let longest = || text.char_indices().nth(MAX_UNIT_LETTERS);
    let end = end.or_else(longest).map_or(text.len(), |(at, _)| at);
    text.split_at_checked(end).unwrap_or((text, ""))
}

pub(super) fn short_unit(name: &str) -> Option<u128> {
    Some(match name {
        "ns" => 1,
        // The micro sign and the Greek letter are both in use.
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return None,
    })
}

/// A decimal without a sign: its integer part, and its fraction in units of 10^-18, rounded up.
#[derive(Clone, Copy)]
pub(super) struct Number {
    whole: u128,
    parts: u128,
}

const DECIMAL_PLACES: usize = 18;
const ONE: u128 = 1_000_000_000_000_000_000;

impl Number {
    pub(super) fn read(text: &str) -> Option<(Self, &str)> {
        let (whole, rest) = digits(text);
        Self::with_places(whole, rest)
    }

    pub(super) fn with_places<'a>(whole: &str, rest: &'a str) -> Option<(Self, &'a str)> {
        let fraction = rest.strip_prefix('.').map(digits);
        // A point without digits ends a sentence, and is left in the rest.
        let (places, rest) = fraction
            .filter(|(places, _)| !places.is_empty())
            .unwrap_or(("", rest));
        let none = whole.is_empty() && places.is_empty();
        let number = Self {
            whole: saturating(whole),
            parts: parts(places),
        };
        (!none).then_some((number, rest))
    }

    /// Returns the number of nanoseconds, rounded up.
    #[inline(never)]
    pub(super) fn times(self, unit: u128) -> u128 {
        let whole = self.whole.saturating_mul(unit);
        let parts = self.parts.saturating_mul(unit).div_ceil(ONE);
        whole.saturating_add(parts)
    }
}

/// Splits off the leading digits of a text.
#[inline(never)]
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
    let (exact, rest) = places
        .split_at_checked(DECIMAL_PLACES)
        .unwrap_or((places, ""));
    let exact = saturating(&format!("{exact:0<DECIMAL_PLACES$}"));
    let more = rest.bytes().any(|digit| digit != b'0');
    exact.saturating_add(u128::from(more))
}

/// Converts nanoseconds to a duration, rounded up to a millisecond; the longest duration if they do not fit.
pub(super) fn whole_millis(count: u128) -> Duration {
    let millis = count.div_ceil(MILLISECOND);
    let fraction = Duration::from_millis(u64::try_from(millis % 1_000).unwrap_or_default());
    u64::try_from(millis / 1_000).map_or(Duration::MAX, |seconds| {
        Duration::from_secs(seconds).saturating_add(fraction)
    })
}

#[cfg(test)]
mod tests;
