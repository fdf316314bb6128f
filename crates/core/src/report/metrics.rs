//! Counters, gauges and histograms through the `metrics` facade.

use super::{Observer, RetryEvent, RetryEventKind};
use crate::policy::ErrorKind;
use http::StatusCode;
use metrics::{
    SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use std::sync::Arc;
use std::time::Duration;

/// Counts attempts, retries and stops, and measures waits, by service, and the tokens left in each budget; pass it to an
/// adapter with `observer`. Times are in seconds. Tokens are measured when a call ends.
///
/// | metric | kind | labels |
/// |---|---|---|
/// | `http_retry_attempts_total` | counter | `service`, `class`, `status`, `dialect` |
/// | `http_retry_attempt_seconds` | histogram | `service` |
/// | `http_retry_retries_total` | counter | `service`, `delay_source` |
/// | `http_retry_delay_seconds` | histogram | `service` |
/// | `http_retry_gate_wait_seconds` | histogram | `service` |
/// | `http_retry_text_cuts_total` | counter | `service` |
/// | `http_retry_requests_total` | counter | `service`, `stop`, `budget` |
/// | `http_retry_budget_tokens` | gauge | `budget`: its [name](crate::RetryBudget::named) |
/// | `http_retry_hedges_total` | counter | `service`, `step`: `sent`, `won` or `lost` |
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
/// client that calls an unbounded number of hosts should name its services. The status is the code, `4xx` or the like for
/// a code that no registry and no large service knows, or, without a response, the
/// [kind of the error](crate::ErrorKind::as_str). The dialect is that of the row that judged the attempt
/// ([`AttemptReport::dialect`](super::AttemptReport::dialect)), or `none`; a budget without limit is `none` too.
///
/// [`BUCKETS`](Self::BUCKETS) are for exporters that need buckets for histograms. The folder `ops` of the repository has
/// rules for Prometheus and a dashboard for Grafana.
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
    /// The upper bounds of buckets for every histogram above: 5 ms to 15 minutes, the longest wait that a server may ask
    /// for by default.
    ///
    /// Without buckets, an exporter for Prometheus makes summaries, which cannot be added up over processes:
    /// `set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &bounds)` of `metrics-exporter-prometheus` takes
    ///
    /// ```
    /// use http_retry::report::MetricsObserver;
    ///
    /// let bounds = MetricsObserver::BUCKETS.map(|bound| bound.as_secs_f64());
    /// assert_eq!((bounds[0], bounds[15]), (0.005, 900.0));
    /// ```
    pub const BUCKETS: [Duration; 16] = [
        Duration::from_millis(5),
        Duration::from_millis(10),
        Duration::from_millis(25),
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(250),
        Duration::from_millis(500),
        Duration::from_secs(1),
        Duration::from_millis(2_500),
        Duration::from_secs(5),
        Duration::from_secs(10),
        Duration::from_secs(30),
        Duration::from_secs(60),
        Duration::from_secs(120),
        Duration::from_secs(300),
        Duration::from_secs(900),
    ];

    /// Creates an observer that reports to the recorder installed at the time of each event, and
    /// [describes](Self::describe) the metrics to the one that is installed now.
    #[must_use]
    pub fn new() -> Self {
        Self::describe();
        Self
    }

    /// Tells the installed recorder the unit and the meaning of each metric, also of those of a fleet. Call it if the
    /// recorder is installed after the observer was created.
    pub fn describe() {
        for (name, about) in COUNTERS {
            describe_counter!(name, Unit::Count, about);
        }
        for (name, about) in HISTOGRAMS {
            describe_histogram!(name, Unit::Seconds, about);
        }
        for (name, about) in GAUGES {
            describe_gauge!(name, Unit::Count, about);
        }
    }
}

const COUNTERS: [(&str, &str); 7] = [
    ("http_retry_attempts_total", "Attempts that ended."),
    ("http_retry_retries_total", "Retries that were scheduled."),
    (
        "http_retry_requests_total",
        "Requests that ended, by the reason.",
    ),
    (
        "http_retry_text_cuts_total",
        "Requests whose text was cut for a language model.",
    ),
    (
        "http_retry_hedges_total",
        "Second copies of slow requests, sent, won and lost.",
    ),
    (
        "http_retry_resumes_total",
        "Downloads that broke, by what became of them.",
    ),
    (
        "http_retry_fleet_commands_total",
        "Commands to the store of the fleet, by their result.",
    ),
];

const HISTOGRAMS: [(&str, &str); 4] = [
    ("http_retry_attempt_seconds", "The time of one attempt."),
    ("http_retry_delay_seconds", "The wait before a retry."),
    (
        "http_retry_gate_wait_seconds",
        "The wait at the gate before an attempt.",
    ),
    (
        "http_retry_fleet_seconds",
        "The time of one command to the store of the fleet.",
    ),
];

const GAUGES: [(&str, &str); 2] = [
    (
        "http_retry_budget_tokens",
        "The tokens in the budget after the last request that it paid for.",
    ),
    (
        "http_retry_fleet_joined",
        "1 if the service shares budget and gate with its fleet, 0 if it is alone.",
    ),
];

/// The codes beside those of the IANA registry that get a label of their own: each is sent by large services.
const KNOWN: [u16; 14] = [
    419, 430, 449, 450, 499, 509, 520, 521, 522, 523, 524, 525, 529, 530,
];

/// A label of a bounded set, since a server can send any three digits.
fn status_label(status: StatusCode) -> SharedString {
    let is_known = status.canonical_reason().is_some() || KNOWN.contains(&status.as_u16());
    match status.as_u16() {
        200 => "200".into(),
        _ if is_known => status.as_str().to_owned().into(),
        100..=199 => "1xx".into(),
        201..=299 => "2xx".into(),
        300..=399 => "3xx".into(),
        400..=499 => "4xx".into(),
        500..=599 => "5xx".into(),
        _ => "other".into(),
    }
}

impl Observer for MetricsObserver {
    fn on_event(&self, event: &RetryEvent<'_>) {
        // The labels of an event share one copy.
        let service = || SharedString::from(Arc::<str>::from(event.service));
        match event.kind {
            RetryEventKind::AttemptEnded(attempt) => {
                let (service, class) = (service(), attempt.class.as_str());
                let dialect = attempt.dialect().map(str::to_owned);
                let dialect = dialect.map_or("none".into(), SharedString::from);
                let status = match (attempt.status, attempt.error) {
                    (Some(status), _) => status_label(status),
                    (None, Some(error)) => error.as_str().into(),
                    (None, None) => "none".into(),
                };
                counter!(
                    "http_retry_attempts_total",
                    "service" => service.clone(), "class" => class, "status" => status, "dialect" => dialect
                )
                .increment(1);
                histogram!("http_retry_attempt_seconds", "service" => service).record(attempt.took);
            }
            RetryEventKind::RetryScheduled { delay, source, .. } => {
                let (service, source) = (service(), source.as_str());
                counter!("http_retry_retries_total", "service" => service.clone(), "delay_source" => source)
                    .increment(1);
                histogram!("http_retry_delay_seconds", "service" => service).record(delay);
            }
            RetryEventKind::Stopped(report) => {
                let stop = report.stop.as_str();
                let budget = report.budget.clone().map(SharedString::from);
                counter!(
                    "http_retry_requests_total",
                    "service" => service(), "stop" => stop, "budget" => budget.clone().unwrap_or("none".into())
                )
                .increment(1);
                if let (Some(tokens), Some(budget)) = (report.tokens_left, budget) {
                    // A gauge takes a duration as its seconds: one for each token, without floats in this crate.
                    gauge!("http_retry_budget_tokens", "budget" => budget)
                        .set(Duration::from_micros(tokens.micros()));
                }
            }
            RetryEventKind::WaitedAtGate { waited } => {
                histogram!("http_retry_gate_wait_seconds", "service" => service()).record(waited);
            }
            RetryEventKind::TextCut(_) => {
                counter!("http_retry_text_cuts_total", "service" => service()).increment(1);
            }
            RetryEventKind::HedgeSent { .. } => hedged(service(), "sent"),
            RetryEventKind::HedgeWon { .. } => hedged(service(), "won"),
            RetryEventKind::HedgeLost { .. } => hedged(service(), "lost"),
            RetryEventKind::Resumed { kind, .. } => resumed(service(), Some(kind), "resumed"),
            RetryEventKind::Interrupted { kind, why, .. } => resumed(service(), kind, why.as_str()),
            // A fleet has counters of its own, one set for all adapters in it.
            RetryEventKind::FleetLeft { .. } | RetryEventKind::FleetJoined { .. } => {}
            RetryEventKind::AttemptStarted { .. } | RetryEventKind::Resuming { .. } => {}
        }
    }
}

fn hedged(service: SharedString, step: &'static str) {
    counter!("http_retry_hedges_total", "service" => service, "step" => step).increment(1);
}

fn resumed(service: SharedString, kind: Option<ErrorKind>, outcome: &'static str) {
    let kind = kind.map_or("none", ErrorKind::as_str);
    counter!(
        "http_retry_resumes_total", "service" => service, "kind" => kind, "outcome" => outcome
    )
    .increment(1);
}
