//! Streams that fail before or after their first output.

use super::super::fields::same;
use super::{Fields, milliseconds, policy};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use http_retry::llm::HoldStreams;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{RetryReport, StopReason};
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

type Stream = UnsyncBoxBody<Bytes, Infallible>;

pub(in crate::conformance) fn check(case: &Value) -> Result<(), String> {
    let known = [
        "provider",
        "status",
        "content_type",
        "events",
        "expect",
        "note",
    ];
    let case = Fields::of_case(case, &known)?;
    let (text, ends) = events(case.list("events")?)?;
    let report = call(case.text("content_type")?, text, ends)?;
    let wanted = Fields::of(
        case.value("expect")?,
        &["retry", "reason", "remedy", "delay_ms"],
    )?;
    let first = report.attempts.first().ok_or("no attempt was made")?;
    same("retry", &wanted.truth("retry")?, &(report.retries() > 0))?;
    let reason = match (first.reason, report.stop) {
        (Some(reason), _) => reason.as_str(),
        (None, StopReason::Succeeded) => "output_already_sent",
        (None, other) => other.as_str(),
    };
    same("reason", &wanted.text("reason")?, &reason)?;
    match wanted.optional("delay_ms") {
        Some(delay) => same("delay", &Some(milliseconds(delay)?), &first.asked),
        None => Ok(()),
    }
}

/// The bytes of a stream, and whether it ends after them or falls silent.
fn events(events: &[Value]) -> Result<(String, bool), String> {
    let (mut text, mut ends) = (String::new(), true);
    for event in events {
        let known = ["data", "event", "comment", "transport", "json_body"];
        let event = Fields::of(event, &known)?;
        if let Some(name) = event.optional("event") {
            text += &format!("event: {}\n", name.as_str().ok_or("event: no text")?);
        }
        if let Some(data) = event.optional("data") {
            text += &format!("data: {data}\n\n");
        }
        if let Some(comment) = event.optional("comment") {
            text += &format!(": {}\n\n", comment.as_str().ok_or("comment: no text")?);
        }
        if let Some(body) = event.optional("json_body") {
            text += &body.to_string();
        }
        ends &= event.optional("transport") != Some(&Value::from("idle_timeout"));
    }
    Ok((text, ends))
}

fn call(content_type: &str, text: String, ends: bool) -> Result<RetryReport, String> {
    let hold = HoldStreams::new().first_event_timeout(Duration::from_secs(10));
    let policy = policy().hold_streams(hold).build();
    let content_type = content_type.to_owned();
    let made = Arc::new(AtomicUsize::new(0));
    let client = service_fn(move |_: Request<String>| {
        let body = match made.fetch_add(1, Ordering::Relaxed) {
            0 => body(text.clone(), ends),
            _ => body("data: [DONE]\n\n".to_owned(), true),
        };
        let response = Response::builder().header("content-type", &content_type);
        let response = response.body(body).unwrap();
        async move { Ok::<_, Infallible>(response) }
    });
    let layer = RetryLayer::new(policy.map_err(|error| error.to_string())?);
    let layer = layer.runtime(ManualRuntime::new());
    let slot = RetryReport::slot();
    let mut request = Request::post("/").body(String::new()).unwrap();
    request.extensions_mut().insert(slot.clone());
    let done = layer.layer(client).oneshot(request).now_or_never();
    let _ = done.ok_or("the call is still under way")?;
    slot.take().ok_or_else(|| "no report".into())
}

fn body(text: String, ends: bool) -> Stream {
    let frame = stream::iter([Ok(Frame::data(Bytes::from(text)))]);
    if ends {
        StreamBody::new(frame).boxed_unsync()
    } else {
        StreamBody::new(frame.chain(stream::pending())).boxed_unsync()
    }
}
