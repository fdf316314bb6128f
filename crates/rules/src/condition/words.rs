//! Conditions as text for people. The values that headers and bodies are compared with are left out, since they can be
//! secrets.

use super::{Condition, ErrorGroup, Test};
use http_retry_core::reading::joined;
use std::fmt::{self, Display};

/// Writes the condition as an explanation shows it: `status 429 and a code in the body`. What a header or a body is
/// compared with is left out. The wording may change.
///
/// ```
/// use http_retry::rules::{Condition, ErrorGroup};
///
/// let busy = Condition::status([409, 423])?.and(Condition::message("locked")?);
/// let lost = Condition::error(ErrorGroup::Reset).and(Condition::attempt(..=2)?);
/// let text = busy.or(lost).to_string();
/// assert_eq!(text, "(status 409 or 423 and a text in the body) or (error reset and attempt 1 to 2)");
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
impl Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            [] => f.write_str("always"),
            tests => f.write_str(&joined(tests, " and ")),
        }
    }
}

impl Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success(true) => f.write_str("a success"),
            Self::Success(false) => f.write_str("no success"),
            Self::Status(ranges) => {
                f.write_str("status ")?;
                let ranges: Vec<String> = ranges
                    .iter()
                    .map(|range| match (*range.start(), *range.end()) {
                        (first, last) if first == last => first.to_string(),
                        (first, last) if first % 100 == 0 && last == first.saturating_add(99) => {
                            format!("{}xx", first / 100)
                        }
                        (first, last) if last == first.saturating_add(1) => {
                            format!("{first} or {last}")
                        }
                        (first, last) => format!("{first} to {last}"),
                    })
                    .collect();
                f.write_str(&joined(&ranges, " or "))
            }
            Self::Error(group) => write!(f, "error {group}"),
            #[cfg(feature = "json")]
            Self::Code(_) => f.write_str("a code in the body"),
            Self::Message(_) => f.write_str("a text in the body"),
            Self::Header(test) => match &test.part {
                Some(part) => write!(f, "the part {part:?} of the header {}", test.name),
                None => write!(f, "the header {}", test.name),
            },
            Self::Usage(_) => f.write_str("a used-up quota in headers"),
            #[cfg(feature = "json")]
            Self::Json { .. } => f.write_str("a place in a JSON body"),
            Self::Xml { .. } => f.write_str("an element of an XML body"),
            Self::Path(pattern) => write!(f, "path {}", pattern.escape_debug()),
            Self::Keyed => f.write_str("an idempotency key"),
            Self::Method(method) => write!(f, "method {method}"),
            Self::Attempt(range) => match (*range.start(), *range.end()) {
                (first, last) if first == last => write!(f, "attempt {first}"),
                (first, u32::MAX) => write!(f, "attempt {first} or later"),
                (first, last) => write!(f, "attempt {first} to {last}"),
            },
            Self::Retryable(true) => f.write_str("a retryable class"),
            Self::Retryable(false) => f.write_str("no retryable class"),
            Self::Idempotent(true) => f.write_str("an idempotent request"),
            Self::Idempotent(false) => f.write_str("a request that is not idempotent"),
            Self::Any(conditions) => f.write_str(&joined(&grouped(conditions), " or ")),
            Self::All(conditions) => f.write_str(&joined(&grouped(conditions), " and ")),
            Self::Not(condition) => write!(f, "not ({condition})"),
            Self::Function(_) => f.write_str("a function"),
        }
    }
}

impl Display for ErrorGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Dns => "dns",
            Self::Tls => "tls",
            Self::Body => "body",
        })
    }
}

/// Conditions as parts of a longer one: those of several tests stand in brackets.
fn grouped(conditions: &[Condition]) -> Vec<String> {
    let grouped = conditions.iter().map(|condition| match &*condition.0 {
        [] | [_] => condition.to_string(),
        _ => format!("({condition})"),
    });
    grouped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use http::{HeaderName, Method};

    #[test]
    fn no_condition_shows_what_a_header_or_a_body_is_compared_with() {
        let name = || HeaderName::from_static("x-key");
        let conditions = [
            Condition::message("hush"),
            Condition::head(name(), "hush"),
            Condition::head_part(name(), "day", Value::starts("hush")),
            Ok(Condition::header_is(name(), "hush")),
            Condition::xml("Code", ["hush"]),
            #[cfg(feature = "json")]
            Condition::json("/error/code", "hush"),
            #[cfg(feature = "json")]
            Condition::code("hush"),
        ];
        for condition in conditions {
            let text = condition.unwrap().to_string();
            assert!(!text.contains("hush") && !text.is_empty(), "{text}");
        }
    }

    #[test]
    fn conditions_are_written_in_words() {
        let status = |statuses: std::ops::RangeInclusive<u16>| Condition::status(statuses).unwrap();
        let of_get = Condition::method(Method::GET).and(Condition::path("/v1/*").unwrap());
        for (condition, text) in [
            (Condition::always(), "always"),
            (status(500..=599), "status 5xx"),
            (status(500..=503), "status 500 to 503"),
            (!status(501..=501), "not (status 501)"),
            (of_get, "method GET and path /v1/*"),
            (Condition::attempt(3..).unwrap(), "attempt 3 or later"),
            (
                Condition::failure().and(Condition::idempotent()),
                "no success and an idempotent request",
            ),
        ] {
            assert_eq!(condition.to_string(), text);
        }
        let many = Condition::status((400..440).step_by(2))
            .unwrap()
            .to_string();
        assert!(many.ends_with(" or 418 or 10 more"), "{many}");
    }
}
