//! The future of one call: makes the first attempt in place, and boxes the loop only after a failure.

use super::service::{Errors, ServiceTransport};
use crate::client::first_attempt::StartedRequest;
use crate::client::options::RequestOptions;
use crate::client::{Answer, Resend};
use crate::engine::Engine;
use crate::policy::Verdict;
use crate::retry_loop::Admission;
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

/// What the loop needs if the first attempt fails.
struct Rest<S, Q: Resend> {
    admission: Admission,
    request: StartedRequest<Q>,
    service: S,
}

impl<S, Q, X> RetryFuture<S, Q, X>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone + Send + 'static,
    S::Response: Answer + 'static,
    <S::Response as Answer>::Kept: 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    pub(super) fn new(engine: Arc<Engine>, mut service: S, mut request: Q) -> Self {
        let options = RequestOptions::of(request.extensions());
        let mut started = StartedRequest::new(&engine, &mut request, options);
        let admission = match started.enter(engine, &mut request) {
            Ok(admission) => admission,
            Err(engine) => {
                let attempts = every_attempt::<S, Q, X>(engine, service, started, request);
                return Self {
                    state: State::Loop { attempts },
                };
            }
        };
        let within = started.mark.polled(admission.engine.id());
        let attempt = service.call(request);
        drop(within);
        Self {
            state: State::First {
                attempt,
                rest: Some(Rest {
                    admission,
                    request: started,
                    service,
                }),
            },
        }
    }
}

/// The loop, before the first attempt.
#[cold]
#[inline(never)]
fn every_attempt<S, Q, X>(
    engine: Arc<Engine>,
    service: S,
    started: StartedRequest<Q>,
    request: Q,
) -> Loop<S, Q, X>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone + Send + 'static,
    S::Response: Answer + 'static,
    <S::Response as Answer>::Kept: 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    let transport = ServiceTransport::<S, Q, X>::new(&engine, service);
    Box::pin(started.run(engine, transport, request))
}

/// The loop, after a first attempt that failed.
#[cold]
#[inline(never)]
fn later_attempts<S, Q, X>(
    rest: Rest<S, Q>,
    result: Result<S::Response, S::Error>,
    said: Option<Verdict>,
) -> Loop<S, Q, X>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone + Send + 'static,
    S::Response: Answer + 'static,
    <S::Response as Answer>::Kept: 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    let engine = Arc::clone(&rest.admission.engine);
    let admission = rest.admission.held_by(Arc::clone(&engine));
    let transport = ServiceTransport::<S, Q, X>::new(&engine, rest.service);
    let result = result.map(Answer::keep).map_err(X::from_inner);
    let attempts = rest
        .request
        .go_on(engine, transport, admission, (result, said));
    Box::pin(attempts)
}

impl<S, Q, X> Future for RetryFuture<S, Q, X>
where
    Q: Resend + Send + 'static,
    S: Service<Q> + Clone + Send + 'static,
    S::Response: Answer + 'static,
    <S::Response as Answer>::Kept: 'static,
    S::Future: Send,
    S::Error: Send + 'static,
    X: Errors<S::Error> + 'static,
    X::Error: Send + 'static,
{
    type Output = Outcomes<S, Q, X>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.as_mut().project().state;
        let (attempt, rest) = match state.as_mut().project() {
            Projected::Loop { attempts } => return attempts.as_mut().poll(cx),
            Projected::First { attempt, rest } => (attempt, rest),
        };
        let Some(first) = rest else {
            return Poll::Pending;
        };
        let within = first.request.mark.polled(first.admission.engine.id());
        let result = ready!(attempt.poll(cx));
        drop(within);
        let answer = result.as_ref().ok();
        let Err(said) = first.request.succeeds(&mut first.admission, answer) else {
            *rest = None;
            return Poll::Ready(result.map(Answer::keep).map_err(X::from_inner));
        };
        let Some(first) = rest.take() else {
            return Poll::Pending;
        };
        let attempts = later_attempts::<S, Q, X>(first, result, said);
        state.set(State::Loop { attempts });
        self.poll(cx)
    }
}
