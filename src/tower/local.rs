//! The layer for services that stay on their thread.

use super::boxed_loop::OneThread;
use super::errors::{Errors, Unchanged};
use super::future::RetryFuture;
use super::inner::Inner;
use super::layer::RetryLayer;
use super::response::{Responses, Wrapped};
use super::service::Retry;
use super::strategy::{CloneBody, ReplayStrategy};
use crate::client::Answer;
use std::fmt;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// Adds retries to a tower service that stays on its thread; made by
/// [`RetryLayer::local`](super::RetryLayer::local).
#[derive(Debug, Clone)]
pub struct LocalRetryLayer<X = Unchanged, C = CloneBody, A = Wrapped>(RetryLayer<X, C, A>);

impl<X, C, A> RetryLayer<X, C, A> {
    /// A layer for a service that stays on its thread: one that holds an `Rc`, or whose future is not `Send`, in a
    /// `LocalSet` or on a runtime with a thread per core. Set everything else first.
    ///
    /// The service below, its futures and its errors need not be `Send`, and so neither are the futures of the calls.
    /// Requests, responses and their bodies are still `Send`, as those of hyper are. Downloads are not resumed.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::tower::RetryLayer;
    /// use std::convert::Infallible;
    /// use std::rc::Rc;
    /// use tower::{Layer, ServiceExt, service_fn};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    /// # runtime.expect("a runtime").block_on(async {
    /// let tenant = Rc::new("one".to_owned());
    /// let client = service_fn(move |_: http::Request<String>| {
    ///     let tenant = Rc::clone(&tenant);
    ///     async move { Ok::<_, Infallible>(http::Response::new(tenant.to_string())) }
    /// });
    /// let service = RetryLayer::new(RetryPolicy::background()).local().layer(client);
    ///
    /// let tasks = tokio::task::LocalSet::new();
    /// let call = tasks.spawn_local(service.oneshot(http::Request::new(String::new())));
    /// let answer = tasks.run_until(call).await;
    /// # assert_eq!(answer.expect("no panic").expect("no error").status(), 200);
    /// # });
    /// ```
    #[must_use]
    pub fn local(self) -> LocalRetryLayer<X, C, A> {
        LocalRetryLayer(self)
    }
}

impl<S, X, C: Clone, A: Clone> Layer<S> for LocalRetryLayer<X, C, A> {
    type Service = LocalRetry<S, X, C, A>;

    fn layer(&self, inner: S) -> Self::Service {
        LocalRetry(self.0.layer(inner))
    }
}

/// A service with retries that stays on its thread, made by [`LocalRetryLayer`].
///
/// # Cancel safety
///
/// As of [`Retry`].
pub struct LocalRetry<S, X = Unchanged, C = CloneBody, A = Wrapped>(Retry<S, X, C, A>);

impl<S, X, C, A> LocalRetry<S, X, C, A> {
    /// The service below.
    pub fn get_ref(&self) -> &S {
        self.0.get_ref()
    }
}

impl<S: Clone, X, C: Clone, A: Clone> Clone for LocalRetry<S, X, C, A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: fmt::Debug, X, C, A> fmt::Debug for LocalRetry<S, X, C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalRetry").field(&self.0).finish()
    }
}

impl<S, Q, X, C, A> Service<Q> for LocalRetry<S, X, C, A>
where
    C: ReplayStrategy<Q>,
    Q: 'static,
    S: Service<Q> + Clone + 'static,
    A: Responses<S::Response>,
    A::Answer: 'static,
    <A::Answer as Answer>::Kept: 'static,
    S::Error: 'static,
    X: Errors<S::Error> + 'static,
    X::Error: 'static,
{
    type Response = <A::Answer as Answer>::Kept;
    type Error = X::Error;
    type Future = RetryFuture<Inner<S, Q, C, A>, C::Request, X, OneThread>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_inner(cx)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        self.0.send(request)
    }
}
