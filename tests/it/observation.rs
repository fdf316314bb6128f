//! What is told of a request: events, reports, metrics, spans and log lines, on both stacks.

pub(crate) mod counters;
mod downloads;
mod error_itself;
mod events;
mod failover_secrets;
pub(crate) mod journal;
mod judged_once;
mod kept_type;
mod misuse;
mod reports;
mod secrets;
mod spans;
mod waits;

use futures_util::FutureExt;
use http_retry::report::{Observer, RetryEvent, RetryEventKind};
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{
    Backoff, Jitter, ReportSlot, RetryBudget, RetryOverride, RetryPolicy, RetryReport,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);
const URL: &str = "http://api.example:8080/orders";

/// Up to four retries, each a second after the attempt before it.
fn every_second() -> RetryPolicy {
    RetryPolicy::builder()
        .backoff(Backoff::fixed(SECOND).jitter(Jitter::None))
        .build()
        .unwrap()
}

fn layer() -> RetryLayer {
    RetryLayer::new(every_second()).runtime(ManualRuntime::new())
}

fn middleware() -> RetryMiddleware {
    RetryMiddleware::new(every_second()).runtime(ManualRuntime::new())
}

/// A GET through the tower layer, and its report.
fn by_tower(layer: &RetryLayer, script: Script) -> RetryReport {
    let slot = ReportSlot::default();
    let mut request = http::Request::get(URL).body(String::new()).unwrap();
    request.extensions_mut().insert(slot.clone());
    let call = layer.layer(script).oneshot(request);
    // That it may fail is part of the report.
    let _result = call.now_or_never().expect("nothing to wait for");
    slot.take().unwrap()
}

/// A GET through the reqwest middleware, and its report.
fn by_reqwest(middleware: RetryMiddleware, script: Script) -> RetryReport {
    let slot = ReportSlot::default();
    let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
        .with(middleware)
        .with(script)
        .build();
    let call = client.get(URL).with_extension(slot.clone()).send();
    let _result = call.now_or_never().expect("nothing to wait for");
    slot.take().unwrap()
}

/// Writes every event down as a line.
#[derive(Debug, Clone, Default)]
struct Notebook(Arc<Mutex<Vec<String>>>);

impl Notebook {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Notebook {
    fn on_event(&self, event: &RetryEvent<'_>) {
        let what = in_words(event.kind);
        self.0
            .lock()
            .unwrap()
            .push(format!("{:?} {what}", event.at));
    }
}

fn in_words(kind: RetryEventKind<'_>) -> String {
    match kind {
        RetryEventKind::AttemptStarted { number, .. } => format!("attempt {number} starts"),
        RetryEventKind::AttemptEnded(attempt) => {
            let status = attempt.status.map(|status| status.as_str().to_owned());
            let error = attempt.error.map(|error| error.to_string());
            let came = status.or(error).unwrap_or_default();
            format!("attempt {} ends: {came}, {}", attempt.number, attempt.class)
        }
        RetryEventKind::RetryScheduled {
            retry,
            delay,
            due,
            source,
            ..
        } => format!("retry {retry} in {delay:?}, at {due:?}, by {source}"),
        RetryEventKind::Stopped(report) => {
            format!("stops after {}: {}", report.attempt_count, report.stop)
        }
        other => format!("{other:?}"),
    }
}
