//! `MetricsObserver`: counters and histograms by service, class and stop reason.

use super::*;
use ::metrics::{Label, Unit, with_local_recorder};
use http_retry::config::RetryConfig;
use http_retry::dialect::{Dialect, Interpretation, Row};
use http_retry::report::MetricsObserver;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use serde_json::json;
use std::collections::BTreeMap;

/// What was measured, by a metric's name and labels.
pub(crate) fn measured(run: impl FnOnce()) -> BTreeMap<String, DebugValue> {
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
            format!("http_retry_attempts_total {of_a} class=transient status=503 dialect=none"),
            count(2),
        ),
        (
            format!("http_retry_attempts_total {of_a} class=success status=200 dialect=none"),
            count(2),
        ),
        (
            format!("http_retry_attempts_total {of_a} class=permanent status=404 dialect=none"),
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
            format!("http_retry_requests_total {of_a} stop=succeeded budget=api.example:8080"),
            count(2),
        ),
        (
            format!("http_retry_requests_total {of_a} stop=not_retryable budget=api.example:8080"),
            count(1),
        ),
        (
            // 20, without two retries at 1, and with two successes at 0.1.
            "http_retry_budget_tokens budget=api.example:8080".to_owned(),
            DebugValue::Gauge(18.2.into()),
        ),
    ])
}

#[test]
fn attempts_retries_and_ends_are_counted_by_service() {
    let by_tower = measured(|| {
        let layer = layer().observer(MetricsObserver::new());
        by_tower(&layer, Script::new().status(503).status(503).status(200));
        by_tower(&layer, Script::new().status(200));
        by_tower(&layer, Script::new().status(404));
    });
    assert_eq!(by_tower, of_three_requests());
    let by_reqwest = measured(|| {
        let middleware = middleware().observer(MetricsObserver::new());
        let failing = Script::new().status(503).status(503).status(200);
        by_reqwest(middleware.clone(), failing);
        by_reqwest(middleware.clone(), Script::new().status(200));
        by_reqwest(middleware, Script::new().status(404));
    });
    assert_eq!(by_reqwest, of_three_requests());
}

/// The keys that are kept have a bound, which this passes.
#[test]
fn each_of_a_thousand_services_is_counted() {
    let of_each = || {
        measured(|| {
            let layer = layer().observer(MetricsObserver::new());
            for service in 0..1_000 {
                let mut request = http::Request::get(URL).body(String::new()).unwrap();
                let named = http_retry::RetryOverride::new().service(format!("many-{service}"));
                request.extensions_mut().insert(named);
                let call = layer.layer(Script::new().status(200)).oneshot(request);
                call.now_or_never().unwrap().unwrap();
            }
        })
    };
    // The second time, half of them are known.
    for measured in [of_each(), of_each()] {
        for service in 0..1_000 {
            let name = format!("service=many-{service}");
            let ended =
                format!("http_retry_requests_total {name} stop=succeeded budget=many-{service}");
            assert_eq!(measured[&ended], DebugValue::Counter(1));
            let sent =
                format!("http_retry_attempts_total {name} class=success status=200 dialect=none");
            assert_eq!(measured[&sent], DebugValue::Counter(1));
        }
    }
}

#[test]
fn throttling_and_the_delays_that_servers_ask_for_stand_apart() {
    let measured = measured(|| {
        let layer = layer().observer(MetricsObserver::new());
        let busy = Script::new().status(503).header("retry-after", "5");
        by_tower(&layer, busy.status(200));
    });
    let throttled = "http_retry_attempts_total service=api.example:8080 class=throttled status=503 dialect=none";
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
        let layer = layer().observer(MetricsObserver::new());
        let call = layer.layer(Script::new()).oneshot(request);
        call.now_or_never().unwrap().unwrap();
    });
    let names: Vec<_> = measured.keys().map(String::as_str).collect();
    let wanted = [
        "http_retry_attempt_seconds service=orders",
        "http_retry_attempts_total service=orders class=success status=200 dialect=none",
        "http_retry_budget_tokens budget=orders",
        "http_retry_requests_total service=orders stop=succeeded budget=orders",
    ];
    assert_eq!(names, wanted);
}

/// The gauges of budgets after a call to each of two services, and the budgets of their reports.
fn gauges(layer: RetryLayer) -> (Vec<String>, Vec<String>) {
    let mut of_reports = Vec::new();
    let measured = measured(|| {
        let layer = layer.runtime(ManualRuntime::new());
        let layer = layer.observer(MetricsObserver::new());
        for service in ["orders", "search"] {
            let slot = RetryReport::slot();
            let mut request = http::Request::get(URL).body(String::new()).unwrap();
            let named = http_retry::RetryOverride::new().service(service);
            request.extensions_mut().insert(named);
            request.extensions_mut().insert(slot.clone());
            let server = Script::new().status(503).status(200);
            let call = layer.layer(server).oneshot(request);
            call.now_or_never().unwrap().unwrap();
            of_reports.push(slot.take().unwrap().budget.as_deref().unwrap().to_owned());
        }
    });
    let labels = measured.into_keys();
    let gauges = labels.filter_map(|name| Some(name.split_once("tokens budget=")?.1.to_owned()));
    (gauges.collect(), of_reports)
}

#[test]
fn each_budget_has_one_gauge_for_all_its_services() {
    let of_policy = || RetryLayer::new(RetryPolicy::background());
    let expected = |gauges: &[&str], of_reports: [&str; 2]| {
        let owned = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        (owned(gauges), owned(&of_reports))
    };
    let named = of_policy().budget(RetryBudget::default().named("shop"));
    assert_eq!(gauges(named), expected(&["shop"], ["shop"; 2]));
    // The first service that it pays for.
    let shared = of_policy().budget(RetryBudget::default());
    assert_eq!(gauges(shared), expected(&["orders"], ["orders"; 2]));
    let both = ["orders", "search"];
    assert_eq!(gauges(of_policy()), expected(&both, both));
    let document = json!({
        "version": 1,
        "budgets": {"small": {"capacity": 5}},
        "retry": {"budget": "small"},
        "services": {"orders": {"match": {"host": "o.example"}}, "search": {"match": {"host": "s.example"}}},
    });
    let config = RetryConfig::load(&serde_json::from_value(document).unwrap()).unwrap();
    let of_document = RetryLayer::from_config(&config);
    assert_eq!(
        gauges(of_document),
        expected(&["budgets.small"], ["budgets.small"; 2])
    );
}

/// The dialects that the attempts of one request are counted under.
fn dialects(layer: RetryLayer, said: Script) -> Vec<String> {
    let measured = measured(|| {
        let layer = layer.runtime(ManualRuntime::new());
        by_tower(&layer.observer(MetricsObserver::new()), said);
    });
    let of_attempts = |name: &String| name.starts_with("http_retry_attempts_total");
    let names = measured.into_keys().filter(of_attempts);
    let label = |name: String| name.rsplit_once("dialect=").unwrap().1.to_owned();
    let mut dialects: Vec<String> = names.map(label).collect();
    dialects.sort();
    dialects
}

#[test]
fn the_dialect_that_judged_an_attempt_is_a_label() {
    let with = |dialect: Dialect| {
        let policy = RetryPolicy::background().to_builder().dialect(dialect);
        RetryLayer::new(policy.build().unwrap())
    };
    let said = || Script::new().status(450).status(449).status(200);
    let once = Script::new().status(449).status(200);
    assert_eq!(dialects(with(Dialect::azure()), once), ["azure", "none"]);
    // The rows of the table that one's own is made from keep their name.
    let own = Dialect::named("shop").and(Dialect::azure());
    let own = own.row(Row::when().status([450]).is(Interpretation::transient()));
    assert_eq!(dialects(with(own), said()), ["azure", "none", "shop"]);
    let rule = json!({"name": "mine[1]", "when": 450, "as": "transient"});
    let document = json!({"version": 1, "gate": "off", "dialect": "azure", "rules": [rule]});
    let config = RetryConfig::load(&serde_json::from_value(document).unwrap()).unwrap();
    let layer = RetryLayer::from_config(&config);
    assert_eq!(dialects(layer, said()), ["azure", "none", "rules"]);
}

/// The statuses that the attempts of calls with these results are counted under.
fn statuses(said: Script) -> Vec<String> {
    let measured = measured(|| {
        let layer = RetryLayer::new(RetryPolicy::never()).runtime(ManualRuntime::new());
        by_tower(&layer.observer(MetricsObserver::new()), said);
    });
    let label = |name: &String| {
        let (_, rest) = name.split_once(" status=")?;
        Some(rest.split(' ').next()?.to_owned())
    };
    measured.keys().filter_map(label).collect()
}

#[test]
fn the_label_of_a_status_is_one_of_a_bounded_set() {
    for (status, label) in [
        (200, "200"),
        (503, "503"),
        (529, "529"),
        (477, "4xx"),
        (599, "5xx"),
        (999, "other"),
    ] {
        assert_eq!(statuses(Script::new().status(status)), [label]);
    }
    assert_eq!(
        statuses(Script::new().error(std::io::ErrorKind::TimedOut)),
        ["timeout"]
    );
}

#[test]
fn every_metric_has_a_unit_and_a_meaning() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    with_local_recorder(&recorder, || {
        let layer = layer().observer(MetricsObserver::new());
        by_tower(&layer, Script::new().status(503).status(200));
    });
    let all = snapshotter.snapshot().into_vec();
    assert_eq!(all.len(), 7);
    for (key, unit, about, _) in all {
        let is_time = key.key().name().ends_with("_seconds");
        let expected = if is_time { Unit::Seconds } else { Unit::Count };
        assert_eq!(unit, Some(expected), "{key:?}");
        assert!(about.is_some_and(|about| about.ends_with('.')), "{key:?}");
    }
}
