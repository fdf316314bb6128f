//! The future of one call: makes the first attempt in place, and boxes the loop only after a failure.

use super::service::{Errors, ServiceTransport};
use crate::client::options::{Admitted, RequestOptions, facts, give_key};
use crate::client::{Answer, Resend};
use crate::engine::Engine;
use crate::gate::NotIdle;
use crate::nested::AttemptMark;
use crate::policy::{RequestFacts, Verdict};
use crate::retry_loop::{Call, FirstAttempt};
use crate::route::Route;
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
    admitted: Admitted<Arc<Engine>>,
    route: Arc<Route>,
    service: S,
    saved: Option<Q::Saved>,
    /// The facts of a request that is not saved.
    unkept: Option<RequestFacts>,
    wishes: RequestOptions,
    mark: AttemptMark,
    started: Duration,
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
        let mut wishes = RequestOptions::of(request.extensions());
        let route = wishes.route(&engine, &request);
        let started = engine.runtime.now();
        give_key(&engine, &mut request);
        let quiet = wishes.is_plain() && engine.is_silent(&route);
        let entered = match quiet {
            true => wishes.enter(engine, &route, &request, started),
            false => Err((engine, NotIdle)),
        };
        let admitted = match entered {
            Ok(admitted) => admitted,
            Err((engine, NotIdle)) => {
                let began = (&wishes, started);
                let attempts =
                    loop_from_the_start::<S, Q, X>(engine, route, service, request, began);
                return Self {
                    state: State::Loop { attempts },
                };
            }
        };
        let mark = AttemptMark::new(wishes.may_retry(&route));
        let saved = match mark.repeats() {
            true => request.save_in_place(admitted.engine.recorded),
            false => None,
        };
        let unkept = match saved {
            Some(_) => None,
            None => Some(facts(&request)),
        };
        let attempt = mark.around(admitted.engine.id(), || service.call(request));
        Self {
            state: State::First {
                attempt,
                rest: Some(Rest {
                    admitted,
                    route,
                    service,
                    saved,
                    unkept,
                    wishes,
                    mark,
                    started,
                }),
            },
        }
    }
}

/// The loop, before the first attempt.
#[cold]
#[inline(never)]
fn loop_from_the_start<S, Q, X>(
    engine: Arc<Engine>,
    route: Arc<Route>,
    service: S,
    request: Q,
    (wishes, started): (&RequestOptions, Duration),
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
    let progress = wishes.progress((engine, route), Some(&request), facts(&request), started);
    let call = Call {
        transport,
        progress,
    };
    Box::pin(call.run(request))
}

impl<S, Q> Rest<S, Q>
where
    Q: Resend,
    S: Service<Q> + Clone,
    S::Response: Answer,
{
    /// Counts the result if it is a success that needs nothing more; else returns the verdict so far.
    fn succeeds(&mut self, result: &Result<S::Response, S::Error>) -> Result<(), Option<Verdict>> {
        let response = result.as_ref().map_err(|_| None)?;
        self.route.succeeds(response.status(), response.headers())?;
        if self.mark.repeats() {
            self.route.deposit(self.started);
            let asked = self.saved.as_ref().map(Q::head).and_then(Q::url);
            let redirects = &self.admitted.engine.redirects;
            redirects.check(&self.mark, asked.zip(response.url()));
        }
        self.admitted.succeeded(&self.route, response.headers());
        Ok(())
    }

    /// The loop, after a first attempt that failed.
    #[cold]
    #[inline(never)]
    fn into_loop<X>(
        self,
        result: Result<S::Response, S::Error>,
        said: Option<Verdict>,
    ) -> Loop<S, Q, X>
    where
        Q: Send + 'static,
        S: Send + 'static,
        S::Response: 'static,
        <S::Response as Answer>::Kept: 'static,
        S::Future: Send,
        S::Error: Send + 'static,
        X: Errors<S::Error> + 'static,
        X::Error: Send + 'static,
    {
        let Self {
            admitted,
            route,
            service,
            saved,
            unkept,
            wishes,
            mark,
            started,
        } = self;
        let engine = Arc::clone(&admitted.engine);
        let admission = admitted.into_admission(&route);
        let transport = ServiceTransport::<S, Q, X>::new(&engine, service);
        let request = saved.as_ref().map(Q::head);
        let facts = request.map(facts).or(unkept);
        let facts = facts.unwrap_or_else(RequestFacts::operation);
        let mut progress = wishes.progress((engine, route), request, facts, started);
        progress.admission = admission;
        let call = Call {
            transport,
            progress,
        };
        Box::pin(call.go_on(FirstAttempt {
            result: result.map(Answer::keep).map_err(X::from_inner),
            said,
            saved,
            mark,
            started,
        }))
    }
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
        let layer = first.admitted.engine.id();
        let result = ready!(first.mark.around(layer, || attempt.poll(cx)));
        let Err(said) = first.succeeds(&result) else {
            *rest = None;
            return Poll::Ready(result.map(Answer::keep).map_err(X::from_inner));
        };
        let Some(first) = rest.take() else {
            return Poll::Pending;
        };
        let attempts = first.into_loop::<X>(result, said);
        state.set(State::Loop { attempts });
        self.poll(cx)
    }
}
