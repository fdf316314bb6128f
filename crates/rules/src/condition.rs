//! Conditions on an outcome, as used in rules and lists.

mod answer;
mod request;
mod table;
mod value;
mod words;

use crate::error_body::ReadBody;
#[cfg(feature = "json")]
use answer::has_at;
use answer::{HeadTest, UsageTest};
use http::Method;
use http_retry_core::policy::{ErrorBody, Pointer};
use http_retry_core::reading::{all_hold, any_holds};
use http_retry_core::route::RequestHead;
use http_retry_core::rules::{BodyView, ConditionInput, Predicate};
use http_retry_core::{Class, ConfigError, ErrorKind, Outcome};
use std::fmt;
use std::ops::{Not, RangeInclusive};
use std::sync::Arc;
pub use value::Value;
use value::ValueTest;

/// A condition on the outcome of an attempt, for a [`Rule`](http_retry_core::rules::Rule), for `retry_on` and for `stop_on`.
///
/// Conditions are joined by [`and`](Self::and), [`or`](Self::or) and `!`. A condition on the content of a body makes
/// the layer read the first 64 KiB of the response if it failed and the rest of the condition holds. The body of a
/// success is never read, and such a condition does not hold for it.
///
/// ```
/// use http_retry::rules::{Condition, ErrorGroup};
///
/// let busy = Condition::status([409, 423])?.and(Condition::message("locked")?);
/// let lost = Condition::error(ErrorGroup::Reset).and(Condition::attempt(..=2)?);
/// let either = busy.or(lost);
/// let other_failures = Condition::status(500..=599)?.and(!Condition::status([501])?);
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Condition(pub(crate) Arc<[Test]>);

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Test {
    /// A success, as the policy classifies it.
    Success(bool),
    /// One of these ranges.
    Status(Vec<RangeInclusive<u16>>),
    Error(ErrorGroup),
    /// A token in a JSON error body.
    #[cfg(feature = "json")]
    Code(String),
    /// A part of an error body or of an error's text, in lower case.
    Message(String),
    Header(HeadTest),
    Usage(UsageTest),
    /// A value at a location in a JSON body.
    #[cfg(feature = "json")]
    Json {
        pointer: Pointer,
        wanted: ValueTest,
    },
    /// The first element with this name in an XML error, with one of these texts.
    Xml {
        tag: String,
        texts: Vec<String>,
    },
    /// The pattern of a path.
    Path(String),
    /// An idempotency key on the request.
    Keyed,
    Method(Method),
    Attempt(RangeInclusive<u32>),
    Retryable(bool),
    Idempotent(bool),
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Condition),
    Function(table::Function),
}

/// A group of error kinds, under the name that an operator uses; documents use the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorGroup {
    /// Any error in place of a response.
    Any,
    /// No connection was established: it was refused, or it took too long. Nothing was sent.
    Connect,
    /// A time limit, including one on connecting: [`ErrorKind::is_timeout`](http_retry_core::ErrorKind::is_timeout).
    Timeout,
    /// The connection broke before the response was complete, or the server closed it without processing the request.
    Reset,
    /// The host name could not be resolved.
    Dns,
    /// The TLS handshake or a certificate failed.
    Tls,
    /// The caller's own request body failed, or the response could not be decoded.
    Body,
}

impl Condition {
    /// Holds for every outcome. A rule after such a rule is never reached, so `build` refuses it.
    pub fn always() -> Self {
        Self::default()
    }

    /// Holds for a success, as the policy classifies it.
    pub fn success() -> Self {
        Self::of(Test::Success(true))
    }

    /// Holds for all but a success: for errors, and for responses that the policy does not classify as one.
    pub fn failure() -> Self {
        Self::of(Test::Success(false))
    }

    /// Holds for responses with one of these statuses, each 100 to 999: a list such as `[409, 423]`, or a range such as
    /// `500..=599`. An error that was made from a response counts by its status.
    ///
    /// ```
    /// use http_retry::rules::Condition;
    ///
    /// let locked = Condition::status([409, 423])?;
    /// let failed = Condition::status(500..=599)?;
    /// assert!(Condition::status([]).is_err());
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No status, or one out of bounds.
    pub fn status(statuses: impl IntoIterator<Item = u16>) -> Result<Self, ConfigError> {
        let mut ranges: Vec<RangeInclusive<u16>> = Vec::new();
        for status in statuses {
            if !(100..=999).contains(&status) {
                return Err(ConfigError::new("status", status, "must be 100 to 999"));
            }
            // Adjacent statuses share one range, so that `500..=599` is one comparison.
            match ranges.pop() {
                Some(last) if last.end().checked_add(1) == Some(status) => {
                    ranges.push(*last.start()..=status);
                }
                last => {
                    ranges.extend(last);
                    ranges.push(status..=status);
                }
            }
        }
        if ranges.is_empty() {
            Err(ConfigError::new("status", "no status", "give at least one"))
        } else {
            Ok(Self::of(Test::Status(ranges)))
        }
    }

    /// Holds for errors of this group; never for a response.
    ///
    /// ```
    /// use http_retry::rules::{Condition, ErrorGroup};
    ///
    /// let lost = Condition::error(ErrorGroup::Reset).or(Condition::error(ErrorGroup::Timeout));
    /// ```
    pub fn error(group: ErrorGroup) -> Self {
        Self::of(Test::Error(group))
    }

    /// Holds if a JSON error body has exactly this token, at any depth, under one of the keys that APIs use for it
    /// (`code`, `type`, `status`, `reason` and the like). [`json`](Self::json) looks at one location only. It needs the
    /// feature `json` (in `http-retry`: `dialects`).
    ///
    /// # Errors
    ///
    /// An empty token.
    #[cfg(feature = "json")]
    pub fn code(code: impl Into<String>) -> Result<Self, ConfigError> {
        let code = not_empty("code", code.into())?;
        Ok(Self::of(Test::Code(code)))
    }

    /// Holds if the start of an error body, or an error's text, contains this text; case is ignored. It makes the layer
    /// read up to 64 KiB of the body, for at most 2 s.
    ///
    /// ```
    /// use http_retry::rules::Condition;
    ///
    /// let locked = Condition::status([409])?.and(Condition::message("is locked")?);
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An empty text.
    pub fn message(part: impl AsRef<str>) -> Result<Self, ConfigError> {
        let part = not_empty("message", part.as_ref().to_lowercase())?;
        Ok(Self::of(Test::Message(part)))
    }

    /// Holds for outcomes that the policy classifies as transient or throttled, so that repeating may help.
    pub fn retryable() -> Self {
        Self::of(Test::Retryable(true))
    }

    /// Holds if both do. The body is read only if all tests of the head hold.
    pub fn and(self, other: Self) -> Self {
        // One flat list, so that a test of the head that fails saves reading the body, wherever it stands.
        let both = [self, other];
        Self(both.iter().flat_map(|one| one.0.iter().cloned()).collect())
    }

    /// Holds if one of the two does.
    pub fn or(self, other: Self) -> Self {
        Self::of(Test::Any(vec![self, other]))
    }

    /// Holds if at least one of these does; never if there are none.
    ///
    /// ```
    /// use http_retry::rules::Condition;
    ///
    /// let paths = ["/search/*", "/export/*"].map(Condition::path);
    /// let slow = Condition::any(paths.into_iter().collect::<Result<Vec<_>, _>>()?);
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        let all: Vec<Self> = conditions.into_iter().collect();
        match <[Self; 1]>::try_from(all) {
            Ok([only]) => only,
            Err(all) => Self::of(Test::Any(all)),
        }
    }

    /// Holds if all of these do.
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Test::All(conditions.into_iter().collect()))
    }

    fn of(test: Test) -> Self {
        Self([test].into())
    }
}

impl Not for Condition {
    type Output = Self;

    /// Holds if the condition does not. A condition on the content of a body does not hold for a success, so its `!`
    /// does.
    fn not(self) -> Self {
        Self::of(Test::Not(self))
    }
}

fn not_empty(field: &'static str, text: String) -> Result<String, ConfigError> {
    if text.is_empty() {
        Err(ConfigError::new(
            field,
            "an empty text",
            "give something to look for",
        ))
    } else {
        Ok(text)
    }
}

impl Predicate for Condition {
    fn holds(&self, input: &ConditionInput<'_>) -> Option<bool> {
        all_hold(self.0.iter().map(|test| test.holds(input)))
    }

    fn pointers(&self) -> Vec<Pointer> {
        Self::pointers(self)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }

    fn is_always(&self) -> bool {
        self.0.is_empty()
    }

    fn may_hold_for_success(&self) -> bool {
        self.0.iter().all(Test::may_hold_for_success)
    }

    fn path_starts(&self) -> Vec<&str> {
        first_known(self.0.iter().map(Test::path_starts))
    }
}

impl Test {
    fn holds(&self, input: &ConditionInput<'_>) -> Option<bool> {
        let outcome = input.outcome;
        Some(match self {
            Self::Success(wanted) => (outcome.class() == Class::Success) == *wanted,
            Self::Status(ranges) => outcome.status().is_some_and(|status| {
                let status = status.as_u16();
                ranges.iter().any(|range| range.contains(&status))
            }),
            Self::Error(group) => outcome.error_kind().is_some_and(|kind| group.covers(kind)),
            // Tests of a body return early: unlike those of the head, they may be undecided.
            #[cfg(feature = "json")]
            Self::Code(code) => {
                let has = |body: &ErrorBody| body.codes().contains(code);
                return read(input, ErrorBody::is_unambiguous, has);
            }
            Self::Message(part) => {
                return read(input, ErrorBody::is_unambiguous, |body| body.contains(part));
            }
            Self::Header(test) => test.holds(outcome),
            Self::Usage(test) => test.holds(outcome),
            #[cfg(feature = "json")]
            Self::Json { pointer, wanted } => {
                let is_certain = |body: &ErrorBody| body.is_certain_at(pointer);
                return read(input, is_certain, |body| has_at(body, pointer, wanted));
            }
            Self::Xml { tag, texts } => {
                let is_certain = |body: &ErrorBody| body.is_certain_xml(tag);
                let is_one_of_them = |content: &str| texts.iter().any(|text| text == content);
                return read(input, is_certain, |body| {
                    body.xml(tag).is_some_and(is_one_of_them)
                });
            }
            Self::Path(pattern) => outcome
                .request()
                .is_some_and(|request| request.has_path(pattern)),
            Self::Keyed => outcome.request().and_then(RequestHead::is_keyed) == Some(true),
            Self::Method(method) => input.method == Some(method),
            Self::Attempt(range) => range.contains(&input.attempt),
            Self::Retryable(wanted) => is_retryable(outcome) == *wanted,
            Self::Idempotent(wanted) => input.idempotent == *wanted,
            Self::Any(conditions) => {
                return any_holds(conditions.iter().map(|one| one.holds(input)));
            }
            Self::All(conditions) => {
                return all_hold(conditions.iter().map(|one| one.holds(input)));
            }
            // `?` keeps an undecided result undecided: `not` must not turn an unread body into a match.
            Self::Not(condition) => !condition.holds(input)?,
            Self::Function(function) => {
                let holds = |body: &ErrorBody| (function.holds)(outcome, body);
                return read(input, ErrorBody::is_unambiguous, holds);
            }
        })
    }
}

impl Test {
    /// Returns `true` if it may hold for a success whose body is not read.
    fn may_hold_for_success(&self) -> bool {
        match self {
            Self::Success(wanted) => *wanted,
            Self::Status(ranges) => ranges.iter().any(|range| *range.start() < 400),
            Self::Retryable(wanted) => !wanted,
            #[cfg(feature = "json")]
            Self::Code(_) | Self::Json { .. } => false,
            Self::Error(_) | Self::Message(_) | Self::Xml { .. } | Self::Function(_) => false,
            Self::Any(conditions) => conditions.iter().any(Condition::may_hold_for_success),
            Self::All(conditions) => conditions.iter().all(Condition::may_hold_for_success),
            // What it negates may be undecided for a success, or not hold for it.
            Self::Not(_) => true,
            Self::Header(_)
            | Self::Usage(_)
            | Self::Path(_)
            | Self::Keyed
            | Self::Method(_)
            | Self::Attempt(_)
            | Self::Idempotent(_) => true,
        }
    }

    /// Returns the starts of the paths that it holds for, or none if it may hold for any path.
    fn path_starts(&self) -> Vec<&str> {
        match self {
            Self::Path(pattern) => {
                let start = pattern.split('*').next().unwrap_or_default();
                // `/v1/*` matches `/v1` too.
                let start = start.trim_end_matches('/');
                Some(start)
                    .filter(|start| !start.is_empty())
                    .into_iter()
                    .collect()
            }
            Self::Any(conditions) => {
                let starts: Vec<_> = conditions.iter().map(Condition::path_starts).collect();
                let is_open = starts.iter().any(Vec::is_empty);
                if is_open { Vec::new() } else { starts.concat() }
            }
            Self::All(conditions) => first_known(conditions.iter().map(Condition::path_starts)),
            _ => Vec::new(),
        }
    }
}

/// Returns the starts of paths of one test, if there is any: all tests must hold, so those of one are enough.
fn first_known<'a>(mut starts: impl Iterator<Item = Vec<&'a str>>) -> Vec<&'a str> {
    let known = starts.find(|starts| !starts.is_empty());
    known.unwrap_or_default()
}

/// Runs a test of the body. Only failures are read, and successes if a table asks for it.
fn read(
    input: &ConditionInput<'_>,
    is_certain: impl Fn(&ErrorBody) -> bool,
    holds: impl Fn(&ErrorBody) -> bool,
) -> Option<bool> {
    let body = input.outcome.body();
    if input.outcome.class() == Class::Success {
        if !input.reads_successes {
            return Some(false);
        }
        // A body that is cut off or not understood must not turn a success into a failure.
        if input.view == BodyView::Head || !body.is_some_and(ErrorBody::is_understood) {
            return None;
        }
    }
    match (input.view, body) {
        // Before the next arm: a body that can be read in two ways decides nothing here.
        (BodyView::Certain, body) if !body.is_some_and(is_certain) => None,
        (_, Some(body)) => Some(holds(body)),
        (BodyView::Head, None) => None,
        (_, None) => Some(false),
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

fn is_retryable(outcome: &Outcome<'_>) -> bool {
    matches!(outcome.class(), Class::Transient | Class::Throttled)
}

#[cfg(test)]
mod tests;
