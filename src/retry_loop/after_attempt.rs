//! What each attempt's end leads to.

use super::planned::{Planned, Step};
use super::reading::Found;
use super::room::with_room;
use super::unpaid::Unpaid;
use super::{Progress, Repeat, Saved, Transport};
use crate::policy::{By, Class, Moment, Outcome, Stop, StopReason};
use crate::report::TextCut;

impl Progress {
    /// What follows from an attempt, unless a fleet must be asked first.
    ///
    /// # Errors
    ///
    /// What to ask the fleet for.
    pub(super) fn step<T: Transport>(
        &mut self,
        known: Outcome<'static>,
        (result, found): (Result<T::Response, T::Error>, Found),
        saved: Option<Box<Saved<T>>>,
    ) -> Result<Step<T>, Box<Unpaid<T>>> {
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
        let decided = match self.decide(&outcome, at) {
            Ok(decided) => decided,
            Err(question) => {
                return Err(Box::new(Unpaid {
                    question,
                    hints,
                    found,
                    result,
                    saved,
                }));
            }
        };
        let decided = self.ended::<T>(decided, outcome, at, saved.as_deref());
        Ok(self.follows(decided, result, saved))
    }

    /// Tells everybody who is to know of an attempt that it has ended.
    pub(super) fn ended<T: Transport>(
        &mut self,
        decided: Result<Planned, Stop>,
        outcome: Outcome<'_>,
        at: Moment,
        saved: Option<&Saved<T>>,
    ) -> Result<Planned, Stop> {
        let decided = decided.and_then(|planned| with_room::<T>(planned, saved));
        let by = decided.as_ref().map_or_else(|stop| stop.by, Planned::by);
        self.leave_the_gate(&outcome, at, by);
        let why = decided.as_ref().err().map(|stop| stop.why);
        let outcome = why.map_or(outcome, |why| outcome.refused(why));
        self.tell(&outcome, at, by, why == Some(StopReason::Succeeded));
        decided
    }

    /// What follows from an attempt that has ended.
    pub(super) fn follows<T: Transport>(
        &mut self,
        decided: Result<Planned, Stop>,
        result: Result<T::Response, T::Error>,
        saved: Option<Box<Saved<T>>>,
    ) -> Step<T> {
        match (decided, saved) {
            (Ok(planned), Some(mut saved)) => match self.rewrite::<T>(&planned, &mut saved) {
                true => self.retry(planned, Some(result), saved),
                false => Step::Stop(result, planned.stop(StopReason::NotRetryable)),
            },
            (Ok(planned), None) => Step::Stop(result, planned.without_a_body()),
            (Err(stop), _) => Step::Stop(result, stop),
        }
    }

    /// Makes the request what the plan wants it to be; false where that cannot be done.
    fn rewrite<T: Transport>(&mut self, planned: &Planned, saved: &mut Saved<T>) -> bool {
        let Some(rewrite) = planned.paid.plan().rewrite() else {
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

    pub(super) fn retry<T: Transport>(
        &mut self,
        planned: Planned,
        last: Option<Result<T::Response, T::Error>>,
        mut saved: Box<Saved<T>>,
    ) -> Step<T> {
        T::Request::next_in_turn(&mut saved);
        self.session.apply(&planned.paid);
        self.recorder.retry_scheduled(&planned.paid, planned.due);
        Step::Retry {
            planned,
            last,
            saved,
        }
    }

    pub(super) fn tell(&mut self, outcome: &Outcome<'_>, at: Moment, by: By, done: bool) {
        if outcome.class() == Class::Success && self.session.repeats() {
            self.budget.deposit(at.now);
            let others = self.route.budgets.values();
            others.for_each(|budget| budget.deposit(at.now));
        }
        let rule = self.session.rule(by);
        let row = self.session.policy().row_of(outcome);
        self.recorder.attempt_ended(outcome, at, (rule, row), done);
    }
}
