//! Bodies over HTTP/2, where a stream can end in ways of its own and trailers are common.

use super::super::connections::client::{Speaks, bare_hyper, bare_reqwest, without_waits};
use super::super::connections::http2_server::{Act, Http2Server};
use super::{body_of, channel, pieces, text};
use crate::in_time::in_time;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use h2::Reason;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, StreamBody};
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{ReplayBody, ReportSlot, RetryReport, StopReason};
use reqwest_middleware::ClientBuilder;
use std::io;
use tower::{Layer, ServiceExt};

const LENGTH: usize = 30_000;

/// What ends the first request, and how many connections there are after the second: a stream that failed takes its
/// connection out of the pool, one that was refused does not.
fn first_ends() -> [(Act, usize); 6] {
    [
        (Act::Reset(Reason::REFUSED_STREAM), 1),
        (Act::Reset(Reason::INTERNAL_ERROR), 2),
        (Act::Reset(Reason::CANCEL), 2),
        (Act::Answer(500), 1),
        (Act::Endless(503), 1),
        (Act::StallBody(504), 1),
    ]
}

/// Some data, and a word after it.
fn body_with_trailers() -> impl Body<Data = Bytes, Error = io::Error> + Send + Sync + 'static {
    let trailers = HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("7"))]);
    let data = pieces(&text(LENGTH)).map_ok(Frame::data);
    StreamBody::new(data.chain(stream::iter([Ok(Frame::trailers(trailers))])))
}

/// Both requests had the whole body and its trailers.
fn assert_sent_twice(server: &Http2Server, connections: usize, why: &str) {
    let received = server.received();
    let counted = (received.len(), server.connections());
    assert_eq!(counted, (2, connections), "{why}");
    for request in received {
        assert!(request.whole && request.body == text(LENGTH), "{why}");
        assert_eq!(request.trailers["etag"], "7", "{why}");
        assert!(!request.headers.contains_key("content-length"), "{why}");
    }
}

#[tokio::test]
async fn with_tower_data_and_trailers_are_sent_again() {
    for (act, connections) in first_ends() {
        let why = format!("{act:?}");
        let server = Http2Server::start([act]).await;
        let retries = RetryLayer::new(without_waits(3)).runtime(ManualRuntime::paused());
        let client = retries.layer(bare_hyper(Speaks::Http2));
        let body = ReplayBody::new(body_with_trailers());
        let request = http::Request::put(server.url("/")).body(body).unwrap();
        let answer = in_time(client.oneshot(request)).await;
        assert_eq!(answer.unwrap().status(), 200, "{why}");
        assert_sent_twice(&server, connections, &why);
    }
}

#[tokio::test]
async fn with_reqwest_data_and_trailers_are_sent_again() {
    for (act, connections) in first_ends() {
        let why = format!("{act:?}");
        let server = Http2Server::start([act]).await;
        let retries = RetryMiddleware::new(without_waits(3)).runtime(ManualRuntime::paused());
        let client = ClientBuilder::new(bare_reqwest(Speaks::Http2)).with(retries);
        let body = reqwest::Body::wrap(body_with_trailers());
        let answer = client.build().put(server.url("/")).body(body).send();
        let answer = in_time(answer).await;
        assert_eq!(answer.unwrap().status(), 200, "{why}");
        assert_sent_twice(&server, connections, &why);
    }
}

/// The one request was cut short, and its answer was the last.
fn assert_left(server: &Http2Server, status: http::StatusCode, slot: &ReportSlot) {
    assert_eq!(status, 503);
    assert_eq!(slot.take().unwrap().stop, StopReason::BodyNotReplayable);
    let received = server.received();
    assert!(received.len() == 1 && !received[0].whole);
}

#[tokio::test]
async fn with_tower_an_early_answer_is_returned() {
    let server = Http2Server::start([Act::AnswerAfter(10, 503)]).await;
    let (sender, produced) = channel();
    sender.send(text(10)).unwrap();
    let retries = RetryLayer::new(without_waits(3)).runtime(ManualRuntime::paused());
    let client = retries.layer(bare_hyper(Speaks::Http2));
    let slot = RetryReport::slot();
    let request = http::Request::put(server.url("/")).extension(slot.clone());
    let body = ReplayBody::new(body_of(Box::pin(produced)));
    let request = request.body(body).unwrap();
    let answer = in_time(client.oneshot(request)).await;
    assert_left(&server, answer.unwrap().status(), &slot);
}

#[tokio::test]
async fn with_reqwest_an_early_answer_is_returned() {
    let server = Http2Server::start([Act::AnswerAfter(10, 503)]).await;
    let (sender, produced) = channel();
    sender.send(text(10)).unwrap();
    let retries = RetryMiddleware::new(without_waits(3)).runtime(ManualRuntime::paused());
    let client = ClientBuilder::new(bare_reqwest(Speaks::Http2)).with(retries);
    let slot = RetryReport::slot();
    let request = client
        .build()
        .put(server.url("/"))
        .with_extension(slot.clone());
    let request = request.body(reqwest::Body::wrap_stream(produced));
    let answer = in_time(request.send()).await;
    assert_left(&server, answer.unwrap().status(), &slot);
}

/// The server takes no more of the request once it has responded, and resets the stream without an error.
#[tokio::test]
async fn a_response_to_half_a_request_is_whole() {
    for whole in [0, 1_000] {
        let server = Http2Server::start([Act::AnswerAfter(10, 200)]).await;
        let (sender, produced) = channel();
        sender.send(text(10)).unwrap();
        let policy = without_waits(3).to_builder().whole_responses(whole).build();
        let retries = RetryLayer::new(policy.unwrap()).runtime(ManualRuntime::paused());
        let client = retries.layer(bare_hyper(Speaks::Http2));
        let body = ReplayBody::new(body_of(Box::pin(produced)));
        let request = http::Request::put(server.url("/")).body(body).unwrap();
        let answer = in_time(client.oneshot(request)).await.unwrap();
        let body = in_time(answer.into_body().collect()).await.unwrap();
        assert_eq!(body.to_bytes(), "answer");
        assert_eq!(server.received().len(), 1);
    }
}
