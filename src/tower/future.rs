//! The future of a call: one state machine for its first attempt and for later ones.

use super::service::{ErrorOf, ServiceClient};
use crate::call::{AttemptResult, Call, Client};
use crate::client::errors::Errors;
use crate::client::requests::Requests;
use crate::client::responses::{ErrorForm, Responses};
use crate::engine::Engine;
use http_retry_core::adapter::{RequestSettings, Todo};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tower_service::Service;

pin_project! {
    /// The future of a call to [`Retry`](super::Retry).
    ///
    /// # Cancel safety
    ///
    /// Dropping it ends the call: nothing more is sent, and the tokens of an unsent retry go back to the budget.
    pub struct RetryFuture<F, K>
    where
        K: Client,
    {
        #[pin]
        state: State<F>,
        call: Call<K>,
        client: K,
        copies: K::Requests,
        // `true` while the service was polled ready and has not got the request that this was for: for a first attempt
        // that is delayed, until the wait gives the place back; for a retry from the next `poll_ready` on.
        is_reserved: bool,
    }
}

pin_project! {
    #[project = Projected]
    enum State<F> {
        // Waits for its turn at a gate, for a fleet, or for the time of a retry.
        Waiting,
        // Waits until the service is ready.
        NotReady,
        Attempt {
            #[pin]
            attempt: F,
            // `true` while it is decided what follows the attempt, which was cut.
            is_cut: bool,
        },
        // Reads a part of a response.
        Reading,
        Done,
    }
}

type ResultOf<S, Q, C, A> = AttemptResult<ServiceClient<S, Q, C, A>>;

impl<S, Q, C, A> RetryFuture<S::Future, ServiceClient<S, Q, C, A>>
where
    Q: 'static,
    S: Service<Q> + Clone,
    S::Response: 'static,
    S::Error: 'static,
    C: Requests<Q>,
    A: Responses<S::Response, Returned: 'static> + ErrorForm,
    A::Errors: Errors<S::Error, Error: 'static>,
{
    /// Begins a call. Its first attempt is sent here, not at the first poll, unless it must wait.
    #[inline]
    pub(super) fn new(
        engine: Arc<Engine>,
        mut client: ServiceClient<S, Q, C, A>,
        copies: C,
        mut request: Q,
    ) -> Self {
        let extensions = C::head(&request).and_then(|head| head.extensions);
        let own = RequestSettings::from_extensions(extensions);
        let mut call = Call::new(engine, own, &mut request);
        let state = match call.start(&request) {
            Todo::Send => {
                let request = call.save(&copies, request);
                let attempt = Self::send(&mut call, &mut client, request);
                let is_cut = false;
                State::Attempt { attempt, is_cut }
            }
            _ => {
                call.delay(request);
                State::Waiting
            }
        };
        Self {
            // The caller's `poll_ready` covers the first attempt only.
            is_reserved: matches!(state, State::Waiting),
            state,
            call,
            client,
            copies,
        }
    }

    /// Sends an attempt. An inner layer may look at the mark as early as in `call`.
    #[inline(always)]
    fn send(
        call: &mut Call<ServiceClient<S, Q, C, A>>,
        client: &mut ServiceClient<S, Q, C, A>,
        mut request: Q,
    ) -> S::Future {
        let (attempt, _) = call.attempt(&mut request);
        client.capture_connection(&mut request, attempt);
        call.exchange.around(|| client.service.call(request))
    }

    /// Does what needs no poll. Returns the result of a call that is over.
    #[cold]
    fn step(mut self: Pin<&mut Self>, mut todo: Todo) -> Option<ResultOf<S, Q, C, A>> {
        loop {
            let mut this = self.as_mut().project();
            let call = &mut *this.call;
            todo = match todo {
                // The same todo again once the service is ready.
                Todo::Send if !*this.is_reserved => {
                    this.state.set(State::NotReady);
                    return None;
                }
                Todo::Send => match call.next_request(this.copies) {
                    Ok(request) => {
                        let attempt = Self::send(call, this.client, request);
                        let is_cut = false;
                        this.state.set(State::Attempt { attempt, is_cut });
                        *this.is_reserved = false;
                        return None;
                    }
                    Err(todo) => todo,
                },
                Todo::Wait | Todo::Ask => {
                    this.state.set(State::Waiting);
                    return None;
                }
                Todo::Read { part, until } => match call.begin_read(part, until) {
                    Ok(()) => {
                        this.state.set(State::Reading);
                        return None;
                    }
                    Err(todo) => todo,
                },
                Todo::Prepare => {
                    // Drops the attempt, which may have been cut. Nothing waits yet.
                    this.state.set(State::Waiting);
                    call.prepare(this.client)
                }
                Todo::Stay | Todo::Done => {
                    this.state.set(State::Done);
                    return call.finish_held();
                }
            };
        }
    }
}

impl<S, Q, C, A> Future for RetryFuture<S::Future, ServiceClient<S, Q, C, A>>
where
    Q: 'static,
    S: Service<Q> + Clone,
    S::Response: 'static,
    S::Error: 'static,
    C: Requests<Q>,
    A: Responses<S::Response, Returned: 'static> + ErrorForm,
    A::Errors: Errors<S::Error, Error: 'static>,
{
    type Output = Result<A::Returned, ErrorOf<S, Q, A>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let mut this = self.as_mut().project();
            let (call, client) = (&mut *this.call, &mut *this.client);
            let todo = match this.state.as_mut().project() {
                Projected::Attempt { attempt, is_cut } if !*is_cut => {
                    match call.exchange.around(|| attempt.poll(cx)) {
                        Poll::Ready(result) => {
                            let result = result.map(A::returned).map_err(A::Errors::from_inner);
                            match call.ended(client, &result) {
                                Todo::Done => {
                                    this.state.set(State::Done);
                                    return Poll::Ready(call.finish(result));
                                }
                                todo => {
                                    call.hold(result);
                                    todo
                                }
                            }
                        }
                        Poll::Pending => {
                            ready!(call.exchange.poll_limit(cx));
                            match call.cut() {
                                Todo::Stay => continue,
                                Todo::Ask => {
                                    *is_cut = true;
                                    continue;
                                }
                                todo => call.abandon(client, todo),
                            }
                        }
                    }
                }
                Projected::Attempt { is_cut, .. } => match ready!(call.poll_wait(cx)) {
                    Todo::Stay => {
                        *is_cut = false;
                        continue;
                    }
                    todo => call.abandon(client, todo),
                },
                Projected::Waiting => match call.poll_wait(cx) {
                    Poll::Ready(todo) => todo,
                    Poll::Pending => {
                        if *this.is_reserved {
                            client.release();
                            *this.is_reserved = false;
                        }
                        return Poll::Pending;
                    }
                },
                Projected::NotReady => {
                    let service = &mut client.service;
                    let poll = |cx: &mut Context<'_>| {
                        service.poll_ready(cx).map_err(A::Errors::from_inner)
                    };
                    match ready!(call.poll_ready(poll, cx)) {
                        Ok(()) => {
                            *this.is_reserved = true;
                            Todo::Send
                        }
                        Err(todo) => todo,
                    }
                }
                Projected::Reading => ready!(call.poll_read(client, cx)),
                // Polled after completion, which `Future` leaves open, or there is nothing to return.
                Projected::Done => return Poll::Pending,
            };
            if let Some(result) = self.as_mut().step(todo) {
                return Poll::Ready(result);
            }
        }
    }
}
