//! A connection that goes silent: the retry after a cut attempt opens another one.

use super::connections::client::{HyperClient, Speaks, bare_hyper};
use super::http2::server::{Http2Server, Turn};
use super::stacks::clock::{Clock, let_all_run};
use super::whole_responses::server::{FailingServer, Fault, How, Page};
use crate::in_time::in_time;
use bytes::Bytes;
use h2::Reason;
use http::{Method, Request};
use http_body_util::Full;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, RetryPolicy, RetryPolicyBuilder};
use hyper_util::client::legacy::connect::capture_connection;
use reqwest_middleware::ClientBuilder;
use std::sync::Arc;
use std::time::Duration;
use tower::{Layer, ServiceExt};

const LIMIT: Duration = Duration::from_secs(5);

fn policy() -> RetryPolicyBuilder {
    let builder = RetryPolicy::builder().max_gate_wait(None);
    builder.max_retries(2).backoff(Backoff::none())
}

fn page() -> Page {
    Page {
        body: Bytes::from("answer"),
        chunked: false,
        gzip: false,
    }
}

/// An HTTP/2 server whose first connection goes silent after so many bytes, and the clock that runs out then.
async fn silent_after(after: usize) -> (FailingServer, Clock) {
    let clock = Clock::new();
    let runs = clock.clone();
    let on_stall = Arc::new(move || runs.advance(LIMIT));
    let server = FailingServer::start(Speaks::Http2, page(), on_stall).await;
    let how = How::Stall;
    server.fail([Fault { after, how }]);
    (server, clock)
}

fn get(url: String) -> Request<Full<Bytes>> {
    Request::get(url).body(Full::default()).unwrap()
}

/// The bytes of HTTP/2 that a server writes before its first answer: its settings, and a word on the client's.
const PREFACE: usize = 60;

#[tokio::test]
async fn a_retry_does_not_share_the_connection_of_a_cut_attempt() {
    for after in [0, PREFACE] {
        let (server, clock) = silent_after(after).await;
        let layer = RetryLayer::new(policy().attempt_timeout(LIMIT).build().unwrap());
        let client: HyperClient<Full<Bytes>> = bare_hyper(Speaks::Http2);
        let service = layer.runtime(clock).layer(client.clone());
        let answer = in_time(service.oneshot(get(server.url()))).await;
        assert_eq!(answer.unwrap().status(), 200);
        assert_eq!(server.connections(), 2);
        // Nobody else is sent there any more either.
        let next = in_time(client.request(get(server.url()))).await;
        assert_eq!(next.unwrap().status(), 200);
        assert_eq!(server.connections(), 2);
    }
}

#[tokio::test]
async fn the_next_call_does_not_share_it_either() {
    let (server, clock) = silent_after(0).await;
    let policy = policy().attempt_timeout(LIMIT).max_retries(0);
    let layer = RetryLayer::new(policy.build().unwrap());
    let service = layer.runtime(clock).layer(bare_hyper(Speaks::Http2));
    let first = service.clone().oneshot(get(server.url()));
    assert!(in_time(first).await.is_err());
    let second = in_time(service.oneshot(get(server.url()))).await;
    assert_eq!(second.unwrap().status(), 200);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn who_asks_for_the_connection_himself_decides_on_it() {
    let (server, clock) = silent_after(0).await;
    let limited = policy().attempt_timeout(LIMIT).max_retries(0);
    let layer = RetryLayer::new(limited.build().unwrap());
    let service = layer
        .runtime(clock.clone())
        .layer(bare_hyper(Speaks::Http2));
    let mut request = get(server.url());
    let captured = capture_connection(&mut request);
    let first = in_time(service.clone().oneshot(request)).await;
    assert!(first.is_err());
    assert!(captured.connection_metadata().is_some());
    // The client goes on with the silent connection.
    let second = tokio::spawn(service.oneshot(get(server.url())));
    in_time(async {
        while clock.begun().len() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let_all_run().await;
    clock.advance(LIMIT);
    assert!(in_time(second).await.unwrap().is_err());
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_retry_does_not_share_the_connection_of_a_reset_stream() {
    let reset = Turn::ResetStream(Reason::INTERNAL_ERROR);
    let server = Http2Server::start([reset, Turn::Answer(200)]).await;
    let layer = RetryLayer::new(policy().build().unwrap()).runtime(ManualRuntime::new());
    let service = layer.layer(bare_hyper::<Full<Bytes>>(Speaks::Http2));
    let answer = in_time(service.oneshot(get(server.url()))).await;
    assert_eq!(answer.unwrap().status(), 200);
    let connections = |server: &Http2Server| -> Vec<usize> {
        server.got().iter().map(|got| got.connection).collect()
    };
    assert_eq!(connections(&server), [1, 2]);

    let server = Http2Server::start([reset, Turn::Answer(200)]).await;
    let retries = RetryMiddleware::new(policy().build().unwrap()).runtime(ManualRuntime::new());
    let client = super::connections::client::bare_reqwest(Speaks::Http2);
    let client = ClientBuilder::new(client).with(retries).build();
    let sent = client.request(Method::GET, server.url()).send();
    assert_eq!(in_time(sent).await.unwrap().status(), 200);
    assert_eq!(connections(&server), [1, 2]);
}

#[tokio::test]
async fn a_refused_stream_says_nothing_against_its_connection() {
    let refused = Turn::ResetStream(Reason::REFUSED_STREAM);
    let server = Http2Server::start([refused, Turn::Answer(200)]).await;
    let layer = RetryLayer::new(policy().build().unwrap()).runtime(ManualRuntime::new());
    let service = layer.layer(bare_hyper::<Full<Bytes>>(Speaks::Http2));
    let answer = in_time(service.oneshot(get(server.url()))).await;
    assert_eq!(answer.unwrap().status(), 200);
    assert!(server.got().iter().all(|got| got.connection == 1));
}

fn post(url: String) -> Request<Full<Bytes>> {
    Request::post(url).body(Full::from("order")).unwrap()
}

/// The connections that a POST came over, and the status that its caller got.
async fn misdirected(policy: RetryPolicyBuilder, answers: &[u16]) -> (Vec<usize>, u16) {
    let turns = answers.iter().map(|status| Turn::Answer(*status));
    let server = Http2Server::start(turns).await;
    // A clock that stands still: no attempt runs out of time.
    let layer = RetryLayer::new(policy.build().unwrap()).runtime(Clock::new());
    let service = layer.layer(bare_hyper::<Full<Bytes>>(Speaks::Http2));
    let answer = in_time(service.oneshot(post(server.url()))).await;
    let connections = server.got().iter().map(|got| got.connection).collect();
    (connections, answer.unwrap().status().as_u16())
}

#[tokio::test]
async fn a_421_is_repeated_once_on_another_connection() {
    let limited = || policy().attempt_timeout(LIMIT);
    let answers: &[u16] = &[421, 200];
    assert_eq!(misdirected(limited(), answers).await, (vec![1, 2], 200));
    assert_eq!(misdirected(limited(), &[421]).await, (vec![1, 2], 421));
    // After another failure the connection is known in any case.
    let answers: &[u16] = &[408, 421, 200];
    assert_eq!(misdirected(policy(), answers).await, (vec![1, 1, 2], 200));
}

#[tokio::test]
async fn a_421_on_an_unknown_connection_is_the_callers() {
    let answers: &[u16] = &[421, 200];
    assert_eq!(misdirected(policy(), answers).await, (vec![1], 421));
    let server = Http2Server::start([Turn::Answer(421), Turn::Answer(200)]).await;
    let limited = policy().attempt_timeout(LIMIT).build().unwrap();
    let retries = RetryMiddleware::new(limited).runtime(Clock::new());
    let client = super::connections::client::bare_reqwest(Speaks::Http2);
    let client = ClientBuilder::new(client).with(retries).build();
    let sent = client.request(Method::GET, server.url()).send();
    assert_eq!(in_time(sent).await.unwrap().status(), 421);
    assert_eq!(server.got().len(), 1);
}
