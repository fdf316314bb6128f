//! The rules and the dashboard of `ops/`, against the metrics that the code has.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

use http_retry::StopReason;
use http_retry::report::MetricsObserver;
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    with_local_recorder,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// The names under which Prometheus knows the metrics that are described to it.
#[derive(Default)]
struct Described(Mutex<BTreeSet<String>>);

impl Described {
    fn add(&self, name: &KeyName, ends: &[&str]) {
        let names = ends.iter().map(|end| format!("{}{end}", name.as_str()));
        self.0.lock().unwrap().extend(names);
    }
}

impl Recorder for Described {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.add(&name, &[""]);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.add(&name, &[""]);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.add(&name, &["_bucket", "_count", "_sum"]);
    }

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

fn exported() -> BTreeSet<String> {
    let described = Described::default();
    with_local_recorder(&described, MetricsObserver::describe);
    described.0.into_inner().unwrap()
}

fn read(name: &str) -> String {
    let file = format!("{}/ops/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(file).unwrap()
}

/// The words of an expression that are names of metrics.
fn names_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    let is_ours = |word: &&str| word.starts_with("http_retry_");
    words.filter(is_ours).collect()
}

/// The values that an expression compares the label `stop` with.
fn stops_in(text: &str) -> Vec<&str> {
    let parts = text.split("stop=").skip(1);
    let quoted = parts.filter_map(|part| part.split('"').nth(1));
    quoted.flat_map(|names| names.split('|')).collect()
}

/// All texts below the keys of this name.
fn texts<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                match value.as_str() {
                    Some(text) if key == name => found.push(text),
                    _ => texts(value, name, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, name, found)),
        _ => {}
    }
}

#[test]
fn rules_and_dashboard_use_metrics_that_are_exported() {
    let exported = exported();
    assert!(exported.contains("http_retry_attempt_seconds_bucket"));
    for name in [
        "prometheus-rules.yml",
        "prometheus-rules.test.yml",
        "grafana-dashboard.json",
    ] {
        let text = read(name);
        let used = names_in(&text);
        assert!(used.len() >= 4, "{name}: {used:?}");
        for metric in used {
            let is_exported = exported.contains(metric);
            assert!(is_exported, "{name}: nobody exports {metric}");
        }
        for stop in stops_in(&text) {
            let is_known = StopReason::ALL.iter().any(|known| known.as_str() == stop);
            assert!(is_known, "{name}: no call stops with {stop}");
        }
    }
    assert!(stops_in(&read("prometheus-rules.yml")).len() >= 6);
}

#[test]
fn every_metric_of_calls_is_on_the_dashboard() {
    let dashboard: Value = serde_json::from_str(&read("grafana-dashboard.json")).unwrap();
    let mut expressions = Vec::new();
    texts(&dashboard, "expr", &mut expressions);
    let shown = expressions.join("\n");
    for metric in exported() {
        let base = ["_bucket", "_count", "_sum"]
            .iter()
            .find_map(|end| metric.strip_suffix(end))
            .unwrap_or(&metric);
        // Cut texts and the store's times matter to few.
        let is_left_out =
            ["http_retry_text_cuts_total", "http_retry_fleet_seconds"].contains(&base);
        assert!(
            is_left_out || shown.contains(base),
            "{metric} is on no panel"
        );
    }
}

#[test]
fn every_alert_is_tested_and_explained() {
    let rules: Value = serde_yaml_ng::from_str(&read("prometheus-rules.yml")).unwrap();
    let tests: Value = serde_yaml_ng::from_str(&read("prometheus-rules.test.yml")).unwrap();
    let (mut alerts, mut tested) = (Vec::new(), Vec::new());
    texts(&rules, "alert", &mut alerts);
    texts(&tests, "alertname", &mut tested);
    assert_eq!(alerts.len(), 5);
    let readme = read("README.md");
    for alert in alerts {
        // Once for what fires it, once for what does not.
        let times = tested.iter().filter(|name| **name == alert).count();
        assert!(times >= 2, "{alert}");
        assert!(readme.contains(&format!("| `{alert}` |")), "{alert}");
    }
}
