//! When the server lets the client come back, as far as an outcome says.

use super::{Outcome, What};
use crate::policy::Class;
use crate::policy::verdict::Verdict;
use crate::server_hints::{HeaderSet, Quota, ServerHints, time_of};
use std::time::Duration;

impl<'a> Outcome<'a> {
    /// Whether a classifier or a dialect says when to come back.
    pub(in crate::policy) fn is_told_a_time(&self) -> bool {
        let Verdict {
            asked,
            until,
            at_least,
            ..
        } = self.verdict;
        asked.or(until).or(at_least).is_some()
    }

    /// The shortest wait, whatever the server asks for, if a classifier or a dialect names one
    /// ([`Verdict::at_least`](crate::policy::Verdict::at_least)).
    #[must_use]
    pub fn at_least(&self) -> Option<Duration> {
        self.verdict.at_least
    }

    /// The same outcome, with what its head says, so that nobody reads that again.
    #[must_use]
    pub fn with_hints(self, hints: &'a ServerHints) -> Self {
        Self {
            hints: Some(hints),
            ..self
        }
    }

    /// What the response's head says about coming back, success or not; `wall` is the time since 1970-01-01T00:00:00Z, from
    /// which a date counts if the response has no valid `date`. Empty without a response.
    #[must_use]
    pub fn server_hints(&self, wall: Duration) -> ServerHints {
        match (self.hints, self.what) {
            (Some(hints), _) => *hints,
            (None, What::Response(status, headers)) => ServerHints::read(status, headers, wall),
            (None, What::Done | What::Error(_) | What::Status(_)) => ServerHints::default(),
        }
    }

    /// The delay that the server asks for: by a header that says when to come back, else by what a classifier or a dialect read
    /// of the body, else by the reset of a spent quota. `None` on a success, and where nothing that can be read asks for one.
    /// `wall` is as for [`Outcome::server_hints`], which also tells the headers that cannot be read.
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
        let of_head = self.of_failed_head(wall, |hints| {
            let reset = hints.reset().filter(|_| !ignores_resets);
            hints.asked().or(named).or(reset)
        });
        of_head.unwrap_or(named)
    }

    fn of_failed_head<T>(&self, wall: Duration, read: impl FnOnce(&ServerHints) -> T) -> Option<T> {
        match (self.what, self.hints) {
            _ if self.class() == Class::Success => None,
            (What::Response(..), Some(hints)) => Some(read(hints)),
            (What::Response(status, headers), None) => {
                Some(read(&ServerHints::read(status, headers, wall)))
            }
            (What::Done | What::Error(_) | What::Status(_), _) => None,
        }
    }

    /// What a classifier or a dialect says that the server asks for; what is past is no wish.
    fn named_delay(&self, wall: Duration) -> Option<Duration> {
        let until = self.verdict.until.and_then(|until| {
            let now = self.headers().map_or(wall, |head| time_of(head, wall));
            until.checked_sub(now)
        });
        self.verdict.asked.max(until)
    }

    /// What is left of the server's quota, success or not; on a refusal it is back no later than the call may be.
    #[must_use]
    pub fn quota(&self, wall: Duration) -> Option<Quota> {
        let (status, quota) = (self.status()?, self.server_hints(wall).quota()?);
        let by_head = self.server_hints(wall).asked();
        Some(quota.after(status, by_head.or(self.named_delay(wall))))
    }

    /// Which headers of a failure ask for something that cannot be read.
    pub(crate) fn unreadable(&self, wall: Duration) -> HeaderSet {
        match self.class() {
            Class::Success => HeaderSet::default(),
            _ => self.server_hints(wall).unreadable,
        }
    }
}
