//! How the loop sends through a tower service.

use super::errors::Errors;
use crate::client::attempt_number::number;
#[cfg(feature = "hyper")]
use crate::client::connection::ConnectionUsed;
use crate::client::error_chain::{retire_connection, words};
use crate::client::http_result::{http_outcome, http_trail};
use crate::client::{Answer, Resend, is_of_reqwest};
use crate::engine::Engine;
use crate::error::AttemptTimeout;
use crate::policy::{
    Attempt, CannedResponse, ErrorKind, Filled, Inspect, Inspected, Outcome, RetryPolicy,
};
use crate::redirects::Trail;
use crate::report::{RequestFailed, RetryReport};
use crate::retry_loop::Transport;
use crate::runtime::Sleep;
use http::{HeaderMap, HeaderName, StatusCode};
use std::any::TypeId;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use tower_service::Service;

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

    /// The same after an attempt that used this connection.
    #[cfg(feature = "hyper")]
    pub(super) fn over(self, connection: Option<Box<ConnectionUsed>>) -> Self {
        Self { connection, ..self }
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
