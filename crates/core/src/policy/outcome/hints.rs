//! The time at which the server of an outcome wants a retry, by its head and by what was read of its body.

use super::{Outcome, OutcomeKind};
use crate::policy::classify::Class;
use crate::policy::verdict::Verdict;
use crate::server_hints::{HeaderSet, ServerHints, time_of};
use std::time::Duration;

impl<'a> Outcome<'a> {
    /// Returns `true` if a classifier or a dialect says when to come back.
    pub(in crate::policy) fn names_delay(&self) -> bool {
        let Verdict {
            asked,
            until,
            at_least,
            ..
        } = self.verdict;
        asked.or(until).or(at_least).is_some()
    }

    /// Returns this outcome with the hints in its head, so that they are not read again.
    #[must_use]
    pub(crate) fn with_hints(self, hints: &'a ServerHints) -> Self {
        Self {
            hints: Some(hints),
            ..self
        }
    }

    /// Returns the hints in the response's head about coming back, success or not. A date counts from the response's
    /// `date`, or, if it has no valid one, from `wall`, the time since 1970-01-01T00:00:00Z. Empty without a response.
    #[must_use]
    pub fn server_hints(&self, wall: Duration) -> ServerHints {
        match (self.hints, self.kind) {
            (Some(hints), _) => *hints,
            (None, OutcomeKind::Response(status, headers)) => {
                ServerHints::read(status, headers, wall)
            }
            (None, OutcomeKind::Done | OutcomeKind::Error(_) | OutcomeKind::Status(_)) => {
                ServerHints::default()
            }
        }
    }

    /// Returns the delay that the server asks for: by a header that says when to come back, else by what a classifier
    /// or a dialect read from the body, else by the reset of a spent quota. `None` for a success, and if nothing
    /// readable asks for a delay. `wall` is as for [`Outcome::server_hints`], which also reports the headers that
    /// cannot be read.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue, StatusCode};
    /// use http_retry::Outcome;
    /// use std::time::Duration;
    ///
    /// let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from_static("20"))]);
    /// let delay = |status| Outcome::response(status, &headers).server_delay(Duration::ZERO);
    /// assert_eq!(delay(StatusCode::TOO_MANY_REQUESTS), Some(Duration::from_secs(20)));
    /// assert_eq!(delay(StatusCode::OK), None);
    /// ```
    #[must_use]
    pub fn server_delay(&self, wall: Duration) -> Option<Duration> {
        let named = self.named_delay(wall);
        let ignores_resets = self.verdict.ignores_resets;
        let by_head = self.read_failed_head(wall, |hints| {
            // Last, since the draft of the RateLimit header fields gives Retry-After precedence over a reset.
            let reset = hints.delay().filter(|_| !ignores_resets);
            hints.asked.or(named).or(reset)
        });
        by_head.unwrap_or(named)
    }

    fn read_failed_head<T>(
        &self,
        wall: Duration,
        read: impl FnOnce(&ServerHints) -> T,
    ) -> Option<T> {
        match (self.kind, self.hints) {
            _ if self.class() == Class::Success => None,
            (OutcomeKind::Response(..), Some(hints)) => Some(read(hints)),
            (OutcomeKind::Response(status, headers), None) => {
                Some(read(&ServerHints::read(status, headers, wall)))
            }
            (OutcomeKind::Done | OutcomeKind::Error(_) | OutcomeKind::Status(_), _) => None,
        }
    }

    /// Returns the delay that a classifier or a dialect read from the response. A time in the past counts as none.
    pub(super) fn named_delay(&self, wall: Duration) -> Option<Duration> {
        let until = self.verdict.until.and_then(|until| {
            let now = self.headers().map_or(wall, |head| time_of(head, wall));
            until.checked_sub(now)
        });
        self.verdict.asked.max(until)
    }

    /// Returns the headers of a failure that ask for a wait in a form that cannot be read.
    pub(crate) fn unreadable(&self, wall: Duration) -> HeaderSet {
        match self.class() {
            Class::Success => HeaderSet::default(),
            _ => self.server_hints(wall).unreadable,
        }
    }
}
