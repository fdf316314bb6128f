//! What the server says, in the words of the APIs that it stands for.

use super::body::Frames;
use super::call::Call;
use super::quota::{go_duration, millis};
use super::{Hint, Rules, Trouble};
use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// When every completion was created, in Unix seconds: the same for each, so that two answers compare.
const CREATED: u64 = 1_750_000_000;

fn json(status: u16, body: Frames) -> Response<Frames> {
    typed(status, "application/json", body)
}

fn typed(status: u16, content_type: &'static str, body: Frames) -> Response<Frames> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An error in the words of the API.
pub(super) struct Refusal {
    status: u16,
    kind: &'static str,
    code: &'static str,
    message: String,
}

pub(super) fn error(
    status: u16,
    kind: &'static str,
    code: &'static str,
    message: impl Into<String>,
) -> Refusal {
    Refusal {
        status,
        kind,
        code,
        message: message.into(),
    }
}

impl Refusal {
    pub(super) fn answer(self) -> Response<Frames> {
        let (kind, code, message) = (self.kind, self.code, self.message);
        let error = json!({ "message": message, "type": kind, "param": null, "code": code });
        let body = json!({ "error": error });
        json(self.status, Frames::whole(body.to_string()))
    }
}

pub(super) fn rate_limited(hint: Hint, after: Duration) -> Response<Frames> {
    let hinted = |name, value: u128| {
        let value = u64::try_from(value).unwrap_or(u64::MAX);
        (HeaderName::from_static(name), HeaderValue::from(value))
    };
    let message = "Rate limit reached for requests.";
    let prose = format!("{message} Please try again in {}.", go_duration(after));
    let (message, header) = match hint {
        Hint::Silent => (message, None),
        Hint::Prose => (prose.as_str(), None),
        Hint::Seconds => (
            message,
            Some(hinted("retry-after", millis(after).div_ceil(1_000))),
        ),
        Hint::Millis => (message, Some(hinted("retry-after-ms", millis(after)))),
    };
    let mut response = error(429, "requests", "rate_limit_exceeded", message).answer();
    response.headers_mut().extend(header);
    response
}

pub(super) fn in_trouble(
    trouble: Trouble,
    call: &Call,
    rules: &Rules,
    endless: &Arc<AtomicU64>,
) -> Response<Frames> {
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    match trouble {
        Trouble::RateLimited(after) => rate_limited(rules.hint, after),
        Trouble::InsufficientQuota => error(
            429,
            "insufficient_quota",
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        )
        .answer(),
        Trouble::Unavailable => error(
            503,
            "server_error",
            "service_unavailable",
            "The engine is currently overloaded, please try again later.",
        )
        .answer(),
        Trouble::StreamOverloaded if call.streamed => {
            let frame = event(Some("error"), &overloaded);
            events([frame], Duration::ZERO)
        }
        Trouble::Overloaded | Trouble::StreamOverloaded => {
            json(529, Frames::whole(overloaded.to_string()))
        }
        Trouble::Endless(status) => {
            let again = Bytes::from(vec![b'a'; 8 << 10]);
            json(
                status,
                Frames::endless(opening(), again, Arc::clone(endless)),
            )
        }
        Trouble::Stalled(status) => json(status, Frames::stalled(opening())),
    }
}

/// Where an error body begins that has no end.
fn opening() -> Bytes {
    Bytes::from_static(br#"{"error":{"type":"server_error","code":null,"message":""#)
}

impl Call {
    /// Says back what was said.
    pub(super) fn completion(&self, number: u64, between_frames: Duration) -> Response<Frames> {
        let text = format!("You said: {}", self.said);
        if self.streamed {
            self.stream(number, &text, between_frames)
        } else {
            json(200, Frames::whole(self.whole(number, &text).to_string()))
        }
    }

    fn whole(&self, number: u64, text: &str) -> Value {
        let answered = u64::try_from(text.split(' ').count()).unwrap_or_default();
        json!({
            "id": format!("chatcmpl-{number}"),
            "object": "chat.completion",
            "created": CREATED,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": text, "refusal": null },
                "logprobs": null,
                "finish_reason": "stop",
            }],
            "usage": {
                "prompt_tokens": self.tokens,
                "completion_tokens": answered,
                "total_tokens": self.tokens.saturating_add(answered),
            },
        })
    }

    /// One frame for each word, as models speak.
    fn stream(&self, number: u64, text: &str, between: Duration) -> Response<Frames> {
        let chunk = |delta: Value, finish: Option<&str>| {
            let choice =
                json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
            let chunk = json!({
                "id": format!("chatcmpl-{number}"),
                "object": "chat.completion.chunk",
                "created": CREATED,
                "model": self.model,
                "choices": [choice],
            });
            event(None, &chunk)
        };
        let words = text.split_inclusive(' ');
        let first = chunk(json!({ "role": "assistant", "content": "" }), None);
        let words = words.map(|word| chunk(json!({ "content": word }), None));
        let end = chunk(json!({}), Some("stop"));
        let frames = std::iter::once(first).chain(words);
        let done = Bytes::from_static(b"data: [DONE]\n\n");
        events(frames.chain([end, done]), between)
    }
}

fn event(name: Option<&str>, data: &Value) -> Bytes {
    let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
    Bytes::from(format!("{name}data: {data}\n\n"))
}

fn events(frames: impl IntoIterator<Item = Bytes>, between: Duration) -> Response<Frames> {
    typed(200, "text/event-stream", Frames::stream(frames, between))
}
