//! Units of time that no setting is measured in, and what people mean who write them.

/// A unit above days, by its words, with its name and its days.
const ABOVE_DAYS: [(&[&str], &str, u32); 3] = [
    (&["w", "wk", "wks", "week", "weeks"], "weeks", 7),
    (&["M", "month", "months"], "months", 30),
    (&["y", "yr", "yrs", "year", "years"], "years", 365),
];

/// What to write in the place of a duration that has such a unit.
pub(super) fn instead(duration: &str) -> Option<String> {
    let parts: Vec<&str> = parts(duration).collect();
    let (unit, name, days) = parts.iter().find_map(|part| {
        let found = ABOVE_DAYS.iter().find(|(words, ..)| words.contains(part));
        found.map(|(_, name, days)| (*part, *name, *days))
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

/// Numbers and words in turn.
fn parts(duration: &str) -> impl Iterator<Item = &str> {
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
