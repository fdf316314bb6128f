//! The rules in charge of a request, and what they have done so far.

use super::RetrySession;
use crate::policy::RetryPolicy;
use crate::policy::decision::{Stop, Tally};
use crate::policy::moment::Moment;
use crate::policy::outcome::Outcome;
use crate::policy::rules::{Action, By, Listed, OfSuccess, OnExhausted, Rule, Seen};
use std::sync::Arc;

/// One outcome, and by what it is judged.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) outcome: &'a Outcome<'a>,
    pub(super) moment: Moment,
    pub(super) by: By,
    /// The policy in charge.
    pub(super) policy: &'a RetryPolicy,
}

impl Case<'_> {
    /// Whether a rule wants the retry, whatever the outcome's class.
    pub(super) fn is_told(&self) -> bool {
        self.by != By::Policy
    }
}

impl RetrySession {
    /// The name of the rule that judged an outcome, if one did.
    pub(crate) fn rule(&self, by: By) -> Option<&Arc<str>> {
        self.matched_rule(by)?.name.as_ref()
    }

    /// What becomes of the request at its end.
    pub(crate) fn on_exhausted(&self, stop: Stop) -> &OnExhausted {
        match stop.worth_another && stop.why.is_exhausted() {
            true => &self.policy_by(stop.by).0.rules.on_exhausted,
            // An answer that no retry would have changed is the caller's.
            false => &OnExhausted::Last,
        }
    }

    /// Whether a rule must look into the outcome before it can decide.
    pub(crate) fn needs_evidence(&self, outcome: &Outcome<'_>) -> bool {
        if outcome.body().is_some() || self.standing_aside.is_some() {
            return false;
        }
        let seen = self.seen(outcome, false);
        let unread = |policy: &RetryPolicy| policy.0.rules.listed(&seen) == Listed::Unread;
        match self.policy.0.rules.verdict(&seen) {
            None => true,
            Some(verdict) => match verdict.action {
                Action::Classify => unread(&self.policy),
                Action::Retry(policy) => unread(policy),
                _ => false,
            },
        }
    }

    pub(super) fn seen<'a>(&'a self, outcome: &'a Outcome<'a>, final_word: bool) -> Seen<'a> {
        Seen {
            outcome,
            attempt: self.counts.resends.saturating_add(1),
            method: self.method.as_ref(),
            idempotent: self.is_idempotent(),
            of_success: OfSuccess::Nothing,
            final_word,
            certain: false,
        }
    }

    /// The policy in charge: the session's own, or the one that a rule retries by.
    pub(super) fn policy_by(&self, by: By) -> &RetryPolicy {
        self.policy.0.rules.policy_by(by).unwrap_or(&self.policy)
    }

    pub(super) fn matched_rule(&self, by: By) -> Option<&Rule> {
        match by {
            By::Rule(rule) => self.policy.0.rules.list.get(rule),
            By::Policy | By::Otherwise => None,
        }
    }

    pub(super) fn tally(&self, by: By) -> Option<Tally> {
        match by {
            By::Rule(rule) => Some(self.tallies.get(rule).copied().unwrap_or_default()),
            By::Policy | By::Otherwise => None,
        }
    }
}
