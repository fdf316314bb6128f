//! The service below, for requests and responses as the layer works with them.

use super::response::Responses;
use super::strategy::ReplayStrategy;
use std::marker::PhantomData;
use std::task::{Context, Poll};
use tower_service::Service;

/// The service below, which sees neither how requests are copied nor how responses are returned.
pub struct Inner<S, Q, C, A> {
    service: S,
    types: PhantomData<fn(Q) -> (C, A)>,
}

impl<S, Q, C, A> Inner<S, Q, C, A> {
    pub(super) fn new(service: S) -> Self {
        Self {
            service,
            types: PhantomData,
        }
    }
}

impl<S: Clone, Q, C, A> Clone for Inner<S, Q, C, A> {
    #[inline]
    fn clone(&self) -> Self {
        Self::new(self.service.clone())
    }
}

impl<S, Q, C, A> Service<C::Request> for Inner<S, Q, C, A>
where
    C: ReplayStrategy<Q>,
    A: Responses<S::Response>,
    S: Service<Q>,
{
    type Response = A::Answer;
    type Error = S::Error;
    type Future = A::Future<S::Future, S::Error>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, request: C::Request) -> Self::Future {
        A::answers(self.service.call(C::give_out(request)))
    }
}
