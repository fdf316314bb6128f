//! A classifier's verdict on an outcome.

use super::classify::{Class, Reach};
use super::reason::Reason;
use super::scope::Scope;
use crate::server_hints::RetryTime;
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
