//! How the loop sends through a tower service.

use super::errors::Errors;
#[cfg(feature = "hyper")]
use crate::client::connection::ConnectionUsed;
use crate::client::error_chain::{retire_connection, type_in_box};
use crate::client::first_attempt::StartedRequest;
use crate::client::http_sender::{HttpSender, number};
use crate::client::{Answer, Resend};
use crate::engine::Engine;
use crate::policy::{Attempt, RetryPolicy};
use crate::retry_loop::Sender;
use http::HeaderName;
use std::any::{Any, TypeId, type_name};
use std::error::Error;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use tower_service::Service;

type BoxError = Box<dyn Error + Send + Sync>;

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

    /// The same after the first attempt of this request.
    pub(super) fn after(first: &mut StartedRequest<Q>, engine: &Engine, service: S) -> Self
    where
        Q: Send + 'static,
    {
        #[cfg(not(feature = "hyper"))]
        let _ = first;
        Self {
            #[cfg(feature = "hyper")]
            connection: first.take_connection(),
            ..Self::new(engine, service)
        }
    }
}

impl<S, Q, X> Sender for ServiceTransport<S, Q, X>
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
}

impl<S, Q, X> HttpSender for ServiceTransport<S, Q, X>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone,
    S::Response: Answer + 'static,
    S::Error: 'static,
    X: Errors<S::Error>,
    X::Error: 'static,
{
    type Answer = S::Response;

    /// The service may be reqwest's client, or wrap one, if it shares a type with it.
    fn may_follow() -> bool {
        let types = [
            TypeId::of::<Q>(),
            TypeId::of::<S::Response>(),
            TypeId::of::<S::Error>(),
        ];
        types.into_iter().any(is_type_of_reqwest)
    }

    fn error_type(error: &X::Error) -> &'static str {
        let error: &dyn Any = error;
        match error.downcast_ref::<BoxError>() {
            Some(error) if TypeId::of::<S::Error>() == TypeId::of::<BoxError>() => {
                type_in_box(&**error)
            }
            _ => type_name::<S::Error>(),
        }
    }

    fn own_error(error: impl Error + Send + Sync + 'static) -> Option<X::Error> {
        X::from_own(error)
    }
}

/// Whether a type of this name is one of reqwest's requests, responses or errors.
#[cfg(feature = "reqwest")]
fn is_type_of_reqwest(name: TypeId) -> bool {
    use ::reqwest::{Body, Error, Request, Response};
    let own = [
        TypeId::of::<Request>(),
        TypeId::of::<Response>(),
        TypeId::of::<Error>(),
        TypeId::of::<http::Request<Body>>(),
        TypeId::of::<http::Response<Body>>(),
    ];
    own.contains(&name)
}

#[cfg(not(feature = "reqwest"))]
fn is_type_of_reqwest(_: TypeId) -> bool {
    false
}
