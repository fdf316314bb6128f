//! The gate of a document: where there is one, how long a call waits at it, and when a quota counts there.

use super::{config, origin, policy};
use futures_util::FutureExt;
use http_retry::reqwest::RetryMiddleware;
use http_retry::runtime::Runtime;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use reqwest_middleware::ClientBuilder;
use std::time::Duration;
use tower::{Layer, ServiceExt};

const WINDOW: Duration = Duration::from_secs(60);
const SPENT: &str = "limit=10, remaining=0, reset=60";

/// A document with one service, of which this is said.
fn service(said: &str) -> String {
    format!("{{version: 1, services: {{a: {{match: {{host: api.example}}, {said}}}}}}}")
}

/// When each of three calls is over, on either stack: after one that finds the quota spent, one that is refused, and one
/// that finds it spent again.
fn over_at(document: &str) -> [[Duration; 3]; 2] {
    let api = || {
        let api = Script::new().status(200).header("ratelimit", SPENT);
        let api = api.status(429).header("retry-after", "1");
        api.status(200).header("ratelimit", SPENT)
    };
    let (config, url) = (config(document), "http://api.example/");
    let clock = ManualRuntime::new();
    let service = RetryLayer::from_config(&config).runtime(clock.clone());
    let service = service.layer(api());
    let on_tower = [(); 3].map(|()| {
        let request = http::Request::get(url).body(String::new()).unwrap();
        let sent = service.clone().oneshot(request).now_or_never();
        sent.unwrap().unwrap();
        clock.now()
    });
    let clock = ManualRuntime::new();
    let retries = RetryMiddleware::from_config(&config).runtime(clock.clone());
    let client = ClientBuilder::new(reqwest::Client::new());
    let client = client.with(retries).with(api()).build();
    let on_reqwest = [(); 3].map(|()| {
        let sent = client.get(url).send().now_or_never();
        sent.unwrap().unwrap();
        clock.now()
    });
    [on_tower, on_reqwest]
}

#[test]
fn a_quota_counts_at_once_where_the_preset_has_it_so() {
    for said in [
        "retry: llm",
        "retry: rate_limited",
        "retry: llm, gate: on",
        "retry: {use: llm, max_retries: 9}, gate: {max_wait: 9m}",
    ] {
        for [first, second, _] in over_at(&service(said)) {
            assert!(first < WINDOW && second >= WINDOW, "{said}: {second:?}");
        }
    }
}

#[test]
fn a_quota_counts_after_a_refusal_where_the_preset_has_it_so() {
    for said in [
        "",
        "retry: background",
        "gate: on",
        "retry: {use: background, max_retries: 9}, gate: {max_wait: 9m}",
    ] {
        for [_, second, third] in over_at(&service(said)) {
            assert!(second < WINDOW, "{said}: {second:?}");
            assert!(third >= WINDOW, "{said}: {third:?}");
        }
    }
}

#[test]
fn a_service_has_the_gate_of_its_preset() {
    for (said, gate, from) in [
        ("", "5m", "default"),
        ("retry: background", "5m", "preset background"),
        ("retry: rate_limited", "15m", "preset rate_limited"),
        ("retry: user_facing", "off", "preset user_facing"),
        ("retry: never", "off", "preset never"),
        ("gate: off", "off", "services.a.gate"),
        // YAML 1.1 writes on and off so.
        ("gate: false", "off", "services.a.gate"),
        ("gate: true", "5m", "services.a.gate"),
        ("retry: user_facing, gate: on", "5m", "services.a.gate"),
        ("gate: {max_wait: 9m}", "9m", "services.a.gate"),
    ] {
        let found = policy(&config(&service(said)), Some("a"), None);
        let wanted = Some((gate.to_owned(), from.to_owned()));
        assert_eq!(origin(&found, "gate"), wanted, "{said}");
    }
}

#[test]
fn on_and_off_may_be_truth_values_wherever_they_stand() {
    for (value, wanted) in [
        ("true", "on"),
        ("on", "on"),
        ("false", "off"),
        ("off", "off"),
    ] {
        let said = format!("retry: {{hold_streams: {value}}}, fleet: {value}");
        let found = policy(&config(&service(&said)), Some("a"), None);
        let held = origin(&found, "hold_streams").map(|(value, _)| value);
        assert_eq!(held.as_deref(), Some(wanted), "{said}");
    }
    let found = policy(
        &config(&service("retry: {truncate: false}")),
        Some("a"),
        None,
    );
    let cut = origin(&found, "truncate").map(|(value, _)| value);
    assert_eq!(cut.as_deref(), Some("off"));
}

#[test]
fn a_documents_gate_holds_where_a_service_says_nothing() {
    let document = |said: &str| {
        let service = format!("services: {{a: {{match: {{host: api.example}}, {said}}}}}");
        config(&format!("{{version: 1, retry: llm, gate: off, {service}}}"))
    };
    for (said, gate, from) in [
        ("", "off", "gate"),
        ("retry: {max_retries: 9}", "off", "gate"),
        ("retry: rate_limited", "15m", "preset rate_limited"),
        ("gate: on", "5m", "services.a.gate"),
    ] {
        let wanted = Some((gate.to_owned(), from.to_owned()));
        let found = policy(&document(said), Some("a"), None);
        assert_eq!(origin(&found, "gate"), wanted, "{said}");
    }
    let rest = policy(&document(""), None, None);
    assert!(!rest.explain().contains("at the gate"));
}

/// All attempts at a server that refuses each of them.
fn sent(document: &str) -> usize {
    let api = Script::new().status(429).header("retry-after", "1");
    let service = RetryLayer::from_config(&config(document)).runtime(ManualRuntime::new());
    let request = http::Request::get("http://api.example/");
    let request = request.body(String::new()).unwrap();
    let call = service.layer(api.clone()).oneshot(request);
    assert_eq!(call.now_or_never().unwrap().unwrap().status(), 429);
    api.calls().len()
}

#[test]
fn max_attempts_in_a_document_bounds_refused_attempts_too() {
    for said in [
        "retry: {max_attempts: 2}",
        "retry: {use: llm, max_attempts: 2}",
        "retry: {use: rate_limited, max_retries: 1}",
        "retry: {use: rate_limited, max_attempts: 2}, gate: {max_wait: 9m}",
        "retry: {use: llm, max_attempts: 2}, rules: [{when: 429, retry: {use: background, max_retries: 1}}]",
    ] {
        assert_eq!(sent(&service(said)), 2, "{said}");
    }
    assert_eq!(sent(&service("retry: background")), 5);
}

#[test]
fn the_most_specific_limit_decides_which_attempts_count_apart() {
    for (document, said, most) in [
        ("retry: llm", "retry: {max_attempts: 2}", 2),
        ("retry: llm", "retry: {max_attempts: 2, max_refused: 5}", 7),
        ("retry: {max_attempts: 2}", "retry: {max_refused: 5}", 7),
        ("retry: {max_refused: 5}", "retry: {max_attempts: 2}", 2),
        ("retry: llm", "retry: {use: background, deadline: 1h}", 5),
        ("retry: {max_refused: 5}", "", 10),
        (
            "policies: {p: {use: llm, max_refused: 5}}",
            "retry: {use: p, deadline: 1h}",
            8,
        ),
        (
            "policies: {p: {use: llm, max_refused: 5}}",
            "retry: {use: p, max_attempts: 2}",
            2,
        ),
        (
            "policies: {p: {max_attempts: 2}}, retry: llm",
            "retry: {use: p, max_refused: 5}",
            7,
        ),
    ] {
        let service = format!("services: {{a: {{match: {{host: api.example}}, {said}}}}}");
        assert_eq!(
            sent(&format!("{{version: 1, {document}, {service}}}")),
            most,
            "{document} {said}"
        );
    }
    let found = policy(
        &config(&service("retry: {use: llm, max_attempts: 4}")),
        Some("a"),
        None,
    );
    let wanted = ("0".to_owned(), "services.a.retry.max_attempts".to_owned());
    assert_eq!(origin(&found, "max_refused"), Some(wanted));
    let waits = policy(&config(&service("retry: llm")), Some("a"), None);
    let headline = "at most 3 attempts, and 300 more that a rate limit refuses\n";
    assert!(waits.explain().contains(headline), "{}", waits.explain());
}
