//! Error bodies that were read to judge them, and streams that were held back, as the caller gets them.

use super::post;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use http_retry::RetryPolicy;
use http_retry::llm::HoldStreams;
use http_retry::llm::LlmPreset;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use tower::{Layer, ServiceExt, service_fn};

type Frames = Vec<Frame<Bytes>>;
type Stream = UnsyncBoxBody<Bytes, Infallible>;

fn data(text: &'static str) -> Frame<Bytes> {
    Frame::data(Bytes::from_static(text.as_bytes()))
}

fn body(frames: Frames, ends: bool) -> Stream {
    let frames = stream::iter(frames.into_iter().map(Ok));
    if ends {
        StreamBody::new(frames).boxed_unsync()
    } else {
        StreamBody::new(frames.chain(stream::pending())).boxed_unsync()
    }
}

/// What the caller gets of a client that answers so every time.
fn answer(
    policy: RetryPolicy,
    status: StatusCode,
    content_type: &'static str,
    make: impl Fn() -> Stream + Clone + Send + 'static,
) -> (Response<http_retry::RetryBody<Stream>>, u32) {
    let client = service_fn(move |_: Request<String>| {
        let mut response = Response::new(make());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static(content_type));
        headers.insert("x-request-id", HeaderValue::from_static("r-1"));
        response.extensions_mut().insert(7_u8);
        async move { Ok::<_, Infallible>(response) }
    });
    let layer = RetryLayer::new(policy).runtime(ManualRuntime::new());
    let (request, slot) = post(String::new());
    let answer = layer.layer(client).oneshot(request).now_or_never();
    let answer = answer.expect("the call is still under way").unwrap();
    (answer, slot.take().unwrap().attempt_count)
}

fn llm() -> RetryPolicy {
    RetryPolicy::llm()
}

#[test]
fn an_error_body_comes_back_byte_for_byte_with_trailers() {
    let trailers = || {
        let mut trailers = HeaderMap::new();
        trailers.insert("checksum", HeaderValue::from_static("9"));
        Frame::trailers(trailers)
    };
    let make = move || {
        let frames = vec![
            data(r#"{"error": {"code": "insuff"#),
            data(r#"icient_quota"}}"#),
            trailers(),
        ];
        body(frames, true)
    };
    let (answer, attempts) = answer(llm(), StatusCode::TOO_MANY_REQUESTS, "text/plain", make);
    assert_eq!((answer.status().as_u16(), attempts), (429, 1));
    assert_eq!(answer.headers()["x-request-id"], "r-1");
    assert_eq!(answer.extensions().get::<u8>(), Some(&7));
    let whole = answer
        .into_body()
        .collect()
        .now_or_never()
        .unwrap()
        .unwrap();
    assert_eq!(whole.trailers().unwrap()["checksum"], "9");
    assert_eq!(
        whole.to_bytes(),
        r#"{"error": {"code": "insufficient_quota"}}"#
    );
}

#[test]
fn an_endless_error_body_costs_two_seconds_and_no_more() {
    let make = || body(vec![data(r#"{"error": {"code": "invalid_api_key""#)], false);
    let (mut answer, attempts) = answer(llm(), StatusCode::UNAUTHORIZED, "application/json", make);
    assert_eq!(attempts, 1);
    let first = answer
        .body_mut()
        .frame()
        .now_or_never()
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(
        first.into_data().unwrap(),
        r#"{"error": {"code": "invalid_api_key""#
    );
    assert!(answer.body_mut().frame().now_or_never().is_none());
}

#[test]
fn an_error_body_without_bounds_is_read_up_to_the_cap() {
    let chunk = || Frame::data(Bytes::from(vec![b'x'; 16 * 1024]));
    let make = move || StreamBody::new(stream::repeat_with(chunk).map(Ok)).boxed_unsync();
    let (answer, _) = answer(llm(), StatusCode::BAD_REQUEST, "text/html", make);
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
}

#[test]
fn a_stream_is_handed_on_whole_once_output_has_come() {
    let hold = HoldStreams::new();
    let policy = llm().to_builder().hold_streams(hold).build().unwrap();
    let make = || {
        let frames = vec![
            data(": hello\n\n"),
            data("event: message_start\ndata: {\"type\": \"message_start\"}\n\n"),
            data("data: {\"choices\": [{\"delta\": {\"content\": \"Hi\"}}]}\n\n"),
        ];
        body(frames, false)
    };
    let (mut answer, attempts) = answer(policy, StatusCode::OK, "text/event-stream", make);
    assert_eq!(attempts, 1);
    let mut got = Vec::new();
    while let Some(Some(Ok(frame))) = answer.body_mut().frame().now_or_never() {
        got.extend_from_slice(&frame.into_data().unwrap());
    }
    let text = String::from_utf8(got).unwrap();
    assert!(
        text.starts_with(": hello\n\n") && text.ends_with("\"Hi\"}}]}\n\n"),
        "{text}"
    );
}

#[test]
fn a_stream_is_the_callers_at_once_where_nothing_holds_it_back() {
    let make = || body(vec![data("data: {\"type\": \"error\"}\n\n")], false);
    let (answer, attempts) = answer(llm(), StatusCode::OK, "text/event-stream", make);
    assert_eq!((answer.status(), attempts), (StatusCode::OK, 1));
}
