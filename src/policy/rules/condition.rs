//! Conditions on an outcome: what the rules of a document are made of.

use crate::policy::classify::{Class, ErrorKind};
use crate::policy::error_body::ErrorBody;
use crate::policy::outcome::Outcome;
use http::{HeaderMap, HeaderName, Method};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// All of its tests must hold; with none it always does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Condition(pub(crate) Arc<[Test]>);

/// One condition. A list means "one of".
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "documents make it")
)]
pub(crate) enum Test {
    Outcome(ResultKind),
    Status(Vec<RangeInclusive<u16>>),
    Error(Vec<ErrorGroup>),
    /// A token in a JSON error body.
    Code(Vec<String>),
    /// A part of an error body or of an error's words, in lower case.
    Message(Vec<String>),
    Header(Vec<HeaderTest>),
    Method(Vec<Method>),
    Attempt(Vec<RangeInclusive<u32>>),
    Retryable(bool),
    Idempotent(bool),
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Condition),
}

/// How an attempt ended, as far as its class goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "documents make it")
)]
pub(crate) enum ResultKind {
    Ok,
    Error,
}

/// Kinds of errors under the words that an operator uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "documents make it")
)]
pub(crate) enum ErrorGroup {
    Any,
    Connect,
    Timeout,
    Reset,
    Dns,
    Tls,
    Body,
}

/// A response header that is there, or that has one of these values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderTest {
    pub(crate) name: HeaderName,
    pub(crate) values: Option<Vec<String>>,
}

/// All that a condition may look at.
pub(crate) struct Seen<'a> {
    pub(crate) outcome: &'a Outcome<'a>,
    /// The attempt that ended: 1, 2, and so on.
    pub(crate) attempt: u32,
    pub(crate) method: Option<&'a Method>,
    pub(crate) idempotent: bool,
    /// Nothing more will be read: what is not known does not hold.
    pub(crate) final_word: bool,
}

impl Condition {
    /// Whether all tests hold; nothing where that depends on what has not been read yet.
    pub(crate) fn holds(&self, seen: &Seen<'_>) -> Option<bool> {
        all(self.0.iter().map(|test| test.holds(seen)))
    }

    pub(crate) fn is_always(&self) -> bool {
        self.0.is_empty()
    }
}

impl Test {
    fn holds(&self, seen: &Seen<'_>) -> Option<bool> {
        let outcome = seen.outcome;
        Some(match self {
            Self::Outcome(ResultKind::Ok) => outcome.class() == Class::Success,
            Self::Outcome(ResultKind::Error) => outcome.class() != Class::Success,
            Self::Status(ranges) => outcome.status().is_some_and(|status| {
                let status = status.as_u16();
                ranges.iter().any(|range| range.contains(&status))
            }),
            Self::Error(troubles) => outcome
                .error_kind()
                .is_some_and(|kind| troubles.iter().any(|trouble| trouble.covers(kind))),
            Self::Code(codes) => {
                return seen.read(|read| read.codes.iter().any(|code| codes.contains(code)));
            }
            Self::Message(parts) => {
                return seen.read(|read| parts.iter().any(|part| read.text.contains(part)));
            }
            Self::Header(tests) => outcome
                .headers()
                .is_some_and(|headers| tests.iter().any(|test| test.holds(headers))),
            Self::Method(methods) => seen.method.is_some_and(|own| methods.contains(own)),
            Self::Attempt(ranges) => ranges.iter().any(|range| range.contains(&seen.attempt)),
            Self::Retryable(wanted) => is_retryable(outcome) == *wanted,
            Self::Idempotent(wanted) => seen.idempotent == *wanted,
            Self::Any(several) => return any(several.iter().map(|when| when.holds(seen))),
            Self::All(several) => return all(several.iter().map(|when| when.holds(seen))),
            Self::Not(when) => !when.holds(seen)?,
        })
    }
}

impl Seen<'_> {
    /// Only what failed is read: the body of a success belongs to the caller alone.
    fn read(&self, holds: impl Fn(&ErrorBody) -> bool) -> Option<bool> {
        if self.outcome.class() == Class::Success {
            return Some(false);
        }
        match self.outcome.error_body() {
            Some(body) => Some(holds(body)),
            None => self.final_word.then_some(false),
        }
    }
}

impl ErrorGroup {
    fn covers(self, kind: ErrorKind) -> bool {
        match self {
            Self::Any => true,
            Self::Connect => matches!(kind, ErrorKind::Connect | ErrorKind::ConnectTimeout),
            Self::Timeout => kind.is_timeout(),
            Self::Reset => matches!(
                kind,
                ErrorKind::Reset
                    | ErrorKind::Incomplete
                    | ErrorKind::Http2
                    | ErrorKind::NotProcessed
            ),
            Self::Dns => kind == ErrorKind::Dns,
            Self::Tls => matches!(kind, ErrorKind::Tls | ErrorKind::Certificate),
            Self::Body => matches!(kind, ErrorKind::Body | ErrorKind::Decode),
        }
    }
}

impl HeaderTest {
    fn holds(&self, headers: &HeaderMap) -> bool {
        let mut found = headers.get_all(&self.name).iter();
        match &self.values {
            None => found.next().is_some(),
            Some(wanted) => found.any(|value| {
                let value = value.as_bytes().trim_ascii();
                wanted
                    .iter()
                    .any(|wanted| value.eq_ignore_ascii_case(wanted.as_bytes()))
            }),
        }
    }
}

fn is_retryable(outcome: &Outcome<'_>) -> bool {
    matches!(outcome.class(), Class::Transient | Class::Throttled)
}

/// False beats unknown, and unknown beats true.
pub(super) fn all(tests: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = true;
    for test in tests {
        match test {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = false,
        }
    }
    known.then_some(true)
}

/// True beats unknown, and unknown beats false.
pub(super) fn any(tests: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all(tests.map(|test| test.map(|holds| !holds))).map(|none| !none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;

    fn holds(test: Test, outcome: &Outcome<'_>, final_word: bool) -> Option<bool> {
        Condition([test].into()).holds(&Seen {
            outcome,
            attempt: 1,
            method: Some(&Method::GET),
            idempotent: true,
            final_word,
        })
    }

    fn message() -> Test {
        Test::Message(vec!["slow down".into()])
    }

    fn status(range: RangeInclusive<u16>) -> Test {
        Test::Status(vec![range])
    }

    #[test]
    fn what_has_not_been_read_is_unknown_until_nothing_more_will_be() {
        let headers = HeaderMap::new();
        let failed = Outcome::response(StatusCode::BAD_REQUEST, &headers);
        assert_eq!(holds(message(), &failed, false), None);
        assert_eq!(holds(message(), &failed, true), Some(false));
        let body = ErrorBody {
            text: "please slow down now".into(),
            ..ErrorBody::default()
        };
        let read = failed.with_error_body(&body);
        assert_eq!(holds(message(), &read, false), Some(true));
    }

    #[test]
    fn a_test_of_the_head_that_fails_makes_reading_needless() {
        let headers = HeaderMap::new();
        let failed = Outcome::response(StatusCode::BAD_REQUEST, &headers);
        let when = |first| {
            Test::All(vec![
                Condition([message()].into()),
                Condition([first].into()),
            ])
        };
        assert_eq!(holds(when(status(500..=599)), &failed, false), Some(false));
        assert_eq!(holds(when(status(400..=499)), &failed, false), None);
        let either = |second| {
            Test::Any(vec![
                Condition([message()].into()),
                Condition([second].into()),
            ])
        };
        assert_eq!(holds(either(status(400..=499)), &failed, false), Some(true));
        assert_eq!(
            holds(Test::Not(Condition([message()].into())), &failed, false),
            None
        );
    }

    #[test]
    fn the_body_of_a_success_is_never_needed() {
        let headers = HeaderMap::new();
        let fine = Outcome::response(StatusCode::OK, &headers);
        assert_eq!(holds(message(), &fine, false), Some(false));
    }

    #[test]
    fn a_header_is_there_or_has_one_of_the_values() {
        let mut headers = HeaderMap::new();
        headers.append("x-reason", http::HeaderValue::from_static(" Busy "));
        let outcome = Outcome::response(StatusCode::BAD_REQUEST, &headers);
        let test = |name: &'static str, values: Option<&str>| {
            let values = values.map(|value| vec![value.to_owned()]);
            let name = HeaderName::from_static(name);
            holds(
                Test::Header(vec![HeaderTest { name, values }]),
                &outcome,
                true,
            )
        };
        assert_eq!(test("x-reason", None), Some(true));
        assert_eq!(test("x-reason", Some("busy")), Some(true));
        assert_eq!(test("x-reason", Some("bus")), Some(false));
        assert_eq!(test("x-other", None), Some(false));
    }
}
