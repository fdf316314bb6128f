//! Any answer of an LLM API, head and body, through the whole layer: no panic, no end that does not come, and the caller
//! gets what the server sent.
#![no_main]

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_retry::llm::LlmPreset;
use http_retry::llm::{HoldStreams, LlmClassifier, Truncation};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBody, RetryPolicy};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tower_layer::Layer;
use tower_service::Service;

#[derive(Arbitrary, Debug)]
struct Input {
    status: u16,
    headers: Vec<(u8, Vec<u8>)>,
    chunks: Vec<Vec<u8>>,
    request: String,
}

/// The headers that anything is read from.
const NAMES: [&str; 12] = [
    "retry-after",
    "retry-after-ms",
    "date",
    "content-type",
    "content-encoding",
    "x-should-retry",
    "x-amzn-errortype",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
    "ratelimit",
];

struct Chunks(std::vec::IntoIter<Vec<u8>>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.0.next();
        Poll::Ready(next.map(|chunk| Ok(Frame::data(Bytes::from(chunk)))))
    }
}

#[derive(Clone)]
struct Client {
    status: StatusCode,
    headers: HeaderMap,
    chunks: Vec<Vec<u8>>,
}

impl Service<Request<String>> for Client {
    type Response = Response<Chunks>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Chunks>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<String>) -> Self::Future {
        let mut response = Response::new(Chunks(self.chunks.clone().into_iter()));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        ready(Ok(response))
    }
}

fuzz_target!(|input: Input| {
    let mut headers = HeaderMap::new();
    for (name, value) in &input.headers {
        let name = NAMES[usize::from(*name) % NAMES.len()];
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(HeaderName::from_static(name), value);
        }
    }
    let client = Client {
        status: StatusCode::from_u16(100 + input.status % 900).unwrap(),
        headers,
        chunks: input.chunks,
    };
    let policy = RetryPolicy::llm()
        .to_builder()
        .classifier(LlmClassifier::new().inspect_success(true))
        .rewrite(Truncation::keep_ends())
        .hold_streams(HoldStreams::new())
        .build()
        .unwrap();
    let layer = RetryLayer::new(policy).runtime(ManualRuntime::new());
    let mut service = layer.layer(client.clone());
    let call = pin!(service.call(Request::new(input.request)));
    let answer = finished(call).unwrap();
    assert_eq!(answer.status(), client.status);
    assert_eq!(answer.headers(), &client.headers);
    assert_eq!(whole(answer.into_body()), client.chunks.concat());
});

fn finished<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..10_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
    }
    panic!("the call does not end");
}

fn whole(body: RetryBody<Chunks>) -> Vec<u8> {
    let mut body = pin!(body);
    let mut cx = Context::from_waker(Waker::noop());
    let mut bytes = Vec::new();
    while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
        bytes.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
    }
    bytes
}
