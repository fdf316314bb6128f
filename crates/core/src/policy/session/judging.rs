//! The decision on an outcome, as soon as the part of its body is known that the policy needs.
//!
//! From an outcome to its decision:
//!
//! ```text
//! judge_end -> judge_head -> decide -> plan_or_stop -> plan_retry -> plan_counted -> resend
//!                   \-> Read -> judge_body -/   \-> plan_wait, plan_failover
//! ```
//!
//! The classifiers judge in `judge_end` or, if one reads bodies, in `judge_body`. From `plan_or_stop` on, which stands in
//! `plan.rs`, nothing changes the session.

use super::RetrySession;
use crate::policy::bodies::{BodyPart, has_an_end};
use crate::policy::decision::{RetryPlan, Stop, StopReason};
use crate::policy::ext::PolicyExt;
use crate::policy::moment::Moment;
use crate::policy::outcome::Outcome;
use crate::policy::outcome::ext::OutcomeExt;
use crate::policy::rules::{DecidedBy, OnExhausted};
use crate::policy::{Class, ServerHints, Verdict};
use std::sync::Arc;

/// The decision on an outcome.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Read this part of the response's body, or the text of the error, then call [`RetrySession::judge_body`].
    Read(BodyPart),
    /// Ask the budget to pay for this retry.
    Retry(RetryPlan),
    /// The request ends.
    Finish(StopReason),
}

impl Decision {
    /// Returns why the request ends, if it does.
    pub(crate) fn end(&self) -> Option<StopReason> {
        match self {
            Self::Finish(why) => Some(*why),
            Self::Read(_) | Self::Retry(_) => None,
        }
    }
}

/// The most bytes that are read of an error body.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// The read under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Reading {
    #[default]
    Nothing,
    Start,
    Probe,
    /// The whole body, and then the start of it if `then_start` is set.
    Whole {
        then_start: bool,
    },
}

impl RetrySession {
    /// Returns `true` for a success that ends the request by its status alone: neither a classifier nor a rule looks at
    /// its head, and nobody reads its body.
    pub(crate) fn accepts_unseen(&self, outcome: &Outcome<'_>) -> bool {
        let policy = &self.policy;
        outcome.class() == Class::Success
            && !policy.judges_successes()
            && policy.takes_successes_as_they_are()
            && policy.streams().is_none()
            && self.whole_responses() == 0
    }

    /// Ends the request with a success that was [accepted unseen](Self::accepts_unseen).
    pub(crate) fn succeed(&mut self) {
        self.was_refused = false;
        self.provisional = None;
        self.hints = None;
        self.last_decision_by = DecidedBy::Policy;
        self.stopped = Some(Stop {
            worth_another: false,
            ..self.stop(StopReason::Succeeded)
        });
    }

    /// Judges the end of an attempt, a response's head or an error, in place. `verdict` is that of a classifier, if there
    /// is one already.
    pub(crate) fn judge_end(
        &mut self,
        outcome: &mut Outcome<'_>,
        verdict: Option<Verdict>,
        moment: Moment,
    ) -> Decision {
        if let Some(verdict) = verdict {
            let judged = outcome.judged(verdict);
            *outcome = judged;
            return self.judge_head(outcome, Some(judged), moment);
        }
        if outcome.is_misdirected() && !self.counts.misdirected {
            *outcome = outcome.on_another_connection();
        }
        // A classifier that reads bodies runs once, after the read: it must not judge by the head alone.
        let judged = if self.policy.reads_body(outcome) {
            None
        } else {
            Some(self.policy.classify(*outcome))
        };
        self.judge_head(outcome, judged, moment)
    }

    /// Judges an attempt that had no time left, in place: no response arrived whose body could be read.
    pub(crate) fn judge_cut(&mut self, outcome: &mut Outcome<'_>, moment: Moment) -> Decision {
        *outcome = self.policy.classify(*outcome);
        self.decide(outcome, moment)
    }

    /// Takes the budget's refusal of the retry that followed from this outcome.
    pub(crate) fn refused(&mut self, outcome: &Outcome<'_>, moment: Moment) -> Decision {
        let refused = self.stop(StopReason::BudgetExhausted);
        // Only once: the retry that replaces it may be refused as well.
        let instead = if std::mem::replace(&mut self.was_refused, true) {
            Err(refused)
        } else {
            self.failover_instead(refused, outcome, moment)
        };
        self.next(instead)
    }

    /// Ends the request, since its next step cannot be carried out.
    pub(crate) fn fail(&mut self, why: StopReason) {
        let stop = self.stop(why);
        self.last_decision_by = stop.by;
        self.stopped = Some(stop);
    }

    /// Decides by an outcome's head, unless its body must be read first. `judged` is the outcome as judged by its head,
    /// or `None` if it was not.
    fn judge_head<'a>(
        &mut self,
        outcome: &mut Outcome<'a>,
        judged: Option<Outcome<'a>>,
        moment: Moment,
    ) -> Decision {
        let by_head = judged.unwrap_or(*outcome);
        let needs_body = judged.is_none()
            || self.needs_body(&by_head)
            || self.body_may_rule_out_retry(&by_head, moment);
        if !needs_body {
            *outcome = by_head;
        }
        let bytes = self.whole_responses();
        let ends = |outcome: &Outcome<'_>| {
            let head = outcome.status().zip(outcome.headers());
            head.is_some_and(|(status, headers)| has_an_end(status, headers))
        };
        // The whole body comes first: if it breaks, the success is a failed attempt.
        if bytes > 0 && outcome.class() == Class::Success && ends(outcome) {
            self.reading = Reading::Whole {
                then_start: needs_body,
            };
            return Decision::Read(BodyPart::Whole(bytes));
        }
        if needs_body {
            self.reading = Reading::Start;
            self.provisional = self.refusal_by_head(&by_head, moment);
            return Decision::Read(BodyPart::Start(MAX_ERROR_BODY_BYTES));
        }
        let probe = match self.policy.streams() {
            Some(streams) if self.may_retry_a_success() => streams.hold(outcome),
            _ => None,
        };
        if let Some(probe) = probe {
            self.reading = Reading::Probe;
            return Decision::Read(BodyPart::Probe(probe));
        }
        self.decide(outcome, moment)
    }

    /// Returns `true` if a retry would follow by this outcome's class, and its body may state that none can help.
    fn body_may_rule_out_retry(&self, outcome: &Outcome<'_>, moment: Moment) -> bool {
        // Rare, so the plan that is made in vain costs next to nothing.
        self.policy.may_be_overruled_by_body(outcome)
            && self
                .plan_or_stop(outcome, moment)
                .is_ok_and(|plan| plan.by == DecidedBy::Policy)
    }

    /// Judges an outcome again, in place, with what was read of its body. Only the start of a body makes the classifiers
    /// judge again.
    pub(crate) fn judge_body(&mut self, outcome: &mut Outcome<'_>, moment: Moment) -> Decision {
        match std::mem::take(&mut self.reading) {
            Reading::Whole { then_start: true } => {
                self.reading = Reading::Start;
                return Decision::Read(BodyPart::Start(MAX_ERROR_BODY_BYTES));
            }
            Reading::Start => *outcome = self.policy.classify(*outcome),
            Reading::Nothing | Reading::Probe | Reading::Whole { .. } => {}
        }
        self.decide(outcome, moment)
    }

    fn decide(&mut self, outcome: &Outcome<'_>, moment: Moment) -> Decision {
        self.was_refused = false;
        self.provisional = None;
        // Read once here: the lookups below and `hints` share the result.
        let hints = outcome.server_hints(moment.wall);
        let decided = self.plan_or_stop(&outcome.with_hints(&hints), moment);
        **self.hints.get_or_insert_default() = hints;
        self.next(decided)
    }

    fn next(&mut self, decided: Result<RetryPlan, Stop>) -> Decision {
        match decided {
            Ok(plan) => {
                self.last_decision_by = plan.by;
                Decision::Retry(plan)
            }
            Err(stop) => {
                self.last_decision_by = stop.by;
                self.stopped = Some(stop);
                Decision::Finish(stop.why)
            }
        }
    }

    /// Returns the hints in the head of the last outcome, which is read once.
    #[must_use]
    pub(crate) fn hints(&self) -> ServerHints {
        self.hints.as_deref().copied().unwrap_or_default()
    }

    /// Returns the name of the rule that decided on the last outcome, or `None` if none did.
    #[must_use]
    pub(crate) fn deciding_rule(&self) -> Option<&Arc<str>> {
        self.matched_rule(self.last_decision_by)?.name.as_ref()
    }

    /// Returns why the request has ended; before its end, that it succeeded.
    #[must_use]
    pub(crate) fn stop_reason(&self) -> StopReason {
        self.stopped.map_or(StopReason::Succeeded, |stop| stop.why)
    }

    /// Returns the place of the list, rule or row that ended the request, such as `services.orders.retry.stop_on`, or
    /// its name if it is set in code. Returns `None` if none did, and before the end.
    #[must_use]
    pub(crate) fn stopped_by(&self) -> Option<Arc<str>> {
        self.cause_of(self.stopped?)
    }

    /// Returns what the caller gets after its end: the last outcome, or the policy's replacement for it.
    #[must_use]
    pub(crate) fn ends_with(&self) -> &OnExhausted {
        match self.stopped {
            // A rule's `fail` is the end by itself, whatever `on_exhausted` says.
            Some(stop) if stop.why == StopReason::Failed => &OnExhausted::Fail,
            Some(stop) => self.on_exhausted(stop),
            None => &OnExhausted::Last,
        }
    }
}
