//! The story of a whole call, as a value and as text.

use super::*;
use http_retry::{ErrorKind, Reach, RetryBudget};
use std::io;

fn troubled() -> Script {
    Script::new()
        .status(503)
        .header("retry-after", "soon")
        .error(io::ErrorKind::ConnectionReset)
        .status(429)
        .header("retry-after", "3")
        .status(200)
}

#[test]
fn a_report_prints_as_a_timeline() {
    let script = Script::new()
        .status(503)
        .header("retry-after", "soon")
        .error(io::ErrorKind::ConnectionReset)
        .status(200);
    let wanted = [
        "   0.000 s  attempt 1: 503 after 0.000 s (transient, answered), its retry-after is not valid and was ignored",
        "   1.000 s  attempt 2: reset error after 0.000 s (transient, ambiguous); sent after a wait of 1.000 s (own)",
        "   2.000 s  attempt 3: 200 after 0.000 s; sent after a wait of 1.000 s (own)",
        "3 attempts, 2.000 s waited, succeeded: The request succeeded. Tokens left: 18.1.",
    ];
    let report = by_tower(&layer(), script).to_string();
    assert_eq!(report.lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn a_report_is_written_as_a_map() {
    let report = by_tower(&layer(), troubled());
    let wanted = serde_json::json!({
        "attempt_count": 4, "retries": 3, "waited_ms": 5_442, "stop": "succeeded", "from_elsewhere": false,
        "explanation": "The request succeeded.", "tokens_left": 18.1, "budget": "api.example:8080",
        "attempts": [
            {"number": 1, "started_ms": 0, "took_ms": 0, "delay_ms": 0, "status": 503, "class": "transient",
                "reach": "answered", "unreadable": ["retry-after"]},
            {"number": 2, "started_ms": 1_000, "took_ms": 0, "delay_ms": 1_000, "delay_source": "own",
                "error": "reset", "class": "transient", "reach": "ambiguous"},
            {"number": 3, "started_ms": 2_000, "took_ms": 0, "delay_ms": 1_000, "delay_source": "own", "status": 429,
                "class": "throttled", "reach": "refused", "asked_ms": 3_000},
            {"number": 4, "started_ms": 5_442, "took_ms": 0, "delay_ms": 3_442, "delay_source": "gate",
                "status": 200, "class": "success", "reach": "answered"},
        ],
    });
    assert_eq!(serde_json::to_value(&report).unwrap(), wanted);
    let stop = serde_json::to_value(report.stop).unwrap();
    assert_eq!(stop, report.stop.as_str());
}

#[test]
fn what_was_passed_over_is_told_beside_what_is_asked() {
    let script = Script::new()
        .status(429)
        .header("retry-after", "soon")
        .header("x-ratelimit-remaining", "0")
        .header("x-ratelimit-reset", "1m30s")
        .status(200);
    let report = by_tower(&layer(), script);
    let first = &report.attempts[0];
    assert_eq!(first.asked, Some(SECOND * 90));
    let passed_over: Vec<_> = first.unreadable().collect();
    assert_eq!(passed_over, ["retry-after"]);
    let wanted = "   0.000 s  attempt 1: 429 after 0.000 s (throttled, refused), the server asks for 90.000 s, its \
        retry-after is not valid and was ignored";
    assert_eq!(report.to_string().lines().next(), Some(wanted));
}

#[test]
fn both_stacks_tell_the_same_story() {
    let by_tower = by_tower(&layer(), troubled());
    assert_eq!(by_tower, by_reqwest(middleware(), troubled()));
    assert_eq!(by_tower.attempt_count, 4);
    assert_eq!(by_tower.attempts[1].error, Some(ErrorKind::Reset));
    assert_eq!(by_tower.attempts[2].reach, Reach::Refused);
}

fn jittered() -> RetryPolicy {
    let policy = RetryPolicy::builder().backoff(Backoff::exponential(SECOND));
    policy.build().unwrap()
}

/// The report in the extensions of the response to a GET, without a slot: the way of a request that asks for nothing.
fn silent(layer: &RetryLayer) -> RetryReport {
    let request = http::Request::get(URL).body(String::new()).unwrap();
    let call = layer.layer(troubled()).oneshot(request);
    let response = call.now_or_never().unwrap().unwrap();
    response.extensions().get::<RetryReport>().unwrap().clone()
}

fn silent_by_reqwest(middleware: RetryMiddleware) -> RetryReport {
    let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
        .with(middleware)
        .with(troubled())
        .build();
    let response = client.get(URL).send().now_or_never().unwrap().unwrap();
    response.extensions().get::<RetryReport>().unwrap().clone()
}

#[test]
fn the_report_is_the_same_whether_or_not_somebody_listens() {
    let layer = || RetryLayer::new(jittered()).runtime(ManualRuntime::new().seeded(7));
    let alone = silent(&layer());
    assert_eq!(alone.attempt_count, 4);
    assert_eq!(silent(&layer().observer(Notebook::default())), alone);
    assert_eq!(by_tower(&layer(), troubled()), alone);

    let middleware = || RetryMiddleware::new(jittered()).runtime(ManualRuntime::new().seeded(7));
    assert_eq!(silent_by_reqwest(middleware()), alone);
    assert_eq!(
        silent_by_reqwest(middleware().observer(Notebook::default())),
        alone
    );
    assert_eq!(by_reqwest(middleware(), troubled()), alone);
}

#[test]
fn without_a_budget_no_tokens_are_told() {
    let layer = layer().budget(RetryBudget::unlimited());
    let report = by_tower(&layer, troubled());
    assert_eq!(report.tokens_left, None);
    assert!(!report.to_string().contains("Tokens"), "{report}");
}

#[test]
fn a_request_that_is_never_repeated_names_no_budget() {
    let report = |policy| silent(&RetryLayer::new(policy).runtime(ManualRuntime::new()));
    let repeated = report(jittered());
    assert!(repeated.budget.as_deref().is_some() && repeated.tokens_left.is_some());
    let never = report(RetryPolicy::never());
    assert_eq!((never.budget.as_deref(), never.tokens_left), (None, None));
}
