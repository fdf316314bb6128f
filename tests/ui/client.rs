//! The client that the programs put their layers on.

use std::convert::Infallible;
use std::future::{Pending, pending};
use std::marker::PhantomData;
use std::task::{Context, Poll};
use tower::Service;

/// A client for requests `Q`, responses `R` and errors `E`.
pub struct Client<Q, R, E = Infallible> {
    types: PhantomData<fn(Q) -> (R, E)>,
}

impl<Q, R, E> Default for Client<Q, R, E> {
    fn default() -> Self {
        Self { types: PhantomData }
    }
}

impl<Q, R, E> Clone for Client<Q, R, E> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<Q, R, E> Service<Q> for Client<Q, R, E> {
    type Response = R;
    type Error = E;
    type Future = Pending<Result<R, E>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), E>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Q) -> Self::Future {
        pending()
    }
}
