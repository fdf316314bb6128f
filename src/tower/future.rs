//! The future of one call: the first attempt in place, the loop boxed only if it comes to that.

use super::service::{Errors, ServiceTransport};
use crate::engine::Engine;
use crate::message::{Answer, Resend};
use crate::nested::Mark;
use crate::policy::RequestFacts;
use crate::retry_loop::{Call, Start};
use crate::route::Route;
use crate::wishes::{Wishes, facts};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tower_service::Service;

pin_project! {
    /// The future of a call to [`Retry`](super::Retry).
    ///
    /// # Cancel safety
    ///
    /// Dropping it ends the call: nothing more is sent, and the token of a retry that was not sent is back.
    pub struct RetryFuture<S, Q, X>
    where
        Q: Resend,
        S: Service<Q>,
        S::Response: Answer,
        X: Errors<S::Error>,
    {
        #[pin]
        state: State<S, Q, X>,
    }
}

type Outcomes<S, Q, X> = Result<
    <<S as Service<Q>>::Response as Answer>::Kept,
    <X as Errors<<S as Service<Q>>::Error>>::Error,
>;

type Loop<S, Q, X> = Pin<Box<dyn Future<Output = Outcomes<S, Q, X>> + Send>>;

pin_project! {
    #[project = Projected]
    enum State<S, Q, X>
    where
        Q: Resend,
        S: Service<Q>,
        S::Response: Answer,
        X: Errors<S::Error>,
    {
        First {
            #[pin]
            attempt: S::Future,
            rest: Option<Rest<S, Q>>,
        },
        Loop { attempts: Loop<S, Q, X> },
    }
}

/// What the loop needs should the first attempt not be a success.
struct Rest<S, Q: Resend> {
    engine: Arc<Engine>,
    route: Arc<Route>,
    service: S,
    spare: Option<Q::Spare>,
    facts: RequestFacts,
    nested: bool,
    repeats: bool,
    started: Duration,
}

enum Next<O, L> {
    Done(O),
    Loop(L),
}

impl<S, Q, X> RetryFuture<S, Q, X>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Send + 'static,
    S::Response: Answer + 'static,
    <S::Response as Answer>::Kept: 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    pub(super) fn new(engine: Arc<Engine>, mut service: S, mut request: Q) -> Self {
        let mut wishes = Wishes::of(request.extensions());
        let route = wishes.route(&engine, &request);
        let started = engine.runtime.now();
        let facts = facts(&engine, &mut request);
        if !wishes.is_plain() || !engine.is_silent(&route) {
            let transport = ServiceTransport::<S, Q, X>::new(&engine, service);
            let progress = wishes.progress((engine, route), Some(&request), facts, started);
            let call = Call {
                transport,
                progress,
            };
            let attempts: Loop<S, Q, X> = Box::pin(call.run(Start::Request(request)));
            return Self {
                state: State::Loop { attempts },
            };
        }
        let repeats = wishes.may_retry(&route);
        let (request, spare) = match repeats {
            true => request.spare(engine.recorded),
            false => (request, None),
        };
        let attempt = {
            let _mark = Mark::of(repeats);
            service.call(request)
        };
        let rest = Some(Rest {
            engine,
            route,
            service,
            spare,
            facts,
            nested: wishes.nested,
            repeats,
            started,
        });
        Self {
            state: State::First { attempt, rest },
        }
    }
}

/// Counts a success, or hands over to the loop.
fn after_first<S, Q, X>(
    rest: Rest<S, Q>,
    result: Result<S::Response, S::Error>,
) -> Next<Outcomes<S, Q, X>, Loop<S, Q, X>>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Send + 'static,
    S::Response: Answer + 'static,
    <S::Response as Answer>::Kept: 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    let Rest {
        engine,
        route,
        service,
        spare,
        facts,
        nested,
        repeats,
        started,
    } = rest;
    let result = match result {
        Ok(response) if route.is_success(response.status(), response.headers()) => {
            if repeats {
                route.deposit(started);
            }
            return Next::Done(Ok(response.keep()));
        }
        result => result.map(Answer::keep).map_err(X::from_inner),
    };
    let transport = ServiceTransport::<S, Q, X>::new(&engine, service);
    let request = spare.as_ref().map(Q::head);
    let progress = Wishes::none(nested).progress((engine, route), request, facts, started);
    let call = Call {
        transport,
        progress,
    };
    Next::Loop(Box::pin(call.run(Start::Ended {
        result,
        spare,
        started,
    })))
}

impl<S, Q, X> Future for RetryFuture<S, Q, X>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Send + 'static,
    S::Response: Answer + 'static,
    <S::Response as Answer>::Kept: 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    type Output = Outcomes<S, Q, X>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let attempts = match state.as_mut().project() {
                Projected::Loop { attempts } => return attempts.as_mut().poll(cx),
                Projected::First { attempt, rest } => {
                    let result = {
                        let repeats = rest.as_ref().is_some_and(|rest| rest.repeats);
                        let _mark = Mark::of(repeats);
                        ready!(attempt.poll(cx))
                    };
                    match rest.take() {
                        None => return Poll::Pending,
                        Some(rest) => match after_first::<S, Q, X>(rest, result) {
                            Next::Done(result) => return Poll::Ready(result),
                            Next::Loop(attempts) => attempts,
                        },
                    }
                }
            };
            state.set(State::Loop { attempts });
        }
    }
}
