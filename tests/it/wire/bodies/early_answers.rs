//! An answer that comes while the body is still on its way.

use super::super::connections::client::{Speaks, bare_reqwest, without_waits};
use super::super::server::{Act, Answer, FaultServer};
use super::{Framing, assert_sent_again, body_of, channel, framing, hyper_client, text};
use crate::in_time::in_time;
use bytes::Bytes;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use http_retry::{ReplayBody, ReportSlot, RetryReport, StopReason};
use reqwest::Body;
use reqwest_middleware::ClientBuilder;
use tokio::sync::mpsc::UnboundedSender;
use tower::ServiceExt;

const LENGTH: usize = 30_000;

fn early() -> Act {
    Act::AnswerEarly(Answer::new(503).body("no room"))
}

/// Finishes a body of which a half was sent, and sees that the first request, which is the only one, has it all.
async fn finish(server: &FaultServer, sender: UnboundedSender<Bytes>, slot: &ReportSlot) {
    assert_eq!(slot.take().unwrap().stop, StopReason::BodyNotReplayable);
    sender.send(text(LENGTH).slice(LENGTH / 2..)).unwrap();
    drop(sender);
    let whole = server.until(|server| server.received()[0].whole);
    in_time(whole).await;
    let received = server.received();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].body, text(LENGTH));
}

async fn with_reqwest(told: Framing) {
    let server = FaultServer::start([early()]).await;
    let (sender, produced) = channel();
    sender.send(text(LENGTH).slice(..LENGTH / 2)).unwrap();
    let retries = RetryMiddleware::new(without_waits(3)).runtime(ManualRuntime::paused());
    let client = ClientBuilder::new(bare_reqwest(Speaks::Http1));
    let slot = RetryReport::slot();
    let request = client.with(retries).build().put(server.url("/"));
    let request = match told {
        Framing::Length(length) => request.header("content-length", length),
        _ => request,
    };
    let request = request.body(Body::wrap_stream(produced));
    let answer = in_time(request.with_extension(slot.clone()).send()).await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.text().await.unwrap(), "no room");
    finish(&server, sender, &slot).await;
    assert_eq!(framing(&server.received()[0]), told);
}

#[tokio::test]
async fn with_reqwest_it_is_returned_and_the_body_goes_on() {
    with_reqwest(Framing::Chunked).await;
    with_reqwest(Framing::Length(LENGTH)).await;
}

#[tokio::test]
async fn with_tower_it_is_returned_and_the_body_goes_on() {
    let server = FaultServer::start([early()]).await;
    let (sender, produced) = channel();
    sender.send(text(LENGTH).slice(..LENGTH / 2)).unwrap();
    let slot = RetryReport::slot();
    let request = http::Request::put(server.url("/")).extension(slot.clone());
    let body = ReplayBody::new(body_of(Box::pin(produced)));
    let request = request.body(body).unwrap();
    let client = hyper_client(ManualRuntime::paused());
    let answer = in_time(client.oneshot(request)).await;
    assert_eq!(answer.as_ref().unwrap().status(), 503);
    finish(&server, sender, &slot).await;
}

#[tokio::test]
async fn an_early_success_is_returned_too() {
    let server = FaultServer::start([Act::AnswerEarly(Answer::new(200))]).await;
    let (sender, produced) = channel();
    let body = ReplayBody::new(body_of(Box::pin(produced)));
    let request = http::Request::put(server.url("/")).body(body).unwrap();
    let client = hyper_client(ManualRuntime::paused());
    let answer = in_time(client.oneshot(request)).await;
    assert_eq!(answer.as_ref().unwrap().status(), 200);
    sender.send(text(LENGTH)).unwrap();
    drop(sender);
    let whole = server.until(|server| server.received()[0].whole);
    in_time(whole).await;
    assert_eq!(server.received()[0].body, text(LENGTH));
}

#[tokio::test]
async fn a_body_that_can_be_cloned_is_sent_again_all_the_same() {
    let server = FaultServer::start([early()]).await;
    let text = text(3_000_000);
    let body = http_body_util::Full::new(text.clone());
    let request = http::Request::put(server.url("/")).body(body).unwrap();
    let client = hyper_client(ManualRuntime::paused());
    let answer = in_time(client.oneshot(request)).await;
    assert_eq!(answer.unwrap().status(), 200);
    let told = Framing::Length(text.len());
    assert_eq!(server.received().len(), 2);
    assert_sent_again(&server, &text, told, "early");
}
