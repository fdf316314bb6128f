//! The service with retries, and the driver's client that sends through it.

use super::marker::{Boxed, CloneBody, Wrapped};
use crate::call::{
    AttemptResult, Call, Client, Driver, DriverStart, ErrorFacts, FirstEnd, RequestOptions,
    http_error_facts,
};
use crate::client::connection::ConnectionUsed;
use crate::client::error_chain::{error_text, retire_connection, type_in_box};
use crate::client::errors::Errors;
use crate::client::requests::Requests;
use crate::client::responses::Responses;
use crate::engine::{Engine, Routes};
use crate::error::LayerError;
use crate::policy::{Attempt, ErrorKind, RetryPolicy};
use http_retry_core::attempt::AttemptHandle;
use pin_project_lite::pin_project;
use std::any::{Any, TypeId, type_name};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

/// The mode in which calls, and everything that they use, may move between threads. It is the default of the last type
/// parameter of [`RetryLayer`](super::RetryLayer) and [`Retry`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AnyThread;

/// The mode in which calls stay on the thread of their caller, and their futures need not be `Send`; set by
/// [`RetryLayer::local`](super::RetryLayer::local).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OneThread;

/// A service with retries, made by [`RetryLayer`](super::RetryLayer).
///
/// It takes the requests of the service below, and returns its responses with a [`RetryBody`](crate::RetryBody).
///
/// | type parameter | is | by default | else |
/// |---|---|---|---|
/// | `S` | the service below, which must be `Clone` | | |
/// | `X` | the form of errors, of bodies too | [`Boxed`] | [`Unchanged`](super::marker::Unchanged) |
/// | `C` | the copies of request bodies | [`CloneBody`] | [`CopyBody`](super::marker::CopyBody), [`RecordBody`](super::marker::RecordBody) |
/// | `A` | the form of responses | [`Wrapped`] | [`SameType`](super::marker::SameType) |
/// | `H` | the threads of a call | [`AnyThread`] | [`OneThread`] |
///
/// It takes a request if `S` does, if the request's body can be [sent again](crate::Replay), if the response's is an
/// `http_body::Body` with `Data = Bytes` that is `Send + Unpin`, and if the error can be boxed. With [`AnyThread`],
/// `S`, its futures and its errors must be `Send`. See [what rustc says](crate::docs::guide#when-it-does-not-compile)
/// otherwise.
///
/// To name it in a struct, give the [parameters](super::marker) that were set: `Retry<Client>`, or
/// `Retry<Client, Unchanged>`. `tower::util::BoxCloneSyncService` erases it in a struct that threads share. It is ready
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
pub struct Retry<S, X = Boxed, C = CloneBody, A = Wrapped<X>, H = AnyThread> {
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

    /// Returns the same service with errors in another form, and with responses whose bodies have boxed errors.
    pub(super) fn with_boxed_bodies<Y>(&self) -> Retry<S, Y, C, Wrapped, H>
    where
        S: Clone,
        C: Clone,
    {
        let (inner, engine) = (self.inner.clone(), Arc::clone(&self.engine));
        Retry::new(inner, engine, self.copies.clone(), Wrapped::default())
    }

    pub(super) fn copies(&self) -> &C {
        &self.copies
    }

    /// Returns the service below.
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
        drive: BoxDriver<ServiceClient<S, Q, X, C, A>, D>,
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
        // The service that was polled ready must take the call; its clone may not be ready.
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        let engine = Arc::clone(&self.engine);
        RetryFuture::new(engine, service, self.copies.clone(), request, drive)
    }
}

impl<S, Q, X, C, A, H> Service<Q> for Retry<S, X, C, A, H>
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

impl<S, Q, X, C, A> RetriedBy<Retry<S, X, C, A, AnyThread>> for Q
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
    fn poll_ready(
        service: &mut Retry<S, X, C, A, AnyThread>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), X::Error>> {
        service.inner.poll_ready(cx).map_err(X::from_inner)
    }

    #[inline]
    fn call(service: &mut Retry<S, X, C, A, AnyThread>, request: Q) -> Self::Future {
        service.begin(request, |driver| Box::pin(driver.run()))
    }
}

impl<S, Q, X, C, A> RetriedBy<Retry<S, X, C, A, OneThread>> for Q
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
    fn poll_ready(
        service: &mut Retry<S, X, C, A, OneThread>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), X::Error>> {
        service.inner.poll_ready(cx).map_err(X::from_inner)
    }

    #[inline]
    fn call(service: &mut Retry<S, X, C, A, OneThread>, request: Q) -> Self::Future {
        service.begin(request, |driver| Box::pin(driver.run()))
    }
}

pin_project! {
    /// The future of a call to [`Retry`](super::Retry).
    ///
    /// # Cancel safety
    ///
    /// Dropping it ends the call: nothing more is sent, and the tokens of an unsent retry go back to the budget.
    pub struct RetryFuture<F, K, D>
    where
        K: Client,
    {
        #[pin]
        state: FutureState<F, K, D>,
    }
}

pin_project! {
    #[project = Projected]
    enum FutureState<F, K, D>
    where
        K: Client,
    {
        First {
            #[pin]
            attempt: F,
            rest: Option<CallInFlight<K, D>>,
        },
        Drive { driver: D },
    }
}

/// The parts of a call beside its first attempt, while that is in flight.
struct CallInFlight<K: Client, D> {
    call: Call<K>,
    client: K,
    requests: K::Requests,
    drive: BoxDriver<K, D>,
}

/// A function that boxes the driver of a call. It is written where the types are known, so that the compiler can prove
/// that the box is `Send`.
type BoxDriver<K, D> = fn(Driver<K>) -> D;

impl<S, Q, X, C, A, D> RetryFuture<S::Future, ServiceClient<S, Q, X, C, A>, D>
where
    Q: 'static,
    S: Service<Q> + Clone,
    S::Response: 'static,
    S::Error: 'static,
    X: Errors<S::Error>,
    X::Error: 'static,
    C: Requests<Q>,
    A: Responses<S::Response>,
{
    #[inline]
    fn new(
        engine: Arc<Engine>,
        service: S,
        requests: C,
        mut request: Q,
        drive: BoxDriver<ServiceClient<S, Q, X, C, A>, D>,
    ) -> Self {
        let mut client = ServiceClient::new(service);
        let extensions = C::head(&request).and_then(|head| head.extensions);
        let options = RequestOptions::from_extensions(extensions);
        let mut call = Call::new(engine, &mut request, options);
        let mut request = match call.enter(&requests, request) {
            Ok(request) => request,
            Err(request) => {
                let begin = DriverStart::Request(request);
                let driver = drive(Driver::new(call, client, requests, begin));
                return Self {
                    state: FutureState::Drive { driver },
                };
            }
        };
        // Without a limit the attempt is not cut, so nobody retires its connection.
        if let limit @ Some(_) = call.limit() {
            client.capture_connection(&mut request, Attempt::new(1, limit));
        }
        // An inner layer may look at the mark as early as in `call`.
        let guard = call.mark.polled(call.engine().id());
        let attempt = client.service.call(request);
        drop(guard);
        let rest = Some(CallInFlight {
            call,
            client,
            requests,
            drive,
        });
        Self {
            state: FutureState::First { attempt, rest },
        }
    }
}

impl<S, Q, X, C, A, D> Future for RetryFuture<S::Future, ServiceClient<S, Q, X, C, A>, D>
where
    Q: 'static,
    S: Service<Q> + Clone,
    S::Response: 'static,
    S::Error: 'static,
    X: Errors<S::Error>,
    X::Error: 'static,
    C: Requests<Q>,
    A: Responses<S::Response>,
    D: Future<Output = Result<A::Kept, X::Error>> + Unpin,
{
    type Output = Result<A::Kept, X::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.as_mut().project().state;
        let (attempt, rest) = match state.as_mut().project() {
            Projected::Drive { driver } => return Pin::new(driver).poll(cx),
            Projected::First { attempt, rest } => (attempt, rest),
        };
        // Polled again after a success, which `Future` leaves open.
        let Some(first) = rest else {
            return Poll::Pending;
        };
        let poll = |cx: &mut Context<'_>| {
            let polled = attempt.poll(cx);
            polled.map(|result| result.map(A::keep).map_err(X::from_inner))
        };
        let begin = match first.call.poll_first(cx, poll) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(FirstEnd::Succeeded(result)) => {
                *rest = None;
                return Poll::Ready(result);
            }
            Poll::Ready(FirstEnd::Drive(begin)) => begin,
        };
        let Some(first) = rest.take() else {
            return Poll::Pending;
        };
        let driver = Driver::new(first.call, first.client, first.requests, begin);
        let driver = (first.drive)(driver);
        // This drops the first attempt, which a timeout may have left unfinished. The driver needs a poll of its own to
        // be woken.
        state.set(FutureState::Drive { driver });
        self.poll(cx)
    }
}

type BoxError = Box<dyn Error + Send + Sync>;

type Types<Q, X, C, A> = fn(Q) -> (X, C, A);

/// A tower service, with the strategies of its layer.
pub struct ServiceClient<S, Q, X, C, A> {
    pub(super) service: S,
    connection: Option<Box<ConnectionUsed>>,
    types: PhantomData<Types<Q, X, C, A>>,
}

impl<S, Q, X, C, A> ServiceClient<S, Q, X, C, A>
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

    /// Captures the connection of an attempt that may have to leave it.
    #[inline]
    pub(super) fn capture_connection(&mut self, request: &mut Q, attempt: Attempt) {
        let used = ConnectionUsed::for_attempt::<S::Error>(attempt, C::extensions_mut(request));
        self.connection = used.map(Box::new);
    }
}

impl<S, Q, X, C, A> Client for ServiceClient<S, Q, X, C, A>
where
    Q: 'static,
    S: Service<Q> + Clone,
    S::Response: 'static,
    S::Error: 'static,
    X: Errors<S::Error>,
    X::Error: 'static,
    C: Requests<Q>,
    A: Responses<S::Response>,
{
    type Request = Q;
    type Requests = C;
    type Raw = S::Response;
    type Responses = A;
    type Error = X::Error;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), X::Error>> {
        self.service.poll_ready(cx).map_err(X::from_inner)
    }

    fn release(&mut self) -> bool {
        // A clone is not ready, and dropping the old service frees the capacity that it had reserved.
        self.service = self.service.clone();
        true
    }

    fn send(
        &mut self,
        mut request: Q,
        attempt: Attempt,
        _: Option<AttemptHandle>,
    ) -> impl Future<Output = AttemptResult<Self>> {
        self.capture_connection(&mut request, attempt);
        let response = self.service.call(request);
        async move { response.await.map(A::keep).map_err(X::from_inner) }
    }

    fn leave_connection(&mut self, policy: &RetryPolicy, error: Option<&X::Error>) {
        if let Some(used) = self.connection.take() {
            return used.retire();
        }
        if let Some(error) = error {
            retire_connection(policy, error);
        }
    }

    fn can_leave_connection(&self) -> bool {
        let used = self.connection.as_ref();
        used.is_some_and(|used| used.is_known())
    }

    /// If the service shares a type with reqwest's client, it may be one, or wrap one.
    fn may_follow() -> bool {
        let types = [
            TypeId::of::<Q>(),
            TypeId::of::<S::Response>(),
            TypeId::of::<S::Error>(),
        ];
        types.into_iter().any(is_type_of_reqwest)
    }

    fn error_facts<'a>(&self, policy: &RetryPolicy, error: &'a X::Error) -> ErrorFacts<'a> {
        let any: &dyn Any = error;
        // If this layer made the box, the inner service's own type says more.
        let type_name = match any.downcast_ref::<BoxError>() {
            Some(error) if TypeId::of::<S::Error>() == TypeId::of::<BoxError>() => {
                type_in_box(&**error)
            }
            _ => type_name::<S::Error>(),
        };
        http_error_facts(policy, error, type_name)
    }

    fn error_text(policy: &RetryPolicy, error: &X::Error, kind: Option<ErrorKind>) -> String {
        error_text(policy, error, kind)
    }

    fn own_error() -> Option<fn(LayerError) -> X::Error> {
        X::from_own()
    }
}

/// Returns `true` if this is the type of one of reqwest's requests, responses or errors.
#[cfg(feature = "reqwest")]
fn is_type_of_reqwest(id: TypeId) -> bool {
    use ::reqwest::{Body, Error, Request, Response};
    let own = [
        TypeId::of::<Request>(),
        TypeId::of::<Response>(),
        TypeId::of::<Error>(),
        TypeId::of::<http::Request<Body>>(),
        TypeId::of::<http::Response<Body>>(),
    ];
    own.contains(&id)
}

#[cfg(not(feature = "reqwest"))]
fn is_type_of_reqwest(_: TypeId) -> bool {
    false
}
