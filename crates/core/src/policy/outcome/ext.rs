//! The parts of an outcome that adapters and dialects set and read.

use super::Outcome;
use super::header_lines::lines;
use crate::policy::classify::Reach;
use crate::policy::verdict::Verdict;
use crate::sealed::Sealed;
use crate::server_hints::{Quota, time_of};
use http::HeaderName;
use std::time::Duration;

/// The parts of an [`Outcome`] that adapters and dialects set and read, beyond those that a classifier needs.
pub trait OutcomeExt<'a>: Sealed {
    /// Returns this outcome with a classifier's verdict.
    #[must_use]
    fn judged(self, verdict: Verdict) -> Self;

    /// Returns this outcome for an attempt that got a response head before it failed; later verdicts do not change
    /// that.
    #[must_use]
    fn after_a_response(self) -> Self;

    /// Returns the lines of a response header, as they are: the first 8, each of at most 1,024 bytes.
    fn header_lines(&self, name: &HeaderName) -> impl Iterator<Item = &'a str>;

    /// Returns the time at the sender of the response, since 1970-01-01T00:00:00Z: its `date` and `age`. `None` without
    /// a valid date.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue, StatusCode, header};
    /// use http_retry::Outcome;
    /// use http_retry_core::reading::OutcomeExt;
    ///
    /// let date = HeaderValue::from_static("Fri, 21 Aug 2026 12:00:00 GMT");
    /// let headers = HeaderMap::from_iter([(header::DATE, date)]);
    /// let response = Outcome::response(StatusCode::OK, &headers);
    /// assert_eq!(response.sent_at().map(|time| time.as_secs()), Some(1_787_313_600));
    /// ```
    #[must_use]
    fn sent_at(&self) -> Option<Duration>;

    /// Returns the rest of the server's quota, success or not. After a refusal, the quota resets no later than the call
    /// may come back.
    #[must_use]
    fn quota(&self, wall: Duration) -> Option<Quota>;
}

impl Sealed for Outcome<'_> {}

impl<'a> OutcomeExt<'a> for Outcome<'a> {
    #[inline]
    fn judged(self, verdict: Verdict) -> Self {
        Self { verdict, ..self }
    }

    fn after_a_response(self) -> Self {
        let answered = self.with(self.verdict.class, Reach::Answered);
        Self {
            answered: true,
            ..answered
        }
    }

    fn header_lines(&self, name: &HeaderName) -> impl Iterator<Item = &'a str> {
        let headers = self.headers().into_iter();
        headers.flat_map(move |headers| lines(headers, name))
    }

    fn sent_at(&self) -> Option<Duration> {
        // Without a `date` the clock is the wall's, which 1970 stands for here.
        let time = time_of(self.headers()?, Duration::ZERO);
        (!time.is_zero()).then_some(time)
    }

    fn quota(&self, wall: Duration) -> Option<Quota> {
        let (status, quota) = (self.status()?, self.server_hints(wall).quota?);
        let by_head = self.server_hints(wall).asked;
        Some(quota.after(status, by_head.or(self.named_delay(wall))))
    }
}
