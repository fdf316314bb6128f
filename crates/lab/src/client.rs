//! Clients, each with its retry layer, and the requests that they send.

use super::origin::{Body, Origin};
use http::{Request, Response, StatusCode};
use std::time::Duration;
use tower::util::BoxCloneService;
use tower::{BoxError, Service, ServiceExt, service_fn};

/// A client with its retry layer.
#[derive(Debug, Clone)]
pub(crate) struct Client(BoxCloneService<Request<Body>, StatusCode, BoxError>);

/// The request of a call.
#[derive(Debug, Clone)]
pub(crate) struct Target(Request<Body>);

/// Retries that look at nothing but the failure: no budget, no jitter, no server that asks for a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainLoop {
    /// The retries after the first attempt.
    pub retries: u32,
    /// The wait before the first retry, which doubles before each later one; zero for immediate retries.
    pub first_wait: Duration,
}

impl Target {
    /// The service of this number.
    #[cfg(feature = "scenarios")]
    pub(crate) fn new(service: usize) -> Self {
        let mut request = Request::new(Body::default());
        let uri = format!("http://s{service}/").parse();
        *request.uri_mut() = uri.unwrap_or_default();
        Self(request)
    }

    /// Whatever this request is sent to.
    pub(crate) fn of(request: &Request<()>) -> Self {
        Self(request.clone().map(|()| Body::default()))
    }
}

impl Client {
    /// Makes a call; whether it succeeded.
    pub(crate) async fn call(self, target: Target) -> bool {
        let status = self.0.oneshot(target.0).await;
        status.is_ok_and(|status| status.is_success())
    }

    /// A service with its retry layer.
    pub(crate) fn tower<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError> + 'static,
        S::Future: Send,
        B: 'static,
    {
        let service = service.map_response(|answer: Response<B>| answer.status());
        Self(BoxCloneService::new(service.map_err(Into::into)))
    }

    /// Without retries.
    pub(crate) fn bare(origin: &Origin) -> Self {
        Self::tower(origin.clone())
    }

    /// With retries that look at nothing but the failure.
    pub(crate) fn plain_loop(origin: &Origin, plain: PlainLoop) -> Self {
        let origin = origin.clone();
        Self::tower(service_fn(move |request: Request<Body>| {
            looped(origin.clone(), plain, request)
        }))
    }
}

async fn looped(
    origin: Origin,
    plain: PlainLoop,
    request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    let mut wait = plain.first_wait;
    for _ in 0..plain.retries {
        let result = origin.clone().oneshot(request.clone()).await;
        if result.as_ref().is_ok_and(is_well) {
            return result.map_err(Into::into);
        }
        if !wait.is_zero() {
            super::runtime::pause(wait).await;
        }
        wait = wait.saturating_mul(2);
    }
    origin.oneshot(request).await.map_err(Into::into)
}

fn is_well(response: &Response<Body>) -> bool {
    let status = response.status();
    !status.is_server_error() && status != StatusCode::TOO_MANY_REQUESTS
}
