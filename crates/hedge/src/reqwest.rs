//! The layer as a middleware for reqwest-middleware, and on `reqwest::Client` itself.

use crate::layer::HedgeLayer;
use crate::request::{CopyRequest, ResponseHead};
use async_trait::async_trait;
use http::request::Parts;
use http::{Extensions, HeaderMap, StatusCode};
use reqwest::{Request, Response};
use reqwest_middleware::{Error, Middleware, Next};
use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// The layer as a middleware for reqwest-middleware, which is added after the one that retries.
///
/// ```no_run
/// use http_retry::RetryPolicy;
/// use http_retry::hedge::{Hedge, HedgeMiddleware};
/// use http_retry::reqwest::{RetryMiddleware, build};
/// use reqwest::redirect::Policy;
///
/// let retries = RetryMiddleware::new(RetryPolicy::user_facing());
/// let client = build(reqwest::Client::builder(), Policy::default(), retries)?
///     .with(HedgeMiddleware::new(Hedge::default())?)
///     .build();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Each copy has extensions of its own, and those of the winner replace the caller's. A streaming body is sent once. A
/// POST with an idempotency key is hedged only if the retries know of redirects, as with `build`.
pub type HedgeMiddleware = HedgeLayer;

#[async_trait]
impl Middleware for HedgeLayer {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        let request = (request, extensions.clone());
        let (response, left) = self.layer(Chain(next)).call(request).await?;
        *extensions = left;
        Ok(response)
    }
}

/// The middlewares below, as a service: requests and responses have the extensions that these see and leave.
#[derive(Clone)]
struct Chain<'a>(Next<'a>);

impl<'a> Service<(Request, Extensions)> for Chain<'a> {
    type Response = (Response, Extensions);
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send + 'a>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (request, mut extensions): (Request, Extensions)) -> Self::Future {
        let next = self.0.clone();
        Box::pin(async move {
            let response = next.run(request, &mut extensions).await?;
            Ok((response, extensions))
        })
    }
}

impl CopyRequest for (Request, Extensions) {
    type Saved = Self;
    const MAY_FOLLOW: bool = true;

    fn save(&self) -> Option<Self> {
        Self::copy(self)
    }

    fn copy((request, extensions): &Self) -> Option<Self> {
        Some((request.try_clone()?, extensions.clone()))
    }

    fn head((request, _): &Self) -> Option<Cow<'_, Parts>> {
        Request::head(request)
    }

    fn extensions(&self) -> Option<&Extensions> {
        Some(&self.1)
    }
}

impl ResponseHead for (Response, Extensions) {
    fn head(&self) -> (StatusCode, &HeaderMap) {
        self.0.head()
    }
}

impl CopyRequest for Request {
    type Saved = Self;
    const MAY_FOLLOW: bool = true;

    fn save(&self) -> Option<Self> {
        self.try_clone()
    }

    fn copy(saved: &Self) -> Option<Self> {
        saved.try_clone()
    }

    fn head(saved: &Self) -> Option<Cow<'_, Parts>> {
        let request = http::Request::try_from(saved.try_clone()?).ok()?;
        Some(Cow::Owned(request.into_parts().0))
    }

    /// They are private.
    fn extensions(&self) -> Option<&Extensions> {
        None
    }
}

impl ResponseHead for Response {
    fn head(&self) -> (StatusCode, &HeaderMap) {
        (self.status(), self.headers())
    }
}
