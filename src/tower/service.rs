//! The service with retries, and the `Client` that sends through it.

use super::future::RetryFuture;
use super::marker::{Boxed, CloneBody, Wrapped};
use crate::call::{Client, ErrorFacts, http_error_facts};
use crate::client::connection::ConnectionUsed;
use crate::client::error_chain::{error_text, known, retire_connection, shown_error, type_in_box};
use crate::client::errors::Errors;
use crate::client::requests::Requests;
use crate::client::responses::{ErrorForm, Responses};
use crate::engine::{Engine, Routes};
use crate::error::{BoxError, LayerError};
use crate::{Attempt, ErrorKind, RetryPolicy};
use std::any::{Any, TypeId, type_name};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

/// A service with retries, made by [`RetryLayer`](super::RetryLayer).
///
/// It takes the requests of the service below, and returns its responses with a [`RetryBody`](crate::RetryBody).
///
/// | type parameter | is | by default | else |
/// |---|---|---|---|
/// | `S` | the service below, which must be `Clone` | | |
/// | `C` | the copies of request bodies | [`CloneBody`] | [`CopyBody`](super::marker::CopyBody), [`RecordBody`](super::marker::RecordBody) |
/// | `A` | the form of responses and of errors | [`Wrapped`] | `Wrapped<Unchanged>`, [`SameType`](super::marker::SameType) |
///
/// It takes a request if `S` does, if the request's body can be [sent again](crate::Replay), if the response's is an
/// `http_body::Body` with `Data = Bytes` that is `Send + Unpin`, and if the error can be boxed. Its future
/// is `Send` if those of `S` are. See [what rustc says](crate::docs::guide#when-it-does-not-compile) otherwise.
///
/// To name it in a struct, give the [parameters](super::marker) that were set: `Retry<Client>`, or
/// `Retry<Client, CloneBody, Wrapped<Unchanged>>`. `tower::util::BoxCloneSyncService` erases it in a struct that threads share. It is ready
/// when the service below is. It polls that again before each retry, and holds no capacity of it during a wait.
///
/// # Errors
///
/// Those of the service below, of `poll_ready` and of calls, each in a `Box<dyn Error + Send + Sync>`; an
/// [`AttemptTimeout`](crate::AttemptTimeout) or a [`RequestFailed`](crate::report::RequestFailed). With
/// [`unchanged_errors`](super::RetryLayer::unchanged_errors), only those of the service below, as they are. Errors of
/// response bodies have the same form.
///
/// # Cancel safety
///
/// Dropping the future of a call ends it: nothing more is sent, the tokens of an unsent retry go back to the budget,
/// and no task or timer is left.
pub struct Retry<S, C = CloneBody, A = Wrapped> {
    inner: S,
    pub(super) engine: Arc<Engine>,
    pub(super) copies: C,
    responses: A,
}

impl<S, C, A> Retry<S, C, A> {
    pub(super) fn new(inner: S, engine: Arc<Engine>, copies: C, responses: A) -> Self {
        Self {
            inner,
            engine,
            copies,
            responses,
        }
    }

    /// Returns the same service with errors in the form `X`, and with responses whose bodies have boxed errors.
    pub(super) fn with_boxed_bodies<X>(&self) -> Retry<S, C, Wrapped<X, Boxed>>
    where
        S: Clone,
        C: Clone,
    {
        let (inner, engine) = (self.inner.clone(), Arc::clone(&self.engine));
        Retry::new(inner, engine, self.copies.clone(), Wrapped::default())
    }

    /// Returns the service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S: Clone, C: Clone, A: Clone> Clone for Retry<S, C, A> {
    fn clone(&self) -> Self {
        let (copies, responses) = (self.copies.clone(), self.responses.clone());
        let engine = Arc::clone(&self.engine);
        Self::new(self.inner.clone(), engine, copies, responses)
    }
}

impl<S: fmt::Debug, C, A> fmt::Debug for Retry<S, C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("inner", &self.inner)
            .field("engine", &self.engine)
            .finish()
    }
}

impl<S, Q, C, A> Service<Q> for Retry<S, C, A>
where
    S: Service<Q>,
    Q: RetriedBy<Self>,
{
    type Response = Q::Response;
    type Error = Q::Error;
    type Future = Q::Future;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Q::poll_ready(self, cx)
    }

    #[inline]
    fn call(&mut self, request: Q) -> Self::Future {
        Q::call(self, request)
    }
}

/// A request that the service `T` sends, and sends again.
///
/// It holds the bounds of the `Service` impls of this crate. If they stood there, rustc would check them while it looks
/// for a method such as `oneshot`, and report that there is none, not which bound fails. A bound on the request itself
/// is checked later, since the request's type is not known before.
pub trait RetriedBy<T>: Sized {
    type Response;
    type Error;
    type Future: Future<Output = Result<Self::Response, Self::Error>>;

    fn poll_ready(service: &mut T, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>>;

    fn call(service: &mut T, request: Self) -> Self::Future;
}

impl<S, Q, C, A> RetriedBy<Retry<S, C, A>> for Q
where
    Q: 'static,
    C: Requests<Q>,
    S: Service<Q> + Clone,
    S::Response: 'static,
    S::Error: 'static,
    A: Responses<S::Response, Returned: 'static> + ErrorForm,
    A::Errors: Errors<S::Error, Error: 'static>,
{
    type Response = A::Returned;
    type Error = ErrorOf<S, Q, A>;
    type Future = RetryFuture<S::Future, ServiceClient<S, Q, C, A>>;

    #[inline]
    fn poll_ready(
        service: &mut Retry<S, C, A>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>> {
        service.inner.poll_ready(cx).map_err(A::Errors::from_inner)
    }

    #[inline]
    fn call(service: &mut Retry<S, C, A>, request: Q) -> Self::Future {
        service
            .responses
            .warn_about_policy(match &service.engine.routes {
                Routes::One(route) => Some(route.policy()),
                Routes::PerRequest(_) => None,
            });
        // The service that was polled ready must take the call; its clone may not be ready.
        let clone = service.inner.clone();
        let ready = std::mem::replace(&mut service.inner, clone);
        let client = ServiceClient::new(ready);
        let engine = Arc::clone(&service.engine);
        RetryFuture::new(engine, client, service.copies.clone(), request)
    }
}

type Types<Q, C, A> = fn(Q) -> (C, A);

/// The error of a service, in the form that the caller gets.
pub(super) type ErrorOf<S, Q, A> =
    <<A as ErrorForm>::Errors as Errors<<S as Service<Q>>::Error>>::Error;

/// A tower service, with the strategies of its layer.
pub struct ServiceClient<S, Q, C, A> {
    pub(super) service: S,
    connection: Option<Box<ConnectionUsed>>,
    types: PhantomData<Types<Q, C, A>>,
}

impl<S, Q, C, A> ServiceClient<S, Q, C, A>
where
    S: Service<Q, Error: 'static>,
    C: Requests<Q>,
{
    pub(super) fn new(service: S) -> Self {
        Self {
            service,
            connection: None,
            types: PhantomData,
        }
    }

    /// Releases the capacity that the service has reserved for a call.
    pub(super) fn release(&mut self)
    where
        S: Clone,
    {
        // A clone is not ready, and dropping the old service frees the capacity that it had reserved.
        self.service = self.service.clone();
    }

    /// Captures the connection of an attempt that may have to leave it.
    #[inline]
    pub(super) fn capture_connection(&mut self, request: &mut Q, attempt: Attempt) {
        let used = ConnectionUsed::for_attempt::<S::Error>(attempt, C::extensions_mut(request));
        self.connection = used.map(Box::new);
    }
}

impl<S, Q, C, A> Client for ServiceClient<S, Q, C, A>
where
    Q: 'static,
    S: Service<Q> + Clone,
    S::Response: 'static,
    S::Error: 'static,
    C: Requests<Q>,
    A: Responses<S::Response> + ErrorForm,
    A::Errors: Errors<S::Error, Error: 'static>,
{
    type Request = Q;
    type Requests = C;
    type Raw = S::Response;
    type Responses = A;
    type Error = ErrorOf<S, Q, A>;

    fn leave_connection(&mut self, policy: &RetryPolicy, error: Option<&Self::Error>) {
        if let Some(used) = self.connection.take() {
            return used.retire();
        }
        if let Some(error) = error {
            retire_connection(known(policy, error));
        }
    }

    fn can_leave_connection(&self) -> bool {
        let used = self.connection.as_ref();
        used.is_some_and(|used| used.is_known())
    }

    /// If the service shares a type with reqwest's client, it may be one, or wrap one.
    fn may_follow() -> bool {
        is_type_of_reqwest::<Q>()
            || is_type_of_reqwest::<S::Response>()
            || is_type_of_reqwest::<S::Error>()
    }

    fn error_facts<'a>(
        &self,
        policy: &RetryPolicy,
        error: &'a Self::Error,
        head_alone: bool,
    ) -> ErrorFacts<'a> {
        let any: &dyn Any = error;
        // If this layer made the box, the inner service's own type says more.
        let type_name = match any.downcast_ref::<BoxError>() {
            Some(error) if TypeId::of::<S::Error>() == TypeId::of::<BoxError>() => {
                type_in_box(&**error)
            }
            _ => type_name::<S::Error>(),
        };
        http_error_facts(policy, known(policy, error), head_alone, type_name)
    }

    fn shown_error<'a>(
        policy: &RetryPolicy,
        error: &'a Self::Error,
    ) -> Option<&'a (dyn Error + 'static)> {
        shown_error(known(policy, error))
    }

    fn error_text(policy: &RetryPolicy, error: &Self::Error, kind: Option<ErrorKind>) -> String {
        error_text(known(policy, error), kind)
    }

    fn own_error() -> Option<fn(LayerError) -> Self::Error> {
        A::Errors::from_own()
    }
}

/// Returns `true` if this is the type of one of reqwest's requests, responses or errors. Inlined, since the compiler then
/// knows the answer.
#[cfg(feature = "reqwest")]
#[inline(always)]
fn is_type_of_reqwest<T: 'static>() -> bool {
    use ::reqwest::{Body, Error, Request, Response};
    let is = |own| TypeId::of::<T>() == own;
    is(TypeId::of::<Request>())
        || is(TypeId::of::<Response>())
        || is(TypeId::of::<Error>())
        || is(TypeId::of::<http::Request<Body>>())
        || is(TypeId::of::<http::Response<Body>>())
}

#[cfg(not(feature = "reqwest"))]
#[expect(
    clippy::extra_unused_type_parameters,
    reason = "the callers name the type"
)]
fn is_type_of_reqwest<T: 'static>() -> bool {
    false
}
