//! A timeout, inside and outside of the retry layer.

use super::super::server::{Act, FaultServer};
use super::clients::{Setup, drive, drive_to, fixed, get, hyper, reqwest};
use super::clock::TokioStopped;
use crate::in_time::in_time;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use http_retry::{Class, ErrorKind, Reach, RetryReport};
use reqwest_middleware::ClientBuilder;
use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;
use tower::timeout::TimeoutLayer;
use tower::timeout::error::Elapsed;
use tower::{Layer, ServiceExt};

const LIMIT: Duration = Duration::from_secs(5);

fn request(server: &FaultServer) -> Request<Full<Bytes>> {
    get(server.url("/")).map(Full::new)
}

#[tokio::test]
async fn a_timeout_inside_is_retried_once_it_is_taught() {
    let stopped = TokioStopped::new();
    let server = FaultServer::start([Act::StallHead]).await;
    let policy = fixed(1, Duration::ZERO);
    let taught = policy.classify_error(|_: &Elapsed| (Class::Transient, Reach::Ambiguous));
    let setup = Setup::new(taught);
    let service = setup.layer().layer(TimeoutLayer::new(LIMIT).layer(hyper()));

    let mut call = Box::pin(service.oneshot(request(&server)));
    drive_to(&mut call, &server, 1).await;
    stopped.advance(LIMIT).await;
    assert_eq!(in_time(call).await.unwrap().status(), 200);
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn a_timeout_inside_is_retried_without_being_taught() {
    let stopped = TokioStopped::new();
    let server = FaultServer::start([Act::StallHead]).await;
    let setup = Setup::new(fixed(1, Duration::ZERO));
    let service = setup.layer().layer(TimeoutLayer::new(LIMIT).layer(hyper()));
    let slot = RetryReport::slot();
    let mut request = request(&server);
    request.extensions_mut().insert(slot.clone());

    let mut call = Box::pin(service.oneshot(request));
    drive_to(&mut call, &server, 1).await;
    stopped.advance(LIMIT).await;
    assert_eq!(in_time(call).await.unwrap().status(), 200);
    let report = slot.take().unwrap();
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Timeout));
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn a_timeout_of_reqwests_own_is_retried() {
    let stopped = TokioStopped::new();
    let server = FaultServer::start([Act::StallHead]).await;
    let setup = Setup::new(fixed(1, Duration::ZERO));
    let impatient = reqwest::Client::builder().no_proxy().timeout(LIMIT);
    let client = ClientBuilder::new(impatient.build().unwrap())
        .with(setup.middleware())
        .build();

    let mut call = Box::pin(client.get(server.url("/")).send());
    drive_to(&mut call, &server, 1).await;
    stopped.advance(LIMIT).await;
    assert_eq!(in_time(call).await.unwrap().status(), 200);
    assert_eq!(server.received().len(), 2);
}

const WHOLE: Duration = Duration::from_secs(10);
const DELAY: Duration = Duration::from_secs(4);

/// Lets two retries go out, and time run out while the third waits.
async fn run_out_of_time<F>(call: &mut F, setup: &Setup, tokio: &TokioStopped)
where
    F: Future<Output: Debug> + Unpin,
{
    let waits = || {
        setup
            .clock
            .begun()
            .iter()
            .filter(|wait| **wait == DELAY)
            .count()
    };
    for wait in [1, 2] {
        drive(call, || waits() == wait).await;
        setup.clock.advance(DELAY);
    }
    drive(call, || waits() == 3).await;
    assert_eq!(setup.tokens(), 17, "the third retry is paid for");
    tokio.advance(WHOLE).await;
}

#[tokio::test]
async fn a_timeout_outside_ends_the_call_and_gives_the_token_back() {
    let stopped = TokioStopped::new();
    let server = FaultServer::start([(); 9].map(|()| Act::status(503))).await;
    let setup = Setup::new(fixed(9, DELAY));
    let service = TimeoutLayer::new(WHOLE).layer(setup.layer().layer(hyper()));

    let mut call = Box::pin(service.oneshot(request(&server)));
    run_out_of_time(&mut call, &setup, &stopped).await;
    let error = in_time(call).await.unwrap_err();
    assert!(error.is::<Elapsed>(), "{error:?}");
    assert_eq!((server.received().len(), setup.tokens()), (3, 18));
}

#[tokio::test]
async fn a_timeout_around_a_middleware_client_bounds_the_whole_call() {
    let stopped = TokioStopped::new();
    let server = FaultServer::start([(); 9].map(|()| Act::status(503))).await;
    let setup = Setup::new(fixed(9, DELAY));
    let client = ClientBuilder::new(reqwest())
        .with(setup.middleware())
        .build();

    let whole = tokio::time::timeout(WHOLE, client.get(server.url("/")).send());
    let mut call = Box::pin(whole);
    run_out_of_time(&mut call, &setup, &stopped).await;
    assert!(in_time(call).await.is_err());
    assert_eq!((server.received().len(), setup.tokens()), (3, 18));
}
