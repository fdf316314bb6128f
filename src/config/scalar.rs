//! Durations, ranges, decimals and patterns as a document writes them.

use super::block::Node;
use super::units;
use super::value::Value;
use crate::policy::Decimal;
use http::Method;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A duration with its unit.
pub(super) fn duration(node: &Node<'_>) -> Option<Duration> {
    let text = match node.value {
        Value::Integer(_) | Value::Float(_) => &node.value.to_string(),
        Value::Text(text) => text.trim(),
        _ => {
            node.not(A_DURATION);
            return None;
        }
    };
    let is_plain = |number: f64| number.is_finite() && number.is_sign_positive();
    if text.parse().is_ok_and(is_plain) {
        node.wrong(format!("{text} has no unit: write {text}ms or {text}s"));
        return None;
    }
    if is_endless(text) {
        node.wrong(format!(
            "{} is too long: write 1h 30m or 30days",
            node.value
        ));
        return None;
    }
    match humantime::parse_duration(text) {
        Ok(duration) => match units::instead(text) {
            Some(instead) => {
                node.wrong(format!("{} {instead}", node.value));
                None
            }
            None => Some(duration),
        },
        Err(humantime::DurationError::NumberOverflow) => {
            node.wrong(format!(
                "{} is too long: write 1h 30m or 30days",
                node.value
            ));
            None
        }
        Err(_) => {
            node.not(A_DURATION);
            None
        }
    }
}

const A_DURATION: &str = "a duration: write 500ms, 2s or 1h 30m";

/// Numbers that no duration has, and that the parser would add up without a check.
fn is_endless(text: &str) -> bool {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    is_number && (text.len() > 64 || numbers.any(|number| number.len() > 11))
}

/// A duration, or the word that says that there is none.
pub(super) fn duration_or_none(node: &Node<'_>) -> Option<Option<Duration>> {
    match node.value {
        Value::Text(text) if text == "none" => Some(None),
        _ => duration(node).map(Some),
    }
}

/// A duration as a document would write it: in days and what is below them.
pub(super) fn words(duration: Duration) -> String {
    const DAY: u64 = 24 * 60 * 60;
    let days = duration.as_secs().checked_div(DAY).unwrap_or_default();
    let rest = duration.saturating_sub(Duration::from_secs(days.saturating_mul(DAY)));
    let short = humantime::format_duration(rest);
    match (days, rest.is_zero()) {
        (0, _) => short.to_string(),
        (1, true) => "1day".to_owned(),
        (1, false) => format!("1day {short}"),
        (_, true) => format!("{days}days"),
        (_, false) => format!("{days}days {short}"),
    }
}

pub(super) fn decimal(node: &Node<'_>, least: Decimal, most: Decimal) -> Option<Decimal> {
    bounded(node, least, most, &format!("must be {least} to {most}"))
}

/// A decimal above 0, up to `most`, which an error calls by these words.
pub(super) fn above_zero(node: &Node<'_>, most: Decimal, words: &str) -> Option<Decimal> {
    let allowed = format!("must be above 0, up to {words}");
    bounded(node, Decimal::from_micros(1), most, &allowed)
}

fn bounded(node: &Node<'_>, least: Decimal, most: Decimal, allowed: &str) -> Option<Decimal> {
    let given = match node.value {
        Value::Integer(number) => u32::try_from(*number).ok().map(Decimal::from),
        Value::Float(number) => Some(Decimal::from(*number)),
        _ => {
            node.not("a number");
            return None;
        }
    };
    let Some(given) = given else {
        node.wrong(format!("{} is not allowed: {allowed}", node.value));
        return None;
    };
    let within = given.within("", least, most);
    if let Err(error) = &within {
        let (_, places) = error.allowed().split_once(',').unwrap_or_default();
        let comma = if places.is_empty() { "" } else { "," };
        node.wrong(format!("{given} is not allowed: {allowed}{comma}{places}"));
    }
    within.ok()
}

/// `20%` is a part of 0.2.
pub(super) fn percent(text: &str) -> Option<Decimal> {
    let number: u32 = text.strip_suffix('%')?.trim().parse().ok()?;
    (number <= 100).then(|| Decimal::from_micros(u64::from(number).saturating_mul(10_000)))
}

/// Statuses: `429`, `"5xx"`, `"500-599"`, `">=500"`, or a list of them.
pub(super) fn statuses(node: &Node<'_>) -> Vec<RangeInclusive<u16>> {
    let wanted = "a status: write 429, \"5xx\", \"500-599\" or \">=500\"";
    let ranges = ranges(node, 100..=999, wanted, |text| {
        let hundreds = text.strip_suffix("xx").or(text.strip_suffix("XX"))?;
        let hundreds: u32 = hundreds.parse().ok()?;
        let least = hundreds.checked_mul(100)?;
        Some(least..=least.checked_add(99)?)
    });
    let narrow = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    ranges
        .into_iter()
        .map(|range| narrow(*range.start())..=narrow(*range.end()))
        .collect()
}

/// Numbers of attempts: `1`, `"<3"`, `"2-4"`, or a list of them.
pub(super) fn attempts(node: &Node<'_>) -> Vec<RangeInclusive<u32>> {
    let wanted = "a number of an attempt: write 1, \"<3\" or \"2-4\"";
    ranges(node, 1..=u32::MAX, wanted, |_| None)
}

fn ranges(
    node: &Node<'_>,
    bounds: RangeInclusive<u32>,
    wanted: &str,
    special: impl Fn(&str) -> Option<RangeInclusive<u32>>,
) -> Vec<RangeInclusive<u32>> {
    let read = |node: &Node<'_>| {
        let range = match node.value {
            Value::Integer(number) => u32::try_from(*number).ok().map(|number| number..=number),
            Value::Text(text) => {
                let text = text.trim();
                special(text).or_else(|| range(text, &bounds))
            }
            _ => None,
        };
        let Some(range) = range else {
            let negative = matches!(node.value, Value::Integer(_));
            match negative {
                true => out_of_bounds(node, &bounds),
                false => node.not(wanted),
            }
            return None;
        };
        if !bounds.contains(range.start()) || !bounds.contains(range.end()) {
            out_of_bounds(node, &bounds);
            return None;
        }
        if range.is_empty() {
            let (from, to) = (range.start(), range.end());
            let cause = format!("{} runs backwards: write \"{to}-{from}\"", node.value);
            node.wrong(cause);
            return None;
        }
        Some(range)
    };
    node.one_or_more().iter().filter_map(read).collect()
}

fn out_of_bounds(node: &Node<'_>, bounds: &RangeInclusive<u32>) {
    let (least, most) = (bounds.start(), bounds.end());
    let bounds = match *most {
        u32::MAX => format!("must be at least {least}"),
        _ => format!("must be {least} to {most}"),
    };
    node.wrong(format!("{} is out of range: {bounds}", node.value));
}

fn range(text: &str, bounds: &RangeInclusive<u32>) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let (least, most) = (*bounds.start(), *bounds.end());
    for (sign, make) in COMPARISONS {
        if let Some(rest) = text.strip_prefix(sign) {
            return make(number(rest)?, least, most);
        }
    }
    match text.split_once('-') {
        Some((from, to)) => Some(number(from)?..=number(to)?),
        None => number(text).map(|number| number..=number),
    }
}

type Comparison = fn(u32, u32, u32) -> Option<RangeInclusive<u32>>;

/// Longer signs first.
const COMPARISONS: [(&str, Comparison); 5] = [
    (">=", |number, _, most| Some(number..=most)),
    ("<=", |number, least, _| Some(least..=number)),
    (">", |number, _, most| Some(number.checked_add(1)?..=most)),
    ("<", |number, least, _| Some(least..=number.checked_sub(1)?)),
    ("=", |number, _, _| Some(number..=number)),
];

pub(super) fn methods(node: &Node<'_>) -> Vec<Method> {
    let read = |node: &Node<'_>| {
        let text = node.text()?;
        let method = Method::from_bytes(text.to_ascii_uppercase().as_bytes()).ok();
        if method.is_none() {
            node.not("a method: write GET or POST");
        }
        method
    };
    node.one_or_more().iter().filter_map(read).collect()
}

pub(super) fn texts(node: &Node<'_>) -> Vec<String> {
    let read = |node: &Node<'_>| match node.value {
        Value::Integer(number) => Some(number.to_string()),
        _ => node.text().map(str::to_owned),
    };
    let texts: Vec<String> = node.one_or_more().iter().filter_map(read).collect();
    if texts.iter().any(String::is_empty) {
        node.wrong("holds an empty text: give something to look for");
    }
    texts
}
