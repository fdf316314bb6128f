//! The types of a document's values: durations, numbers, words, names, ranges.

use super::block::Node;
use super::fields::Type;
use super::schema::{Defs, forms, list, one_or_more, text_like, with};
use super::units;
use super::value::Value;
use super::words::{Words, words_of};
use crate::policy::Decimal;
use http::Method;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn word<T: Words>() -> Type<T> {
    Type {
        read: |node| node.word(),
        schema: |_| words_of::<T>(),
    }
}

/// A number of up to six decimal places.
pub(super) const fn number<const LEAST: u32, const MOST: u32>() -> Type<Decimal> {
    Type {
        read: |node| {
            let (least, most) = (Decimal::from(LEAST), Decimal::from(MOST));
            decimal(node, least, most, &format!("must be {least} to {most}"))
        },
        schema: |_| json!({"type": "number", "minimum": LEAST, "maximum": MOST}),
    }
}

/// A number above 0.
pub(super) const fn above_zero<const MOST: u32>() -> Type<Decimal> {
    Type {
        read: |node| above_zero_to(node, MOST, &MOST.to_string()),
        schema: |_| json!({"type": "number", "exclusiveMinimum": 0, "maximum": MOST}),
    }
}

/// A decimal above 0, up to `most`, which an error calls by these words.
pub(super) fn above_zero_to(node: &Node<'_>, most: u32, words: &str) -> Option<Decimal> {
    let allowed = format!("must be above 0, up to {words}");
    decimal(node, Decimal::from_micros(1), Decimal::from(most), &allowed)
}

pub(super) const fn count<const LEAST: u32, const MOST: u32>() -> Type<u32> {
    Type {
        read: |node| node.count(LEAST, MOST),
        schema: |_| json!({"type": "integer", "minimum": LEAST, "maximum": MOST}),
    }
}

pub(super) const fn truth() -> Type<bool> {
    Type {
        read: |node| node.truth(),
        schema: |_| json!({"type": "boolean"}),
    }
}

/// A text that names something.
pub(super) const fn name() -> Type<Arc<str>> {
    Type {
        read: |node| node.name().map(Arc::from),
        schema: name_schema,
    }
}

const MOST_NAMES: usize = 100;

/// A name, or a list of names.
pub(super) fn names() -> Type<Arc<[Arc<str>]>> {
    Type {
        read: |node| few(node, name().read),
        schema: |defs| few_schema("a name", name_schema(defs)),
    }
}

/// A name of some kind, or a list of up to 100.
pub(super) fn few<T>(node: &Node<'_>, read: fn(&Node<'_>) -> Option<T>) -> Option<Arc<[T]>> {
    let names = node.one_or_more();
    if names.len() > MOST_NAMES {
        let cause = format!("has more than {MOST_NAMES} names");
        node.problems.add(&node.path, &names.len(), cause);
        return None;
    }
    Some(names.iter().filter_map(read).collect())
}

pub(super) fn few_schema(title: &str, name: Json) -> Json {
    let names = with(list(&name), json!({"maxItems": MOST_NAMES}));
    forms([(title, name), ("a list of names", names)])
}

pub(super) fn name_schema(defs: &mut Defs) -> Json {
    let about = "1 to 128 bytes without @, ?, =, \"://\" and \": \", since names stand in logs, metrics and errors.";
    let of = json!({"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[^@?=]*$"});
    defs.named("name", ["A name", about], |_| of)
}

/// A duration with its unit.
pub(super) const fn duration() -> Type<Duration> {
    Type {
        read: read_duration,
        schema: duration_schema,
    }
}

/// A duration above 0; where it is not, these words say why.
pub(super) fn read_above_zero(node: &Node<'_>, why: &str) -> Option<Duration> {
    let duration = read_duration(node)?;
    if duration.is_zero() {
        node.wrong(format!("0s is not allowed: must be above 0{why}"));
        return None;
    }
    Some(duration)
}

/// A duration, or the word that says that there is none.
pub(super) const fn duration_or_none() -> Type<Option<Duration>> {
    Type {
        read: |node| match node.value {
            Value::Text(text) if text == "none" => Some(None),
            _ => read_duration(node).map(Some),
        },
        schema: |defs| {
            forms([
                ("a duration", duration_schema(defs)),
                ("none", json!({"const": "none"})),
            ])
        },
    }
}

const UNITS: &str = "nanos|nsec|ns|usec|us|µs|millis|msec|ms|seconds|second|secs|sec|s|minutes|minute|mins|min|m|hours|\
    hour|hrs|hr|h|days|day|d";

pub(super) fn duration_schema(defs: &mut Defs) -> Json {
    let about = "A number with its unit: 500ms, 2s, 1h 30m. Units from ns to d. A bare number is refused, since one system \
        means milliseconds by it and another seconds.";
    let pattern = format!("^\\s*(?:[0-9][0-9\\s]*(?:\\.[0-9\\s]+)?(?:{UNITS})\\s*)+$");
    let of = json!({"type": "string", "pattern": pattern, "examples": ["500ms", "2s", "1h 30m"]});
    defs.named("duration", ["A duration", about], |_| of)
}

fn read_duration(node: &Node<'_>) -> Option<Duration> {
    const A_DURATION: &str = "a duration: write 500ms, 2s or 1h 30m";
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
    let parsed = match is_endless(text) {
        true => Err(humantime::DurationError::NumberOverflow),
        false => humantime::parse_duration(text),
    };
    match parsed {
        Ok(duration) => match units::instead(text) {
            Some(instead) => node.wrong(format!("{} {instead}", node.value)),
            None => return Some(duration),
        },
        Err(humantime::DurationError::NumberOverflow) => {
            let wrong = match is_too_fine(text) {
                true => "has too many decimal places: write 1.5s or 1500ms",
                false => "is too long: write 1h 30m or 30days",
            };
            node.wrong(format!("{} {wrong}", node.value));
        }
        Err(_) => node.not(A_DURATION),
    }
    None
}

/// Numbers that no duration has, and that the parser would add up without a check.
fn is_endless(text: &str) -> bool {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    is_number && (text.len() > 64 || numbers.any(|number| number.len() > 11))
}

/// Whether a text would be a duration without its decimal places.
fn is_too_fine(text: &str) -> bool {
    let mut parts = text.split('.');
    let first = parts.next().unwrap_or_default().to_owned();
    let behind = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    let whole = behind.fold(first, |whole, part| whole + part);
    whole != text && !is_endless(&whole) && humantime::parse_duration(&whole).is_ok()
}

/// A duration as a document would write it: in days and what is below them.
pub(super) fn duration_text(duration: Duration) -> String {
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

pub(super) fn decimal(
    node: &Node<'_>,
    least: Decimal,
    most: Decimal,
    allowed: &str,
) -> Option<Decimal> {
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

/// A token of HTTP: a method, or the name of a header.
pub(super) const TOKEN: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

pub(super) const fn methods() -> Type<Vec<Method>> {
    Type {
        read: |node| {
            let read = |node: &Node<'_>| {
                let text = node.text()?;
                let method = Method::from_bytes(text.to_ascii_uppercase().as_bytes()).ok();
                if method.is_none() {
                    node.not("a method: write GET or POST");
                }
                method
            };
            Some(node.one_or_more().iter().filter_map(read).collect())
        },
        schema: |_| one_or_more("a method", text_like(TOKEN)),
    }
}

/// Texts to look for.
pub(super) const fn texts() -> Type<Vec<String>> {
    Type {
        read: read_texts,
        schema: |_| {
            let text = json!({"type": ["string", "integer"], "minLength": 1});
            one_or_more("a text", text)
        },
    }
}

pub(super) fn read_texts(node: &Node<'_>) -> Option<Vec<String>> {
    let read = |node: &Node<'_>| match node.value {
        Value::Integer(number) => Some(number.to_string()),
        _ => node.text().map(str::to_owned),
    };
    let texts: Vec<String> = node.one_or_more().iter().filter_map(read).collect();
    if texts.iter().any(String::is_empty) {
        node.wrong("holds an empty text: give something to look for");
    }
    Some(texts)
}
