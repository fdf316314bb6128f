//! The service, and how it sends.

use super::client::ServiceClient;
use super::errors::{Boxed, Errors};
use super::future::{Drive, RetryFuture};
use super::{CloneBody, Wrapped};
use crate::client::requests::Requests;
use crate::client::responses::Responses;
use crate::engine::{Engine, Routes};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

/// Calls may move between threads, and so may all that they work with.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AnyThread;

/// Calls stay on the thread of their caller, and their futures need not be `Send`: the last type parameter of
/// [`RetryLayer`](super::RetryLayer) and [`Retry`], set by
/// [`RetryLayer::local`](super::RetryLayer::local).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OneThread;

/// A service with retries, made by [`RetryLayer`](super::RetryLayer).
///
/// It takes the requests of the service below, and answers as that does, but with a [`RetryBody`](crate::RetryBody).
///
/// | type parameter | is | by default | else |
/// |---|---|---|---|
/// | `S` | the service below, which must be `Clone` | | |
/// | `X` | how errors come back | [`Boxed`] | [`Unchanged`](super::Unchanged) |
/// | `C` | how bodies are copied | [`CloneBody`] | [`CopyBody`](super::CopyBody), [`RecordBody`](super::RecordBody) |
/// | `A` | how responses come back | [`Wrapped`] | [`SameType`](super::SameType) |
/// | `H` | whether calls may move between threads | they may | [`OneThread`] |
///
/// To name it in a struct, give what was set: `Retry<Client>`, or `Retry<Client, Unchanged>`. It is ready when the service below is. That is asked
/// again before each retry, and no place of it is kept during a wait.
///
/// # Errors
///
/// Those of the service below, of `poll_ready` and of calls, each in a `Box<dyn Error + Send + Sync>`; an
/// [`AttemptTimeout`](crate::AttemptTimeout) or a [`RequestFailed`](crate::report::RequestFailed). With
/// [`unchanged_errors`](super::RetryLayer::unchanged_errors), only those of the service below, as they are.
///
/// # Cancel safety
///
/// Dropping the future of a call ends it: nothing more is sent, the tokens of an unsent retry go back to the budget,
/// and no task or timer is left.
pub struct Retry<S, X = Boxed, C = CloneBody, A = Wrapped, H = AnyThread> {
    inner: S,
    engine: Arc<Engine>,
    types: PhantomData<(X, H)>,
    copies: C,
    answers: A,
}

impl<S, X, C, A, H> Retry<S, X, C, A, H> {
    pub(super) fn new(inner: S, engine: Arc<Engine>, copies: C, answers: A) -> Self {
        Self {
            inner,
            engine,
            types: PhantomData,
            copies,
            answers,
        }
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The same service, whose errors can hold this crate's own.
    pub(super) fn with_boxed_errors(&self) -> Retry<S, Boxed, C, A, H>
    where
        S: Clone,
        C: Clone,
        A: Clone,
    {
        let (copies, answers) = (self.copies.clone(), self.answers.clone());
        Retry::new(
            self.inner.clone(),
            Arc::clone(&self.engine),
            copies,
            answers,
        )
    }

    pub(super) fn copies(&self) -> &C {
        &self.copies
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S: Clone, X, C: Clone, A: Clone, H> Clone for Retry<S, X, C, A, H> {
    fn clone(&self) -> Self {
        let (copies, answers) = (self.copies.clone(), self.answers.clone());
        let engine = Arc::clone(&self.engine);
        Self::new(self.inner.clone(), engine, copies, answers)
    }
}

impl<S: fmt::Debug, X, C, A, H> fmt::Debug for Retry<S, X, C, A, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("inner", &self.inner)
            .field("engine", &self.engine)
            .finish()
    }
}

impl<S, X, C, A, H> Retry<S, X, C, A, H>
where
    S: Clone,
    C: Clone,
{
    #[inline]
    fn begin<Q, D>(
        &mut self,
        request: Q,
        drive: Drive<ServiceClient<S, Q, X, C, A>, D>,
    ) -> RetryFuture<S::Future, ServiceClient<S, Q, X, C, A>, D>
    where
        Q: 'static,
        S: Service<Q>,
        S::Response: 'static,
        S::Error: 'static,
        X: Errors<S::Error>,
        X::Error: 'static,
        C: Requests<Q>,
        A: Responses<S::Response>,
    {
        self.answers.begin(match &self.engine.routes {
            Routes::One(route) => Some(route.policy()),
            Routes::PerRequest(_) => None,
        });
        // The service that is ready is the one to call; its clone stays behind.
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        let engine = Arc::clone(&self.engine);
        RetryFuture::new(engine, service, self.copies.clone(), request, drive)
    }
}

impl<S, Q, X, C, A> Service<Q> for Retry<S, X, C, A, AnyThread>
where
    Q: Send + 'static,
    C: Requests<Q>,
    S: Service<Q> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: 'static,
    S::Error: Send + 'static,
    A: Responses<S::Response, Kept: 'static>,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    type Response = A::Kept;
    type Error = X::Error;
    type Future = RetryFuture<
        S::Future,
        ServiceClient<S, Q, X, C, A>,
        Pin<Box<dyn Future<Output = Result<A::Kept, X::Error>> + Send>>,
    >;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(X::from_inner)
    }

    #[inline]
    fn call(&mut self, request: Q) -> Self::Future {
        self.begin(request, |driver| Box::pin(driver.run()))
    }
}

impl<S, Q, X, C, A> Service<Q> for Retry<S, X, C, A, OneThread>
where
    Q: Send + 'static,
    C: Requests<Q>,
    S: Service<Q> + Clone + 'static,
    S::Response: 'static,
    S::Error: 'static,
    A: Responses<S::Response, Kept: 'static>,
    X: Errors<S::Error> + 'static,
    X::Error: 'static,
{
    type Response = A::Kept;
    type Error = X::Error;
    type Future = RetryFuture<
        S::Future,
        ServiceClient<S, Q, X, C, A>,
        Pin<Box<dyn Future<Output = Result<A::Kept, X::Error>>>>,
    >;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(X::from_inner)
    }

    #[inline]
    fn call(&mut self, request: Q) -> Self::Future {
        self.begin(request, |driver| Box::pin(driver.run()))
    }
}
