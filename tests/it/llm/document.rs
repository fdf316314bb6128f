//! What a document says of calls to language models: requests that are cut, streams that are held back.

use super::post;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::RetryReport;
use http_retry::config::{Document, RetryConfig};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tower::{Layer, ServiceExt, service_fn};

type Answer = (u16, &'static str, &'static str);

/// The bodies that were sent under these settings to a client that gives these answers.
fn sent(retry: &str, request: &str, answers: [Answer; 2]) -> (Vec<String>, RetryReport) {
    let text = format!("{{version: 1, retry: {{use: llm, {retry}}}}}");
    let document: Document = serde_yaml_ng::from_str(&text).unwrap();
    let config = RetryConfig::load(&document).unwrap();
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let client = service_fn(move |request: Request<String>| {
        let mut seen = seen.lock().unwrap();
        let (status, kind, body) = answers[seen.len().min(1)];
        seen.push(request.into_body());
        let answer = Response::builder().status(status);
        let answer = answer.header("content-type", kind);
        let answer = answer.body(Full::new(Bytes::from_static(body.as_bytes())));
        async move { Ok::<_, Infallible>(answer.unwrap()) }
    });
    let layer = RetryLayer::from_config(&config).runtime(ManualRuntime::new());
    let (request, slot) = post(request.to_owned());
    let answer = layer.layer(client).oneshot(request).now_or_never();
    answer.unwrap().unwrap();
    let bodies = std::mem::take(&mut *bodies.lock().unwrap());
    (bodies, slot.take().unwrap())
}

#[test]
fn a_request_that_is_too_long_is_cut_as_the_document_says() {
    let request = r#"{"messages": [{"role": "user", "content": "abcdefghij"}]}"#;
    let too_long = r#"{"error": {"code": "context_length_exceeded", "message": "too long"}}"#;
    let answers = [
        (400, "application/json", too_long),
        (200, "application/json", "{}"),
    ];
    for (retry, text) in [
        ("truncate: {share: 0.5}", Some("abcde")),
        ("truncate: {keep: tail, share: 0.5}", Some("fghij")),
        ("truncate: {keep: ends, share: 0.2}", Some("aj")),
        ("truncate: head", Some("abcdefg")),
        ("truncate: off", None),
        ("max_retries: 1", None),
    ] {
        let (bodies, report) = sent(retry, request, answers);
        let cut = bodies.get(1).map(String::as_str);
        let wanted = text.map(|text| request.replace("abcdefghij", text));
        assert_eq!(cut, wanted.as_deref(), "{retry}");
        assert_eq!(report.attempt_count, if text.is_some() { 2 } else { 1 });
    }
}

#[test]
fn a_stream_is_held_back_as_the_document_says() {
    let error = "data: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\"}}\n\n";
    let answers = [
        (200, "text/event-stream", error),
        (200, "application/json", "{}"),
    ];
    for (retry, attempts) in [
        ("hold_streams: on", 2),
        ("hold_streams: {first_event_timeout: 5s}", 2),
        ("hold_streams: {first_event_timeout: none}", 2),
        ("hold_streams: off", 1),
        ("max_retries: 1", 1),
    ] {
        let (bodies, report) = sent(retry, "{}", answers);
        assert_eq!(bodies.len(), attempts, "{retry}");
        let last = report.attempts.last().and_then(|last| last.status);
        assert_eq!(last, Some(StatusCode::OK), "{retry}");
    }
}
