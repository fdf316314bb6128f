//! The stacks under test, set up alike, and calls that a test holds in its hand.

use super::super::server::FaultServer;
use super::super::tls::certificates::trusting_nobody;
use super::clock::Clock;
use crate::in_time::in_time;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use http_retry::report::RetryEvent;
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::marker::{CloneBody, Unchanged, Wrapped};
use http_retry::tower::{Retry, RetryLayer};
use http_retry::{Backoff, RetryBudget, RetryPolicy, RetryPolicyBuilder, RetryReport};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

pub(crate) type Hyper =
    hyper_util::client::legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Where the retry layer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stack {
    /// hyper-util's client under the tower layer, whose errors stay as they are.
    Tower,
    /// The same with boxed errors.
    Boxed,
    /// reqwest-middleware.
    Middleware,
}

pub(crate) const STACKS: [Stack; 3] = [Stack::Tower, Stack::Boxed, Stack::Middleware];

/// What a retry layer is set up with.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) policy: RetryPolicy,
    pub(crate) budget: RetryBudget,
    pub(crate) clock: Clock,
    /// Somebody listens, so that the loop is there from the first attempt on.
    pub(crate) observed: bool,
}

impl Setup {
    pub(crate) fn new(policy: RetryPolicyBuilder) -> Self {
        Self {
            policy: policy.build().unwrap(),
            budget: RetryBudget::builder().per_success(0).build().unwrap(),
            clock: Clock::new(),
            observed: false,
        }
    }

    pub(crate) fn layer(&self) -> RetryLayer {
        let layer = RetryLayer::new(self.policy.clone())
            .budget(self.budget.clone())
            .runtime(self.clock.clone());
        if self.observed {
            layer.observe(|_: &RetryEvent<'_>| {})
        } else {
            layer
        }
    }

    pub(crate) fn middleware(&self) -> RetryMiddleware {
        let middleware = RetryMiddleware::new(self.policy.clone())
            .budget(self.budget.clone())
            .runtime(self.clock.clone());
        if self.observed {
            middleware.observe(|_: &RetryEvent<'_>| {})
        } else {
            middleware
        }
    }

    /// How many retries the budget would grant.
    pub(crate) fn tokens(&self) -> u64 {
        self.budget.available(Duration::ZERO)
    }
}

/// A policy of so many retries, each after a fixed wait.
pub(crate) fn fixed(max_retries: u32, delay: Duration) -> RetryPolicyBuilder {
    let backoff = match delay {
        Duration::ZERO => Backoff::none(),
        delay => Backoff::fixed(delay),
    };
    RetryPolicy::builder()
        .max_gate_wait(None)
        .max_retries(max_retries)
        .backoff(backoff)
}

/// A client of one of the stacks.
#[derive(Debug, Clone)]
pub(crate) enum Client {
    Tower(Retry<Hyper, CloneBody, Wrapped<Unchanged>>),
    Boxed(Retry<Hyper>),
    Middleware(ClientWithMiddleware),
}

/// A call in the test's hand.
pub(crate) type Call = Pin<Box<dyn Future<Output = Result<Told, BoxError>> + Send>>;

/// What a call gave, read to its end.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    pub(crate) report: Option<RetryReport>,
}

impl Client {
    pub(crate) fn new(stack: Stack, setup: &Setup) -> Self {
        match stack {
            Stack::Tower => Self::Tower(setup.layer().unchanged_errors().layer(hyper())),
            Stack::Boxed => Self::Boxed(setup.layer().layer(hyper())),
            Stack::Middleware => Self::Middleware(
                ClientBuilder::new(reqwest())
                    .with(setup.middleware())
                    .build(),
            ),
        }
    }

    /// A call that has not been polled yet; the request's extensions go where each stack has its own.
    pub(crate) fn call(&self, request: Request<Bytes>) -> Call {
        match self.clone() {
            Self::Tower(service) => {
                Box::pin(async move { told(service.oneshot(request.map(Full::new)).await?).await })
            }
            Self::Boxed(service) => {
                Box::pin(async move { told(service.oneshot(request.map(Full::new)).await?).await })
            }
            Self::Middleware(client) => Box::pin(through_middleware(client, request)),
        }
    }

    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<Told, BoxError> {
        in_time(self.call(request)).await
    }
}

async fn through_middleware(
    client: ClientWithMiddleware,
    mut request: Request<Bytes>,
) -> Result<Told, BoxError> {
    let mut extensions = std::mem::take(request.extensions_mut());
    let request = request.try_into()?;
    let response = client
        .execute_with_extensions(request, &mut extensions)
        .await?;
    told(response.into()).await
}

/// Reads a response to its end.
pub(crate) async fn told<B>(response: Response<B>) -> Result<Told, BoxError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let status = response.status();
    let report = response.extensions().get::<RetryReport>().cloned();
    let body = response.into_body().collect().await.map_err(Into::into)?;
    Ok(Told {
        status,
        body: body.to_bytes(),
        report,
    })
}

/// A client of hyper-util that trusts no certificate.
pub(crate) fn hyper() -> Hyper {
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(trusting_nobody())
        .https_or_http()
        .enable_http1()
        .build();
    hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector)
}

pub(crate) fn reqwest() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        // Without a task that looks for idle connections from time to time.
        .pool_idle_timeout(None)
        .build()
        .unwrap()
}

pub(crate) fn get(url: String) -> Request<Bytes> {
    Request::get(url).body(Bytes::new()).unwrap()
}

pub(crate) fn post(url: String) -> Request<Bytes> {
    Request::post(url)
        .body(Bytes::from_static(b"order"))
        .unwrap()
}

/// So many turns are more than any call needs for anything that happens on this machine.
const TURNS: usize = 5_000_000;

/// Lets a call run until something is so; it must not end before that.
pub(crate) async fn drive<F>(call: &mut F, so: impl Fn() -> bool)
where
    F: Future<Output: Debug> + Unpin,
{
    let mut turns = 0;
    let there = poll_fn(|cx| {
        turns += 1;
        assert!(turns < TURNS, "what the test waits for does not come");
        if let std::task::Poll::Ready(result) = Pin::new(&mut *call).poll(cx) {
            panic!("the call ended: {result:?}");
        }
        if so() {
            std::task::Poll::Ready(())
        } else {
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        }
    });
    in_time(there).await;
}

/// Lets a call run until the server has received so many requests, and all of their bodies.
pub(crate) async fn drive_to<F>(call: &mut F, server: &FaultServer, requests: usize)
where
    F: Future<Output: Debug> + Unpin,
{
    let whole = || server.received().iter().filter(|r| r.whole).count();
    drive(call, || whole() == requests).await;
}
