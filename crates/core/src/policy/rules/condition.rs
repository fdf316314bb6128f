//! Conditions on an outcome: what rules are made of.

mod answer;
mod holds;
mod request;
mod table;
mod value;

use answer::{HeadTest, JsonTest, XmlTest};
pub(crate) use answer::{lines, parts};
pub(crate) use holds::{OfSuccess, Seen};
pub(super) use holds::{all, any};
pub(crate) use request::is_like;
pub use table::Evidence;
pub use value::Value;
use value::Wanted;

use crate::error::ConfigError;
use http::Method;
use std::ops::{Not, RangeInclusive};
use std::sync::Arc;

/// A condition on how an attempt ended: what a [`Rule`](super::Rule) looks at, and `retry_on` and `stop_on`.
///
/// Conditions are joined by [`and`](Self::and), [`or`](Self::or) and `!`. One on what a body says makes the layer read
/// the first 64 KiB of the response where it failed and the rest of the condition holds; the body of a success is never
/// read, and says nothing.
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

/// One condition. A list means "one of".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Test {
    Outcome(ResultKind),
    Status(Vec<RangeInclusive<u16>>),
    Error(Vec<ErrorGroup>),
    /// A token in a JSON error body.
    Code(Vec<String>),
    /// A part of an error body or of an error's words, in lower case.
    Message(Vec<String>),
    Header(Vec<HeadTest>),
    Json(JsonTest),
    Xml(XmlTest),
    /// Patterns of paths.
    Path(Vec<String>),
    /// The request carries a key of idempotency.
    Keyed,
    Method(Vec<Method>),
    Attempt(Vec<RangeInclusive<u32>>),
    Retryable(bool),
    Idempotent(bool),
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Condition),
    Function(table::Function),
}

/// How an attempt ended, as far as its class goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    Ok,
    Error,
}

/// Kinds of errors, under the words that an operator uses; a document has the same words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorGroup {
    /// Any error in place of a response.
    Any,
    /// No connection came about, by refusal or in time. Nothing was sent.
    Connect,
    /// A time limit, of connecting too: [`ErrorKind::is_timeout`](crate::ErrorKind::is_timeout).
    Timeout,
    /// The connection broke before the whole answer was there, or the server closed it without processing the request.
    Reset,
    /// The host's name leads nowhere.
    Dns,
    /// The TLS handshake or a certificate failed.
    Tls,
    /// The caller's own request body failed, or the answer could not be decoded.
    Body,
}

impl Condition {
    /// Holds for every outcome. A rule after such a rule is never reached, so `build` refuses it.
    pub fn always() -> Self {
        Self::default()
    }

    /// Holds for a success, as the policy classifies it.
    pub fn success() -> Self {
        Self::of(Test::Outcome(ResultKind::Ok))
    }

    /// Holds for all but a success: for errors, and for responses that the policy does not classify as one.
    pub fn failure() -> Self {
        Self::of(Test::Outcome(ResultKind::Error))
    }

    /// Holds for responses of these statuses, each 100 to 999: a list such as `[409, 423]`, or a range such as
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
        match ranges.is_empty() {
            true => Err(ConfigError::new("status", "no status", "give at least one")),
            false => Ok(Self::of(Test::Status(ranges))),
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
        Self::of(Test::Error(vec![group]))
    }

    /// Holds where a JSON error body has this token under one of the keys that APIs use for it (`code`, `type`, `status`,
    /// `reason` and the like), written just so, at any depth. [`json`](Self::json) looks at one place only.
    ///
    /// # Errors
    ///
    /// An empty token.
    #[cfg(feature = "json")]
    pub fn code(code: impl Into<String>) -> Result<Self, ConfigError> {
        let code = not_empty("code", code.into())?;
        Ok(Self::of(Test::Code(vec![code])))
    }

    /// Holds where the start of an error body, or an error's words, contain this text; case does not matter. It makes the
    /// layer read up to 64 KiB of the body, for at most 2 s.
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
        Ok(Self::of(Test::Message(vec![part])))
    }

    /// Holds for outcomes that repeating may help, as the policy classifies them: transient or throttled.
    pub fn retryable() -> Self {
        Self::of(Test::Retryable(true))
    }

    /// Holds where both do. The body is read only if everything holds that the head tells.
    pub fn and(self, other: Self) -> Self {
        let both = [self, other];
        Self(both.iter().flat_map(|one| one.0.iter().cloned()).collect())
    }

    /// Holds where one of the two does.
    pub fn or(self, other: Self) -> Self {
        Self::of(Test::Any(vec![self, other]))
    }

    /// Holds where at least one of these does; never where there are none.
    ///
    /// ```
    /// use http_retry::rules::Condition;
    ///
    /// let paths = ["/search/*", "/export/*"].map(Condition::path);
    /// let slow = Condition::any(paths.into_iter().collect::<Result<Vec<_>, _>>()?);
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Self> = Vec::new();
        for condition in conditions {
            // Tests of one kind become one, which looks once at what it tests.
            let joined = match (all.last().map(|last| &*last.0), &*condition.0) {
                (Some([one]), [other]) => one.joined(other),
                _ => None,
            };
            if joined.is_some() {
                all.pop();
            }
            all.push(joined.map_or(condition, Self::of));
        }
        match all.pop() {
            Some(only) if all.is_empty() => only,
            last => Self::of(Test::Any(all.into_iter().chain(last).collect())),
        }
    }

    /// Holds where all of these do.
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::of(Test::All(conditions.into_iter().collect()))
    }

    fn of(test: Test) -> Self {
        Self([test].into())
    }
}

impl Test {
    /// Returns one test that holds where one of the two does, if they are of one kind.
    fn joined(&self, other: &Self) -> Option<Self> {
        fn both<T: Clone>(one: &[T], other: &[T]) -> Vec<T> {
            [one, other].concat()
        }
        Some(match (self, other) {
            (Self::Error(one), Self::Error(other)) => Self::Error(both(one, other)),
            (Self::Code(one), Self::Code(other)) => Self::Code(both(one, other)),
            (Self::Message(one), Self::Message(other)) => Self::Message(both(one, other)),
            (Self::Header(one), Self::Header(other)) => Self::Header(both(one, other)),
            (Self::Path(one), Self::Path(other)) => Self::Path(both(one, other)),
            (Self::Method(one), Self::Method(other)) => Self::Method(both(one, other)),
            (Self::Attempt(one), Self::Attempt(other)) => Self::Attempt(both(one, other)),
            _ => return None,
        })
    }
}

impl Not for Condition {
    type Output = Self;

    /// Holds where the condition does not. A condition on what a body says does not hold for a success, so its `!` does.
    fn not(self) -> Self {
        Self::of(Test::Not(self))
    }
}

fn not_empty(field: &'static str, text: String) -> Result<String, ConfigError> {
    match text.is_empty() {
        true => Err(ConfigError::new(
            field,
            "an empty text",
            "give something to look for",
        )),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests;
