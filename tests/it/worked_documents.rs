//! The documents of examples/config, held against the systems they are modelled on, and the schema of all documents.

mod job_store;
mod rule_engine;
mod schema;
mod task_runner;
mod three_apis;
mod workflow_engine;

use futures_util::FutureExt;
use http::Request;
use http_body_util::BodyExt;
use http_retry::config::{Document, RetryConfig, RetryConfigBuilder};
use http_retry::report::DeadLetter;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryReport, StopReason};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

const WORKED: [&str; 5] = [
    "job_store",
    "rule_engine",
    "task_runner",
    "three_apis",
    "workflow_engine",
];

fn text(file: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/config");
    fs::read_to_string(folder.join(file)).unwrap()
}

fn document(name: &str) -> Document {
    serde_yaml_ng::from_str(&text(&format!("{name}.yaml"))).unwrap()
}

/// A builder that knows every name that the documents leave to code.
fn builder() -> RetryConfigBuilder {
    RetryConfig::builder()
        .dead_letters("failed", |_: &DeadLetter<'_>| {})
        .dead_letters("payment_failed", |_: &DeadLetter<'_>| {})
}

fn config(name: &str) -> RetryConfig {
    builder().load(&document(name)).unwrap()
}

fn get(url: &str) -> Request<String> {
    Request::get(url).body(String::new()).unwrap()
}

fn post(url: &str) -> Request<String> {
    Request::post(url).body("{}".into()).unwrap()
}

/// A client that fails with this status for ever.
fn always(status: u16) -> Script {
    Script::new().status(status)
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn all_ms(milliseconds: &[u64]) -> Vec<Duration> {
    milliseconds.iter().copied().map(ms).collect()
}

/// What came of one request.
struct Sent {
    report: RetryReport,
    /// Status and body.
    answer: Result<(u16, String), BoxError>,
}

impl Sent {
    /// One request through a layer made of a document, where every delay is the shortest (0) or the longest (`u64::MAX`)
    /// that can be drawn, or one in between.
    fn with(
        random: u64,
        config: &RetryConfig,
        client: &Script,
        mut request: Request<String>,
    ) -> Self {
        let slot = RetryReport::slot();
        request.extensions_mut().insert(slot.clone());
        let layer =
            RetryLayer::from_config(config).runtime(ManualRuntime::new().with_random(random));
        let sent = layer.layer(client.clone()).oneshot(request).now_or_never();
        let answer = sent.expect("the request is over").map(|response| {
            let status = response.status().as_u16();
            let body = response.into_body().collect().now_or_never();
            let body = body.expect("a whole body").unwrap().to_bytes();
            (status, String::from_utf8(body.to_vec()).unwrap())
        });
        Self {
            report: slot.take().unwrap(),
            answer,
        }
    }

    fn through(config: &RetryConfig, client: &Script, request: Request<String>) -> Self {
        Self::with(u64::MAX, config, client, request)
    }

    fn delays(&self) -> Vec<Duration> {
        let retries = self.report.attempts.iter().skip(1);
        retries.map(|attempt| attempt.delay).collect()
    }

    fn stop(&self) -> StopReason {
        self.report.stop
    }

    fn attempts(&self) -> u32 {
        self.report.attempt_count
    }

    /// The rule that judged the last attempt.
    fn rule(&self) -> Option<&str> {
        self.report.attempts.last()?.rule.as_deref()
    }

    fn status(&self) -> u16 {
        self.answer.as_ref().unwrap().0
    }

    fn is_error(&self) -> bool {
        self.answer.is_err()
    }

    fn tokens_left(&self) -> String {
        self.report.tokens_left.unwrap().to_string()
    }
}

/// The shortest and the longest delay before each retry of a GET, in milliseconds.
fn ranges(config: &RetryConfig, url: &str) -> Vec<(u128, u128)> {
    let delays = |random| Sent::with(random, config, &always(500), get(url)).delays();
    let (shortest, longest) = (delays(0), delays(u64::MAX));
    assert_eq!(shortest.len(), longest.len());
    let whole = |delay: &Duration| {
        assert_eq!(delay.subsec_nanos() % 1_000_000, 0);
        delay.as_millis()
    };
    let pairs = shortest.iter().zip(&longest);
    pairs.map(|(min, max)| (whole(min), whole(max))).collect()
}

/// Delays without jitter.
fn exactly(milliseconds: &[u128]) -> Vec<(u128, u128)> {
    milliseconds.iter().map(|delay| (*delay, *delay)).collect()
}

#[test]
fn each_document_is_the_same_in_yaml_toml_and_json() {
    for name in WORKED {
        let json: Document = serde_json::from_str(&text(&format!("{name}.json"))).unwrap();
        let toml: Document = toml::from_str(&text(&format!("{name}.toml"))).unwrap();
        assert_eq!(document(name), toml, "{name}.toml");
        assert_eq!(document(name), json, "{name}.json");
    }
}

#[test]
fn there_are_no_other_documents() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/config");
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "yaml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, WORKED);
}

#[test]
fn every_place_of_every_document_explains_itself() {
    for name in WORKED {
        for place in config(name).routes() {
            let text = place.policy.explain();
            assert!(text.contains("worst case"), "{name}: {text}");
        }
    }
}
