//! The report of one request's attempts.

#[cfg(feature = "serde")]
mod serialize;

use crate::policy::{
    Class, Decimal, DelaySource, ErrorKind, HeaderSet, Outcome, Reach, Reason, Scope, StopReason,
};
use crate::report::TextCut;
use http::StatusCode;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The report of a request: its attempts, their outcomes and waits, and the reason why it stopped.
///
/// It is in the response's extensions if an attempt was not a success (no report means that the first attempt
/// succeeded). A [`ReportSlot`] in the request's extensions always receives it, even if the call fails.
///
/// Its `Display` form is a timeline. With the feature `serde` it implements `Serialize`: a map with the names of the
/// fields, the retries, and the explanation of the stop; times are whole milliseconds (`waited_ms`), and what is not known
/// is left out. Neither contains a header, a body or a URL.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), tower::BoxError> {
/// use http_retry::testing::{ManualRuntime, Script};
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryPolicy, RetryReport, StopReason};
/// use tower::{Layer, ServiceExt};
///
/// let layer = RetryLayer::new(RetryPolicy::background()).runtime(ManualRuntime::new());
/// let service = layer.layer(Script::new().status(503).status(200));
/// let request = http::Request::get("http://api.example/").body(String::new())?;
///
/// let response = service.oneshot(request).await?;
/// let report = response.extensions().get::<RetryReport>().ok_or("no report")?;
/// assert_eq!((report.retries(), report.stop), (1, StopReason::Succeeded));
/// assert_eq!(report.attempts[0].status, Some(http::StatusCode::SERVICE_UNAVAILABLE));
/// println!("{report}");
/// # Ok(()) }
/// ```
///
/// ```text
///    0.000 s  attempt 1: 503 after 0.000 s (transient, answered)
///    1.133 s  attempt 2: 200 after 0.000 s; sent after a wait of 1.133 s (own)
/// 2 attempts, 1.133 s waited, succeeded: The request succeeded. Tokens left: 19.1.
/// ```
///
/// After each failure stand its [`Class`] and [`Reach`] (`ambiguous`: the server may have processed the request), and
/// after each wait its [`DelaySource`]: the policy's `own`, the `server`, or the `gate`. The guide's "Add a status" says
/// which of them are repeated.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryReport {
    /// The attempts in order, or the last 64 of them. The report is bounded, however long a policy polls.
    pub attempts: Vec<AttemptReport>,
    /// The number of attempts, including those that are no longer kept.
    pub attempt_count: u32,
    /// The total wait before the attempts, including the gate but not the duration of the attempts. A wait that no
    /// attempt followed counts if it reached the gate.
    pub waited: Duration,
    /// The reason why there was no further attempt.
    pub stop: StopReason,
    /// The cause of the stop, if it was more than a limit of the policy:
    ///
    /// | cause | value |
    /// |---|---|
    /// | `stop_on` or `retry_on` of a document | its place, such as `services.orders.retry.stop_on` |
    /// | a rule of a document, or `otherwise` | its place, such as `services.orders.rules[0]` |
    /// | a list or rule in code | `stop_on`, `retry_on`, `otherwise`, or the rule's name |
    /// | a row by which the outcome is permanent | its place, such as `dialects.shop.rows[0]`, or `github[1]` for one that is built in |
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), tower::BoxError> {
    /// use http_retry::rules::Condition;
    /// use http_retry::testing::Script;
    /// use http_retry::tower::RetryLayer;
    /// use http_retry::{RetryPolicy, RetryReport, StopReason};
    /// use tower::{Layer, ServiceExt};
    ///
    /// let policy = RetryPolicy::builder().stop_on([Condition::status([503])?]).build()?;
    /// let service = RetryLayer::new(policy).layer(Script::new().status(503));
    /// let request = http::Request::get("http://api.example/").body(String::new())?;
    ///
    /// let response = service.oneshot(request).await?;
    /// let report = response.extensions().get::<RetryReport>().ok_or("no report")?;
    /// assert_eq!(report.stop, StopReason::NotRetryable);
    /// assert_eq!(report.stopped_by.as_deref(), Some("stop_on"));
    /// # Ok(()) }
    /// ```
    pub stopped_by: Option<Arc<str>>,
    /// The tokens in the budget when the request stopped. `None` for
    /// [`RetryBudget::unlimited`](crate::RetryBudget::unlimited), and for a request that is never repeated.
    pub tokens_left: Option<Decimal>,
    /// The name of the budget that paid for the retries ([`RetryBudget::name`](crate::RetryBudget::name)). `None` if it
    /// is unlimited, and for a request that is never repeated.
    pub budget: Option<Arc<str>>,
    /// The service that the request named, if the document has none with that name: a typo in
    /// [`RetryOverride::service`](crate::RetryOverride::service) or `Runner::service`, or a service that was removed
    /// from the document. The request then uses the service that matches it, else the document's own settings. `None`
    /// without a document or services, when every name is valid.
    pub unknown_service: Option<Arc<str>>,
    /// `true` if the response is from another service, or is one that no server sent.
    pub from_elsewhere: bool,
}

/// Not derived: a program would have the code of a derived one in each crate that puts reports into extensions.
impl Clone for RetryReport {
    fn clone(&self) -> Self {
        Self {
            attempts: self.attempts.clone(),
            stopped_by: self.stopped_by.clone(),
            budget: self.budget.clone(),
            unknown_service: self.unknown_service.clone(),
            ..*self
        }
    }
}

/// The most attempts in a report. The oldest are dropped.
const MAX_STORED_ATTEMPTS: usize = 64;

/// The most attempts of any preset.
const USUAL_ATTEMPTS: usize = 5;

impl RetryReport {
    pub(super) fn new() -> Self {
        Self {
            attempts: Vec::new(),
            attempt_count: 0,
            waited: Duration::ZERO,
            stop: StopReason::Succeeded,
            stopped_by: None,
            tokens_left: None,
            budget: None,
            unknown_service: None,
            from_elsewhere: false,
        }
    }

    /// Returns an empty slot, to put into a request's extensions and to read after the call.
    #[must_use]
    pub fn slot() -> ReportSlot {
        ReportSlot::default()
    }

    /// Returns the number of retries: the attempts after the first. It includes attempts that the policy does not
    /// count, such as one after a 429 that went back to the gate.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.attempt_count.saturating_sub(1)
    }

    pub(super) fn push(&mut self, attempt: AttemptReport) {
        if self.attempts.len() >= MAX_STORED_ATTEMPTS {
            // Moves 63 attempts, but few requests have more than 64.
            self.attempts.remove(0);
        }
        self.attempt_count = attempt.number;
        self.waited = self.waited.saturating_add(attempt.delay);
        // Exactly five, so that the usual report takes less than 1 KiB: a growing `Vec` would take eight.
        if self.attempts.capacity() == 0 {
            self.attempts.reserve_exact(USUAL_ATTEMPTS);
        }
        self.attempts.push(attempt);
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
            seconds(*waited),
            stop.explain_by(self.stopped_by.as_deref())
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

/// Returns a duration in seconds, with three places.
fn seconds(duration: Duration) -> String {
    format!("{}.{:03} s", duration.as_secs(), duration.subsec_millis())
}

/// One attempt in a [`RetryReport`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptReport {
    /// 1 for the first attempt, 2 for the first retry, and so on.
    pub number: u32,
    /// The time at which it started, relative to the start of the first attempt.
    pub started: Duration,
    /// The time until the response head or the error, or until the end of the part of the body that was read to judge
    /// it.
    pub took: Duration,
    /// The wait before it: the planned delay, and the wait that the gate added.
    pub delay: Duration,
    /// The source of that wait; `None` for a first attempt that did not wait at the gate.
    pub delay_source: Option<DelaySource>,
    /// The response's status, if there was a response.
    pub status: Option<StatusCode>,
    /// The kind of the error, if there was one.
    pub error: Option<ErrorKind>,
    /// The Rust type of an error with the kind [`ErrorKind::Other`], as returned by [`type_name`](std::any::type_name),
    /// for use with [`classify_error`](crate::RetryPolicyBuilder::classify_error). For an error that the inner service
    /// has boxed it is only `dyn Error`, unless it is an I/O error.
    pub error_type: Option<&'static str>,
    /// The class of the outcome, which decides about a retry.
    pub class: Class,
    /// The progress of the attempt before it ended.
    pub reach: Reach,
    /// The delay that the server asked for on a failure, if any.
    pub asked: Option<Duration>,
    pub(in crate::report) unreadable: HeaderSet,
    /// The reason for the class, if the policy's classifier gives one.
    pub reason: Option<Reason>,
    /// The rule that judged the outcome, by name or position.
    pub rule: Option<Arc<str>>,
    /// The row of the policy's dialect that judged the outcome, such as `github[1]`.
    pub row: Option<Arc<str>>,
    /// `true` if that row is a rule.
    pub(in crate::report) is_of_rule: bool,
    /// The calls that the limit affects, if a classifier or a row states them.
    pub scope: Option<Scope>,
    /// The cut of the request's text before this attempt, if the text was too long for the model.
    pub cut: Option<TextCut>,
    /// The number of requests that this attempt sent: 1, or more if a layer below has hedged it.
    pub copies: u32,
}

impl AttemptReport {
    #[inline]
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
            reason: outcome.verdict().reason,
            rule: None,
            row: None,
            is_of_rule: outcome.row().is_some_and(|row| row.is_rule),
            scope: outcome.verdict().scope,
            cut: None,
            copies: 1,
        }
    }

    /// Returns the headers of a failure that were skipped as invalid, even if another one asked for a delay.
    pub fn unreadable(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.unreadable.names()
    }

    /// Returns the dialect whose row judged the outcome: `github` for the row `github[1]`, and `rules` for a rule with
    /// `as`.
    #[must_use]
    pub fn dialect(&self) -> Option<&str> {
        let row = self.row.as_deref()?;
        if self.is_of_rule {
            Some("rules")
        } else {
            Some(row.rsplit_once('[').map_or(row, |(dialect, _)| dialect))
        }
    }
}

impl AttemptReport {
    /// Writes the reason for the outcome's class, and the row or rule that judged it.
    fn fmt_reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = self.reason {
            write!(f, ", {reason}")?;
        }
        if let Some(delay) = self.asked {
            write!(f, ", the server asks for {}", seconds(delay))?;
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
        write!(f, "{:>10}  attempt {}", seconds(self.started), self.number)?;
        if self.copies > 1 {
            write!(f, " of {} copies", self.copies)?;
        }
        f.write_str(": ")?;
        match (self.status, self.error) {
            (Some(status), _) => write!(f, "{}", status.as_u16())?,
            (None, Some(error)) => write!(f, "{error} error")?,
            // A success of an operation that is not HTTP.
            (None, None) => f.write_str("done")?,
        }
        if let Some(error_type) = self.error_type {
            write!(f, " of the type {error_type}")?;
        }
        write!(f, " after {}", seconds(self.took))?;
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
                    seconds(self.delay)
                )
            }
            None => Ok(()),
        }
    }
}

/// A slot for one request's [`RetryReport`]: create it with [`RetryReport::slot`] and put it into the request's
/// extensions.
///
/// Clones share the slot. It stays empty while the request runs, and if its call is dropped. If several requests use
/// one slot, the last to end overwrites the others.
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
    /// Takes the report out of the slot once the request is over. Returns `None` before that, and if it was already
    /// taken.
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
