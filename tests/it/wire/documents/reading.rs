//! What looking into an error body costs at most: bytes, time, and nothing of a success.

mod dropped;

use super::super::connections::client::Speaks;
use super::super::connections::http2_server::{self, Http2Server};
use super::super::server::{Act, FaultServer};
use super::super::stacks::clients::drive;
use super::answer::Answer;
use super::stacks::{Client, Kit, STACKS, Told, get};
use crate::in_time::in_time;
use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use http_retry::StopReason;
use serde_json::json;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::task::yield_now;

const KIB: usize = 1024;
const READING: Duration = Duration::from_secs(2);

/// What sockets and clients hold beyond what is read.
const BUFFERED: usize = 8 * KIB * KIB;

/// A rule that needs the body to know that it does not hold, and one for whatever failed.
fn looking(then: &str) -> Kit {
    Kit::new(json!({
        "version": 1,
        "budgets": {"ten": {"capacity": 10, "initial": 10, "per_success": 0}},
        "retry": {"max_retries": 2, "backoff": "none", "budget": "ten"},
        "rules": [
            {"when": {"code": "never"}, "do": "stop"},
            {"when": {"status": "5xx"}, "do": then},
        ],
    }))
}

/// Lets a call go to its end without any time passing.
async fn still(client: &Client, request: Request<Bytes>) -> Told {
    in_time(client.send(request)).await
}

async fn first_frame(answer: &mut Answer) -> Bytes {
    let frame = in_time(answer.response.body_mut().frame()).await;
    frame.unwrap().unwrap().into_data().unwrap()
}

#[tokio::test]
async fn a_body_without_end_is_read_no_further_than_the_limit() {
    for stack in STACKS {
        let server = FaultServer::start([Act::EndlessBody(503)]).await;
        let kit = looking("accept");
        // No time passes: what ends the reading is the limit of bytes.
        let told = still(&kit.client(stack), get(&server.url("/"))).await;
        assert_eq!(
            (told.status(), told.stop()),
            (503, StopReason::Accepted),
            "{stack:?}"
        );
        assert!(
            server.written() < BUFFERED,
            "{stack:?}: {}",
            server.written()
        );
        assert_eq!(kit.clock.limits(), [READING], "{stack:?}");
        let mut answer = told.result.unwrap();
        let mut read = 0;
        while read < 4 * BUFFERED {
            let data = first_frame(&mut answer).await;
            assert!(data.iter().all(|byte| *byte == b'x'), "{stack:?}");
            read += data.len();
        }
        drop(answer);
        in_time(server.until(|server| server.open() == 0)).await;
    }
}

#[tokio::test]
async fn over_http2_it_costs_the_streams_window_at_most() {
    for stack in STACKS {
        let server = Http2Server::start([http2_server::Act::Endless(503)]).await;
        let kit = looking("accept").speaking(Speaks::Http2);
        let client = kit.client(stack);
        let told = still(&client, get(&server.url("/"))).await;
        assert_eq!(
            (told.status(), told.stop()),
            (503, StopReason::Accepted),
            "{stack:?}"
        );
        let mut answer = told.result.unwrap();
        let before = server.received()[0].written;
        assert!(before < BUFFERED, "{stack:?}: {before}");
        let mut read = 0;
        while read <= 2 * before {
            read += first_frame(&mut answer).await.len();
        }
        drop(answer);
        in_time(server.until(|server| server.received()[0].reset.is_some())).await;
        assert_eq!((server.connections(), server.open()), (1, 1), "{stack:?}");
    }
}

/// Lets a call go until it waits for the rest of an error body.
async fn drive_to_the_rest<F: Future<Output = Told>>(call: &mut Pin<&mut F>, kit: &Kit) {
    drive(call, || kit.clock.limits() == [READING]).await;
    for _ in 0..100 {
        drive_once(call).await;
    }
}

async fn drive_once<F: Future<Output = Told>>(call: &mut Pin<&mut F>) {
    poll_fn(|cx| {
        assert!(
            call.as_mut().poll(cx).is_pending(),
            "it should still be reading"
        );
        Poll::Ready(())
    })
    .await;
    yield_now().await;
}

#[tokio::test]
async fn a_body_that_stalls_is_waited_for_two_seconds_and_no_longer() {
    for stack in STACKS {
        let server = FaultServer::start([Act::StallBody(503)]).await;
        let kit = looking("accept");
        let client = kit.client(stack);
        let mut call = pin!(client.send(get(&server.url("/"))));
        drive_to_the_rest(&mut call, &kit).await;
        kit.clock.advance(READING - Duration::from_nanos(1));
        drive_once(&mut call).await;
        kit.clock.advance(Duration::from_nanos(1));
        let told = in_time(call).await;
        assert_eq!(
            (told.status(), told.stop()),
            (503, StopReason::Accepted),
            "{stack:?}"
        );
        assert_eq!(kit.clock.alive(), 0, "{stack:?}");
        // What came in time is the caller's, and so is the wait for the rest.
        let mut answer = told.result.unwrap();
        assert_eq!(first_frame(&mut answer).await, "half", "{stack:?}");
        assert_eq!(server.open(), 1, "{stack:?}");
    }
}

#[tokio::test]
async fn no_longer_than_the_deadline_either() {
    for stack in STACKS {
        let server = FaultServer::start([Act::StallBody(503)]).await;
        let kit = Kit::new(json!({
            "version": 1,
            "retry": {"max_retries": 2, "backoff": "none", "deadline": "1500ms"},
            "rules": [{"when": {"code": "never"}, "do": "stop"}],
        }));
        let client = kit.client(stack);
        let mut call = pin!(client.send(get(&server.url("/"))));
        let left = Duration::from_millis(1_500);
        drive(&mut call, || kit.clock.limits() == [left, left]).await;
        kit.clock.advance(left);
        let told = in_time(call).await;
        assert_eq!(
            (told.status(), told.stop()),
            (503, StopReason::DeadlineExceeded),
            "{stack:?}"
        );
        assert_eq!(server.received().len(), 1, "{stack:?}");
    }
}

#[tokio::test]
async fn after_two_seconds_a_retry_has_its_own_connection() {
    for stack in STACKS {
        let server = FaultServer::start([Act::StallBody(503)]).await;
        let kit = looking("retry");
        let client = kit.client(stack);
        let mut call = pin!(client.send(get(&server.url("/"))));
        drive_to_the_rest(&mut call, &kit).await;
        kit.clock.advance(READING);
        // Then the rest of the body is read for as long as a connection is worth it.
        drive(&mut call, || kit.clock.limits().len() == 2).await;
        kit.clock.advance(Duration::from_secs(1));
        let told = in_time(call).await;
        assert_eq!(
            (told.status(), told.stop()),
            (200, StopReason::Succeeded),
            "{stack:?}"
        );
        assert_eq!(
            (server.connections(), server.received().len()),
            (2, 2),
            "{stack:?}"
        );
        in_time(server.until(|server| server.open() == 1)).await;
    }
}

#[tokio::test]
async fn the_body_of_a_success_is_the_callers_alone() {
    for stack in STACKS {
        for act in [Act::EndlessBody(200), Act::StallBody(200)] {
            let server = FaultServer::start([act]).await;
            let kit = looking("retry");
            let told = still(&kit.client(stack), get(&server.url("/"))).await;
            assert_eq!(
                (told.status(), kit.clock.limits()),
                (200, vec![]),
                "{stack:?}"
            );
            let first = first_frame(&mut told.result.unwrap()).await;
            assert!(!first.is_empty(), "{stack:?}");
        }
        let endless = http2_server::Act::Endless(200);
        let stalled = http2_server::Act::StallBody(200);
        let server = Http2Server::start([endless, stalled]).await;
        let kit = looking("retry").speaking(Speaks::Http2);
        let client = kit.client(stack);
        for _ in 0..2 {
            let told = still(&client, get(&server.url("/"))).await;
            assert_eq!(
                (told.status(), kit.clock.limits()),
                (200, vec![]),
                "{stack:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_body_that_no_rule_needs_is_not_read() {
    for stack in STACKS {
        let server = FaultServer::start([Act::EndlessBody(503)]).await;
        let kit = Kit::new(json!({"version": 1, "rules": [
            {"when": {"status": 503}, "do": "accept"},
            {"when": {"code": "never"}, "do": "stop"},
        ]}));
        let told = still(&kit.client(stack), get(&server.url("/"))).await;
        assert_eq!(
            (told.stop(), kit.clock.limits()),
            (StopReason::Accepted, vec![]),
            "{stack:?}"
        );
    }
}
