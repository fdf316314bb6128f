//! What becomes of a connection whose answer was an error: kept where that is cheap, closed where it is not.

pub(crate) mod client;
pub(crate) mod http2_server;

use super::server::{Act, Answer, FaultServer};
use crate::in_time::in_time;
use client::{Client, STACKS, Settings, Speaks, Stack};
use h2::Reason;
use http_retry::testing::ManualRuntime;
use http2_server::Http2Server;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::task::yield_now;

const KIB: usize = 1024;
const SECOND: Duration = Duration::from_secs(1);

/// What an answer may cost beyond the drain limit: what the sockets and the client's own buffer hold.
const BUFFERED: usize = 8 * KIB * KIB;

fn failing(bytes: usize) -> Act {
    Act::Answer(Answer::new(503).body(vec![b'x'; bytes]))
}

/// A clock that stands still, so that what is read of an answer is bounded by its bytes alone.
fn still() -> Settings<ManualRuntime> {
    Settings::without_waits(ManualRuntime::paused())
}

fn client(stack: Stack, settings: Settings<ManualRuntime>) -> Client {
    stack.bare(Speaks::Http1).with_retries(settings)
}

async fn get(client: &Client, url: &str) -> u16 {
    let answer = in_time(client.get(url)).await;
    let answer = answer.unwrap();
    let status = answer.status().as_u16();
    // Read to its end, so that its connection is free.
    in_time(answer.body()).await.unwrap();
    status
}

/// Moves the clock on until the work is done.
async fn while_time_passes<F: Future>(runtime: &ManualRuntime, work: F) -> F::Output {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            output = &mut work => return output,
            () = yield_now() => runtime.advance(SECOND / 10),
        }
    }
}

#[tokio::test]
async fn four_attempts_against_error_bodies_use_one_connection() {
    for (stack, length) in STACKS
        .into_iter()
        .flat_map(|stack| [0, 1, 64 * KIB].map(|length| (stack, length)))
    {
        let server = FaultServer::start([(); 3].map(|()| failing(length))).await;
        assert_eq!(get(&client(stack, still()), &server.url("/")).await, 200);
        assert_eq!(server.received().len(), 4, "{stack:?}, {length} bytes");
        assert_eq!(server.connections(), 1, "{stack:?}, {length} bytes");
    }
}

#[tokio::test]
async fn only_a_body_within_the_limit_keeps_its_connection() {
    for (stack, length, connections) in STACKS
        .into_iter()
        .flat_map(|stack| [(stack, 64 * KIB, 1), (stack, 2 * KIB * KIB, 2)])
    {
        let server = FaultServer::start([failing(length)]).await;
        let mut settings = still();
        settings.drain.0 = 64 * KIB;
        let status = get(&client(stack, settings), &server.url("/")).await;
        assert_eq!(
            (status, server.connections()),
            (200, connections),
            "{stack:?}"
        );
    }
}

#[tokio::test]
async fn a_never_ending_body_costs_the_limit_and_its_connection() {
    for stack in STACKS {
        let server = FaultServer::start([Act::EndlessBody(503), Act::EndlessBody(500)]).await;
        let client = client(stack, still());
        assert_eq!(get(&client, &server.url("/")).await, 200, "{stack:?}");
        assert_eq!(server.connections(), 3, "{stack:?}");
        let closed = server.until(|server| server.open() == 1);
        in_time(closed).await;
        assert!(
            server.written() < 2 * BUFFERED,
            "{stack:?}: {}",
            server.written()
        );
        // The client is still there: what was closed was closed by the layer.
        assert_eq!(get(&client, &server.url("/")).await, 200, "{stack:?}");
        assert_eq!(server.connections(), 3, "{stack:?}");
    }
}

#[tokio::test]
async fn a_body_that_stalls_costs_the_time_limit_and_its_connection() {
    for stack in STACKS {
        let server = FaultServer::start([Act::StallBody(503)]).await;
        let runtime = ManualRuntime::paused();
        let client = client(stack, Settings::without_waits(runtime.clone()));
        let url = server.url("/");
        let answer = while_time_passes(&runtime, get(&client, &url)).await;
        assert_eq!((answer, server.connections()), (200, 2), "{stack:?}");
        assert!(runtime.sleeps().contains(&SECOND), "{stack:?}");
        let closed = server.until(|server| server.open() == 1);
        in_time(closed).await;
    }
}

#[tokio::test]
async fn while_a_body_stalls_within_the_time_limit_nothing_is_sent() {
    for stack in STACKS {
        let server = FaultServer::start([Act::StallBody(503)]).await;
        let runtime = ManualRuntime::paused();
        let client = client(stack, Settings::without_waits(runtime.clone()));
        let url = server.url("/");
        let mut answer = pin!(get(&client, &url));
        for _ in 0..200 {
            tokio::select! {
                biased;
                _ = &mut answer => panic!("{stack:?}: nothing had passed"),
                () = yield_now() => runtime.advance(SECOND / 1_000),
            }
        }
        assert_eq!(
            (server.open(), server.received().len()),
            (1, 1),
            "{stack:?}"
        );
    }
}

#[tokio::test]
async fn the_last_answer_is_left_to_the_caller_unread() {
    for stack in STACKS {
        let server = FaultServer::start([(); 4].map(|()| failing(300 * KIB))).await;
        let client = client(stack, still());
        let answer = in_time(client.get(&server.url("/"))).await.unwrap();
        let status = answer.status().as_u16();
        let body = in_time(answer.body()).await.unwrap();
        assert_eq!((status, body.len()), (503, 300 * KIB), "{stack:?}");
        assert_eq!(server.received().len(), 4, "{stack:?}");
    }
}

#[tokio::test]
async fn over_http2_the_stream_is_reset_and_the_connection_kept() {
    use http2_server::Act::{Endless, StallBody};

    for stack in STACKS {
        let server = Http2Server::start([Endless(503), StallBody(500), Endless(502)]).await;
        let client = stack.bare(Speaks::Http2).with_retries(still());
        assert_eq!(get(&client, &server.url("/")).await, 200, "{stack:?}");
        let reset = server.until(|server| {
            server.received()[..3]
                .iter()
                .all(|stream| stream.reset.is_some())
        });
        in_time(reset).await;
        for stream in &server.received()[..3] {
            assert!(
                matches!(stream.reset, Some(Reason::CANCEL | Reason::NO_ERROR)),
                "{stream:?}"
            );
            assert!(stream.written < BUFFERED, "{stack:?}: {}", stream.written);
        }
        assert_eq!(get(&client, &server.url("/")).await, 200, "{stack:?}");
        assert_eq!((server.connections(), server.open()), (1, 1), "{stack:?}");
    }
}
