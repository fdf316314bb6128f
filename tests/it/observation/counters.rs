//! `MetricsObserver`: counters and histograms by service, class and stop reason.

use super::*;
use ::metrics::{Label, with_local_recorder};
use http_retry::report::MetricsObserver;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::collections::BTreeMap;

/// What was measured, by a metric's name and labels.
fn measured(run: impl FnOnce()) -> BTreeMap<String, DebugValue> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    with_local_recorder(&recorder, run);
    let all = snapshotter.snapshot().into_vec();
    let named = all.into_iter().map(|(key, _, _, value)| {
        let (_, key) = key.into_parts();
        let labels: Vec<_> = key.labels().map(in_words).collect();
        (format!("{} {}", key.name(), labels.join(" ")), value)
    });
    named.collect()
}

fn in_words(label: &Label) -> String {
    format!("{}={}", label.key(), label.value())
}

fn histogram(values: &[f64]) -> DebugValue {
    DebugValue::Histogram(values.iter().copied().map(Into::into).collect())
}

/// What three requests leave: one that needs two retries, one that needs none, one that none can help.
fn of_three_requests() -> BTreeMap<String, DebugValue> {
    let of_a = "service=api.example:8080";
    let count = DebugValue::Counter;
    BTreeMap::from([
        (
            format!("http_retry_attempts_total {of_a} class=transient"),
            count(2),
        ),
        (
            format!("http_retry_attempts_total {of_a} class=success"),
            count(2),
        ),
        (
            format!("http_retry_attempts_total {of_a} class=permanent"),
            count(1),
        ),
        (
            format!("http_retry_attempt_seconds {of_a}"),
            histogram(&[0.0; 5]),
        ),
        (
            format!("http_retry_retries_total {of_a} delay_source=own"),
            count(2),
        ),
        (
            format!("http_retry_delay_seconds {of_a}"),
            histogram(&[1.0, 1.0]),
        ),
        (
            format!("http_retry_requests_total {of_a} stop=succeeded"),
            count(2),
        ),
        (
            format!("http_retry_requests_total {of_a} stop=not_retryable"),
            count(1),
        ),
    ])
}

#[test]
fn attempts_retries_and_ends_are_counted_by_service() {
    let by_tower = measured(|| {
        let layer = layer().observe(MetricsObserver::new());
        by_tower(&layer, Script::new().status(503).status(503).status(200));
        by_tower(&layer, Script::new().status(200));
        by_tower(&layer, Script::new().status(404));
    });
    assert_eq!(by_tower, of_three_requests());
    let by_reqwest = measured(|| {
        let middleware = middleware().observe(MetricsObserver::new());
        let failing = Script::new().status(503).status(503).status(200);
        by_reqwest(middleware.clone(), failing);
        by_reqwest(middleware.clone(), Script::new().status(200));
        by_reqwest(middleware, Script::new().status(404));
    });
    assert_eq!(by_reqwest, of_three_requests());
}

#[test]
fn throttling_and_the_delays_that_servers_ask_for_stand_apart() {
    let measured = measured(|| {
        let layer = layer().observe(MetricsObserver::new());
        let busy = Script::new().status(503).header("retry-after", "5");
        by_tower(&layer, busy.status(200));
    });
    let throttled = "http_retry_attempts_total service=api.example:8080 class=throttled";
    assert_eq!(measured[throttled], DebugValue::Counter(1));
    let asked = "http_retry_retries_total service=api.example:8080 delay_source=server";
    assert_eq!(measured[asked], DebugValue::Counter(1));
}

#[test]
fn the_name_that_a_request_gives_is_the_label() {
    let measured = measured(|| {
        let mut request = http::Request::get(URL).body(String::new()).unwrap();
        let named = http_retry::RetryOverride::new().service("orders");
        request.extensions_mut().insert(named);
        let layer = layer().observe(MetricsObserver::new());
        let call = layer.layer(Script::new()).oneshot(request);
        call.now_or_never().unwrap().unwrap();
    });
    let names: Vec<_> = measured.keys().map(String::as_str).collect();
    let wanted = [
        "http_retry_attempt_seconds service=orders",
        "http_retry_attempts_total service=orders class=success",
        "http_retry_requests_total service=orders stop=succeeded",
    ];
    assert_eq!(names, wanted);
}
