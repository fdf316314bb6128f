//! The clients of real sockets: ours on both stacks, and their peers.

use super::steered::{LIMIT, Steered};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use http_retry::reqwest::{RetryMiddleware, SendResumed};
use http_retry::resume::Interrupted;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use std::error::Error;
use std::fmt;
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stack {
    Bare,
    ReqwestRetry,
    Middleware,
    Tower,
    TowerHttp2,
    /// The tower layer on `reqwest::Client`.
    Direct,
}

/// The first bytes of the body, and the error that came after them.
pub(crate) type Read = (Vec<u8>, Option<BoxError>);

pub(crate) fn policy() -> RetryPolicy {
    let policy = RetryPolicy::background().to_builder();
    let policy = policy
        .max_retries(4)
        .deadline(Duration::from_secs(1_000_000));
    policy.attempt_timeout(LIMIT).build().unwrap()
}

pub(crate) fn middleware(steered: &Steered) -> RetryMiddleware {
    RetryMiddleware::new(policy())
        .budget(RetryBudget::unlimited())
        .runtime(steered.clone())
}

pub(crate) fn layer(steered: &Steered) -> RetryLayer {
    RetryLayer::new(policy())
        .budget(RetryBudget::unlimited())
        .runtime(steered.clone())
}

/// Without certificates, which take longer to read than a download.
fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder().no_proxy().tls_certs_only([])
}

pub(crate) fn reqwest_client() -> reqwest::Client {
    builder().build().unwrap()
}

/// A peer has no clock of ours: it gives up a body that stalls.
fn peer() -> reqwest::Client {
    builder()
        .read_timeout(Duration::from_millis(300))
        .build()
        .unwrap()
}

fn reqwest_retry() -> ClientWithMiddleware {
    let short = Duration::from_millis(1);
    let backoff = ExponentialBackoff::builder().retry_bounds(short, short);
    let retries = RetryTransientMiddleware::new_with_policy(backoff.build_with_max_retries(4));
    ClientBuilder::new(peer()).with(retries).build()
}

impl Stack {
    /// How long it must be able to wait for a server that stalls.
    pub(crate) fn patience(self) -> Duration {
        match self {
            // Longer than a ping takes to be missed.
            Self::TowerHttp2 => Duration::from_millis(400),
            _ => Duration::from_millis(5),
        }
    }

    /// Downloads, for a part if there is a range.
    pub(crate) async fn get(self, url: &str, range: Option<&str>, steered: &Steered) -> Read {
        match self {
            Self::Tower | Self::TowerHttp2 => self.by_hyper(url, range, steered).await,
            Self::Middleware => {
                let client = ClientBuilder::new(reqwest_client());
                let client = client.with(middleware(steered)).build();
                let request = with(client.get(url), range);
                read(request.send_resumed().await).await
            }
            Self::Direct => {
                let layer = layer(steered).resume_downloads();
                let service = layer.layer(reqwest_client());
                let mut request = reqwest::Request::new(http::Method::GET, url.parse().unwrap());
                if let Some(range) = range {
                    let range = range.parse().unwrap();
                    request.headers_mut().insert("range", range);
                }
                read(service.oneshot(request).await).await
            }
            Self::ReqwestRetry => read(with(reqwest_retry().get(url), range).send().await).await,
            Self::Bare => {
                let client = ClientBuilder::new(peer()).build();
                read(with(client.get(url), range).send().await).await
            }
        }
    }

    async fn by_hyper(self, url: &str, range: Option<&str>, steered: &Steered) -> Read {
        // A connection that stalls would stay in the pool for every later attempt: only pings find that out.
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .http2_only(self == Self::TowerHttp2)
            .http2_keep_alive_interval(Duration::from_millis(50))
            .http2_keep_alive_timeout(Duration::from_millis(200))
            .build_http();
        let layer = layer(steered).resume_downloads();
        let request = range.into_iter().fold(Request::get(url), |request, range| {
            request.header("range", range)
        });
        let request = request.body(Full::<Bytes>::default()).unwrap();
        let mut body = match layer.layer(client).oneshot(request).await {
            Ok(response) => response.into_body(),
            Err(error) => return (Vec::new(), Some(NoHead(error).into())),
        };
        let mut all = Vec::new();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => all.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Err(error) => return (all, Some(error)),
            }
        }
        (all, None)
    }
}

fn with(
    request: reqwest_middleware::RequestBuilder,
    range: Option<&str>,
) -> reqwest_middleware::RequestBuilder {
    range
        .into_iter()
        .fold(request, |request, range| request.header("range", range))
}

async fn read<E: Into<BoxError>>(sent: Result<reqwest::Response, E>) -> Read {
    let mut response = match sent {
        Ok(response) => response,
        Err(error) => return (Vec::new(), Some(NoHead(error.into()).into())),
    };
    let mut all = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(data)) => all.extend_from_slice(&data),
            Ok(None) => return (all, None),
            Err(error) => return (all, Some(error.into())),
        }
    }
}

/// The first head never came.
#[derive(Debug)]
struct NoHead(BoxError);

impl fmt::Display for NoHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no head: {}", self.0)
    }
}

impl Error for NoHead {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// What an error comes from.
fn deepest(error: &(dyn Error + 'static)) -> String {
    let links = std::iter::successors(Some(error), |&error| error.source());
    links.last().map_or_else(String::new, ToString::to_string)
}

/// Why a download broke for good, in a few words.
pub(crate) fn why(error: &BoxError) -> String {
    match Interrupted::of(&**error) {
        Some(cut) => cut.reason().to_string(),
        None if error.is::<NoHead>() => format!("no head: {}", deepest(&**error)),
        None => format!("plain: {}", deepest(&**error)),
    }
}
