//! One client with retries on either stack, for tests that hold on both.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use http_retry::reqwest::RetryMiddleware;
use http_retry::runtime::Runtime;
use http_retry::tower::{Retry, RetryLayer};
use http_retry::{Backoff, RetryBody, RetryBudget, RetryPolicy};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

pub(crate) type HyperClient<B> = legacy::Client<HttpConnector, B>;

/// Which client, and which version of HTTP it speaks without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stack {
    Reqwest,
    Tower,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    Http2,
}

pub(crate) const STACKS: [Stack; 2] = [Stack::Reqwest, Stack::Tower];

/// What a client is set up with.
#[derive(Debug, Clone)]
pub(crate) struct Settings<R> {
    pub(crate) policy: RetryPolicy,
    pub(crate) runtime: R,
    pub(crate) drain: (usize, Duration),
}

/// The client; clones share its connections.
#[derive(Debug, Clone)]
pub(crate) enum Client {
    Reqwest(ClientWithMiddleware),
    ReqwestLayer(Retry<reqwest::Client>),
    Tower(Retry<HyperClient<Full<Bytes>>>),
}

/// A client without retries, whose connections clients with retries share.
#[derive(Debug, Clone)]
pub(crate) enum Bare {
    Reqwest(reqwest::Client),
    Tower(HyperClient<Full<Bytes>>),
}

/// A response whose body is not read yet.
pub(crate) enum Answer {
    Reqwest(reqwest::Response),
    Tower(http::Response<RetryBody<Incoming>>),
}

impl<R> Settings<R> {
    /// Up to three retries without a wait between them, and the drain limit that is the default.
    pub(crate) fn without_waits(runtime: R) -> Self {
        Self {
            policy: without_waits(3),
            runtime,
            drain: (128 * 1024, Duration::from_secs(1)),
        }
    }
}

/// Up to so many retries without a wait of their own.
pub(crate) fn without_waits(max_retries: u32) -> RetryPolicy {
    let builder = RetryPolicy::builder().max_gate_wait(None);
    let builder = builder.max_retries(max_retries);
    let builder = builder.max_server_delay(None);
    builder.backoff(Backoff::none()).build().unwrap()
}

impl Stack {
    pub(crate) fn bare(self, speaks: Speaks) -> Bare {
        match self {
            Self::Reqwest => Bare::Reqwest(bare_reqwest(speaks)),
            Self::Tower => Bare::Tower(bare_hyper(speaks)),
        }
    }
}

pub(crate) fn bare_reqwest(speaks: Speaks) -> reqwest::Client {
    // Its own retries off: what is seen comes from the layer under test. Without certificates it is made in no time.
    let builder = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never());
    match speaks {
        Speaks::Http1 => builder.build().unwrap(),
        Speaks::Http2 => builder.http2_prior_knowledge().build().unwrap(),
    }
}

pub(crate) fn bare_hyper<B>(speaks: Speaks) -> HyperClient<B>
where
    B: http_body::Body + Send,
    B::Data: Send,
{
    legacy::Client::builder(TokioExecutor::new())
        .http2_only(speaks == Speaks::Http2)
        .build_http()
}

impl Bare {
    pub(crate) fn with_retries<R: Runtime>(&self, settings: Settings<R>) -> Client {
        let (bytes, time) = settings.drain;
        match self {
            Self::Reqwest(client) => {
                let retries = RetryMiddleware::new(settings.policy)
                    .budget(RetryBudget::unlimited())
                    .drain_before_retry(bytes, time)
                    .redirects_off()
                    .runtime(settings.runtime);
                Client::Reqwest(ClientBuilder::new(client.clone()).with(retries).build())
            }
            Self::Tower(client) => {
                let retries = RetryLayer::new(settings.policy)
                    .budget(RetryBudget::unlimited())
                    .drain_before_retry(bytes, time)
                    .runtime(settings.runtime);
                Client::Tower(retries.layer(client.clone()))
            }
        }
    }
}

impl Client {
    pub(crate) async fn get(&self, url: &str) -> Result<Answer, BoxError> {
        self.send(Request::get(url).body(Bytes::new())?).await
    }

    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<Answer, BoxError> {
        match self {
            Self::Reqwest(client) => {
                let answer = client.execute(request.try_into()?).await?;
                Ok(Answer::Reqwest(answer))
            }
            Self::ReqwestLayer(service) => {
                let answer = service.clone().oneshot(request.try_into()?).await?;
                Ok(Answer::Reqwest(answer))
            }
            Self::Tower(service) => {
                let answer = service.clone().oneshot(request.map(Full::new)).await?;
                Ok(Answer::Tower(answer))
            }
        }
    }
}

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Reqwest(answer) => answer.status(),
            Self::Tower(answer) => answer.status(),
        }
    }

    pub(crate) async fn body(self) -> Result<Bytes, BoxError> {
        Ok(match self {
            Self::Reqwest(answer) => answer.bytes().await?,
            Self::Tower(answer) => answer.into_body().collect().await?.to_bytes(),
        })
    }
}
