//! Counters, gauges and histograms through the `metrics` facade.

use super::{Observer, RetryEvent, RetryEventKind};
use crate::policy::ErrorKind;
use metrics::{SharedString, counter, gauge, histogram};
use std::time::Duration;

/// Counts attempts, retries and stops, and measures waits, by service, and the tokens left in each budget; pass it to an
/// adapter with `observer`. Times are in seconds. Tokens are measured when a call ends.
///
/// | metric | kind | labels |
/// |---|---|---|
/// | `http_retry_attempts_total` | counter | `service`, `class`, `dialect` |
/// | `http_retry_attempt_seconds` | histogram | `service` |
/// | `http_retry_retries_total` | counter | `service`, `delay_source` |
/// | `http_retry_delay_seconds` | histogram | `service` |
/// | `http_retry_gate_wait_seconds` | histogram | `service` |
/// | `http_retry_text_cuts_total` | counter | `service` |
/// | `http_retry_requests_total` | counter | `service`, `stop` |
/// | `http_retry_budget_tokens` | gauge | `budget`: its [name](crate::RetryBudget::named) |
/// | `http_retry_resumes_total` | counter | `service`, `kind`, `outcome` |
///
/// A fleet (feature `redis`) counts without this observer, once for each process:
///
/// | metric | kind | labels |
/// |---|---|---|
/// | `http_retry_fleet_joined` | gauge: 1 or 0 | `service` |
/// | `http_retry_fleet_commands_total` | counter | `step`: `budget`, `gate` or `listen`; `result`: `ok`, `late`, or why the store was left |
/// | `http_retry_fleet_seconds` | histogram | `step` |
///
/// The service is the name that [`RetryOverride::service`](crate::RetryOverride::service) gives, else host and port: a
/// client that calls an unbounded number of hosts should name its services. The dialect is that of the row that judged
/// the attempt ([`AttemptReport::dialect`](super::AttemptReport::dialect)), or `none`.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::report::MetricsObserver;
/// use http_retry::tower::RetryLayer;
///
/// let layer = RetryLayer::new(RetryPolicy::background()).observer(MetricsObserver::new());
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct MetricsObserver;

impl MetricsObserver {
    /// Creates an observer that reports to the recorder installed at the time of each event.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Observer for MetricsObserver {
    fn on_event(&self, event: &RetryEvent<'_>) {
        let service = || SharedString::from(event.service.to_owned());
        match event.kind {
            RetryEventKind::AttemptEnded(attempt) => {
                let class = attempt.class.as_str();
                let dialect = attempt.dialect().unwrap_or("none").to_owned();
                counter!("http_retry_attempts_total", "service" => service(), "class" => class, "dialect" => dialect)
                    .increment(1);
                histogram!("http_retry_attempt_seconds", "service" => service())
                    .record(attempt.took);
            }
            RetryEventKind::RetryScheduled { delay, source, .. } => {
                let source = source.as_str();
                counter!("http_retry_retries_total", "service" => service(), "delay_source" => source)
                    .increment(1);
                histogram!("http_retry_delay_seconds", "service" => service()).record(delay);
            }
            RetryEventKind::Stopped(report) => {
                let stop = report.stop().as_str();
                counter!("http_retry_requests_total", "service" => service(), "stop" => stop)
                    .increment(1);
                if let (Some(tokens), Some(budget)) = (report.tokens_left(), report.budget()) {
                    // A gauge takes a duration as its seconds: one for each token, without floats in this crate.
                    gauge!("http_retry_budget_tokens", "budget" => budget.to_owned())
                        .set(Duration::from_micros(tokens.micros()));
                }
            }
            RetryEventKind::WaitedAtGate { waited } => {
                histogram!("http_retry_gate_wait_seconds", "service" => service()).record(waited);
            }
            RetryEventKind::TextCut(_) => {
                counter!("http_retry_text_cuts_total", "service" => service()).increment(1);
            }
            RetryEventKind::Resumed { kind, .. } => resumed(service(), Some(kind), "resumed"),
            RetryEventKind::Interrupted { kind, why, .. } => resumed(service(), kind, why.as_str()),
            // A fleet has counters of its own, one set for all adapters in it.
            RetryEventKind::FleetLeft { .. } | RetryEventKind::FleetJoined { .. } => {}
            RetryEventKind::AttemptStarted { .. } | RetryEventKind::Resuming { .. } => {}
        }
    }
}

fn resumed(service: SharedString, kind: Option<ErrorKind>, outcome: &'static str) {
    let kind = kind.map_or("none", ErrorKind::as_str);
    counter!(
        "http_retry_resumes_total", "service" => service, "kind" => kind, "outcome" => outcome
    )
    .increment(1);
}
