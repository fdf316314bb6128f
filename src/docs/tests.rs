//! The tables of the guide, held against the enums and the metrics that they list.

mod clients;
mod dialects;
mod keys;
mod recipes;
mod tables;

use crate::hedge::{Hedge, HedgeLayer};
use crate::policy::DelaySource;
use crate::report::MetricsObserver;
use crate::testing::{ManualRuntime, Script};
use crate::tower::RetryLayer;
use crate::{Class, ErrorKind, Outcome, Reach, RetryPolicy, StopReason};
use futures_util::FutureExt;
use http::StatusCode;
use http_body_util::BodyExt;
use http_retry_core::reading::{Rewrite, RewriteBody, Rewritten};
use metrics::with_local_recorder;
use metrics_util::MetricKind;
use metrics_util::debugging::{DebuggingRecorder, Snapshotter};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::io;
use std::time::Duration;
use tables::{table, words};
use tower::{Layer, Service, ServiceExt};

const GUIDE: &str = include_str!("guide.md");
const REFERENCE: &str = include_str!("config.md");
const METRICS: &str = include_str!("../../crates/core/src/report/metrics.rs");

#[test]
fn the_guide_says_what_to_do_about_each_stop_reason() {
    let names = StopReason::ALL.iter().map(|reason| format!("`{reason}`"));
    assert_eq!(first_column("### Why it stopped"), sorted(names));
}

#[test]
fn the_reference_lists_the_stops_that_count_as_exhausted() {
    let (_, below) = REFERENCE
        .split_once("\n## Once retries are exhausted")
        .unwrap();
    let (_, list) = below.split_once("the stops ").unwrap();
    let (list, _) = list.split_once(".\n").unwrap();
    let exhausted = StopReason::ALL
        .iter()
        .filter(|reason| reason.is_exhausted());
    let names = exhausted.map(ToString::to_string);
    assert_eq!(sorted(words(list)), sorted(names));
}

/// `UPDATE_TABLES=1` writes it anew, after the table itself has been written.
#[test]
fn the_guide_shows_the_table_of_statuses() {
    const TABLE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/crates/core/src/policy/classify/statuses.md"
    );
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/docs/guide.md");
    let table = fs::read_to_string(TABLE).unwrap();
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once("<!-- statuses: begin -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- statuses: end -->\n").unwrap();
    if std::env::var_os("UPDATE_TABLES").is_some() {
        let marks = ["<!-- statuses: begin -->\n", "<!-- statuses: end -->\n"];
        let anew = [before, marks[0], &table, marks[1], after].concat();
        fs::write(PAGE, anew).unwrap();
        return;
    }
    assert_eq!(shown, table, "write guide.md anew with UPDATE_TABLES=1");
}

#[test]
fn the_guide_says_what_each_kind_of_error_is() {
    let all = ErrorKind::ALL;
    let names = all.iter().map(|kind| format!("`{kind}`"));
    assert_eq!(first_column("### What an error was"), sorted(names));
    let rows = table(GUIDE, "### What an error was", 0);
    for kind in all.iter().copied() {
        let row = rows.iter().find(|row| row[0] == format!("`{kind}`"));
        let outcome = Outcome::error(kind);
        let repeated_for = match outcome.class() {
            Class::Success | Class::Permanent => "never",
            _ if outcome.reach().is_unprocessed() => "every method",
            _ => "idempotent requests",
        };
        assert!(row.unwrap()[2].starts_with(repeated_for), "{kind}");
    }
}

#[test]
fn the_guide_says_what_each_class_and_reach_means() {
    let classes = Class::ALL;
    let reaches = Reach::ALL;
    let names = |all: Vec<String>| sorted(all.iter().map(|name| format!("`{name}`")));
    let heading = "## Add a status";
    let [class, reach] = [0, 1].map(|nth| column(&table(GUIDE, heading, nth)));
    assert_eq!(
        class,
        names(classes.iter().map(|class| format!("{class:?}")).collect())
    );
    assert_eq!(
        reach,
        names(reaches.iter().map(|reach| format!("{reach:?}")).collect())
    );
}

#[test]
fn each_metric_is_listed_with_its_kind_and_labels() {
    let rustdoc = METRICS.replace("\n/// ", "\n");
    let of_rustdoc = table(&rustdoc, "Counts attempts", 0);
    for rows in [table(GUIDE, "## Watch it", 0), of_rustdoc] {
        let listed: BTreeSet<Metric> = rows.iter().map(|row| metric(row)).collect();
        assert_eq!(listed, measured());
    }
}

#[test]
fn the_guide_lists_each_source_of_a_delay() {
    let all = DelaySource::ALL;
    let rows = table(GUIDE, "## Watch it", 0);
    let row = rows.iter().find(|row| row[0].contains("_retries_"));
    let (_, values) = row.unwrap()[2].split_once("`delay_source`: ").unwrap();
    assert_eq!(
        words(values),
        all.iter().map(ToString::to_string).collect::<Vec<_>>()
    );
}

/// Name, kind and labels.
type Metric = (String, String, Vec<String>);

fn metric(row: &[String]) -> Metric {
    // Behind a label's name its values may stand.
    let labels = row[2].split(": ").next().unwrap_or_default();
    (words(&row[0]).concat(), row[1].clone(), words(labels))
}

/// Returns the metrics of an observer of every event.
fn measured() -> BTreeSet<Metric> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    with_local_recorder(&recorder, || {
        let server = Script::new().status(503).status(200);
        send(&observed(RetryPolicy::background()).layer(server));
        rare_events();
    });
    of(&snapshotter)
}

/// The events that a plain request with one retry does not bring.
fn rare_events() {
    // The quota is spent, so the second request waits at the gate.
    let spent = Script::new().status(200);
    let spent = spent.header("x-ratelimit-remaining", "0");
    let spent = spent.header("x-ratelimit-reset", "1").status(200);
    let gated = observed(RetryPolicy::rate_limited()).layer(spent);
    send(&gated);
    send(&gated);
    let halves = RetryPolicy::background().to_builder().rewrite(Halve);
    let server = Script::new().status(413).status(200);
    send(&observed(halves.build().unwrap()).layer(server));
    let hedge = Hedge::after(Duration::from_secs(1));
    let hedges = HedgeLayer::alone(hedge, RetryPolicy::background(), ManualRuntime::new());
    let hedges = hedges.unwrap().observer(MetricsObserver::new());
    send(&hedges.layer(Script::new().hang().status(200)));
    let half = Script::new().status(200).header("etag", "\"1\"");
    let half = half.header("content-length", "2").body("a");
    let half = half.break_body(io::ErrorKind::ConnectionReset);
    let downloads = observed(RetryPolicy::background()).resume_downloads();
    let broken = downloads.layer(half.status(404));
    let request = http::Request::get("http://api.example/").body(String::new());
    let sent = broken.oneshot(request.unwrap()).now_or_never();
    let body = sent.unwrap().unwrap().into_body();
    assert!(body.collect().now_or_never().unwrap().is_err());
}

fn observed(policy: RetryPolicy) -> RetryLayer {
    RetryLayer::new(policy)
        .runtime(ManualRuntime::new())
        .observer(MetricsObserver::new())
}

/// Sends a request, which succeeds.
fn send<S, B>(client: &S)
where
    S: Service<http::Request<String>, Response = http::Response<B>, Error: Debug> + Clone,
{
    let request = http::Request::put("http://api.example/");
    let request = request.body("ab".to_owned()).unwrap();
    let sent = client.clone().oneshot(request).now_or_never();
    assert_eq!(sent.unwrap().unwrap().status(), 200);
}

/// Sends half of a text that is too long.
struct Halve;

impl Rewrite for Halve {
    fn after(&self, outcome: &Outcome<'_>) -> Option<RewriteBody> {
        (outcome.status() == Some(StatusCode::PAYLOAD_TOO_LARGE)).then(|| {
            let rewrite: RewriteBody = Box::new(|_, body| {
                let half = body.get(..body.len() / 2)?;
                Some(Rewritten {
                    body: half.to_vec(),
                    before: body.len(),
                    after: half.len(),
                })
            });
            rewrite
        })
    }
}

fn of(snapshotter: &Snapshotter) -> BTreeSet<Metric> {
    let all = snapshotter.snapshot().into_vec().into_iter();
    all.map(|(key, ..)| {
        let kind = match key.kind() {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let labels = key.key().labels().map(|label| label.key().to_owned());
        (
            key.key().name().to_owned(),
            kind.to_owned(),
            labels.collect(),
        )
    })
    .collect()
}

fn first_column(heading: &str) -> Vec<String> {
    column(&table(GUIDE, heading, 0))
}

fn column(rows: &[Vec<String>]) -> Vec<String> {
    sorted(rows.iter().map(|row| row[0].clone()))
}

fn sorted(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort();
    names
}
