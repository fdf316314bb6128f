//! The future of one call: holds the first attempt, and a driver in a box once one is wanted.

use super::client::ServiceClient;
use super::errors::Errors;
use crate::call::{Begin, Call, Client, Driver, First, RequestOptions};
use crate::client::requests::Requests;
use crate::client::responses::Responses;
use crate::engine::Engine;
use crate::policy::Attempt;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower_service::Service;

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
        state: State<F, K, D>,
    }
}

pin_project! {
    #[project = Projected]
    enum State<F, K, D>
    where
        K: Client,
    {
        First {
            #[pin]
            attempt: F,
            rest: Option<Rest<K, D>>,
        },
        Drive { driver: D },
    }
}

/// The call besides its first attempt, while that is under way.
struct Rest<K: Client, D> {
    call: Call<K>,
    client: K,
    requests: K::Requests,
    drive: Drive<K, D>,
}

/// Puts the driver of a call into a box. Where its types are known, the compiler sees whether it may move between threads.
pub(super) type Drive<K, D> = fn(Driver<K>) -> D;

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
    pub(super) fn new(
        engine: Arc<Engine>,
        service: S,
        requests: C,
        mut request: Q,
        drive: Drive<ServiceClient<S, Q, X, C, A>, D>,
    ) -> Self {
        let mut client = ServiceClient::new(service);
        let extensions = C::head(&request).and_then(|head| head.extensions);
        let options = RequestOptions::of(extensions);
        let mut call = Call::new(engine, &mut request, options);
        let mut request = match call.enter(&requests, request) {
            Ok(request) => request,
            Err(request) => {
                let begin = Begin::Request(request);
                let driver = drive(Driver::new(call, client, requests, begin));
                return Self {
                    state: State::Drive { driver },
                };
            }
        };
        if let limit @ Some(_) = call.limit() {
            client.note_connection(&mut request, Attempt::new(1, limit));
        }
        let within = call.mark.polled(call.engine().id());
        let attempt = client.service.call(request);
        drop(within);
        let rest = Some(Rest {
            call,
            client,
            requests,
            drive,
        });
        Self {
            state: State::First { attempt, rest },
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
        let Some(first) = rest else {
            return Poll::Pending;
        };
        let poll = |cx: &mut Context<'_>| {
            let polled = attempt.poll(cx);
            polled.map(|result| result.map(A::keep).map_err(X::from_inner))
        };
        let begin = match first.call.poll_first(cx, poll) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(First::Succeeded(result)) => {
                *rest = None;
                return Poll::Ready(result);
            }
            Poll::Ready(First::Drive(begin)) => begin,
        };
        let Some(first) = rest.take() else {
            return Poll::Pending;
        };
        let driver = Driver::new(first.call, first.client, first.requests, begin);
        let driver = (first.drive)(driver);
        state.set(State::Drive { driver });
        self.poll(cx)
    }
}
