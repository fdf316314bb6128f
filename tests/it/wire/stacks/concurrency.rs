//! A concurrency limit, inside and outside of the retry layer.

use super::super::server::{Act, Answer, FaultServer};
use super::clients::{SECOND, Setup, drive, fixed, get, hyper, reqwest, told};
use crate::in_time::in_time;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use http::{Extensions, Request};
use http_body_util::Full;
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, ServiceExt};

const DELAY: Duration = SECOND;

fn said(text: &str) -> Act {
    Act::Answer(Answer::new(200).body(text))
}

fn request(server: &FaultServer) -> Request<Full<Bytes>> {
    get(server.url("/")).map(Full::new)
}

#[tokio::test]
async fn a_limit_inside_has_its_permit_back_while_a_retry_waits() {
    let server = FaultServer::start([Act::status(503), said("neighbour"), said("at last")]).await;
    let setup = Setup::new(fixed(1, DELAY));
    let limited = ConcurrencyLimitLayer::new(1).layer(hyper());
    let service = setup.layer().layer(limited.clone());

    let mut call = Box::pin(service.oneshot(request(&server)));
    drive(&mut call, || setup.clock.begun().contains(&DELAY)).await;
    let neighbour = in_time(limited.oneshot(request(&server))).await.unwrap();
    assert_eq!(told(neighbour).await.unwrap().body, "neighbour");
    setup.clock.advance(DELAY);
    let answer = in_time(call).await.unwrap();
    assert_eq!(told(answer).await.unwrap().body, "at last");
}

#[tokio::test]
async fn a_limit_outside_keeps_its_permit_to_the_end() {
    let server = FaultServer::start([Act::status(503)]).await;
    let setup = Setup::new(fixed(1, DELAY));
    let limited = ConcurrencyLimitLayer::new(1).layer(setup.layer().layer(hyper()));

    let mut call = Box::pin(limited.clone().oneshot(request(&server)));
    drive(&mut call, || setup.clock.begun().contains(&DELAY)).await;
    let mut neighbour = limited.clone();
    assert!(neighbour.ready().now_or_never().is_none());
    setup.clock.advance(DELAY);
    assert_eq!(in_time(call).await.unwrap().status(), 200);
    assert!(in_time(neighbour.ready()).await.is_ok());
}

#[tokio::test]
async fn more_calls_than_permits_all_come_through() {
    let server = FaultServer::start([(); 8].map(|()| Act::status(503))).await;
    let setup = Setup::new(fixed(8, Duration::ZERO));
    let limited = ConcurrencyLimitLayer::new(2).layer(hyper());
    let service = setup.layer().layer(limited);
    let calls = (0..8).map(|_| service.clone().oneshot(request(&server)));
    let answers = in_time(join_all(calls)).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.as_ref().unwrap().status() == 200)
    );
    assert_eq!(server.received().len(), 16);
}

/// Lets so many attempts through at once.
#[derive(Clone)]
struct Limit(Arc<Semaphore>);

#[async_trait]
impl Middleware for Limit {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let _permit = self.0.acquire().await.unwrap();
        next.run(request, extensions).await
    }
}

#[tokio::test]
async fn a_limiter_inside_has_its_permit_back_in_the_wait() {
    let server = FaultServer::start([Act::status(503)]).await;
    let setup = Setup::new(fixed(1, DELAY));
    let limit = Limit(Arc::new(Semaphore::new(1)));
    let client = ClientBuilder::new(reqwest())
        .with(setup.middleware())
        .with(limit.clone())
        .build();

    let mut call = Box::pin(client.get(server.url("/")).send());
    drive(&mut call, || setup.clock.begun().contains(&DELAY)).await;
    assert_eq!(limit.0.available_permits(), 1);
    setup.clock.advance(DELAY);
    assert_eq!(in_time(call).await.unwrap().status(), 200);
}
