//! More answers and events, as the providers document or send them; the shape is that of the shared cases.

use crate::dialect::judge_event;
use crate::llm::LlmClassifier;
use crate::llm::truncate::is_too_long;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_retry_core::policy::{Classify, ErrorBody, Reason, Scope, Verdict};
use http_retry_core::reading::OutcomeExt;
use http_retry_core::{Class, Outcome, Reach};
use http_retry_rules::ReadBody;
use serde_json::Value;
use std::time::Duration;

const NOW: Duration = Duration::from_secs(1_787_313_600);
const LONGEST: Duration = Duration::from_secs(120);

const ANSWERS: &str = include_str!("more_cases/answers.json");
const EVENTS: &str = include_str!("more_cases/events.json");

fn check(cases: &str, got: impl Fn(&Value) -> Value) {
    let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
    let wrong: Vec<_> = cases
        .iter()
        .map(|case| (case, got(case)))
        .filter(|(case, got)| differs(&case["expect"], got))
        .map(|(case, got)| format!("{}: wanted {}, got {got}", case["id"], case["expect"]))
        .collect();
    assert!(wrong.is_empty() && !cases.is_empty(), "{wrong:#?}");
}

#[test]
fn answers_of_every_provider() {
    check(ANSWERS, |case| {
        let status = u16::try_from(case["status"].as_u64().unwrap()).unwrap();
        settled(status, &headers(&case["headers"]), &bytes(&case["body"]))
    });
}

#[test]
fn errors_inside_streams() {
    check(EVENTS, |case| {
        let json = bytes(&case["body"]);
        assert!(ErrorBody::read(&json).is_error(), "{}", case["id"]);
        let judged = judge_event(&json).unwrap();
        let delay = judged.asked.filter(|_| is_retryable(judged));
        as_value(judged, delay)
    });
}

/// The status of such a failure is what its own body says.
#[test]
fn a_hidden_failure_is_refused_only_by_unambiguous_json() {
    let headers = HeaderMap::new();
    for (json, reach) in [
        (r#"{"error": {"code": 429}}"#, Reach::Refused),
        (r#"{"error": {"code": 429, "code": 500}}"#, Reach::Answered),
        (r#"{"error": {"code": 429}, "error": {}}"#, Reach::Answered),
        (
            r#"{"error": {"message": "{\"code\": 429, \"code\": 500}", "code": 429}}"#,
            Reach::Answered,
        ),
    ] {
        let judged = judge_event(json.as_bytes()).unwrap();
        assert_eq!(
            (judged.class, judged.reach),
            (Class::Throttled, reach),
            "{json}"
        );
        let body = ErrorBody::read(json.as_bytes());
        let answer = Outcome::response(StatusCode::OK, &headers).with_body(&body);
        let judged = LlmClassifier::new().inspect_success(true).classify(&answer);
        assert_eq!(judged.map(|judged| judged.reach), Some(reach), "{json}");
    }
}

fn headers(lines: &Value) -> HeaderMap {
    let lines = lines.as_object().into_iter().flatten();
    lines
        .map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            (
                name,
                HeaderValue::from_str(value.as_str().unwrap()).unwrap(),
            )
        })
        .collect()
}

fn bytes(body: &Value) -> Vec<u8> {
    match body {
        Value::String(text) => text.clone().into_bytes(),
        json => json.to_string().into_bytes(),
    }
}

/// Retry, reason, delay in milliseconds, remedy and shared cooldown, as the policy would settle them.
fn settled(status: u16, headers: &HeaderMap, body: &[u8]) -> Value {
    let status = StatusCode::from_u16(status).unwrap();
    let body = ErrorBody::read(body);
    let outcome = Outcome::response(status, headers).with_body(&body);
    let judged = LlmClassifier::new().classify(&outcome);
    let judged = judged.unwrap_or_else(|| Verdict::new(Class::Success, Reach::Answered));
    let outcome = outcome.judged(judged);
    let delay = outcome.server_delay(NOW);
    let delay = delay.filter(|_| is_retryable(judged));
    as_value(judged, delay)
}

fn as_value(judged: Verdict, delay: Option<Duration>) -> Value {
    let over = delay > Some(LONGEST);
    let reason = if over {
        Reason::ServerDelayExceedsCap.as_str()
    } else {
        judged.reason.map_or("success", Reason::as_str)
    };
    serde_json::json!({
        "retry": is_retryable(judged) && !over,
        "reason": reason,
        "delay_ms": delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
        "remedy": if judged.reason.is_some_and(is_too_long) { "truncate" } else { "none" },
        "shared_cooldown": shared_cooldown(judged) && !over,
    })
}

fn differs(expect: &Value, got: &Value) -> bool {
    let wanted = expect.as_object().into_iter().flatten();
    wanted.into_iter().any(|(key, value)| match key.as_str() {
        "fallback" => false,
        key => &got[key] != value,
    })
}

fn is_retryable(judged: Verdict) -> bool {
    matches!(judged.class, Class::Transient | Class::Throttled)
}

/// Returns `true` if all calls under the same key should pause.
fn shared_cooldown(judged: Verdict) -> bool {
    judged.reason == Some(Reason::RateLimited) && judged.scope != Some(Scope::Request)
}
