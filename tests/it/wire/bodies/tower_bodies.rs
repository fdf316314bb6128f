//! The bodies that a client of hyper can send.

use super::super::connections::client::{Speaks, bare_hyper, without_waits};
use super::super::server::{Act, FaultServer};
use super::{Framing, assert_sent_again, body_of, channel, first_ends, hyper_client, pieces, text};
use crate::in_time::in_time;
use bytes::Bytes;
use http_body::Body;
use http_body_util::{Empty, Full};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{Replay, ReplayBody, RetryOverride};
use std::error::Error;
use tower::{Layer, ServiceExt};

const LENGTH: usize = 30_000;

/// Sends a body to a server that fails in each way first, and sees what arrives.
async fn put_after_each_failure<B>(body: impl Fn() -> B, whole: &[u8], told: Framing)
where
    B: Body + Replay + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let client = hyper_client::<B>(ManualRuntime::paused());
    for act in first_ends() {
        let why = format!("{} after {act:?}", std::any::type_name::<B>());
        let server = FaultServer::start([act]).await;
        let request = http::Request::put(server.url("/")).body(body()).unwrap();
        let answer = in_time(client.clone().oneshot(request)).await;
        assert_eq!(answer.unwrap().status(), 200, "{why}");
        assert_sent_again(&server, whole, told, &why);
    }
}

#[tokio::test]
async fn a_body_that_can_be_cloned_is_sent_again_whole() {
    let text = text(LENGTH);
    let known = Framing::Length(LENGTH);
    put_after_each_failure(|| Full::new(text.clone()), &text, known).await;
    let string = String::from_utf8(text.to_vec()).unwrap();
    put_after_each_failure(|| string.clone(), &text, known).await;
    put_after_each_failure(Empty::<Bytes>::new, b"", Framing::None).await;
}

#[tokio::test]
async fn a_body_that_cannot_be_cloned_is_sent_again_whole() {
    let text = text(LENGTH);
    let stream = || ReplayBody::new(body_of(pieces(&text)));
    put_after_each_failure(stream, &text, Framing::Chunked).await;
    let known = || ReplayBody::new(Full::new(text.clone()));
    put_after_each_failure(known, &text, Framing::Length(LENGTH)).await;
    let empty = || ReplayBody::new(Empty::<Bytes>::new());
    put_after_each_failure(empty, b"", Framing::None).await;
    let nothing = || ReplayBody::new(body_of(futures_util::stream::empty()));
    put_after_each_failure(nothing, b"", Framing::Chunked).await;
}

#[tokio::test]
async fn a_body_with_a_told_length_is_sent_again_whole() {
    let text = text(LENGTH);
    for act in first_ends() {
        let why = format!("{act:?}");
        let server = FaultServer::start([act]).await;
        let client = hyper_client(ManualRuntime::paused());
        let request = http::Request::put(server.url("/"))
            .header("content-length", LENGTH)
            .body(ReplayBody::new(body_of(pieces(&text))))
            .unwrap();
        let answer = in_time(client.oneshot(request)).await;
        assert_eq!(answer.unwrap().status(), 200, "{why}");
        assert_sent_again(&server, &text, Framing::Length(LENGTH), &why);
    }
}

#[tokio::test]
async fn what_the_first_attempt_lacked_the_next_one_sends() {
    for act in [Act::ResetAfterRequestHead, Act::CloseUnread] {
        let why = format!("{act:?}");
        let server = FaultServer::start([act]).await;
        let (sender, produced) = channel();
        let text = text(LENGTH);
        sender.send(text.slice(..10_000)).unwrap();
        let client = hyper_client(ManualRuntime::paused());
        let body = ReplayBody::new(body_of(Box::pin(produced)));
        let request = http::Request::put(server.url("/")).body(body).unwrap();
        let producing = async {
            server.until(|server| server.connections() == 2).await;
            sender.send(text.slice(10_000..20_000)).unwrap();
            tokio::task::yield_now().await;
            sender.send(text.slice(20_000..)).unwrap();
            drop(sender);
        };
        let both = async { tokio::join!(client.oneshot(request), producing) };
        let (answer, ()) = in_time(both).await;
        assert_eq!(answer.unwrap().status(), 200, "{why}");
        assert_sent_again(&server, &text, Framing::Chunked, &why);
    }
}

#[tokio::test]
async fn two_layers_that_both_retry_send_it_whole_each_time() {
    let text = text(LENGTH);
    let acts = [
        Act::status(500),
        Act::CloseAfterRequest,
        Act::ResetAfterRequestHead,
    ];
    let server = FaultServer::start(acts).await;
    let retries = RetryLayer::new(without_waits(1)).runtime(ManualRuntime::paused());
    let client = retries.layer(retries.layer(bare_hyper(Speaks::Http1)));
    let request = http::Request::put(server.url("/"))
        .extension(RetryOverride::new().retry_when_nested())
        .body(ReplayBody::new(body_of(pieces(&text))))
        .unwrap();
    let answer = in_time(client.oneshot(request)).await;
    assert_eq!(answer.unwrap().status(), 200);
    assert_eq!(server.received().len(), 4);
    assert_sent_again(&server, &text, Framing::Chunked, "nested");
}
