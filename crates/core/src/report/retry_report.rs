//! The report of one request's attempts.

mod attempt;
mod slot;

pub use attempt::AttemptReport;
pub use slot::ReportSlot;

use crate::policy::{Decimal, StopReason};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why a request was retried, how often, how long it waited, and why it stopped.
///
/// The extensions of the response hold it if an attempt was not a success (no report means one attempt, a success). A
/// [`ReportSlot`] in the request's extensions always gets it, also if the call fails.
///
/// Printed, it is a timeline. It holds no header, no body and no URL.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// use futures_util::FutureExt;
/// use http_retry::testing::{ManualRuntime, Script};
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryPolicy, RetryReport, StopReason};
/// use tower::{Layer, ServiceExt};
///
/// let layer = RetryLayer::new(RetryPolicy::background()).runtime(ManualRuntime::new());
/// let service = layer.layer(Script::new().status(503).status(200));
/// let request = http::Request::get("http://api.example/").body(String::new()).unwrap();
///
/// let response = service.oneshot(request).now_or_never().unwrap().unwrap();
/// let report = response.extensions().get::<RetryReport>().unwrap();
/// assert_eq!((report.retries(), report.stop()), (1, StopReason::Succeeded));
/// assert_eq!(report.attempts()[0].status.unwrap(), 503);
/// println!("{report}");
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryReport {
    attempts: Vec<AttemptReport>,
    attempt_count: u32,
    waited: Duration,
    stop: StopReason,
    tokens_left: Option<Decimal>,
    unknown_service: Option<Arc<str>>,
    from_elsewhere: bool,
}

/// The most attempts that a report keeps; of more, it drops the first ones.
const KEPT: usize = 64;

/// The most attempts of any preset.
const USUAL: usize = 5;

impl RetryReport {
    pub(super) fn new() -> Self {
        Self {
            attempts: Vec::new(),
            attempt_count: 0,
            waited: Duration::ZERO,
            stop: StopReason::Succeeded,
            tokens_left: None,
            unknown_service: None,
            from_elsewhere: false,
        }
    }

    /// The response is not the one of the service that was asked first.
    pub(crate) fn set_from_elsewhere(&mut self, from_elsewhere: bool) {
        self.from_elsewhere = from_elsewhere;
    }

    /// Returns `true` if the response is that of another service, or one that no server sent.
    #[must_use]
    pub fn is_from_elsewhere(&self) -> bool {
        self.from_elsewhere
    }

    /// An empty slot to put into a request's extensions and to look into after the call.
    #[must_use]
    pub fn slot() -> ReportSlot {
        ReportSlot::default()
    }

    /// The attempts in order; of more than 64, the last 64. A report is bounded, however long a policy polls.
    #[must_use]
    pub fn attempts(&self) -> &[AttemptReport] {
        &self.attempts
    }

    /// The number of attempts, also of those that are no longer kept.
    #[must_use]
    pub fn attempt_count(&self) -> u32 {
        self.attempt_count
    }

    /// The number of retries: the attempts after the first. Attempts that the policy does not count, such as one after
    /// a 429 that went back to the gate, are counted here.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.attempt_count.saturating_sub(1)
    }

    /// The total wait before the attempts, at the gate too; not the time that the attempts took. A wait whose attempt was
    /// not sent does not count.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Why there was no further attempt.
    #[must_use]
    pub fn stop(&self) -> StopReason {
        self.stop
    }

    /// The tokens in the budget when the request stopped; `None` with
    /// [`RetryBudget::unlimited`](crate::RetryBudget::unlimited).
    #[must_use]
    pub fn tokens_left(&self) -> Option<Decimal> {
        self.tokens_left
    }

    /// The service that the request named, if the document has none of that name: a typo in
    /// [`RetryOverride::service`](crate::RetryOverride::service) or `Runner::service`,
    /// or a service that a newer document no longer has. The request then uses the service that matches it, else the
    /// document's own settings. `None` without a document or services, where every name is valid.
    #[must_use]
    pub fn unknown_service(&self) -> Option<&str> {
        self.unknown_service.as_deref()
    }

    pub(super) fn names_unknown(&mut self, service: Option<Arc<str>>) {
        self.unknown_service = service;
    }

    pub(super) fn push(&mut self, attempt: AttemptReport) {
        if self.attempts.len() >= KEPT {
            self.attempts.remove(0);
        }
        self.attempt_count = attempt.number;
        self.waited = self.waited.saturating_add(attempt.delay);
        if self.attempts.capacity() == 0 {
            self.attempts.reserve_exact(USUAL);
        }
        self.attempts.push(attempt);
    }

    pub(super) fn close(&mut self, stop: StopReason, tokens_left: Option<Decimal>) {
        self.stop = stop;
        self.tokens_left = tokens_left;
    }
}

impl fmt::Display for RetryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for attempt in &self.attempts {
            writeln!(f, "{attempt}")?;
        }
        let Self {
            attempt_count,
            waited,
            stop,
            ..
        } = self;
        let plural = if *attempt_count == 1 { "" } else { "s" };
        write!(
            f,
            "{attempt_count} attempt{plural}, {} waited, {stop}: {}",
            Seconds(*waited),
            stop.explain()
        )?;
        if let Some(tokens) = self.tokens_left {
            write!(f, " Tokens left: {tokens}.")?;
        }
        match &self.unknown_service {
            Some(name) => write!(f, " The document has no service {name:?}."),
            None => Ok(()),
        }
    }
}

/// A duration as seconds with three places, so that a column is easy to compare.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(duration) = self;
        let text = format!("{}.{:03} s", duration.as_secs(), duration.subsec_millis());
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests;
