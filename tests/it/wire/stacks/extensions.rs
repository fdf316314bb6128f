//! What attempts write into extensions: kept from the next attempt, and handed to the caller by the last.

use super::super::server::{Act, FaultServer};
use super::clients::{Hyper, Setup, fixed, get, hyper, reqwest};
use crate::in_time::in_time;
use async_trait::async_trait;
use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body_util::Full;
use http_retry::{Attempt, RetryReport};
use hyper::body::Incoming;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, Service, ServiceExt};

/// Set by the caller for all attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Callers(&'static str);

/// Written by an attempt, which it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trace(usize);

/// What an attempt found when it came.
type Found = (Option<Callers>, Option<Trace>);

/// Looks at what it finds, takes the caller's mark away and leaves its own.
#[derive(Debug, Clone, Default)]
struct Tracer(Arc<Mutex<Vec<Found>>>);

impl Tracer {
    fn trace(&self, extensions: &mut Extensions) -> Trace {
        let mut found = self.0.lock().unwrap();
        let trace = Trace(found.len() + 1);
        found.push((extensions.remove(), extensions.insert(trace)));
        trace
    }

    fn found(&self) -> Vec<Found> {
        self.0.lock().unwrap().clone()
    }
}

#[derive(Clone)]
struct Traced {
    client: Hyper,
    tracer: Tracer,
}

impl Service<Request<Full<Bytes>>> for Traced {
    type Response = Response<Incoming>;
    type Error = hyper_util::client::legacy::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.client.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Full<Bytes>>) -> Self::Future {
        let trace = self.tracer.trace(request.extensions_mut());
        let call = self.client.request(request);
        Box::pin(async move {
            let mut response = call.await?;
            response.extensions_mut().insert(trace);
            Ok(response)
        })
    }
}

#[async_trait]
impl Middleware for Tracer {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let trace = self.trace(extensions);
        let mut response = next.run(request, extensions).await?;
        response.extensions_mut().insert(trace);
        Ok(response)
    }
}

const MARK: Callers = Callers("mine");
const ALIKE: Found = (Some(MARK), None);

fn setups() -> [Setup; 2] {
    [false, true].map(|observed| Setup {
        observed,
        ..Setup::new(fixed(2, Duration::ZERO))
    })
}

async fn failing(attempts: usize) -> FaultServer {
    FaultServer::start(std::iter::repeat_n(Act::status(503), attempts)).await
}

#[tokio::test]
async fn each_request_starts_afresh_and_hands_the_last_answer_on() {
    for setup in setups() {
        for failures in 0..=3 {
            let server = failing(failures).await;
            let tracer = Tracer::default();
            let traced = Traced {
                client: hyper(),
                tracer: tracer.clone(),
            };
            let mut request = get(server.url("/")).map(Full::new);
            request.extensions_mut().insert(MARK);
            let call = setup.layer().layer(traced).oneshot(request);
            let response = in_time(call).await.unwrap();
            let attempts = (failures + 1).min(3);
            assert_eq!(tracer.found(), vec![ALIKE; attempts]);
            let last = response.extensions().get::<Trace>();
            assert_eq!(last, Some(&Trace(attempts)));
            let report = response.extensions().get::<RetryReport>();
            assert_eq!(report.is_some(), failures > 0);
        }
    }
}

fn traced(setup: &Setup, tracer: &Tracer) -> ClientWithMiddleware {
    ClientBuilder::new(reqwest())
        .with(setup.middleware())
        .with(tracer.clone())
        .build()
}

#[tokio::test]
async fn each_attempt_starts_from_the_callers_map() {
    for setup in setups() {
        for failures in 0..=3 {
            let server = failing(failures).await;
            let tracer = Tracer::default();
            let mut map = Extensions::new();
            map.insert(MARK);
            let request = get(server.url("/")).try_into().unwrap();
            let client = traced(&setup, &tracer);
            let call = client.execute_with_extensions(request, &mut map);
            let response = in_time(call).await.unwrap();
            let attempts = (failures + 1).min(3);
            assert_eq!(tracer.found(), vec![ALIKE; attempts]);
            let last = Some(&Trace(attempts));
            assert_eq!((map.get(), response.extensions().get()), (last, last));
            assert_eq!(map.get::<Callers>(), None, "the last attempt took it away");
            assert_eq!(map.get::<Attempt>(), None, "a word to those further in");
        }
    }
}

#[tokio::test]
async fn the_map_has_the_traces_of_a_failed_last_attempt() {
    for setup in setups() {
        let server = FaultServer::start([(); 3].map(|()| Act::ResetAfterRequest)).await;
        let tracer = Tracer::default();
        let mut map = Extensions::new();
        map.insert(MARK);
        let request = get(server.url("/")).try_into().unwrap();
        let client = traced(&setup, &tracer);
        let call = client.execute_with_extensions(request, &mut map);
        assert!(in_time(call).await.is_err());
        assert_eq!(tracer.found(), vec![ALIKE; 3]);
        assert_eq!(map.get(), Some(&Trace(3)));
    }
}
