//! The layer that also resumes downloads.

use super::layer::RetryLayer;
use super::service::{Errors, Retry, Unchanged};
use super::strategy::{CloneBody, ReplayStrategy};
use crate::client::{DownloadOptions, HasHead, Resend, RetryBody};
use crate::resume::{Again, Mark, ResumedBody, Sending};
use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use http_body::Body;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

type BoxError = Box<dyn Error + Send + Sync>;

/// Adds retries and [resumed downloads](crate::resume) to a tower service; made by
/// [`RetryLayer::resume_downloads`](super::RetryLayer::resume_downloads).
#[derive(Debug, Clone)]
pub struct ResumeLayer<X = Unchanged, C = CloneBody>(RetryLayer<X, C>);

impl<X, C> ResumeLayer<X, C> {
    pub(super) fn new(retries: RetryLayer<X, C>) -> Self {
        Self(retries)
    }
}

impl<S, X, C: Clone> Layer<S> for ResumeLayer<X, C> {
    type Service = ResumeService<S, X, C>;

    fn layer(&self, inner: S) -> Self::Service {
        ResumeService(self.0.layer(inner))
    }
}

/// A service with retries and [resumed downloads](crate::resume), made by [`ResumeLayer`].
///
/// # Cancel safety
///
/// As of [`Retry`] until the head is there; afterwards as of [`ResumedBody`].
pub struct ResumeService<S, X = Unchanged, C = CloneBody>(Retry<S, X, C>);

impl<S: Clone, X, C: Clone> Clone for ResumeService<S, X, C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: fmt::Debug, X, C> fmt::Debug for ResumeService<S, X, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResumeService").field(&self.0).finish()
    }
}

impl<S, X, C> ResumeService<S, X, C> {
    /// The service below.
    pub fn get_ref(&self) -> &S {
        self.0.get_ref()
    }
}

type Sent<R, E> = Pin<Box<dyn Future<Output = Result<Response<R>, E>> + Send>>;

impl<S, Q, R, X, C> Service<Q> for ResumeService<S, X, C>
where
    C: ReplayStrategy<Q>,
    Q: HasHead + Send + 'static,
    S: Service<Q, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    R: Body<Data = Bytes> + Send + Unpin + 'static,
    R::Error: Into<BoxError> + Send + 'static,
    X: Errors<S::Error> + Send + 'static,
    X::Error: Into<BoxError> + Send + 'static,
{
    type Response = Response<ResumedBody<RetryBody<R>>>;
    type Error = X::Error;
    type Future = Sent<ResumedBody<RetryBody<R>>, X::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), X::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let Some(options) = DownloadOptions::of(request.method(), request.extensions()) else {
            let sent = self.0.call(request);
            return Box::pin(async move { Ok(sent.await?.map(ResumedBody::plain)) });
        };
        let copies = self.0.copies();
        let mut request = copies.take_in(request, self.0.engine().recorded);
        Mark::prepare(request.headers_mut());
        let terms = options.terms(self.0.engine(), &request);
        let (request, saved) = match terms.is_some() {
            true => request.save(self.0.engine().recorded),
            false => (request, None),
        };
        let service = self.0.clone();
        let sent = self.0.call(C::give_out(request));
        Box::pin(async move {
            let (mut head, body) = sent.await?.into_parts();
            let saved = saved.filter(|saved| C::Request::can_resend(saved, true));
            let (Some(terms), Some(saved)) = (terms, saved) else {
                return Ok(Response::from_parts(head, ResumedBody::plain(body)));
            };
            let asked = saved.header_map();
            let mark = Mark::of((&Method::GET, &asked), (head.status, &head.headers));
            drop(asked);
            let Some(mark) = mark else {
                return Ok(Response::from_parts(head, ResumedBody::plain(body)));
            };
            let again = ServiceAgain::<S, Q, X, C> {
                service,
                saved: Some(saved),
            };
            let (body, progress) = ResumedBody::new(body, mark, Box::new(again), terms);
            head.extensions.insert(progress);
            Ok(Response::from_parts(head, body))
        })
    }
}

/// Sends a copy of the request through the whole service.
struct ServiceAgain<S, Q, X, C: ReplayStrategy<Q>> {
    service: Retry<S, X, C>,
    saved: Option<Box<<C::Request as Resend>::Saved>>,
}

impl<S, Q, R, X, C> Again<RetryBody<R>> for ServiceAgain<S, Q, X, C>
where
    C: ReplayStrategy<Q>,
    Q: Send + 'static,
    S: Service<Q, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    R: Body<Data = Bytes> + Send + Unpin + 'static,
    R::Error: Send + 'static,
    X: Errors<S::Error> + Send + 'static,
    X::Error: Into<BoxError> + Send + 'static,
{
    fn again(&mut self, ask: &dyn Fn(&mut HeaderMap) -> bool) -> Option<Sending<RetryBody<R>>> {
        let (mut request, saved) = C::Request::again(self.saved.take()?, false);
        self.saved = saved.filter(|saved| C::Request::can_resend(saved, true));
        if let Some(extensions) = request.extensions_mut() {
            // The report is that of the request that the caller has made.
            extensions.remove::<crate::report::ReportSlot>();
        }
        if !ask(request.headers_mut()) {
            return None;
        }
        let mut service = self.service.clone();
        Some(Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx))
                .await
                .map_err(Into::into)?;
            let sent = service.call(C::give_out(request));
            sent.await.map_err(Into::into)
        }))
    }
}
