//! The report of one request's attempts.

use crate::policy::{
    Class, Decimal, DelaySource, ErrorKind, HeaderSet, Outcome, Reach, Reason, Scope, StopReason,
};
use crate::report::TextCut;
use http::StatusCode;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
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
const MAX_ATTEMPTS_KEPT: usize = 64;

/// The most attempts of any preset.
const USUAL_ATTEMPTS: usize = 5;

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
        if self.attempts.len() >= MAX_ATTEMPTS_KEPT {
            self.attempts.remove(0);
        }
        self.attempt_count = attempt.number;
        self.waited = self.waited.saturating_add(attempt.delay);
        if self.attempts.capacity() == 0 {
            self.attempts.reserve_exact(USUAL_ATTEMPTS);
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

/// One attempt in a [`RetryReport`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptReport {
    /// 1 for the first attempt, 2 for the first retry, and so on.
    pub number: u32,
    /// When it started, counted from the start of the first attempt.
    pub started: Duration,
    /// The time to the response head or the error, and to the end of what was read of the body to judge it.
    pub took: Duration,
    /// The wait before it: the planned delay, and what the gate added to it.
    pub delay: Duration,
    /// Who set that wait; `None` on a first attempt that did not wait at the gate.
    pub delay_source: Option<DelaySource>,
    /// The response's status, if there was a response.
    pub status: Option<StatusCode>,
    /// The kind of the error, if there was one.
    pub error: Option<ErrorKind>,
    /// The Rust type of an error whose kind is [`ErrorKind::Other`], as [`type_name`](std::any::type_name) has it: what to
    /// name in [`classify_error`](crate::RetryPolicyBuilder::classify_error). Of an error that the service below has
    /// boxed it says no more than `dyn Error`, unless that is an I/O error.
    pub error_type: Option<&'static str>,
    /// What the outcome means for a retry.
    pub class: Class,
    /// How far the attempt got.
    pub reach: Reach,
    /// The delay that the server asked for on a failure, if any.
    pub asked: Option<Duration>,
    pub(in crate::report) unreadable: HeaderSet,
    /// Why the outcome has its class, if the policy's classifier says so.
    pub reason: Option<Reason>,
    /// The rule that judged the outcome, by its name or its place.
    pub rule: Option<Arc<str>>,
    /// The row of the policy's dialect that judged the outcome, such as `github[1]`.
    pub row: Option<Arc<str>>,
    /// That row is a rule.
    pub(in crate::report) of_a_rule: bool,
    /// Whom the limit stops that was met, if a classifier or a row says so.
    pub scope: Option<Scope>,
    /// What was cut from the request's text before this attempt, because it was too long for the model.
    pub cut: Option<TextCut>,
}

impl AttemptReport {
    pub(in crate::report) fn new(number: u32, outcome: &Outcome<'_>, wall: Duration) -> Self {
        Self {
            number,
            started: Duration::ZERO,
            took: Duration::ZERO,
            delay: Duration::ZERO,
            delay_source: None,
            status: outcome.status(),
            error: outcome.error_kind(),
            error_type: None,
            class: outcome.class(),
            reach: outcome.reach(),
            asked: outcome.server_delay(wall),
            unreadable: outcome.unreadable(wall),
            reason: outcome.reason(),
            rule: None,
            row: None,
            of_a_rule: outcome.row().is_some_and(|row| row.is_rule),
            scope: outcome.scope(),
            cut: None,
        }
    }

    /// The headers of a failure that were skipped as not valid, whether or not another one asked for a delay.
    pub fn unreadable(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.unreadable.names()
    }

    /// The dialect whose row judged the outcome: `github` of the row `github[1]`, and `rules` of a rule with `as`.
    #[must_use]
    pub fn dialect(&self) -> Option<&str> {
        let row = self.row.as_deref()?;
        if self.of_a_rule {
            Some("rules")
        } else {
            Some(row.rsplit_once('[').map_or(row, |(dialect, _)| dialect))
        }
    }
}

impl AttemptReport {
    /// What the answer said, and what judged it.
    fn fmt_reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = self.reason {
            write!(f, ", {reason}")?;
        }
        if let Some(delay) = self.asked {
            write!(f, ", the server asks for {}", Seconds(delay))?;
        }
        for header in self.unreadable() {
            write!(f, ", its {header} is not valid and was ignored")?;
        }
        if let Some(row) = &self.row {
            write!(f, ", by the row {row}")?;
        }
        if let Some(rule) = &self.rule {
            write!(f, ", by the rule {rule}")?;
        }
        Ok(())
    }
}

impl fmt::Display for AttemptReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>10}  attempt {}: ",
            Seconds(self.started),
            self.number
        )?;
        match (self.status, self.error) {
            (Some(status), _) => write!(f, "{}", status.as_u16())?,
            (None, Some(error)) => write!(f, "{error} error")?,
            (None, None) => f.write_str("done")?,
        }
        if let Some(error_type) = self.error_type {
            write!(f, " of the type {error_type}")?;
        }
        write!(f, " after {}", Seconds(self.took))?;
        if self.class != Class::Success {
            write!(f, " ({}, {})", self.class, self.reach)?;
        }
        self.fmt_reason(f)?;
        if let Some(TextCut { before, after, .. }) = self.cut {
            write!(
                f,
                "; sent with a text cut from {before} to {after} characters"
            )?;
        }
        match self.delay_source {
            Some(source) => {
                write!(
                    f,
                    "; sent after a wait of {} ({source})",
                    Seconds(self.delay)
                )
            }
            None => Ok(()),
        }
    }
}

/// A slot for one request's [`RetryReport`]: make it by [`RetryReport::slot`] and put it into the request's extensions.
///
/// Clones share the slot. It stays empty while the request runs, and if its call is dropped. Of several requests with one
/// slot, the last to end overwrites the others.
///
/// ```
/// use http_retry::RetryReport;
///
/// let slot = RetryReport::slot();
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(slot.clone());
/// // send it, then:
/// assert!(slot.take().is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct ReportSlot(Arc<Mutex<Option<RetryReport>>>);

impl ReportSlot {
    /// Takes the report out of the slot, once the request is over; `None` before, and when it was taken already.
    #[must_use]
    pub fn take(&self) -> Option<RetryReport> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(in crate::report) fn put(&self, report: RetryReport) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }
}

#[cfg(test)]
mod tests;
