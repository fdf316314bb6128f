//! The service, and how it sends.

use super::boxed_loop::{AnyThread, BoxLoop};
use super::errors::{Boxed, Errors};
use super::future::RetryFuture;
use super::inner::Inner;
use super::response::{Responses, Wrapped};
use super::strategy::{CloneBody, ReplayStrategy};
use crate::client::Answer;
use crate::engine::{Engine, Routes};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

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
/// | `H` | whether calls may move between threads | they may | [`OneThread`](super::OneThread) |
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

impl<S, Q, X, C, A, H> Service<Q> for Retry<S, X, C, A, H>
where
    C: ReplayStrategy<Q>,
    S: Service<Q> + Clone,
    A: Responses<S::Response>,
    S::Error: 'static,
    X: Errors<S::Error>,
    H: BoxLoop<Inner<S, Q, C, A>, C::Request, X>,
{
    type Response = <A::Answer as Answer>::Kept;
    type Error = X::Error;
    type Future = RetryFuture<Inner<S, Q, C, A>, C::Request, X, H>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(X::from_inner)
    }

    #[inline]
    fn call(&mut self, request: Q) -> Self::Future {
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
