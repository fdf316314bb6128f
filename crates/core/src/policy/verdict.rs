//! A classifier's verdict on an outcome.

use super::classify::{Class, Reach};
use super::outcome::Outcome;
use super::reason::Reason;
use super::scope::Scope;
use crate::server_hints::RetryTime;
use http::HeaderMap;
use std::time::Duration;

/// A classifier's verdict on an outcome: what it means for a retry, and what else the classifier found.
///
/// A pair of class and reach is a verdict with nothing else.
///
/// ```
/// use http_retry::policy::{Reason, Verdict};
/// use http_retry::{Class, Reach};
/// use std::time::Duration;
///
/// // "Your plan allows one export a minute; try again in 40 seconds."
/// let verdict = Verdict::new(Class::Throttled, Reach::Refused)
///     .because(Reason::RateLimited)
///     .asking_for(Duration::from_secs(40));
/// assert_eq!(verdict.asked, Some(Duration::from_secs(40)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// What the outcome means for a retry.
    pub class: Class,
    /// How far the attempt got.
    pub reach: Reach,
    /// The reason, in terms that the caller can act on.
    pub reason: Option<Reason>,
    /// The wait that the server asks for in the body of its answer; a header that says when to come back takes precedence.
    /// A longer one than the policy's `max_server_delay` stops the request. Default none.
    pub asked: Option<Duration>,
    /// The shortest wait, whatever the server asks for. It doubles with each repetition, up to the policy's longest
    /// delay. Default none.
    pub at_least: Option<Duration>,
    /// Whom a rate limit stops; calls that it stops wait together at the gate. Default as [`Scope::Account`].
    pub scope: Option<Scope>,
    /// The latest point in time that the server asks to wait for, since 1970.
    pub(super) until: Option<Duration>,
    /// The resets of quotas in the headers do not count.
    pub(super) ignores_resets: bool,
    /// No header of the server makes it transient.
    pub(super) firm: bool,
    /// The row of a table that gave it.
    pub(super) row: Option<RowId>,
}

impl Verdict {
    /// A verdict of this class and reach, with nothing else.
    #[must_use]
    pub fn new(class: Class, reach: Reach) -> Self {
        Self {
            class,
            reach,
            reason: None,
            asked: None,
            at_least: None,
            scope: None,
            until: None,
            ignores_resets: false,
            firm: false,
            row: None,
        }
    }

    /// The same verdict with its reason, which the report tells.
    #[must_use]
    pub fn because(self, reason: Reason) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }

    /// The same verdict with the wait that the body of the answer asks for, in the place of one given before.
    #[must_use]
    pub fn asking_for(self, asked: Duration) -> Self {
        Self {
            asked: Some(asked),
            ..self
        }
    }

    /// The same verdict with the shortest wait, also where the server asks for less. One longer than `max_server_delay` stops
    /// the request; [`ServerDelays::Ignore`](crate::rules::ServerDelays::Ignore) drops it.
    #[must_use]
    pub fn at_least(self, least: Duration) -> Self {
        Self {
            at_least: Some(least),
            ..self
        }
    }

    /// The same verdict on a limit that stops these calls.
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        Self {
            scope: Some(scope),
            ..self
        }
    }

    /// The same verdict, which no header makes transient: `x-should-retry: true` does not overrule it.
    #[must_use]
    pub fn firm(self) -> Self {
        Self { firm: true, ..self }
    }

    /// The same verdict, whose delay replaces the resets of quotas in the headers: for a row that reads such a header in a
    /// unit of its own.
    #[must_use]
    pub fn ignoring_resets(self) -> Self {
        Self {
            ignores_resets: true,
            ..self
        }
    }

    /// The same verdict, given by this row of a table: what
    /// [`Classify::row_name`](super::Classify::row_name) gets.
    #[must_use]
    pub fn by_row(self, row: u32) -> Self {
        self.by(row, false)
    }

    /// The same verdict, given by a row that has a name of its own: reports call its table `rules`.
    #[must_use]
    pub fn by_rule(self, row: u32) -> Self {
        self.by(row, true)
    }

    fn by(self, row: u32, is_rule: bool) -> Self {
        let row = RowId {
            classifier: 0,
            row,
            is_rule,
        };
        Self {
            row: Some(row),
            ..self
        }
    }

    /// The same verdict, given by the classifier at this place of a policy's list.
    pub(super) fn of_classifier(self, classifier: u16) -> Self {
        let row = self.row.map(|row| RowId { classifier, ..row });
        Self { row, ..self }
    }

    /// The same verdict with one more time at which the response lets the client come back; of several the latest counts.
    #[must_use]
    pub fn asking(mut self, time: RetryTime) -> Self {
        match time {
            RetryTime::In(delay) => self.asked = self.asked.max(Some(delay)),
            RetryTime::At(time) => self.until = self.until.max(Some(time)),
        }
        self
    }
}

impl From<(Class, Reach)> for Verdict {
    fn from((class, reach): (Class, Reach)) -> Self {
        Self::new(class, reach)
    }
}

/// What a function says of an error: a [`Verdict`], or class and reach alone, or an `Option` of one of these; `()` leaves
/// the error to others.
///
/// A closure that never says anything returns `()`, since the type of a bare `None` is not known.
///
/// ```
/// use http_retry::{Class, Reach, RetryPolicy};
/// use std::fmt::Error;
/// use std::num::{ParseFloatError, ParseIntError};
///
/// let policy = RetryPolicy::builder()
///     .classify_error(|_: &Error| (Class::Transient, Reach::Ambiguous))
///     .classify_error(|error: &ParseIntError| {
///         let retry = (Class::Transient, Reach::Unsent);
///         error.to_string().contains("empty").then_some(retry)
///     })
///     .classify_error(|_: &ParseFloatError| ()) // its source chain says what it means
///     .build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
pub trait IntoVerdict {
    /// The verdict, if there is one.
    fn into_verdict(self) -> Option<Verdict>;
}

impl IntoVerdict for Verdict {
    fn into_verdict(self) -> Option<Verdict> {
        Some(self)
    }
}

impl IntoVerdict for (Class, Reach) {
    fn into_verdict(self) -> Option<Verdict> {
        Some(self.into())
    }
}

impl<V: Into<Verdict>> IntoVerdict for Option<V> {
    fn into_verdict(self) -> Option<Verdict> {
        self.map(Into::into)
    }
}

impl IntoVerdict for () {
    fn into_verdict(self) -> Option<Verdict> {
        None
    }
}

/// A row of one of a policy's classifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowId {
    /// The place of the classifier in the policy's list.
    pub(super) classifier: u16,
    pub(super) row: u32,
    /// The row has a name of its own.
    pub(crate) is_rule: bool,
}

/// The names of errors by which the APIs of AWS say that they throttle, in headers and in bodies. The header rules know
/// them too.
///
/// # Source
///
/// botocore, `retries/standard.py`, `ThrottledRetryableChecker`.
pub const AWS_THROTTLES: [&str; 14] = [
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottledException",
    "RequestThrottled",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "TransactionInProgressException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "LimitExceededException",
    "SlowDown",
    "PriorRequestNotComplete",
    "EC2ThrottledException",
];

/// Returns what the headers of a response say beyond the status table.
pub(super) fn by_headers(outcome: &Outcome<'_>) -> Option<Verdict> {
    let by_status = Verdict::new(outcome.class(), Reach::Answered);
    let verdict = if is_throttled(outcome) {
        Verdict::new(Class::Throttled, Reach::Refused)
    } else {
        by_status
    };
    let verdict = verdict.overruled_by_headers(outcome);
    (verdict != by_status).then_some(verdict)
}

/// Returns `true` if the headers of a failure name a throttle that its status does not.
fn is_throttled(outcome: &Outcome<'_>) -> bool {
    let (Some(status), Some(headers)) = (outcome.status(), outcome.headers()) else {
        return false;
    };
    match status.as_u16() {
        // A 403 refuses by definition; a permission error with the last call of a quota costs one try in vain.
        403 => names_a_time(outcome) || names_a_throttle(headers),
        400..=499 => names_a_throttle(headers),
        _ => false,
    }
}

impl Verdict {
    /// The same verdict, unless the response has `x-should-retry` or `stripe-should-retry`: `false` makes it permanent, and
    /// `true` makes a permanent one transient. A retry that the server wants is no proof that it has done nothing.
    ///
    /// The header rules do this to the verdict of a dialect.
    #[must_use]
    pub fn overruled_by_headers(self, outcome: &Outcome<'_>) -> Self {
        let Some(wanted) = outcome.headers().and_then(should_retry) else {
            return self;
        };
        let (class, reach, reason) = match (self.class, wanted) {
            (Class::Transient | Class::Throttled, false) => {
                (Class::Permanent, self.reach, Reason::ServerSaidNo)
            }
            (Class::Permanent, true) if !self.firm => {
                (Class::Transient, Reach::Answered, Reason::ServerSaidRetry)
            }
            _ => return self,
        };
        Self {
            class,
            reach,
            // A verdict without a reason gets none.
            reason: self.reason.map(|_| reason),
            ..self
        }
    }
}

/// Whether the head names a time to come back: a delay that can be read, or the reset of a spent quota.
fn names_a_time(outcome: &Outcome<'_>) -> bool {
    // Whether the time is past only its reader can tell; then nothing is to wait for.
    let hints = outcome.server_hints(Duration::ZERO);
    let spent = hints.quota().is_some_and(|quota| quota.remaining == 0);
    hints.asked().is_some() || (spent && hints.reset().is_some())
}

/// The name of an error may have a namespace before it and an address behind it.
fn names_a_throttle(headers: &HeaderMap) -> bool {
    let name = headers.get("x-amzn-errortype");
    let name = name.and_then(|name| name.to_str().ok());
    name.is_some_and(|name| AWS_THROTTLES.contains(&bare_name(name)))
}

/// The name of an error without its namespace and its address.
pub(crate) fn bare_name(text: &str) -> &str {
    let name = text.rsplit('#').next().unwrap_or(text);
    name.split(':').next().unwrap_or(name).trim_ascii()
}

/// Of two words the no counts: a retry that one of them wants is not worth what the other one warns of.
fn should_retry(headers: &HeaderMap) -> Option<bool> {
    let said = ["x-should-retry", "stripe-should-retry"]
        .into_iter()
        .filter_map(|name| headers.get(name));
    let words = said.filter_map(|value| {
        let value = value.as_bytes().trim_ascii();
        let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
        is("true").then_some(true).or(is("false").then_some(false))
    });
    words.min()
}

#[cfg(test)]
mod header_rules_tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn header_bool(words: [(&'static str, &'static str); 2]) -> Option<bool> {
        let headers = words.map(|(name, word)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(word))
        });
        should_retry(&HeaderMap::from_iter(headers))
    }

    #[test]
    fn of_two_words_on_a_retry_the_no_counts() {
        let (one, other) = ("x-should-retry", "stripe-should-retry");
        assert_eq!(header_bool([(one, "true"), (other, "false")]), Some(false));
        assert_eq!(header_bool([(one, "false"), (other, "true")]), Some(false));
        assert_eq!(
            header_bool([(one, "perhaps"), (other, " True ")]),
            Some(true)
        );
        assert_eq!(header_bool([(one, "perhaps"), (other, "")]), None);
    }
}
