//! A tower service, as the driver sends through it.

use super::errors::Errors;
use crate::call::{Client, ErrorFacts, Outcomes, OwnError, http_error_facts};
#[cfg(feature = "hyper")]
use crate::client::connection::ConnectionUsed;
use crate::client::error_chain::{retire_connection, type_in_box, words};
use crate::client::requests::Requests;
use crate::client::responses::Responses;
use crate::policy::{Attempt, ErrorKind, RetryPolicy};
use std::any::{Any, TypeId, type_name};
use std::error::Error;
use std::future::Future;
use std::marker::PhantomData;
use std::task::{Context, Poll};
use tower_service::Service;

type BoxError = Box<dyn Error + Send + Sync>;

type Types<Q, X, C, A> = fn(Q) -> (X, C, A);

/// A tower service, with the strategies of its layer.
pub struct ServiceClient<S, Q, X, C, A> {
    pub(super) service: S,
    #[cfg(feature = "hyper")]
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
            #[cfg(feature = "hyper")]
            connection: None,
            types: PhantomData,
        }
    }

    /// Notes which connection an attempt goes over, if it may be cut.
    #[inline]
    pub(super) fn note_connection(&mut self, request: &mut Q, attempt: Attempt) {
        #[cfg(feature = "hyper")]
        {
            let used = ConnectionUsed::of::<S::Error>(attempt, C::extensions_mut(request));
            self.connection = used.map(Box::new);
        }
        #[cfg(not(feature = "hyper"))]
        let _ = (request, attempt);
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
        // A clone is not ready, and what made the service ready goes with it.
        self.service = self.service.clone();
        true
    }

    fn send(&mut self, mut request: Q, attempt: Attempt) -> impl Future<Output = Outcomes<Self>> {
        self.note_connection(&mut request, attempt);
        let response = self.service.call(request);
        async move { response.await.map(A::keep).map_err(X::from_inner) }
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

    /// The service may be reqwest's client, or wrap one, if it shares a type with it.
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
        let type_name = match any.downcast_ref::<BoxError>() {
            Some(error) if TypeId::of::<S::Error>() == TypeId::of::<BoxError>() => {
                type_in_box(&**error)
            }
            _ => type_name::<S::Error>(),
        };
        http_error_facts(policy, error, type_name)
    }

    fn error_text(policy: &RetryPolicy, error: &X::Error, kind: Option<ErrorKind>) -> String {
        words(policy, error, kind)
    }

    fn own_error() -> Option<fn(OwnError) -> X::Error> {
        X::from_own()
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
