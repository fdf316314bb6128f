//! How far one request has come: what each attempt's end leads to.

use super::{Judging, Transport};
use crate::budget::{PaidRetry, RetryBudget};
use crate::engine::Engine;
use crate::error::AttemptTimeout;
use crate::observe::{AttemptSpan, RetryReport, Story};
use crate::policy::{
    Attempt, Class, Decision, ErrorKind, Moment, Outcome, RetrySession, StopReason,
};
use crate::runtime::within;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// How far a request has come.
pub(crate) struct Progress {
    pub(crate) engine: Arc<Engine>,
    pub(crate) session: RetrySession,
    pub(crate) budget: RetryBudget,
    pub(crate) story: Story,
}

/// How an attempt that may have a time limit ended.
pub(super) enum Sent<T: Transport> {
    Done(Result<T::Response, T::Error>, Option<T::Spare>),
    Cut(T::Error, StopReason),
    CutForRetry(Planned, T::Spare),
}

/// A retry that is paid for, and when it is due.
pub(super) struct Planned {
    pub(super) paid: PaidRetry,
    pub(super) due: Duration,
}

/// What follows from an attempt.
pub(super) enum Step<T: Transport> {
    Stop(Result<T::Response, T::Error>, StopReason),
    Retry {
        planned: Planned,
        /// Nothing where the attempt was cut short.
        last: Option<Result<T::Response, T::Error>>,
        spare: T::Spare,
    },
}

impl Progress {
    /// What is left of the deadline, if there is one.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let now = self.engine.runtime.now();
        let deadline = self.session.deadline();
        deadline.map(|deadline| deadline.saturating_sub(now))
    }

    pub(super) fn attempt_starts(&mut self, now: Duration) -> (AttemptSpan, Attempt) {
        let span = self.story.attempt_started(now);
        let limit = self.session.attempt_limit(now);
        (span, Attempt::new(self.story.number(), limit))
    }

    /// Waits for an attempt, but past its limit only where there is nothing else to do.
    pub(super) async fn limited<T: Transport>(
        &mut self,
        sent: impl Future<Output = Result<T::Response, T::Error>> + Send,
        limit: Option<Duration>,
        spare: Option<T::Spare>,
    ) -> Sent<T> {
        let mut sent = pin!(sent);
        let Some(limit) = limit else {
            return Sent::Done(sent.await, spare);
        };
        let timer = self.engine.runtime.sleep(limit);
        if let Some(result) = within(timer, sent.as_mut()).await {
            return Sent::Done(result, spare);
        }
        let whole = spare
            .as_ref()
            .is_some_and(|spare| T::can_resend(spare, false));
        self.session.set_replayable(whole);
        let timeout = self
            .engine
            .policy
            .classify(Outcome::error(ErrorKind::Timeout));
        let at = self.engine.runtime.moment();
        let (decided, spare) = match (self.decide(&timeout, at), spare) {
            (Ok(planned), Some(spare)) => {
                self.tell(&timeout, at);
                return Sent::CutForRetry(planned, spare);
            }
            undecided => undecided,
        };
        match T::cut(AttemptTimeout::new(limit)) {
            Some(error) => {
                self.tell(&timeout, at);
                Sent::Cut(
                    error,
                    decided.err().unwrap_or(StopReason::BodyNotReplayable),
                )
            }
            // Nothing could report a timeout: what comes of the attempt is judged when it comes.
            None => Sent::Done(sent.await, spare),
        }
    }

    pub(super) fn step<T: Transport>(
        &mut self,
        transport: &T,
        result: Result<T::Response, T::Error>,
        spare: Option<T::Spare>,
    ) -> Step<T> {
        let whole = spare
            .as_ref()
            .is_some_and(|spare| T::can_resend(spare, result.is_ok()));
        self.session.set_replayable(whole);
        let outcome = self.outcome(transport, &result, spare.as_ref());
        let at = self.engine.runtime.moment();
        let decided = self.decide(&outcome, at);
        self.tell(&outcome, at);
        match (decided, spare) {
            (Ok(planned), Some(spare)) => self.retry(planned, Some(result), spare),
            (Ok(_), None) => Step::Stop(result, StopReason::BodyNotReplayable),
            (Err(why), _) => Step::Stop(result, why),
        }
    }

    pub(super) fn retry<T: Transport>(
        &mut self,
        planned: Planned,
        last: Option<Result<T::Response, T::Error>>,
        mut spare: T::Spare,
    ) -> Step<T> {
        T::next_in_turn(&mut spare);
        self.story.retry_scheduled(&planned.paid, planned.due);
        Step::Retry {
            planned,
            last,
            spare,
        }
    }

    fn outcome<'a, T: Transport>(
        &self,
        transport: &T,
        result: &'a Result<T::Response, T::Error>,
        spare: Option<&T::Spare>,
    ) -> Outcome<'a> {
        let judging = Judging {
            policy: &self.engine.policy,
            idempotent: self.session.is_idempotent(),
            spare,
        };
        let outcome = transport.outcome(&judging, result);
        self.engine.policy.classify(outcome)
    }

    fn decide(&mut self, outcome: &Outcome<'_>, at: Moment) -> Result<Planned, StopReason> {
        let before = self.session.clone();
        match self.session.on_outcome(outcome, at) {
            Decision::Stop(why) => Err(why),
            Decision::Retry(plan) => match self.budget.withdraw(plan, at.now) {
                Ok(paid) => {
                    let due = at.now.saturating_add(paid.delay());
                    Ok(Planned { paid, due })
                }
                Err(why) => {
                    self.session = before;
                    Err(why)
                }
            },
        }
    }

    fn tell(&mut self, outcome: &Outcome<'_>, at: Moment) {
        if outcome.class() == Class::Success && self.session.repeats() {
            self.budget.deposit(at.now);
        }
        self.story.attempt_ended(outcome, at);
    }

    pub(super) fn stop(self, why: StopReason) -> Option<RetryReport> {
        let now = self.engine.runtime.now();
        let tokens_left = self.budget.snapshot(now).map(|budget| budget.tokens);
        self.story.stopped(why, now, tokens_left)
    }
}
