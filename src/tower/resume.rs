//! The layer that also resumes downloads.

use super::layer::RetryLayer;
use super::marker::{Boxed, CloneBody, Wrapped};
use super::resume_future::{ResumeFuture, RetireConnection, RetryResponse, ServiceAgain};
use super::service::{RetriedBy, Retry};
use crate::client::connection::ConnectionUsed;
use crate::client::errors::Errors;
use crate::client::requests::Requests;
use crate::client::responses::Responses;
use crate::client::resumable::Resumable;
use crate::error::BoxError;
use crate::resume::adapter::{DownloadOptions, ResumeValidator};
use http::Extensions;
use std::fmt;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// Adds retries and [resumed downloads](crate::resume) to a tower service; made by
/// [`RetryLayer::resume_downloads`](super::RetryLayer::resume_downloads). Set everything else on the `RetryLayer`
/// first; `local` and `keep_response_type` cannot be combined with it.
#[derive(Debug, Clone)]
pub struct ResumeLayer<C = CloneBody, X = Boxed>(RetryLayer<C, Wrapped<X>>);

impl<C, X> RetryLayer<C, Wrapped<X>> {
    /// Returns a layer that also resumes downloads: the body of a response continues where it broke. See
    /// [`resume`](crate::resume) for the conditions. The service below returns an `http::Response<B>`, and the error of
    /// the new body is boxed; or it is a `reqwest::Client`, and its responses keep their type.
    ///
    /// ```
    /// use http_retry::resume::Resume;
    /// use http_retry::tower::RetryLayer;
    /// use http_retry::{RetryBudget, RetryPolicy};
    /// use std::time::Duration;
    ///
    /// let resume = Resume::new().idle_timeout(Duration::from_secs(10))?;
    /// let layer = RetryLayer::new(RetryPolicy::background())
    ///     .budget(RetryBudget::default())
    ///     .resume(resume)
    ///     .resume_downloads();
    /// // tower::ServiceBuilder::new().layer(layer).service(client)
    /// # let _ = layer;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    #[must_use]
    pub fn resume_downloads(self) -> ResumeLayer<C, X> {
        ResumeLayer(self)
    }
}

impl<S: Clone, C: Clone, X> Layer<S> for ResumeLayer<C, X> {
    type Service = ResumeService<S, C, X>;

    fn layer(&self, inner: S) -> Self::Service {
        ResumeService(self.0.layer(inner).with_boxed_bodies())
    }
}

/// A service with retries and [resumed downloads](crate::resume), made by [`ResumeLayer`].
///
/// Its responses have a [`ResumedBody`](crate::resume::ResumedBody), even if the download cannot be resumed; those of
/// reqwest keep their type. `C` is that of [`Retry`], `X` the form of errors.
///
/// # Cancel safety
///
/// As for [`Retry`] until the head has arrived; afterwards as for
/// [`ResumedBody`](crate::resume::ResumedBody).
pub struct ResumeService<S, C = CloneBody, X = Boxed>(Retry<S, C, Wrapped<X, Boxed>>);

impl<S: Clone, C: Clone, X> Clone for ResumeService<S, C, X> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: fmt::Debug, C, X> fmt::Debug for ResumeService<S, C, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResumeService").field(&self.0).finish()
    }
}

impl<S, C, X> ResumeService<S, C, X> {
    /// Returns the service below.
    pub fn get_ref(&self) -> &S {
        self.0.get_ref()
    }
}

impl<S, Q, C, X> Service<Q> for ResumeService<S, C, X>
where
    S: Service<Q>,
    Q: RetriedBy<Self>,
{
    type Response = Q::Response;
    type Error = Q::Error;
    type Future = Q::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Q::poll_ready(self, cx)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        Q::call(self, request)
    }
}

impl<S, Q, C, X> RetriedBy<ResumeService<S, C, X>> for Q
where
    C: Requests<Q>,
    Q: Send + 'static,
    S: Service<Q> + Clone + Send + 'static,
    S::Response: 'static,
    Wrapped: Responses<S::Response, Returned: Send, Open: Send>,
    Wrapped<X, Boxed>: Responses<S::Response, Returned = RetryResponse<S, Q>>,
    RetryResponse<S, Q>: Resumable + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + Send + 'static,
    X: Errors<S::Error> + Send + 'static,
    X::Error: Send + 'static,
{
    type Response = <RetryResponse<S, Q> as Resumable>::Resumed;
    type Error = X::Error;
    type Future =
        ResumeFuture<<Retry<S, C, Wrapped<X, Boxed>> as Service<Q>>::Future, ServiceAgain<S, Q, C>>;

    fn poll_ready(
        service: &mut ResumeService<S, C, X>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), X::Error>> {
        service.0.poll_ready(cx)
    }

    fn call(service: &mut ResumeService<S, C, X>, mut request: Q) -> Self::Future {
        let retry = &mut service.0;
        let options = C::head(&request)
            .and_then(|head| DownloadOptions::for_request(head.method, head.extensions));
        let Some(options) = options else {
            return ResumeFuture::new(retry.call(request), None);
        };
        if let Some(headers) = C::headers_mut(&mut request) {
            ResumeValidator::prepare(headers);
        }
        let head = C::head(&request);
        let Some(terms) = head.and_then(|head| options.terms(&retry.engine, &head)) else {
            return ResumeFuture::new(retry.call(request), None);
        };
        let leave = C::extensions_mut(&mut request).and_then(retire_connection::<S::Error>);
        let (request, saved) = retry.copies.save(request, retry.engine.save);
        // A request body that would not survive an early response rules a resume out.
        let saved = saved.filter(|saved| C::is_whole(saved, true));
        let resend = saved.map(|saved| {
            let service = ServiceAgain::new(retry.with_boxed_bodies(), saved, leave);
            (service, terms)
        });
        ResumeFuture::new(retry.call(request), resend)
    }
}

/// Returns a function that retires the connections of a download, if the client below shows them.
fn retire_connection<E: 'static>(extensions: &mut Extensions) -> Option<RetireConnection> {
    let used = ConnectionUsed::for_download::<E>(extensions)?;
    Some(Box::new(move || used.retire()))
}
