//! Whether a condition holds, as far as an outcome has been read.

use super::request::is_like;
use super::{Condition, ErrorGroup, ResultKind, Test};
use crate::error_body::{ErrorBody, work};
use crate::policy::classify::{Class, ErrorKind};
use crate::policy::outcome::Outcome;
use crate::policy::request_line::RequestLine;
use http::Method;

/// All that a condition may look at.
pub(crate) struct Seen<'a> {
    pub(crate) outcome: &'a Outcome<'a>,
    /// The attempt that ended: 1, 2, and so on.
    pub(crate) attempt: u32,
    pub(crate) method: Option<&'a Method>,
    pub(crate) idempotent: bool,
    pub(crate) of_success: OfSuccess,
    /// Nothing more will be read: what is not known does not hold.
    pub(crate) final_word: bool,
    /// A body that is not read, not whole or ambiguous says nothing, not even behind a `not`.
    pub(crate) certain: bool,
}

/// What tests of a body say of a success.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfSuccess {
    /// That they do not hold: its body is never read.
    Nothing,
    /// Neither this nor that, not even behind a `not`: its body is not read, cut off or not understood.
    Unknown,
    /// The same as of a failure.
    All,
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
                let has = |read: &ErrorBody| read.codes.iter().any(|code| codes.contains(code));
                return seen.read(ErrorBody::has_certain_tokens, has);
            }
            Self::Message(parts) => {
                return seen.read(ErrorBody::has_certain_tokens, |read| says(read, parts));
            }
            Self::Header(tests) => outcome
                .headers()
                .is_some_and(|headers| tests.iter().any(|test| test.holds(headers))),
            Self::Json(test) => {
                let is_certain = |read: &ErrorBody| read.is_certain_at(&test.pointer);
                return seen.read(is_certain, |read| test.holds(read));
            }
            Self::Xml(test) => {
                let is_certain = |read: &ErrorBody| read.is_certain_xml(&test.tag);
                return seen.read(is_certain, |read| test.holds(read));
            }
            Self::Path(patterns) => outcome.request().is_some_and(|request| {
                let mut patterns = patterns.iter();
                patterns.any(|pattern| is_like(pattern, request.path()))
            }),
            Self::Keyed => outcome.request().is_some_and(RequestLine::is_keyed),
            Self::Method(methods) => seen.method.is_some_and(|own| methods.contains(own)),
            Self::Attempt(ranges) => ranges.iter().any(|range| range.contains(&seen.attempt)),
            Self::Retryable(wanted) => is_retryable(outcome) == *wanted,
            Self::Idempotent(wanted) => seen.idempotent == *wanted,
            Self::Any(several) => return any(several.iter().map(|when| when.holds(seen))),
            Self::All(several) => return all(several.iter().map(|when| when.holds(seen))),
            Self::Not(when) => !when.holds(seen)?,
            Self::Function(function) => {
                let holds = |read: &ErrorBody| (function.holds)(outcome, read);
                return seen.read(ErrorBody::has_certain_tokens, holds);
            }
        })
    }
}

impl Seen<'_> {
    /// Only what failed is read, and a success where a table asks for it.
    fn read(
        &self,
        is_certain: impl Fn(&ErrorBody) -> bool,
        holds: impl Fn(&ErrorBody) -> bool,
    ) -> Option<bool> {
        if self.outcome.class() == Class::Success {
            match self.of_success {
                OfSuccess::Nothing => return Some(false),
                OfSuccess::Unknown => return None,
                OfSuccess::All => {}
            }
        }
        match self.outcome.body() {
            body if self.certain && !body.is_some_and(is_certain) => None,
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

/// Whether one of these texts stands in a body or in an error's words.
fn says(read: &ErrorBody, parts: &[String]) -> bool {
    work::add(read.lower.len().saturating_mul(parts.len()));
    parts.iter().any(|part| read.lower.contains(part))
}

fn is_retryable(outcome: &Outcome<'_>) -> bool {
    matches!(outcome.class(), Class::Transient | Class::Throttled)
}

/// False beats unknown, and unknown beats true.
pub(in crate::policy::rules) fn all(tests: impl Iterator<Item = Option<bool>>) -> Option<bool> {
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
pub(in crate::policy::rules) fn any(tests: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all(tests.map(|test| test.map(|holds| !holds))).map(|none| !none)
}
