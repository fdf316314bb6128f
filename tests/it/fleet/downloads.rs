//! Downloads that break in a fleet: the resume asks for its token as a retry does.

use super::process::{Process, Stack};
use super::server::Server;
use crate::listening::listener;
use crate::resume::script::{Piece, Scripted, Turn, bytes, download, get, policy};
use futures_util::FutureExt;
use http::Request;
use http_body_util::BodyExt;
use http_retry::fleet::Fleet;
use http_retry::resume::ResumeFailure;
use http_retry::tower::RetryLayer;
use http_retry::{RetryOverride, StopReason};
use std::time::Duration;
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

const MILLI: Duration = Duration::from_millis(1);

/// One that retries after so long.
fn layer(fleet: &Fleet, delay: Duration) -> RetryLayer {
    let backoff = http_retry::Backoff::fixed(delay).jitter(http_retry::Jitter::None);
    let policy = policy().max_gate_wait(None).backoff(backoff);
    RetryLayer::new(policy.build().unwrap()).fleet(fleet)
}

fn orders() -> Request<String> {
    let mut request = get();
    let named = RetryOverride::new().service("orders");
    request.extensions_mut().insert(named);
    request
}

/// A file of 100 bytes that breaks after five, and the rest of it.
fn broken_once() -> Scripted {
    Scripted::new([
        Turn::file(100).sends(0..5).then(Piece::Reset),
        Turn::rest(0, 100).sends(0..100),
    ])
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_resume_is_refused_where_the_fleet_has_no_token() {
    let server = Server::start(&[]);
    let mine = Process::joined(Stack::Tower, &server.url()).await;
    let other = Process::joined(Stack::Tower, &server.url()).await;
    other.is_down(true);
    assert_eq!(other.retries(40).await, 20);
    let client = broken_once();
    let layer = layer(&mine.fleet, MILLI);
    let ended = download(layer.resume_downloads(), &client, orders()).await;
    let stopped = ResumeFailure::Stopped(StopReason::BudgetExhausted);
    assert_eq!(ended.interrupted(), Some((5, 100, stopped)));
    assert_eq!(client.ranges(), [""; 0]);
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_resume_takes_its_token_from_the_fleet() {
    let server = Server::start(&[]);
    let mine = Process::joined(Stack::Tower, &server.url()).await;
    let other = Process::joined(Stack::Tower, &server.url()).await;
    let client = Scripted::new([
        Turn::file(100).sends(0..5).then(Piece::Reset),
        Turn::rest(0, 100).sends(0..10).then(Piece::Stall),
    ]);
    let service = layer(&mine.fleet, MILLI).resume_downloads().layer(client);
    let mut body = service.oneshot(orders()).await.unwrap().into_body();
    for expected in [0..5, 5..10] {
        let data = body.frame().await.unwrap().unwrap().into_data();
        assert_eq!(data.unwrap(), bytes(expected));
    }
    other.is_down(true);
    assert_eq!(other.retries(40).await, 19);
}

#[tokio::test]
#[ignore = "needs redis-server or valkey-server"]
async fn a_download_that_is_dropped_while_it_asks_pays_nothing() {
    let server = Server::start(&[]);
    let mine = Process::joined(Stack::Tower, &server.url()).await;
    let service = layer(&mine.fleet, MILLI).resume_downloads();
    let service = service.layer(broken_once());
    let mut body = service.oneshot(orders()).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    server.freeze();
    assert!(body.frame().now_or_never().is_none());
    drop(body);
    server.go_on();
    mine.is_down(true);
    assert_eq!(mine.retries(40).await, 20);
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "on tokio's paused clock")]
async fn a_resume_waits_for_a_silent_store_no_longer_than_it_may() {
    let listener = listener().await;
    let url = format!("redis://{}", listener.local_addr().unwrap());
    // The planned wait runs meanwhile.
    for (delay, waits) in [(MILLI, 50 * MILLI), (80 * MILLI, 80 * MILLI)] {
        let layer = layer(&Fleet::redis(&url).unwrap(), delay);
        let begun = Instant::now();
        let ended = download(layer.resume_downloads(), &broken_once(), orders()).await;
        assert!(ended.error.is_none() && ended.read == bytes(0..100));
        let took = begun.elapsed();
        // The timer of a clock that is paused goes by milliseconds.
        let bounds = waits..=waits + 3 * MILLI;
        assert!(bounds.contains(&took), "{took:?}");
    }
    drop(listener);
}
