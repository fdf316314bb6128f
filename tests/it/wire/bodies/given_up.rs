//! An attempt that is given up while its body is on its way: what was produced meanwhile is for the next one.

use super::super::connections::client::{Speaks, bare_hyper, bare_reqwest};
use super::super::server::{Act, FaultServer};
use super::{Framing, assert_sent_again, body_of, channel, text};
use crate::in_time::in_time;
use bytes::Bytes;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, ReplayBody, RetryPolicy};
use reqwest::Body;
use reqwest_middleware::ClientBuilder;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::yield_now;
use tower::{Layer, ServiceExt};

const SECOND: Duration = Duration::from_secs(1);
const BEFORE: usize = 20_000;
/// More than the limit, so that it is lost if an attempt that nobody waits for reads it.
const LENGTH: usize = 200_000;

fn policy() -> RetryPolicy {
    let builder = RetryPolicy::builder().attempt_timeout(SECOND);
    builder.backoff(Backoff::fixed(SECOND)).build().unwrap()
}

/// Lets the first attempt run into its limit in the middle of its body, then produces the rest, then lets the next begin.
async fn produce(server: &FaultServer, runtime: &ManualRuntime, sender: UnboundedSender<Bytes>) {
    let text = text(LENGTH);
    sender.send(text.slice(..BEFORE)).unwrap();
    let half = |server: &FaultServer| matches!(server.received().as_slice(), [first] if first.body.len() == BEFORE);
    server.until(half).await;
    runtime.advance(SECOND);
    while !runtime.sleeps().contains(&SECOND) {
        yield_now().await;
    }
    sender.send(text.slice(BEFORE..)).unwrap();
    drop(sender);
    server.until(|server| server.open() == 0).await;
    runtime.advance(SECOND);
}

fn assert_cut_and_sent_again(server: &FaultServer, why: &str) {
    assert_sent_again(server, &text(LENGTH), Framing::Chunked, why);
    let received = server.received();
    assert_eq!(received.len(), 2, "{why}");
    assert!(
        !received[0].whole && received[0].body.len() == BEFORE,
        "{why}"
    );
}

#[tokio::test]
async fn with_tower_the_next_attempt_sends_it_all() {
    let server = FaultServer::start([Act::StallHead]).await;
    let runtime = ManualRuntime::paused();
    let (sender, produced) = channel();
    let body = ReplayBody::new(body_of(Box::pin(produced)));
    let request = http::Request::put(server.url("/")).body(body).unwrap();
    let retries = RetryLayer::new(policy()).runtime(runtime.clone());
    let client = retries.layer(bare_hyper(Speaks::Http1));
    let both = async { tokio::join!(client.oneshot(request), produce(&server, &runtime, sender)) };
    let (answer, ()) = in_time(both).await;
    assert_eq!(answer.unwrap().status(), 200);
    assert_cut_and_sent_again(&server, "tower");
}

#[tokio::test]
async fn with_reqwest_the_next_attempt_sends_it_all() {
    let server = FaultServer::start([Act::StallHead]).await;
    let runtime = ManualRuntime::paused();
    let (sender, produced) = channel();
    let retries = RetryMiddleware::new(policy()).runtime(runtime.clone());
    let client = ClientBuilder::new(bare_reqwest(Speaks::Http1))
        .with(retries)
        .build();
    let request = client
        .put(server.url("/"))
        .body(Body::wrap_stream(produced));
    let both = async { tokio::join!(request.send(), produce(&server, &runtime, sender)) };
    let (answer, ()) = in_time(both).await;
    assert_eq!(answer.unwrap().status(), 200);
    assert_cut_and_sent_again(&server, "reqwest");
}
