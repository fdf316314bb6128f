//! The steps after a break: a resume that the budget pays for at once, one that awaits the decision of a fleet, or the
//! end.

use super::{BodyBreak, Download};
use crate::body::ResumeState;
use crate::terms::{Payment, Refused};
use http_retry_core::budget::PaidRetry;
use http_retry_core::policy::ResumeFailure;
use http_retry_core::reading::OutcomeExt;
use http_retry_core::runtime::Sleep;
use http_retry_core::{ErrorKind, Outcome, StopReason};
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

type BoxError = Box<dyn Error + Send + Sync>;

/// A resume that awaits the decision of a fleet.
pub(crate) struct Question {
    answer: Pin<Box<dyn Future<Output = Option<PaidRetry>> + Send>>,
    /// The time when the body broke.
    at: Duration,
    /// The error that broke it, if any.
    error: Option<BoxError>,
}

impl<B> Download<B> {
    /// Plans a resume of a body that ended early.
    pub(crate) fn ended(&mut self) -> Result<ResumeState<B>, BoxError> {
        let outcome = Outcome::error(ErrorKind::Incomplete);
        self.plan_resume(outcome, None)
    }

    /// Plans a resume of a body that stalled.
    pub(crate) fn stalled(&mut self) -> Result<ResumeState<B>, BoxError> {
        let outcome = Outcome::error(ErrorKind::Timeout);
        self.plan_resume(outcome, None)
    }

    /// Plans a resume of a body that failed.
    pub(crate) fn failed(&mut self, error: BoxError) -> Result<ResumeState<B>, BoxError> {
        let outcome = self.sender.get().outcome(self.terms.policy(), &*error);
        self.plan_resume(outcome, Some(error))
    }

    /// Polls the fleet's decision. Returns the paid wait, or the final error if the fleet refuses.
    pub(crate) fn poll_answer(
        &mut self,
        question: &mut Question,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Sleep, BoxError>> {
        let answer = ready!(question.answer.as_mut().poll(cx));
        Poll::Ready(match answer {
            Some(paid) => Ok(self.apply(paid, question.at)),
            None => {
                let why = ResumeFailure::Stopped(StopReason::BudgetExhausted);
                Err(self.fail(why, question.error.take()))
            }
        })
    }

    fn plan_resume(
        &mut self,
        outcome: Outcome<'static>,
        error: Option<BoxError>,
    ) -> Result<ResumeState<B>, BoxError> {
        // The rest would be requested from the first service, which did not send the start.
        if self.is_from_elsewhere {
            return Err(self.fail(ResumeFailure::Changed, error));
        }
        // The last resume brought too little before this break, so its token is not returned.
        self.spend();
        let (at, kind) = (self.now(), outcome.error_kind());
        let kind = kind.unwrap_or(ErrorKind::Other);
        if kind.is_of_connection() {
            self.sender.get().leave_connection();
        }
        match self.pay(outcome, kind) {
            Err(Refused { why, by }) => {
                self.stopped_by = by;
                Err(self.fail(ResumeFailure::Stopped(why), error))
            }
            Ok(Payment::Paid(paid)) => Ok(ResumeState::waiting(self.apply(paid, at))),
            Ok(Payment::Pending(answer)) => Ok(ResumeState::asking(Question { answer, at, error })),
        }
    }

    /// Pays for a resume. Breaks without a byte between them share a session, and so are counted together.
    fn pay(&mut self, outcome: Outcome<'static>, kind: ErrorKind) -> Result<Payment, Refused> {
        let last = match self.last_break.take() {
            Some(last) if last.at == self.received => BodyBreak { kind, ..last },
            // A new byte starts a new session, so `max_retries` limits only the resumes without progress.
            _ => {
                let deadline = self.deadline.as_ref();
                let left = deadline.map(|end| end.at.saturating_sub(self.now()));
                BodyBreak {
                    session: self.terms.session(left.unwrap_or(Duration::MAX)),
                    at: self.received,
                    kind,
                }
            }
        };
        let session = &self.last_break.insert(last).session;
        self.terms.pay(session, outcome.after_a_response())
    }

    /// Applies a paid resume, and returns the rest of its wait.
    fn apply(&mut self, paid: PaidRetry, broke_at: Duration) -> Sleep {
        let now = self.now();
        // The delay runs from the break: the time in which a fleet decided is part of it.
        let due = broke_at.saturating_add(paid.delay());
        let delay = due.saturating_sub(now);
        if let Some(last) = &mut self.last_break {
            last.session.apply(&paid);
            let position = (self.received, self.validator.length());
            let recorder = &self.terms.recorder;
            recorder.resuming(position, last.kind, delay, now);
        }
        self.paid = Some(paid);
        self.terms.engine.runtime.sleep(delay)
    }
}
