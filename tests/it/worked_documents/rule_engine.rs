//! Outcome policies of a rule engine: the cases that were seen there, run through the document.

use super::{Sent, all_ms, always, config, get, text};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use http_body_util::Full;
use http_retry::report::RequestFailed;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryReport, StopReason};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// The cases, and the service of the document that has the same rules.
const CASES: [(&str, &str); 18] = [
    ("S4-011", "fetch_page"),
    ("S4-013", "fetch_page"),
    ("S4-014", "fetch_page"),
    ("S4-016", "fetch_item"),
    ("S4-017", "fetch_item"),
    ("S4-020", "fetch_item"),
    ("S4-021", "fetch_item"),
    ("S4-024", "without_rules"),
    ("S4-025", "without_rules"),
    ("S4-036", "poll"),
    ("S4-037", "transform"),
    ("S4-041", "store_page"),
    ("S4-042", "migrated"),
    ("S4-043", "migrated"),
    ("S4-044", "migrated"),
    ("S4-045", "migrated"),
    ("S4-046", "migrated"),
    ("S4-047", "clean_up"),
];

fn url(task: &str) -> String {
    format!("http://tasks.example.com/{task}")
}

#[test]
fn what_was_seen_of_the_engine_holds_for_the_document() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../conformance/cases/rules.json")).unwrap();
    let document: Value = serde_json::from_str(&text("rule_engine.json")).unwrap();
    for (id, task) in CASES {
        let case = cases.iter().find(|case| case["id"] == id).expect(id);
        let report = run(task, case["outcomes"].as_array().unwrap());
        assert_eq!(case["attempts"], report.attempt_count, "{id}");
        let delays = report.attempts.iter().skip(1);
        let delays: Vec<_> = delays.map(|attempt| attempt.delay.as_millis()).collect();
        assert_eq!(case["delays_ms"], serde_json::json!(delays), "{id}");
        let last = report.attempts.last().unwrap();
        assert_eq!(case["final"]["action"], action(report.stop), "{id}");
        if let Some(rule) = case["final"]["rule"].as_u64() {
            let wanted =
                &document["services"][task]["rules"][usize::try_from(rule).unwrap()]["name"];
            assert_eq!(wanted.as_str(), last.rule.as_deref(), "{id}");
        }
    }
}

fn action(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Succeeded | StopReason::Accepted => "continue",
        StopReason::Failed => "fail",
        StopReason::Stopped => "break",
        StopReason::AttemptsExhausted => "exhausted",
        other => other.as_str(),
    }
}

/// The report of a task whose attempts meet these outcomes, the last of which repeats.
fn run(task: &str, outcomes: &[Value]) -> RetryReport {
    let made = AtomicUsize::new(0);
    let outcomes = outcomes.to_vec();
    let client = Arc::new(move || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        result(&outcomes[number.min(outcomes.len() - 1)])
    });
    let client = service_fn(move |_: Request<String>| std::future::ready(client()));
    let layer = RetryLayer::from_config(&config("rule_engine")).runtime(ManualRuntime::new());
    let slot = RetryReport::slot();
    let mut request = get(&url(task));
    request.extensions_mut().insert(slot.clone());
    let sent = layer.layer(client).oneshot(request).now_or_never();
    drop(sent.expect("the request is over"));
    slot.take().unwrap()
}

fn result(outcome: &Value) -> Result<Response<Full<Bytes>>, BoxError> {
    if outcome.get("error").is_some() {
        return Err(outcome["message"].as_str().unwrap().into());
    }
    let body = Full::new(Bytes::from(outcome.to_string()));
    let status = outcome["status"].as_u64().unwrap();
    let response = Response::builder()
        .status(u16::try_from(status).unwrap())
        .body(body);
    Ok(response.unwrap())
}

#[test]
fn a_failure_is_an_error_where_the_stack_can_report_one() {
    let sent = Sent::through(
        &config("rule_engine"),
        &always(403),
        get(&url("fetch_item")),
    );
    let error = sent.answer.unwrap_err();
    let failed = RequestFailed::of(&*error).expect("the policy's own error");
    assert_eq!(failed.report().stop, StopReason::Failed);
}

#[test]
fn a_constant_delay_and_the_retryable_condition() {
    let config = config("rule_engine");
    let sent = Sent::through(&config, &always(429), get(&url("read_record")));
    assert_eq!(sent.delays(), all_ms(&[1_000, 1_000]));
    let sent = Sent::through(&config, &always(404), get(&url("read_record")));
    assert_eq!(
        (sent.attempts(), sent.stop()),
        (1, StopReason::Accepted),
        "no rule holds, and then the task goes on"
    );
}

#[test]
fn a_jump_goes_on_at_the_other_task_and_takes_its_headers_along() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&seen);
    let client = service_fn(move |request: Request<String>| {
        let from = request.headers().get("x-came-from").cloned();
        let mut seen = record.lock().unwrap();
        seen.push((request.uri().to_string(), from));
        let status = if seen.len() == 1 { 410 } else { 200 };
        let response = Response::builder().status(status);
        std::future::ready(Ok::<_, BoxError>(response.body(String::new()).unwrap()))
    });
    let layer = RetryLayer::from_config(&config("rule_engine")).runtime(ManualRuntime::new());
    let sent = layer.layer(client).oneshot(get(&url("read_record")));
    let response = sent.now_or_never().expect("the request is over").unwrap();
    assert_eq!(response.status(), 200);
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0], (url("read_record"), None));
    let moved = "https://archive.example.com/read_record".to_owned();
    assert_eq!(seen[1], (moved, Some("read_record".parse().unwrap())));
}

#[test]
fn the_other_task_goes_by_its_own_rules() {
    let client = Script::new().status(410).status(503);
    let sent = Sent::through(&config("rule_engine"), &client, get(&url("read_record")));
    assert_eq!((sent.attempts(), sent.stop()), (2, StopReason::Failed));
    assert_eq!(sent.rule(), Some("failed"));
    assert!(sent.is_error());
}
