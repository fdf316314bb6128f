//! The service, and how the loop sends through it.

use super::boxed_loop::BoxLoop;
use super::future::RetryFuture;
use super::inner::Inner;
use super::response::{Responses, Wrapped};
use super::strategy::{CloneBody, ReplayStrategy};
#[cfg(feature = "hyper")]
use crate::client::connection::ConnectionUsed;
use crate::client::error_chain::{retire_connection, words};
use crate::client::options::{http_outcome, http_trail, number};
use crate::client::{Answer, Resend, is_of_reqwest};
use crate::engine::{Engine, Routes};
use crate::error::AttemptTimeout;
use crate::policy::{Attempt, CannedResponse, ErrorKind, Outcome, RetryPolicy};
use crate::policy::{Filled, Inspect, Inspected};
use crate::redirects::Trail;
use crate::report::{RequestFailed, RetryReport};
use crate::retry_loop::Transport;
use crate::runtime::Sleep;
use http::{HeaderMap, HeaderName, StatusCode};
use std::any::TypeId;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

type BoxError = Box<dyn Error + Send + Sync>;

/// How the layer returns an inner service's errors: [`Unchanged`] or [`Boxed`].
pub trait Errors<E>: sealed::Sealed {
    /// The error of the outer service.
    type Error;

    #[doc(hidden)]
    fn from_inner(error: E) -> Self::Error;

    /// An error of this crate, if the outer service's error can hold it.
    #[doc(hidden)]
    fn from_own(error: impl Error + Send + Sync + 'static) -> Option<Self::Error>;
}

/// Errors are the inner service's own, and cannot report a timeout.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Unchanged;

/// Errors are boxed: a timeout as an [`AttemptTimeout`], a rule's failure as a [`RequestFailed`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Boxed;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Unchanged {}
    impl Sealed for super::Boxed {}
}

impl<E> Errors<E> for Unchanged {
    type Error = E;

    fn from_inner(error: E) -> E {
        error
    }

    fn from_own(_: impl Error + Send + Sync + 'static) -> Option<E> {
        None
    }
}

impl<E: Into<BoxError>> Errors<E> for Boxed {
    type Error = BoxError;

    fn from_inner(error: E) -> BoxError {
        error.into()
    }

    fn from_own(error: impl Error + Send + Sync + 'static) -> Option<BoxError> {
        Some(error.into())
    }
}

/// A service with retries, made by [`RetryLayer`](super::RetryLayer).
///
/// # Cancel safety
///
/// Dropping the future of a call ends it: nothing more is sent, the tokens of an unsent retry go back to the budget,
/// and no task or timer is left.
pub struct Retry<S, X = Unchanged, C = CloneBody, A = Wrapped> {
    inner: S,
    engine: Arc<Engine>,
    errors: PhantomData<X>,
    copies: C,
    answers: A,
}

impl<S, X, C, A> Retry<S, X, C, A> {
    pub(super) fn new(inner: S, engine: Arc<Engine>, copies: C, answers: A) -> Self {
        Self {
            inner,
            engine,
            errors: PhantomData,
            copies,
            answers,
        }
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(super) fn copies(&self) -> &C {
        &self.copies
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, X, C, A> Retry<S, X, C, A> {
    #[inline]
    pub(super) fn poll_inner<Q>(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), X::Error>>
    where
        S: Service<Q>,
        X: Errors<S::Error>,
    {
        self.inner.poll_ready(cx).map_err(X::from_inner)
    }

    /// Sends a request by a loop that may move between threads, or by one that stays on its own.
    #[inline]
    pub(super) fn send<Q, H>(
        &mut self,
        request: Q,
    ) -> RetryFuture<Inner<S, Q, C, A>, C::Request, X, H>
    where
        C: ReplayStrategy<Q>,
        S: Service<Q> + Clone,
        A: Responses<S::Response>,
        X: Errors<S::Error>,
        H: BoxLoop<Inner<S, Q, C, A>, C::Request, X>,
    {
        self.answers.begins(match &self.engine.routes {
            Routes::One(route) => Some(&route.policy),
            Routes::PerRequest(_) => None,
        });
        // The service that is ready is the one to call; its clone stays behind.
        let clone = self.inner.clone();
        let service = Inner::new(std::mem::replace(&mut self.inner, clone));
        let request = self.copies.take_in(request, self.engine.recorded);
        RetryFuture::new(Arc::clone(&self.engine), service, request)
    }
}

impl<S: Clone, X, C: Clone, A: Clone> Clone for Retry<S, X, C, A> {
    fn clone(&self) -> Self {
        let (copies, answers) = (self.copies.clone(), self.answers.clone());
        let engine = Arc::clone(&self.engine);
        Self::new(self.inner.clone(), engine, copies, answers)
    }
}

impl<S: fmt::Debug, X, C, A> fmt::Debug for Retry<S, X, C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("inner", &self.inner)
            .field("engine", &self.engine)
            .finish()
    }
}

impl<S, Q, X, C, A> Service<Q> for Retry<S, X, C, A>
where
    C: ReplayStrategy<Q>,
    Q: 'static,
    S: Service<Q> + Clone + Send + 'static,
    A: Responses<S::Response>,
    A::Answer: 'static,
    <A::Answer as Answer>::Kept: 'static,
    A::Future<S::Future, S::Error>: Send + 'static,
    S::Error: Send + 'static,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    type Response = <A::Answer as Answer>::Kept;
    type Error = X::Error;
    type Future = RetryFuture<Inner<S, Q, C, A>, C::Request, X>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.poll_inner(cx)
    }

    #[inline]
    fn call(&mut self, request: Q) -> Self::Future {
        self.send(request)
    }
}

/// Sends through a tower service.
pub(super) struct ServiceTransport<S, Q, X> {
    service: S,
    across_tasks: bool,
    attempt_header: Option<HeaderName>,
    #[cfg(feature = "hyper")]
    connection: Option<Box<ConnectionUsed>>,
    types: PhantomData<fn(Q) -> X>,
}

impl<S, Q: Resend, X> ServiceTransport<S, Q, X> {
    pub(super) fn new(engine: &Engine, service: S) -> Self {
        Self {
            service,
            across_tasks: engine.across_tasks,
            attempt_header: engine.attempt_header.clone(),
            #[cfg(feature = "hyper")]
            connection: None,
            types: PhantomData,
        }
    }
}

impl<S, Q, X> Transport for ServiceTransport<S, Q, X>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone,
    S::Response: Answer + 'static,
    S::Error: 'static,
    X: Errors<S::Error>,
    X::Error: 'static,
{
    type Request = Q;
    type Response = <S::Response as Answer>::Kept;
    type Error = X::Error;

    fn release_readiness(&mut self) -> bool {
        // A clone is not ready, and what made the service ready goes with it.
        self.service = self.service.clone();
        true
    }

    async fn ready(&mut self) -> Result<(), X::Error> {
        poll_fn(|cx| self.service.poll_ready(cx))
            .await
            .map_err(X::from_inner)
    }

    fn send(
        &mut self,
        mut request: Q,
        attempt: Attempt,
    ) -> impl Future<Output = Result<Self::Response, X::Error>> {
        if self.across_tasks || attempt.number() > 1 {
            if let Some(extensions) = request.extensions_mut() {
                extensions.insert(attempt);
            }
        }
        number(self.attempt_header.as_ref(), &mut request, attempt);
        #[cfg(feature = "hyper")]
        {
            let used = ConnectionUsed::of::<S::Error>(attempt, &mut request);
            self.connection = used.map(Box::new);
        }
        let response = self.service.call(request);
        async move { response.await.map(Answer::keep).map_err(X::from_inner) }
    }

    fn leave_connection(&mut self, policy: &RetryPolicy, error: Option<&X::Error>) {
        #[cfg(feature = "hyper")]
        if let Some(used) = self.connection.take() {
            return used.retire();
        }
        if let Some(error) = error {
            retire_connection(policy, error);
        }
    }

    fn outcome<'a>(
        &self,
        policy: &RetryPolicy,
        result: &'a Result<Self::Response, X::Error>,
    ) -> Outcome<'a> {
        http_outcome::<S::Response, _>(policy, result)
    }

    /// The service may be reqwest's client, or wrap one, if it shares a type with it.
    fn trail<'a>(
        policy: &RetryPolicy,
        saved: Option<&'a Q::Saved>,
        result: Option<&'a Result<Self::Response, X::Error>>,
    ) -> Trail<'a> {
        let types = [
            TypeId::of::<Q>(),
            TypeId::of::<S::Response>(),
            TypeId::of::<S::Error>(),
        ];
        let may_follow = types.into_iter().any(is_of_reqwest);
        http_trail::<S::Response, _>(may_follow, policy, saved, result)
    }

    fn drain(
        response: Self::Response,
        bytes: usize,
    ) -> impl Future<Output = Option<Self::Response>> {
        S::Response::drain(response, bytes)
    }

    fn look(
        response: Self::Response,
        look: &mut dyn Inspect,
        time: Sleep,
    ) -> impl Future<Output = (Self::Response, Inspected)> {
        S::Response::look(response, look, time)
    }

    fn fill(
        response: Self::Response,
        policy: &RetryPolicy,
        bytes: u64,
        time: Sleep,
    ) -> impl Future<Output = (Self::Response, Filled)> {
        S::Response::fill(response, policy, bytes, time)
    }

    fn head(response: &Self::Response) -> Option<(StatusCode, &HeaderMap)> {
        Some(S::Response::head_of(response))
    }

    fn words(policy: &RetryPolicy, error: &X::Error, kind: Option<ErrorKind>) -> String {
        words(policy, error, kind)
    }

    fn attach(response: &mut Self::Response, report: RetryReport) {
        S::Response::extensions_of(response).insert(report);
    }

    fn canned(canned: &CannedResponse, url: &str) -> Option<Self::Response> {
        S::Response::canned(canned, url)
    }

    fn cut(timeout: AttemptTimeout) -> Option<X::Error> {
        X::from_own(timeout)
    }

    fn failed(failed: RequestFailed) -> Option<X::Error> {
        X::from_own(failed)
    }
}
