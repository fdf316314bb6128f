//! The only loop: attempt, decide, let go, wait, again.

mod after_attempt;
mod at_gate;
mod ending;
mod failover;
mod paying;
mod progress;
mod reading;
mod time_limit;
mod transport;
mod wait;
mod whole_answers;

pub(crate) use progress::RequestHead;
pub(crate) use progress::{Admission, Progress};
pub(crate) use time_limit::CutFirst;
pub(crate) use transport::{Repeat, Saved, Sender, Transport};

use crate::budget::PaidRetry;
use crate::gate::Kind;
use crate::nested::AttemptMark;
use crate::policy::{ErrorKind, Stop, StopReason, Verdict};
use crate::report::RequestFailed;
use ending::LastWord;
use reading::{Found, Needs};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Context;
use std::time::Duration;
use time_limit::Limit;

/// One request on its way, and the client that it goes through.
pub(crate) struct Call<T: Transport> {
    pub(crate) transport: T,
    pub(crate) progress: Progress,
}

/// What an attempt has led to.
pub(crate) type Outcomes<T> = Result<<T as Sender>::Response, <T as Sender>::Error>;

/// What follows from an attempt: the end of the request, or a retry that is paid for.
enum Step<T: Transport> {
    Stop(Outcomes<T>, Stop),
    Retry {
        paid: PaidRetry,
        due: Duration,
        /// Nothing where the attempt was cut short and the client's error type cannot say that.
        last: Option<Outcomes<T>>,
        saved: Box<Saved<T>>,
    },
}

impl<T: Transport> Step<T> {
    /// The error that a retry follows.
    fn last_error(&self) -> Option<&T::Error> {
        match self {
            Self::Retry { last, .. } => last.as_ref()?.as_ref().err(),
            Self::Stop(..) => None,
        }
    }
}

impl<T: Transport> Call<T> {
    /// Makes attempts until one succeeds or a gate refuses the next.
    ///
    /// Very many calls may wait at once for the first of them, or be under way. So an attempt has a box of its own, which is
    /// made when a call may go, what follows a failure has another, and nothing is kept twice, as the arguments of an
    /// `async fn` are.
    #[expect(clippy::manual_async_fn, reason = "its arguments would be kept twice")]
    pub(crate) fn run(mut self, request: T::Request) -> impl Future<Output = Outcomes<T>> {
        async move {
            if let Err((result, why)) = self.first_turn().await {
                let stop = self.progress.session.stop(why);
                return self.stop(result, stop);
            }
            let (result, stop) = match Box::pin(self.first_attempt(request)).await {
                Step::Stop(result, stop) => (result, stop),
                step => Box::pin(self.follow(step)).await,
            };
            self.stop(result, stop)
        }
    }

    /// The same after a first attempt that somebody else has made, with what the policy's own classifier has said of it.
    #[expect(clippy::manual_async_fn, reason = "its arguments would be kept twice")]
    pub(crate) fn go_on(
        mut self,
        ended: (Outcomes<T>, Option<Verdict>),
        saved: Option<Box<Saved<T>>>,
        started: Duration,
    ) -> impl Future<Output = Outcomes<T>> {
        async move {
            let (_, attempt) = self.progress.attempt_starts(started);
            let limit = Limit::of(attempt, started);
            let step = Box::pin(self.judge(ended, saved, limit)).await;
            let (result, stop) = self.follow(step).await;
            self.stop(result, stop)
        }
    }

    /// The same after a first attempt that was cut.
    pub(crate) async fn go_on_after_cut(transport: T, first: Box<CutFirst<T>>) -> Outcomes<T> {
        let CutFirst { progress, cut } = *first;
        let mut call = Self {
            transport,
            progress,
        };
        call.leave_connection(None);
        let step = call.progress.after_first_cut(cut).await;
        let (result, stop) = call.follow(step).await;
        call.stop(result, stop)
    }

    fn first_attempt(&mut self, request: T::Request) -> impl Future<Output = Step<T>> {
        let (request, saved) = match self.progress.session.may_retry() {
            true => request.save(self.progress.engine.recorded),
            false => (request, None),
        };
        self.attempt(request, saved)
    }

    /// Makes the attempts that follow, up to the end of the request.
    #[expect(clippy::manual_async_fn, reason = "its arguments would be kept twice")]
    fn follow(&mut self, mut step: Step<T>) -> impl Future<Output = (Outcomes<T>, Stop)> {
        async move {
            loop {
                let next = match step {
                    Step::Stop(result, stop) => return (result, stop),
                    Step::Retry {
                        paid,
                        due,
                        last,
                        saved,
                    } => self.wait(paid, due, last, saved).await,
                };
                step = match next {
                    Ok((request, saved)) => Box::pin(self.attempt(request, saved)).await,
                    Err((result, why)) => return (result, self.progress.session.stop(why)),
                };
            }
        }
    }

    /// Waits at the gate before the first attempt. The client was ready for it; who waits holds no place of the client, and
    /// takes one afterwards.
    async fn first_turn(&mut self) -> Result<(), (Outcomes<T>, StopReason)> {
        let Self {
            transport,
            progress,
        } = &mut *self;
        let mut released = false;
        let release_readiness = || released = transport.release_readiness();
        let in_time = progress
            .pass_the_gate(Kind::Newcomer, release_readiness)
            .await;
        let ready = match (in_time, released) {
            (true, false) => return Ok(()),
            (true, true) => self.ready_in_time().await,
            (false, _) => None,
        };
        let ready = match ready {
            Some(ready) => ready,
            None => match self.out_of_time(None) {
                Some(result) => return Err((result, StopReason::DeadlineExceeded)),
                None => self.transport.ready().await,
            },
        };
        ready.map_err(|error| (Err(error), StopReason::NotReady))
    }

    #[expect(clippy::manual_async_fn, reason = "its arguments would be kept twice")]
    fn attempt(
        &mut self,
        request: T::Request,
        saved: Option<Box<Saved<T>>>,
    ) -> impl Future<Output = Step<T>> {
        async move {
            let Self {
                transport,
                progress,
            } = &mut *self;
            let now = progress.engine.runtime.now();
            let (span, attempt) = progress.attempt_starts(now);
            let mark = AttemptMark::new(progress.session.repeats());
            let layer = progress.engine.id();
            let sent = {
                // The start and every poll are marked, for retry layers further in.
                let send = || transport.send(request, attempt);
                let mut sent = pin!(mark.around(layer, || span.around(send)));
                let poll = |cx: &mut Context<'_>| {
                    mark.around(layer, || span.around(|| sent.as_mut().poll(cx)))
                };
                let sent = pin!(poll_fn(poll));
                progress
                    .limited::<T>(sent, &mark, attempt.limit(), saved)
                    .await
            };
            match sent {
                Ok((result, saved)) => {
                    self.progress.mark = mark;
                    let limit = Limit::of(attempt, now);
                    Box::pin(self.judge((result, None), saved, limit)).await
                }
                Err(step) => {
                    self.leave_connection(None);
                    *step
                }
            }
        }
    }

    /// What follows from a result, which is looked into only where a rule needs that, or its answer is read whole, by the
    /// time that its attempt must be over. What the policy's own classifier has said of it counts, until there is more to see.
    async fn judge(
        &mut self,
        (result, said): (Outcomes<T>, Option<Verdict>),
        saved: Option<Box<Saved<T>>>,
        limit: Option<Limit>,
    ) -> Step<T> {
        let Self {
            transport,
            progress,
        } = &mut *self;
        let request = progress.session.request();
        let of = (&result, request.as_deref());
        let outcome = progress.unread(transport, of, saved.as_deref());
        let (known, needs) = progress.needs(outcome, said);
        let (result, saved) = match progress.reads_whole::<T>(&result, &known) {
            false => (result, saved),
            true => match Box::pin(progress.read_whole::<T>(result, saved, limit)).await {
                Ok(read) => read,
                Err(step) => {
                    self.leave_connection(None);
                    return step;
                }
            },
        };
        let seen = match needs {
            Needs::Nothing => (result, Found::Nothing),
            Needs::ErrorBody => Box::pin(progress.read::<T>(result, known.error_kind())).await,
            Needs::Stream(look) => Box::pin(progress.hold::<T>(result, look, limit)).await,
        };
        let leaves = known.error_kind().is_some_and(ErrorKind::is_of_connection);
        let step = progress.step(known, seen, saved).await;
        if let (true, Some(error)) = (leaves, step.last_error()) {
            self.leave_connection(Some(error));
        }
        step
    }

    fn leave_connection(&mut self, error: Option<&T::Error>) {
        let policy = self.progress.session.policy();
        self.transport.leave_connection(policy, error);
    }

    /// The end of the request: its report is told, and the caller gets the last outcome or what the policy puts in its
    /// place.
    fn stop(self, result: Outcomes<T>, stop: Stop) -> Outcomes<T> {
        let (report, last_word) = self.progress.stop(stop);
        let mut result = match (last_word, result) {
            (LastWord::Respond(canned, url), result) => T::canned(&canned, &url).map_or(result, Ok),
            (LastWord::Fail(report), Ok(response)) => {
                T::failed(RequestFailed::new(report)).map_or(Ok(response), Err)
            }
            (_, result) => result,
        };
        if let (Ok(response), Some(report)) = (&mut result, report) {
            T::attach(response, report);
        }
        result
    }
}
