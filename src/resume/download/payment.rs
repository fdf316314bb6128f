//! The steps after a break: a resume that a budget pays for at once or a fleet is asked for, or the end.

use super::{BodyBreak, Download};
use crate::budget::PaidRetry;
use crate::client::error_chain::walk;
use crate::policy::{ErrorKind, Outcome, ResumeFailure, StopReason};
use crate::resume::terms::Payment;
use crate::runtime::Sleep;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

type BoxError = Box<dyn Error + Send + Sync>;

/// The pause before the request for the rest.
pub(in crate::resume) enum Pause {
    /// A paid wait.
    Wait(Sleep),
    Ask(Box<Question>),
}

/// A resume that awaits the decision of a fleet.
pub(in crate::resume) struct Question {
    answer: Pin<Box<dyn Future<Output = Option<PaidRetry>> + Send>>,
    /// The time when the body broke.
    at: Duration,
    /// The error that broke it, if any.
    error: Option<BoxError>,
}

impl<B> Download<B> {
    /// Plans a resume of a body that ended early.
    pub(in crate::resume) fn ended(&mut self) -> Result<Pause, BoxError> {
        let cut = Outcome::error(ErrorKind::Incomplete);
        self.broke(cut, None)
    }

    /// Plans a resume of a body that stalled.
    pub(in crate::resume) fn stalled(&mut self) -> Result<Pause, BoxError> {
        let stall = Outcome::error(ErrorKind::Timeout);
        self.broke(stall, None)
    }

    /// Plans a resume of a body that failed.
    pub(in crate::resume) fn failed(&mut self, error: BoxError) -> Result<Pause, BoxError> {
        let outcome = walk(self.terms.policy(), &*error);
        self.broke(outcome, Some(error))
    }

    /// Polls the fleet's decision. Returns the paid wait, or the final error if the fleet refuses.
    pub(in crate::resume) fn poll_answer(
        &mut self,
        question: &mut Question,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Sleep, BoxError>> {
        let answer = ready!(question.answer.as_mut().poll(cx));
        Poll::Ready(match answer {
            Some(paid) => Ok(self.resumes(paid, question.at)),
            None => {
                let why = ResumeFailure::Stopped(StopReason::BudgetExhausted);
                Err(self.fails(why, question.error.take()))
            }
        })
    }

    fn broke(
        &mut self,
        outcome: Outcome<'static>,
        error: Option<BoxError>,
    ) -> Result<Pause, BoxError> {
        if self.is_from_elsewhere {
            return Err(self.fails(ResumeFailure::Changed, error));
        }
        // The last resume brought too little before this break, so its token is not returned.
        self.spend();
        let (at, kind) = (self.now(), outcome.error_kind());
        let kind = kind.unwrap_or(ErrorKind::Other);
        if kind.is_of_connection() {
            self.again.get().leave_connection();
        }
        match self.pay(outcome, kind) {
            Err(why) => Err(self.fails(ResumeFailure::Stopped(why), error)),
            Ok(Payment::Paid(paid)) => Ok(Pause::Wait(self.resumes(paid, at))),
            Ok(Payment::Asked(answer)) => {
                let question = Question { answer, at, error };
                Ok(Pause::Ask(Box::new(question)))
            }
        }
    }

    /// Pays for a resume. Breaks without a byte between them share a session, and so are counted together.
    fn pay(&mut self, outcome: Outcome<'static>, kind: ErrorKind) -> Result<Payment, StopReason> {
        let last = match self.last_break.take() {
            Some(last) if last.at == self.got => BodyBreak { kind, ..last },
            _ => {
                let deadline = self.deadline.as_ref();
                let left = deadline.map(|end| end.at.saturating_sub(self.now()));
                BodyBreak {
                    session: self.terms.session(left.unwrap_or(Duration::MAX)),
                    at: self.got,
                    kind,
                }
            }
        };
        let session = &self.last_break.insert(last).session;
        self.terms.pay(session, outcome.after_an_answer())
    }

    /// Applies a paid resume, and returns the rest of its wait, which runs from the break on.
    fn resumes(&mut self, paid: PaidRetry, broke_at: Duration) -> Sleep {
        let now = self.now();
        let due = broke_at.saturating_add(paid.delay());
        let delay = due.saturating_sub(now);
        if let Some(last) = &mut self.last_break {
            last.session.apply(&paid);
            let place = (self.got, self.mark.length());
            let recorder = &self.terms.recorder;
            recorder.resuming(place, last.kind, delay, now);
        }
        self.paid = Some(paid);
        self.terms.engine.runtime.sleep(delay)
    }
}
