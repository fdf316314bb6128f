//! The future of a request whose download may be resumed, and the parts that request its rest.

use super::marker::Wrapped;
use super::service::Retry;
use crate::client::error_chain::{walk, without_url};
use crate::client::requests::Requests;
use crate::client::responses::Responses;
use crate::client::resumable::{Resumable, is_redirected, mark_other_origin};
use crate::error::BoxError;
use crate::resume::ResumedBody;
use crate::resume::adapter::{DownloadTerms, Resend, RestRequest, ResumeValidator, Sending};
use crate::{Outcome, RetryPolicy};
use http::Method;
use http_retry_core::adapter::Head as _;
use pin_project_lite::pin_project;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower_service::Service;

/// The response of the retry layer.
pub(super) type RetryResponse<S, Q> = <Wrapped as Responses<<S as Service<Q>>::Response>>::Returned;

/// A function that keeps later requests off the connection of the latest one.
pub(super) type RetireConnection = Box<dyn Fn() + Send>;

pin_project! {
    /// The future of a call to [`ResumeService`](super::ResumeService).
    ///
    /// # Cancel safety
    ///
    /// As for [`RetryFuture`](super::future::RetryFuture).
    pub struct ResumeFuture<F, T> {
        #[pin]
        sent: F,
        // What continues a broken body. `None` if the body of the response stays plain, and after the response has
        // arrived.
        resend: Option<Box<(T, DownloadTerms)>>,
    }
}

impl<F, T> ResumeFuture<F, T> {
    pub(super) fn new(sent: F, resend: Option<(T, DownloadTerms)>) -> Self {
        let resend = resend.map(Box::new);
        Self { sent, resend }
    }
}

impl<F, R, E, S, Q, C, B> Future for ResumeFuture<F, ServiceAgain<S, Q, C>>
where
    F: Future<Output = Result<R, E>>,
    R: Resumable<Body = B>,
    C: Requests<Q>,
    ServiceAgain<S, Q, C>: Resend<B> + 'static,
{
    type Output = Result<R::Resumed, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(this.sent.poll(cx))?;
        Poll::Ready(Ok(match this.resend.take().map(|resend| *resend) {
            Some((service, terms)) => service.resumed(response, terms),
            None => response.plain(),
        }))
    }
}

/// Sends a copy of the request through the whole service. Its errors are boxed, so that they can report a head that
/// does not come in time.
pub struct ServiceAgain<S, Q, C: Requests<Q>> {
    service: Retry<S, C>,
    saved: Option<C::Saved>,
    leave: Option<RetireConnection>,
    /// The URL of the first response, if the client shows it.
    start: Option<String>,
    redirected: bool,
}

impl<S, Q, C: Requests<Q>> ServiceAgain<S, Q, C> {
    pub(super) fn new(
        service: Retry<S, C>,
        saved: C::Saved,
        leave: Option<RetireConnection>,
    ) -> Self {
        Self {
            service,
            saved: Some(saved),
            leave,
            start: None,
            redirected: false,
        }
    }

    /// Returns the response with a body that resumes, if this one can.
    fn resumed<R>(mut self, response: R, terms: DownloadTerms) -> R::Resumed
    where
        R: Resumable,
        Self: Resend<R::Body> + 'static,
    {
        let head = self.saved.as_ref().and_then(C::saved_head);
        // The options of a download exist only for a GET.
        let validator = head.and_then(|head| {
            ResumeValidator::from_response((&Method::GET, &head.header_map()), response.head())
        });
        let Some(validator) = validator else {
            return response.plain();
        };
        let is_from_elsewhere = response.is_from_elsewhere();
        let requested = head.and_then(|head| head.url().map(str::to_owned));
        self.redirected = is_redirected(&response, requested.as_deref());
        self.start = response.url().map(str::to_owned);
        response.resumed(|body| {
            ResumedBody::new(body, validator, Box::new(self), terms, is_from_elsewhere)
        })
    }
}

impl<S, Q, C, B> Resend<B> for ServiceAgain<S, Q, C>
where
    C: Requests<Q>,
    Q: Send + 'static,
    S: Service<Q> + Clone + Send + 'static,
    S::Response: 'static,
    Wrapped: Responses<S::Response, Returned: Send, Open: Send>,
    RetryResponse<S, Q>: Resumable<Body = B> + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + Send + 'static,
{
    fn resend(&mut self, rest: &RestRequest<'_>) -> Option<Sending<B>> {
        let mut saved = self.saved.take()?;
        // Without a redirect the saved URL stays: a middleware below may add to it in each attempt.
        let start = self.start.as_deref().filter(|_| self.redirected);
        if let Some(start) = start {
            let credentials = rest.credentials();
            C::pin(&mut saved, start, &credentials);
        }
        // Never the last: any number of breaks may follow.
        let (mut request, saved) = C::restore(saved, false);
        self.saved = saved.filter(|saved| C::is_whole(saved, true));
        if let Some(extensions) = C::extensions_mut(&mut request) {
            rest.extend(extensions);
        }
        if !C::headers_mut(&mut request).is_some_and(|headers| rest.ask(headers)) {
            return None;
        }
        let start = self.start.clone();
        let mut service = self.service.clone();
        Some(Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx)).await?;
            let response = service.call(request).await?;
            Ok(mark_other_origin(response, start.as_deref()))
        }))
    }

    fn leave_connection(&mut self) {
        if let Some(leave) = &self.leave {
            leave();
        }
    }

    fn outcome(&self, policy: &RetryPolicy, error: &(dyn Error + 'static)) -> Outcome<'static> {
        walk(policy, error)
    }

    fn without_secrets(&self, error: BoxError) -> BoxError {
        without_url(error)
    }
}
