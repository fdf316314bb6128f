//! Durations with their units.

use super::leaf;
use crate::value::Value;
use std::time::Duration as Time;

/// Units above days: the words, the name and the number of days.
const ABOVE_DAYS: [(&[&str], &str, u32); 3] = [
    (&["w", "wk", "wks", "week", "weeks"], "weeks", 7),
    (&["M", "month", "months"], "months", 30),
    (&["y", "yr", "yrs", "year", "years"], "years", 365),
];

leaf! {
    /// A duration: `500ms`, `2s`, `1h 30m`.
    Duration(Time) = duration;

    /// A duration, or the word `none`.
    DurationOrNone(Option<Time>) = |value| match value {
        Value::Text(text) if text == "none" => Ok(None),
        _ => duration(value).map(Some),
    };
}

/// Defines types of durations above 0; the literal ends the error for a zero.
macro_rules! positive {
    ($($(#[$about:meta])* $name:ident = $why:literal;)+) => {
        crate::values::leaf! {
            $($(#[$about])* $name(std::time::Duration) = |value| {
                let read = crate::values::Duration::try_from(value.clone())?.0;
                if read.is_zero() {
                    return Err(concat!("0s is not allowed: must be above 0", $why).to_owned());
                }
                Ok(read)
            };)+
        }
    };
}

pub(crate) use positive;

fn duration(value: &Value) -> Result<Time, String> {
    let invalid = || {
        Err(format!(
            "{value} is not a duration: write 500ms, 2s or 1h 30m"
        ))
    };
    let text = match value {
        // For the advice on units below.
        Value::Integer(_) | Value::Float(_) => &value.to_string(),
        Value::Text(text) => text.trim(),
        _ => return invalid(),
    };
    let is_plain = |number: f64| number.is_finite() && number.is_sign_positive();
    // Some systems mean milliseconds by a bare number, and others seconds.
    if text.parse().is_ok_and(is_plain) {
        return Err(format!("{text} has no unit: write {text}ms or {text}s"));
    }
    let parsed = if is_endless(text) {
        Err(humantime::DurationError::NumberOverflow)
    } else {
        humantime::parse_duration(text)
    };
    match parsed {
        // The parser takes them too, but a month is 30.44 days there, and `1M` for `1m` would be one.
        Ok(duration) => match in_days(text) {
            Some(instead) => Err(format!("{value} {instead}")),
            None => Ok(duration),
        },
        // The parser reports too many decimal places as an overflow.
        Err(humantime::DurationError::NumberOverflow) if is_too_fine(text) => Err(format!(
            "{value} has too many decimal places: write 1.5s or 1500ms"
        )),
        Err(humantime::DurationError::NumberOverflow) => {
            Err(format!("{value} is too long: write 1h 30m or 30days"))
        }
        Err(_) => invalid(),
    }
}

/// Returns `true` for numbers that are too long for any duration, and that the parser would add up unchecked.
fn is_endless(text: &str) -> bool {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    is_number && (text.len() > 64 || numbers.any(|number| number.len() > 11))
}

/// Returns `true` if a text would be a duration without its decimal places.
fn is_too_fine(text: &str) -> bool {
    let mut parts = text.split('.');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    let whole = rest.fold(first, |whole, part| whole + part);
    whole != text && !is_endless(&whole) && humantime::parse_duration(&whole).is_ok()
}

/// Returns the advice for a duration with a unit above days: no setting is measured in one.
fn in_days(duration: &str) -> Option<String> {
    let parts: Vec<&str> = numbers_and_words(duration).collect();
    let (unit, name, days) = parts.iter().find_map(|part| {
        let unit = ABOVE_DAYS.iter().find(|(words, ..)| words.contains(part));
        unit.map(|(_, name, days)| (*part, *name, *days))
    })?;
    let before = parts.iter().position(|part| *part == unit)?.checked_sub(1);
    let number = before.and_then(|index| parts.get(index));
    let number = number.and_then(|number| number.parse::<u32>().ok());
    let days = number.and_then(|number| number.checked_mul(days));
    Some(match (unit, number, days) {
        ("M", Some(1), Some(days)) => format!("is a month: write 1m for minutes, or {days}d"),
        ("M", Some(number), Some(days)) => {
            format!("is {number} months: write {number}m for minutes, or {days}d")
        }
        (_, _, Some(days)) => format!("is in {name}: the largest unit is d: write {days}d"),
        _ => format!("is in {name}: the largest unit is d"),
    })
}

fn numbers_and_words(duration: &str) -> impl Iterator<Item = &str> {
    let is_letter = |c: char| c.is_alphabetic();
    let mut left = duration.trim();
    std::iter::from_fn(move || {
        let first = left.chars().next()?;
        let end = left.find(|c: char| is_letter(c) != is_letter(first));
        let (part, rest) = left.split_at_checked(end.unwrap_or(left.len()))?;
        left = rest;
        Some(part.trim())
    })
}

/// Returns a duration as a document would write it: in days and smaller units.
pub(crate) fn duration_text(duration: Time) -> String {
    const DAY: u64 = 24 * 60 * 60;
    let days = duration.as_secs().checked_div(DAY).unwrap_or_default();
    let rest = duration.saturating_sub(Time::from_secs(days.saturating_mul(DAY)));
    let short = humantime::format_duration(rest);
    match (days, rest.is_zero()) {
        (0, _) => short.to_string(),
        (1, true) => "1day".to_owned(),
        (1, false) => format!("1day {short}"),
        (_, true) => format!("{days}days"),
        (_, false) => format!("{days}days {short}"),
    }
}
