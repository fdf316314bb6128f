//! What each attempt's end leads to.

use super::paying::with_room;
use super::reading::Found;
use super::{Outcomes, Progress, Repeat, Saved, Step, Transport};
use crate::budget::PaidRetry;
use crate::policy::{By, Class, ErrorKind, Moment, Outcome, Stop, StopReason};
use crate::report::TextCut;

impl Progress {
    /// What follows from an attempt that has ended. Until it is paid for the response stays as it is, so that a refusal
    /// hands over an untouched one.
    pub(super) async fn step<T: Transport>(
        &mut self,
        known: Outcome<'static>,
        (result, found): (Outcomes<T>, Found),
        saved: Option<Box<Saved<T>>>,
    ) -> Step<T> {
        let whole = saved
            .as_ref()
            .is_some_and(|saved| T::Request::can_resend(saved, result.is_ok()));
        self.session.set_replayable(whole);
        let head = result.as_ref().ok().and_then(T::head);
        let request = self.session.request();
        let outcome = self.judged(known.with_head(head), &found, request.as_deref());
        let at = self.engine.runtime.moment();
        self.look_around();
        let hints = outcome.server_hints(at.wall);
        let outcome = outcome.with_hints(&hints);
        let decided = self.decide(&outcome, at).await;
        let decided = decided.and_then(|paid| with_room::<T>(paid, saved.as_deref()));
        let error_type = match (&result, outcome.error_kind()) {
            (Err(error), Some(ErrorKind::Other)) => Some(T::error_type(error)),
            _ => None,
        };
        self.ended(&decided, outcome, error_type, at);
        match (decided, saved) {
            (Ok(paid), Some(mut saved)) => match self.rewrite::<T>(&paid, &mut saved) {
                true => self.retry(paid, at, Some(result), saved),
                false => Step::Stop(result, paid.plan().refused(StopReason::NotRetryable)),
            },
            (Ok(paid), None) => {
                Step::Stop(result, paid.plan().refused(StopReason::BodyNotReplayable))
            }
            (Err(stop), _) => Step::Stop(result, stop),
        }
    }

    /// Tells everybody who is to know of an attempt that it has ended.
    fn ended(
        &mut self,
        decided: &Result<PaidRetry, Stop>,
        outcome: Outcome<'_>,
        error_type: Option<&'static str>,
        at: Moment,
    ) {
        let by = decided
            .as_ref()
            .map_or_else(|stop| stop.by, |paid| paid.plan().by);
        self.leave_the_gate(&outcome, at, by);
        let why = decided.as_ref().err().map(|stop| stop.why);
        let outcome = why.map_or(outcome, |why| outcome.refused(why));
        let done = why == Some(StopReason::Succeeded);
        self.tell(&outcome, error_type, at, by, done);
    }

    /// Makes the request what the plan wants it to be; false where that cannot be done.
    fn rewrite<T: Transport>(&mut self, paid: &PaidRetry, saved: &mut Saved<T>) -> bool {
        let Some(rewrite) = paid.plan().rewrite() else {
            return true;
        };
        let mut cut = None;
        let changed = T::Request::rewrite(saved, &mut |headers, body| {
            let other = rewrite(headers, body)?;
            self.engine
                .renew(&self.route.policy, &mut self.session, headers);
            cut = Some(TextCut::new(other.before, other.after));
            Some(other.body)
        });
        if let Some(cut) = cut.filter(|_| changed) {
            self.recorder.text_was_cut(cut, self.engine.runtime.now());
        }
        changed
    }

    /// The retry that was planned at this time, which counts from now on.
    pub(super) fn retry<T: Transport>(
        &mut self,
        paid: PaidRetry,
        at: Moment,
        last: Option<Outcomes<T>>,
        mut saved: Box<Saved<T>>,
    ) -> Step<T> {
        let due = at.now.saturating_add(paid.delay());
        T::Request::next_in_turn(&mut saved);
        self.session.apply(&paid);
        self.recorder.retry_scheduled(&paid, due);
        Step::Retry {
            paid,
            due,
            last,
            saved,
        }
    }

    pub(super) fn tell(
        &mut self,
        outcome: &Outcome<'_>,
        error_type: Option<&'static str>,
        at: Moment,
        by: By,
        done: bool,
    ) {
        if outcome.class() == Class::Success && self.session.repeats() {
            self.budget.deposit(at.now);
            let others = self.route.budgets.values();
            others.for_each(|budget| budget.deposit(at.now));
        }
        let rule = self.session.rule(by);
        let row = self.session.policy().row_of(outcome);
        self.recorder
            .attempt_ended(outcome, at, (rule, row), error_type, done);
    }
}
