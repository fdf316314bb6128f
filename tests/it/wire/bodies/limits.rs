//! How much of a body is kept for a later attempt, and what becomes of a longer one.

use super::super::connections::client::{Speaks, bare_reqwest, without_waits};
use super::super::server::{Act, FaultServer};
use super::{Framing, assert_sent_again, body_of, hyper_client, pieces, text};
use crate::in_time::in_time;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use http_retry::{ReplayBody, RetryReport, StopReason};
use reqwest::Body;
use reqwest_middleware::ClientBuilder;
use tower::ServiceExt;

const KIB: usize = 1024;

/// A limit, or the default; a body's length; and whether the body is sent again.
const CASES: [(Option<usize>, usize, bool); 7] = [
    (None, 64 * KIB, true),
    (None, 64 * KIB + 1, false),
    (Some(10), 10, true),
    (Some(10), 11, false),
    (Some(0), 1, false),
    (Some(1), 1, true),
    (Some(1024 * KIB), 300 * KIB, true),
];

async fn put_with_reqwest(limit: Option<usize>, length: usize, url: &str) -> RetryReport {
    let retries = RetryMiddleware::new(without_waits(1)).runtime(ManualRuntime::paused());
    let retries = match limit {
        Some(bytes) => retries.replay_limit(bytes),
        None => retries,
    };
    let client = ClientBuilder::new(bare_reqwest(Speaks::Http1));
    let slot = RetryReport::slot();
    let request = client.with(retries).build().put(url);
    let request = request.body(Body::wrap_stream(pieces(&text(length))));
    let _ = request.with_extension(slot.clone()).send().await;
    slot.take().unwrap()
}

async fn put_with_tower(limit: Option<usize>, length: usize, url: &str) -> RetryReport {
    let stream = body_of(pieces(&text(length)));
    let body = match limit {
        Some(bytes) => ReplayBody::with_limit(stream, bytes),
        None => ReplayBody::new(stream),
    };
    let slot = RetryReport::slot();
    let request = http::Request::put(url).extension(slot.clone());
    let request = request.body(body).unwrap();
    let client = hyper_client(ManualRuntime::paused());
    let _ = client.oneshot(request).await;
    slot.take().unwrap()
}

/// Sees to what became of a body whose first attempt failed.
fn assert_kept(server: &FaultServer, report: &RetryReport, length: usize, again: bool, why: &str) {
    let (stop, requests) = if again {
        (StopReason::Succeeded, 2)
    } else {
        (StopReason::BodyNotReplayable, 1)
    };
    assert_eq!(report.stop, stop, "{why}: {report}");
    assert_eq!(server.received().len(), requests, "{why}");
    assert_sent_again(server, &text(length), Framing::Chunked, why);
}

#[tokio::test]
async fn a_reqwest_stream_is_sent_again_within_the_limit_only() {
    for (limit, length, again) in CASES {
        for act in [Act::CloseAfterRequest, Act::status(503)] {
            let why = format!("{length} of {limit:?} after {act:?}");
            let server = FaultServer::start([act]).await;
            let url = server.url("/");
            let report = in_time(put_with_reqwest(limit, length, &url)).await;
            assert_kept(&server, &report, length, again, &why);
        }
    }
}

#[tokio::test]
async fn a_replay_body_is_sent_again_within_its_limit_only() {
    for (limit, length, again) in CASES {
        for act in [Act::CloseAfterRequest, Act::status(503)] {
            let why = format!("{length} of {limit:?} after {act:?}");
            let server = FaultServer::start([act]).await;
            let url = server.url("/");
            let report = in_time(put_with_tower(limit, length, &url)).await;
            assert_kept(&server, &report, length, again, &why);
        }
    }
}

#[tokio::test]
async fn a_body_that_can_be_cloned_knows_no_limit() {
    let text = text(3_000 * KIB);
    let server = FaultServer::start([Act::CloseAfterRequest, Act::ResetAfterRequestHead]).await;
    let body = http_body_util::Full::new(text.clone());
    let request = http::Request::put(server.url("/")).body(body).unwrap();
    let client = hyper_client(ManualRuntime::paused());
    let answer = in_time(client.oneshot(request)).await;
    assert_eq!(answer.unwrap().status(), 200);
    let told = Framing::Length(text.len());
    assert_sent_again(&server, &text, told, "3 MB");
}
