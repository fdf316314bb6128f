//! The future of one call: makes the first attempt in place, and boxes the loop only after a failure.

use super::boxed_loop::{AnyThread, BoxLoop, Outcomes, Rest};
use super::errors::Errors;
#[cfg(feature = "hyper")]
use crate::client::connection::ConnectionUsed;
use crate::client::first_attempt::StartedRequest;
use crate::client::options::RequestOptions;
use crate::client::{Answer, Resend};
use crate::engine::Engine;
use crate::error::AttemptTimeout;
#[cfg(feature = "hyper")]
use crate::policy::Attempt;
use crate::retry_loop::Admission;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

pin_project! {
    /// The future of a call to [`Retry`](super::Retry).
    ///
    /// # Cancel safety
    ///
    /// Dropping it ends the call: nothing more is sent, and the tokens of an unsent retry go back to the budget.
    pub struct RetryFuture<S, Q, X, H = AnyThread>
    where
        Q: Resend,
        S: Service<Q>,
        S::Response: Answer,
        X: Errors<S::Error>,
        H: BoxLoop<S, Q, X>,
    {
        #[pin]
        state: State<S, Q, X, H>,
    }
}

pin_project! {
    #[project = Projected]
    enum State<S, Q, X, H>
    where
        Q: Resend,
        S: Service<Q>,
        S::Response: Answer,
        X: Errors<S::Error>,
        H: BoxLoop<S, Q, X>,
    {
        First {
            #[pin]
            attempt: S::Future,
            rest: Option<Rest<S, Q>>,
        },
        Loop { attempts: H::Loop },
    }
}

impl<S, Q, X, H> RetryFuture<S, Q, X, H>
where
    Q: Resend + Send + 'static,
    S: Service<Q>,
    S::Response: Answer,
    S::Error: 'static,
    X: Errors<S::Error>,
    H: BoxLoop<S, Q, X>,
{
    pub(super) fn new(engine: Arc<Engine>, mut service: S, mut request: Q) -> Self {
        let options = RequestOptions::of(request.extensions());
        let mut started = StartedRequest::new(&engine, &mut request, options);
        let says_cuts = || X::from_own(AttemptTimeout::new(Duration::ZERO)).is_some();
        let admission = match started.enter(engine, &mut request, says_cuts) {
            Ok(admission) => admission,
            Err(engine) => {
                let rest = Rest {
                    admission: Admission::new(engine, None),
                    request: started,
                    service,
                };
                let attempts = H::every_attempt(rest, request);
                return Self {
                    state: State::Loop { attempts },
                };
            }
        };
        #[cfg(feature = "hyper")]
        if let limit @ Some(_) = started.limit() {
            let attempt = Attempt::new(1, limit);
            if let Some(used) = ConnectionUsed::of::<S::Error>(attempt, &mut request) {
                started.limited().connection = Some(Box::new(used));
            }
        }
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

impl<S, Q, X, H> Future for RetryFuture<S, Q, X, H>
where
    Q: Resend + Send + 'static,
    S: Service<Q>,
    S::Response: Answer,
    X: Errors<S::Error>,
    H: BoxLoop<S, Q, X>,
{
    type Output = Outcomes<S, Q, X>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.as_mut().project().state;
        let (attempt, rest) = match state.as_mut().project() {
            Projected::Loop { attempts } => return Pin::new(attempts).poll(cx),
            Projected::First { attempt, rest } => (attempt, rest),
        };
        let Some(first) = rest else {
            return Poll::Pending;
        };
        let within = first.request.mark.polled(first.admission.engine.id());
        let polled = attempt.poll(cx);
        drop(within);
        let Poll::Ready(result) = polled else {
            if first.request.is_late(&first.admission.engine, cx) {
                if let Some(attempts) = H::after_late_attempt(rest) {
                    state.set(State::Loop { attempts });
                    return self.poll(cx);
                }
            }
            return Poll::Pending;
        };
        let answer = result.as_ref().ok();
        let Err(said) = first.request.succeeds(&mut first.admission, answer) else {
            *rest = None;
            return Poll::Ready(result.map(Answer::keep).map_err(X::from_inner));
        };
        let Some(first) = rest.take() else {
            return Poll::Pending;
        };
        let attempts = H::later_attempts(first, (result, said));
        state.set(State::Loop { attempts });
        self.poll(cx)
    }
}
