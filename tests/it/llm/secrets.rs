//! Nothing of a prompt, a key or an answer is told.

use super::post;
use futures_util::FutureExt;
use http::{HeaderValue, Request, Response, StatusCode};
use http_retry::RetryPolicy;
use http_retry::llm::{HoldStreams, Keep, Truncation};
use http_retry::observe::RetryEvent;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tower::{Layer, ServiceExt, service_fn};

const SECRETS: [&str; 4] = [
    "planted-prompt",
    "planted-key",
    "planted-answer",
    "planted-query",
];

fn answers(number: usize) -> Response<String> {
    let error = |status: u16, code: &str, words: &str| {
        let body =
            format!(r#"{{"error": {{"code": "{code}", "message": "planted-answer {words}"}}}}"#);
        Response::builder().status(status).body(body).unwrap()
    };
    match number {
        0 => error(429, "rate_limit_exceeded", "try again in 2s"),
        1 => error(400, "context_length_exceeded", "too long"),
        _ => error(401, "invalid_api_key", "planted-key is wrong"),
    }
}

#[test]
fn events_reports_and_settings_hold_nothing_that_was_said() {
    let told = Arc::new(Mutex::new(String::new()));
    let policy = RetryPolicy::llm()
        .to_builder()
        .truncate(Truncation::new(Keep::Tail))
        .hold_streams(HoldStreams::new())
        .build()
        .unwrap();
    let all = Arc::clone(&told);
    let layer = RetryLayer::new(policy)
        .runtime(ManualRuntime::new())
        .observe(move |event: &RetryEvent<'_>| {
            all.lock().unwrap().push_str(&format!("{event:?}\n"));
        });
    let made = Arc::new(AtomicUsize::new(0));
    let client = service_fn(move |_: Request<String>| {
        let answer = answers(made.fetch_add(1, Ordering::Relaxed));
        async move { Ok::<_, Infallible>(answer) }
    });
    let prompt = r#"{"messages": [{"role": "user", "content": "planted-prompt planted-prompt"}]}"#;
    let (mut request, slot) = post(prompt.to_owned());
    *request.uri_mut() = "http://api.example/v1?key=planted-query".parse().unwrap();
    let key = HeaderValue::from_static("Bearer planted-key");
    request.headers_mut().insert("authorization", key);
    let answer = layer
        .layer(client)
        .oneshot(request)
        .now_or_never()
        .unwrap()
        .unwrap();
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    let report = slot.take().unwrap();
    assert_eq!(report.attempt_count(), 3);
    let told = told.lock().unwrap();
    for text in [
        told.clone(),
        report.to_string(),
        format!("{report:?} {layer:?}"),
    ] {
        assert!(text.len() > 100);
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}
