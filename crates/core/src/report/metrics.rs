//! Counters, gauges and histograms through the `metrics` facade.

use super::{Observer, RetryEvent, RetryEventKind};
use crate::name_hasher::NameHasher;
use crate::policy::ErrorKind;
use http::StatusCode;
use metrics::{
    Key, Label, Level, Metadata, Unit, describe_counter, describe_gauge, describe_histogram,
    with_recorder,
};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
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
        for metric in [
            &ATTEMPTS, &RETRIES, &REQUESTS, &TEXT_CUTS, &HEDGES, &RESUMES,
        ] {
            describe_counter!(metric.name, Unit::Count, metric.about);
        }
        for metric in [&ATTEMPT_TIME, &DELAY, &GATE_WAIT] {
            describe_histogram!(metric.name, Unit::Seconds, metric.about);
        }
        describe_gauge!(TOKENS.name, Unit::Count, TOKENS.about);
        // A fleet tells these itself.
        describe_counter!(
            "http_retry_fleet_commands_total",
            Unit::Count,
            "Commands to the store of the fleet, by their result."
        );
        describe_histogram!(
            "http_retry_fleet_seconds",
            Unit::Seconds,
            "The time of one command to the store of the fleet."
        );
        describe_gauge!(
            "http_retry_fleet_joined",
            Unit::Count,
            "1 if the service shares budget and gate with its fleet, 0 if it is alone."
        );
    }
}

static ATTEMPTS: Metric = Metric::new("http_retry_attempts_total", "Attempts that ended.");

static ATTEMPT_TIME: Metric = Metric::new("http_retry_attempt_seconds", "The time of one attempt.");

static RETRIES: Metric = Metric::new("http_retry_retries_total", "Retries that were scheduled.");

static DELAY: Metric = Metric::new("http_retry_delay_seconds", "The wait before a retry.");

static GATE_WAIT: Metric = Metric::new(
    "http_retry_gate_wait_seconds",
    "The wait at the gate before an attempt.",
);

static REQUESTS: Metric = Metric::new(
    "http_retry_requests_total",
    "Requests that ended, by the reason.",
);

static TOKENS: Metric = Metric::new(
    "http_retry_budget_tokens",
    "The tokens in the budget after the last request that it paid for.",
);

static TEXT_CUTS: Metric = Metric::new(
    "http_retry_text_cuts_total",
    "Requests whose text was cut for a language model.",
);

static HEDGES: Metric = Metric::new(
    "http_retry_hedges_total",
    "Second copies of slow requests, sent, won and lost.",
);

static RESUMES: Metric = Metric::new(
    "http_retry_resumes_total",
    "Downloads that broke, by what became of them.",
);

impl Observer for MetricsObserver {
    fn on_event(&self, event: &RetryEvent<'_>) {
        let service = ("service", event.service);
        match event.kind {
            RetryEventKind::AttemptEnded(attempt) => {
                let status = match (&attempt.status, attempt.error) {
                    (Some(status), _) => status_label(status),
                    (None, Some(error)) => error.as_str(),
                    (None, None) => "none",
                };
                let class = ("class", attempt.class.as_str());
                let dialect = ("dialect", attempt.dialect().unwrap_or("none"));
                let labels = [service, class, ("status", status), dialect];
                ATTEMPTS.count(&labels);
                ATTEMPT_TIME.measure(&[service], attempt.took);
            }
            RetryEventKind::RetryScheduled { delay, source, .. } => {
                let source = ("delay_source", source.as_str());
                RETRIES.count(&[service, source]);
                DELAY.measure(&[service], delay);
            }
            RetryEventKind::Stopped(report) => {
                let stop = ("stop", report.stop.as_str());
                let budget = ("budget", report.budget.as_deref().unwrap_or("none"));
                REQUESTS.count(&[service, stop, budget]);
                if let (Some(tokens), Some(_)) = (report.tokens_left, &report.budget) {
                    // A gauge takes a duration as its seconds: one for each token, without floats in this crate.
                    let tokens = Duration::from_micros(tokens.micros());
                    TOKENS.set(&[budget], tokens);
                }
            }
            RetryEventKind::WaitedAtGate { waited } => {
                GATE_WAIT.measure(&[service], waited);
            }
            RetryEventKind::TextCut(_) => TEXT_CUTS.count(&[service]),
            RetryEventKind::HedgeSent { .. } => hedged(service, "sent"),
            RetryEventKind::HedgeWon { .. } => hedged(service, "won"),
            RetryEventKind::HedgeLost { .. } => hedged(service, "lost"),
            RetryEventKind::Resumed { kind, .. } => resumed(service, Some(kind), "resumed"),
            RetryEventKind::Interrupted { kind, why, .. } => resumed(service, kind, why.as_str()),
            // A fleet has counters of its own, one set for all adapters in it.
            RetryEventKind::FleetLeft { .. } | RetryEventKind::FleetJoined { .. } => {}
            RetryEventKind::AttemptStarted { .. } | RetryEventKind::Resuming { .. } => {}
        }
    }
}

fn hedged(service: NamedValue<'_>, step: &'static str) {
    HEDGES.count(&[service, ("step", step)]);
}

fn resumed(service: NamedValue<'_>, kind: Option<ErrorKind>, outcome: &'static str) {
    let kind = ("kind", kind.map_or("none", ErrorKind::as_str));
    let labels = [service, kind, ("outcome", outcome)];
    RESUMES.count(&labels);
}

/// A label of a bounded set, since a server can send any three digits.
fn status_label(status: &StatusCode) -> &str {
    let is_known = status.canonical_reason().is_some() || KNOWN.contains(&status.as_u16());
    match status.as_u16() {
        _ if is_known => status.as_str(),
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        500..=599 => "5xx",
        _ => "other",
    }
}

/// The codes beside those of the IANA registry that get a label of their own: each is sent by large services.
const KNOWN: [u16; 14] = [
    419, 430, 449, 450, 499, 509, 520, 521, 522, 523, 524, 525, 529, 530,
];

/// A label before it is one.
type NamedValue<'a> = (&'static str, &'a str);

/// A metric, with the keys that were made for it, by a hash of their labels' values. The macros of `metrics` make a key
/// for each event, which costs more than all else here.
struct Metric {
    name: &'static str,
    about: &'static str,
    keys: LazyLock<RwLock<HashMap<u64, Arc<Key>, NameHasher>>>,
}

/// A program with more services and statuses than that makes a key for each event instead.
const MAX_KEYS: usize = 512;

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

impl Metric {
    const fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            keys: LazyLock::new(RwLock::default),
        }
    }

    fn count(&self, labels: &[NamedValue<'_>]) {
        let key = self.key(labels);
        with_recorder(|recorder| recorder.register_counter(&key, &METADATA).increment(1));
    }

    fn measure(&self, labels: &[NamedValue<'_>], time: Duration) {
        let key = self.key(labels);
        with_recorder(|recorder| recorder.register_histogram(&key, &METADATA).record(time));
    }

    fn set(&self, labels: &[NamedValue<'_>], value: Duration) {
        let key = self.key(labels);
        with_recorder(|recorder| recorder.register_gauge(&key, &METADATA).set(value));
    }

    fn key(&self, labels: &[NamedValue<'_>]) -> Arc<Key> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let mixed = |hash: u64, (_, value): &NamedValue<'_>| {
            hash.rotate_left(1) ^ keys.hasher().hash(value.as_bytes())
        };
        let hash = labels.iter().fold(0, mixed);
        let values = labels.iter().map(|(_, value)| *value);
        match keys.get(&hash) {
            Some(key) if key.labels().map(Label::value).eq(values) => Arc::clone(key),
            _ => {
                let has_room = keys.len() < MAX_KEYS;
                drop(keys);
                let key = self.new_key(labels);
                if has_room {
                    let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
                    keys.insert(hash, Arc::clone(&key));
                }
                key
            }
        }
    }

    #[cold]
    fn new_key(&self, labels: &[NamedValue<'_>]) -> Arc<Key> {
        let shared = |(name, value): &NamedValue<'_>| Label::new(*name, Arc::<str>::from(*value));
        let labels: Vec<_> = labels.iter().map(shared).collect();
        Arc::new(Key::from_parts(self.name, labels))
    }
}
