//! A retry layer inside of another does not multiply attempts.

use super::super::server::{Act, FaultServer};
use super::clients::{Setup, fixed, get, hyper, reqwest};
use crate::in_time::in_time;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use http_retry::run::Runner;
use http_retry::{Class, Reach, RetryOverride};
use reqwest_middleware::ClientBuilder;
use std::time::Duration;
use tower::buffer::Buffer;
use tower::{Layer, Service, ServiceExt};

/// Three attempts, of which the outer layer alone makes any.
struct Two {
    outer: Setup,
    inner: Setup,
    server: FaultServer,
}

impl Two {
    async fn start() -> Self {
        Self {
            outer: Setup::new(fixed(2, Duration::ZERO)),
            inner: Setup::new(fixed(2, Duration::ZERO)),
            server: FaultServer::start([(); 99].map(|()| Act::status(503))).await,
        }
    }

    /// With nobody or somebody who listens to each of the two.
    async fn in_all_ways() -> Vec<Self> {
        let mut all = Vec::new();
        for (outer, inner) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut two = Self::start().await;
            (two.outer.observed, two.inner.observed) = (outer, inner);
            all.push(two);
        }
        all
    }

    fn request(&self) -> Request<Full<Bytes>> {
        get(self.server.url("/")).map(Full::new)
    }

    /// How often the server was asked, and what each of the two budgets spent.
    fn attempts_and_prices(&self) -> (usize, u64, u64) {
        let spent = |setup: &Setup| 20 - setup.tokens();
        (
            self.server.received().len(),
            spent(&self.outer),
            spent(&self.inner),
        )
    }
}

const OUTER_ONLY: (usize, u64, u64) = (3, 2, 0);

#[tokio::test]
async fn a_layer_in_a_layer() {
    for two in Two::in_all_ways().await {
        let service = two.outer.layer().layer(two.inner.layer().layer(hyper()));
        let answer = in_time(service.oneshot(two.request())).await.unwrap();
        assert_eq!(answer.status(), 503);
        assert_eq!(two.attempts_and_prices(), OUTER_ONLY);
    }
}

#[tokio::test]
async fn the_inner_layer_by_itself_retries() {
    for two in Two::in_all_ways().await {
        let service = two.inner.layer().layer(hyper());
        in_time(service.oneshot(two.request())).await.unwrap();
        assert_eq!(two.attempts_and_prices(), (3, 0, 2));
    }
}

#[tokio::test]
async fn a_middleware_before_a_middleware() {
    for two in Two::in_all_ways().await {
        let client = ClientBuilder::new(reqwest())
            .with(two.outer.middleware())
            .with(two.inner.middleware())
            .build();
        let answer = in_time(client.get(two.server.url("/")).send()).await;
        assert_eq!(answer.unwrap().status(), 503);
        assert_eq!(two.attempts_and_prices(), OUTER_ONLY);
    }
}

#[tokio::test]
async fn a_layer_around_a_layer_around_reqwest() {
    for two in Two::in_all_ways().await {
        let service = two.outer.layer().layer(two.inner.layer().layer(reqwest()));
        let request = reqwest::Request::try_from(get(two.server.url("/"))).unwrap();
        let answer = in_time(service.oneshot(request)).await.unwrap();
        assert_eq!(answer.status(), 503);
        assert_eq!(two.attempts_and_prices(), OUTER_ONLY);
    }
}

#[tokio::test]
async fn a_layer_around_reqwest_within_an_operation_that_is_retried() {
    for two in Two::in_all_ways().await {
        let service = two.inner.layer().layer(reqwest());
        let runner = Runner::on(two.outer.clock.clone(), two.outer.policy.clone())
            .budget(two.outer.budget.clone())
            .idempotent(true);
        let judge = |_: &u16| (Class::Transient, Reach::Answered);
        let given_up = runner.run(judge, |_| {
            let request = reqwest::Request::try_from(get(two.server.url("/"))).unwrap();
            let call = service.clone().oneshot(request);
            async { Err::<(), _>(call.await.unwrap().status().as_u16()) }
        });
        assert_eq!(in_time(given_up).await, Err(503));
        assert_eq!(two.attempts_and_prices(), OUTER_ONLY);
    }
}

#[tokio::test]
async fn a_layer_in_another_task_that_is_told() {
    for two in Two::in_all_ways().await {
        let buffer = Buffer::new(two.inner.layer().layer(hyper()), 8);
        let service = two.outer.layer().across_tasks().layer(buffer);
        in_time(service.oneshot(two.request())).await.unwrap();
        assert_eq!(two.attempts_and_prices(), OUTER_ONLY);
    }
}

#[tokio::test]
async fn a_layer_in_another_task_that_is_not_told_knows_retries_only() {
    for two in Two::in_all_ways().await {
        // The buffer's own task makes the call, so the inner layer cannot see who asked for it.
        let buffer = Buffer::new(Elsewhere(two.inner.layer().layer(hyper())), 8);
        let service = two.outer.layer().layer(buffer);
        in_time(service.oneshot(two.request())).await.unwrap();
        assert_eq!(two.attempts_and_prices(), (5, 2, 2));
    }
}

/// Polls its calls in a task of their own.
#[derive(Clone)]
struct Elsewhere<S>(S);

impl<S> Service<Request<Full<Bytes>>> for Elsewhere<S>
where
    S: Service<Request<Full<Bytes>>>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = futures_util::future::BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let call = tokio::spawn(self.0.call(request));
        Box::pin(async { call.await.unwrap() })
    }
}

#[tokio::test]
async fn a_request_that_wants_it_is_multiplied() {
    for two in Two::in_all_ways().await {
        let service = two.outer.layer().layer(two.inner.layer().layer(hyper()));
        let mut request = two.request();
        request
            .extensions_mut()
            .insert(RetryOverride::new().retry_when_nested());
        in_time(service.oneshot(request)).await.unwrap();
        assert_eq!(two.attempts_and_prices(), (9, 2, 6));
    }
}

#[tokio::test]
async fn a_request_through_middlewares_that_wants_it_is_multiplied() {
    for two in Two::in_all_ways().await {
        let client = ClientBuilder::new(reqwest())
            .with(two.outer.middleware())
            .with(two.inner.middleware())
            .build();
        let request = client
            .get(two.server.url("/"))
            .with_extension(RetryOverride::new().retry_when_nested());
        in_time(request.send()).await.unwrap();
        assert_eq!(two.attempts_and_prices(), (9, 2, 6));
    }
}
