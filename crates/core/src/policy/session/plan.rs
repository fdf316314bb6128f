//! The plans of a session: its checks in order, the rules in charge, and failovers.

use super::RetrySession;
use super::{Delay, Evaluation};
use crate::policy::decision::StopReason;
use crate::policy::decision::{Cost, DelaySource, RetryPlan, RuleCounters, SessionCounts, Stop};
use crate::policy::moment::Moment;
use crate::policy::outcome::Outcome;
use crate::policy::rules::{
    Action, ChosenAction, ConditionInput, Counter, DecidedBy, Failover, ListMatch, OnExhausted,
    Rule, ServerDelays, SuccessBodyTest, Wait,
};
use crate::policy::{Class, Methods, RetryPolicy, RewriteBody};
use http::{HeaderMap, HeaderName};
use std::sync::Arc;
use std::time::Duration;

/// The location of a service relative to the server that the request goes to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum Server {
    /// Behind the same scheme, host and port.
    Same,
    /// Behind another scheme, host or port.
    Other,
}

impl Evaluation<'_> {
    /// Returns `true` if a rule wants the retry, whatever the outcome's class.
    pub(super) fn is_forced(&self) -> bool {
        self.by != DecidedBy::Policy
    }
}

impl RetrySession {
    /// Plans what follows from an outcome, or returns the end of the request with the source of that decision.
    pub(crate) fn judge(&self, outcome: &Outcome<'_>, moment: Moment) -> Result<RetryPlan, Stop> {
        let ChosenAction { action, by } = self.chosen_action(outcome);
        let case = self.case(by, outcome, moment);
        let planned = match action {
            // First, since a session without retries ends whatever a rule says.
            _ if self.standing_aside.is_some() => Err(self.disabled_reason(outcome)),
            Action::Accept | Action::ByOutcome if outcome.class() == Class::Success => {
                Err(StopReason::Succeeded)
            }
            Action::Accept => Err(StopReason::Accepted),
            Action::Fail | Action::ByOutcome => Err(StopReason::Failed),
            Action::Stop => Err(StopReason::Stopped),
            Action::Classify | Action::Retry(_) => self.plan_retry(&case),
            Action::Wait(wait) => self.plan_wait(wait, &case),
            Action::Failover(to) => {
                let rule = self.matched_rule(by);
                self.plan_failover(to, rule.and_then(|rule| rule.set.as_ref()), &case)
            }
        };
        let why = match planned {
            Ok(plan) => return Ok(plan),
            Err(why) => why,
        };
        let worth_another = why.is_exhausted() && self.is_retryable(action, &case);
        let stop = Stop {
            why,
            by,
            worth_another,
        };
        self.failover_instead(stop, outcome, moment)
    }

    /// Plans a failover in place of a stop, if the policy names a service that the request may go to.
    pub(crate) fn failover_instead(
        &self,
        stop: Stop,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Result<RetryPlan, Stop> {
        match self.on_exhausted(stop) {
            // Headers that a rule sets are for the attempt that it asked for, not for this one.
            OnExhausted::Failover { to, set } => {
                let case = self.case(stop.by, outcome, moment);
                let plan = self.plan_failover(to, set.as_ref(), &case);
                plan.map_err(|_| stop)
            }
            _ => Err(stop),
        }
    }

    fn case<'a>(
        &'a self,
        by: DecidedBy,
        outcome: &'a Outcome<'a>,
        moment: Moment,
    ) -> Evaluation<'a> {
        Evaluation {
            outcome,
            moment,
            by,
            policy: self.policy_by(by),
        }
    }

    fn chosen_action(&self, outcome: &Outcome<'_>) -> ChosenAction<'_> {
        let rules = &self.policy.0.rules;
        if self.standing_aside.is_some() || !rules.decide_anything() {
            return ChosenAction::BY_CLASS;
        }
        let said = rules.verdict(&self.condition_input(outcome, true));
        said.unwrap_or(ChosenAction::BY_CLASS)
    }

    fn disabled_reason(&self, outcome: &Outcome<'_>) -> StopReason {
        let why = self
            .standing_aside
            .filter(|_| outcome.class() != Class::Success);
        why.unwrap_or(StopReason::Succeeded)
    }

    fn listed(&self, case: &Evaluation<'_>) -> ListMatch {
        let rules = &case.policy.0.rules;
        if rules.have_lists() {
            rules.listed(&self.condition_input(case.outcome, true))
        } else {
            ListMatch::Unlisted
        }
    }

    /// Returns `true` if the outcome was worth another attempt, had one been left.
    fn is_retryable(&self, action: &Action, case: &Evaluation<'_>) -> bool {
        match action {
            Action::Classify | Action::Retry(_) => is_wanted(self.listed(case), case),
            _ => true,
        }
    }

    /// Plans a retry by the policy in charge.
    fn plan_retry(&self, case: &Evaluation<'_>) -> Result<RetryPlan, StopReason> {
        let (outcome, policy) = (case.outcome, case.policy);
        let listed = self.listed(case);
        if outcome.class() == Class::Success && !case.is_forced() && listed != ListMatch::Yes {
            return Err(StopReason::Succeeded);
        }
        // Refused attempts count separately first; beyond `max_refused`, each counts as a retry.
        if listed != ListMatch::No && self.has_refused_left(policy) {
            let n = self.counts.refusals.saturating_add(1);
            if let Some(delay) = self.gated_delay(n, case) {
                let mut plan = self.plan_gated(delay, case)?;
                plan.after.refusals = n;
                return Ok(plan);
            }
        }
        let counted = match (policy.0.rules.counter, self.tally(case.by)) {
            (Counter::Rule, Some(tally)) => tally.retries,
            _ => self.counts.retries,
        };
        self.check_count(counted, policy)?;
        if listed != ListMatch::No {
            if let Some(delay) = self.gated_delay(counted.saturating_add(1), case) {
                let mut plan = self.plan_gated(delay, case)?;
                self.count_retry(&mut plan, case);
                return Ok(plan);
            }
        }
        if let Some(rewrite) = rewrite(case) {
            return self.plan_rewrite(rewrite, case);
        }
        if !is_wanted(listed, case) {
            return Err(StopReason::NotRetryable);
        }
        self.plan_counted(counted, case)
    }

    /// Plans one more retry after `counted` others.
    fn plan_counted(&self, counted: u32, case: &Evaluation<'_>) -> Result<RetryPlan, StopReason> {
        self.check_resend(case)?;
        let n = counted.saturating_add(1);
        let own = self.backoff(n, case);
        let asked = self.demanded_delay(case.outcome, case.moment, case.policy);
        let delay = self.delay(own, asked, case)?;
        let cost = if case.outcome.ran_out_of_time() {
            Cost::Timeout
        } else {
            Cost::Retry
        };
        let mut plan = self.resend(delay, cost, case);
        // Decorrelated jitter builds on the policy's own delay, not on the server's.
        plan.after.previous = own;
        self.count_retry(&mut plan, case);
        Ok(plan)
    }

    fn count_retry(&self, plan: &mut RetryPlan, case: &Evaluation<'_>) {
        plan.after.retries = plan.after.retries.saturating_add(1);
        if let Some(tally) = self.tally(case.by) {
            let retries = tally.retries.saturating_add(1);
            plan.add().tally = Some(RuleCounters { retries, ..tally });
        }
    }

    /// Checks that one more retry is allowed after `counted` others.
    fn check_count(&self, counted: u32, policy: &RetryPolicy) -> Result<(), StopReason> {
        if counted < self.max_retries(policy) {
            return Ok(());
        }
        if policy.is_off() && self.own.max_retries.is_none() {
            Err(StopReason::Disabled)
        } else {
            Err(StopReason::AttemptsExhausted)
        }
    }

    /// Plans an attempt with a rewritten body. It counts as a retry and waits for nothing, since the server is not
    /// busy.
    fn plan_rewrite(
        &self,
        rewrite: RewriteBody,
        case: &Evaluation<'_>,
    ) -> Result<RetryPlan, StopReason> {
        self.check_resend(case)?;
        let delay = self.in_time((Duration::ZERO, DelaySource::Own), case)?;
        let mut plan = self.resend(delay, Cost::Retry, case);
        plan.add().rewrite = Some(rewrite);
        plan.after.retries = plan.after.retries.saturating_add(1);
        Ok(plan)
    }

    fn plan_wait(&self, wait: &Wait, case: &Evaluation<'_>) -> Result<RetryPlan, StopReason> {
        let now = case.moment.now;
        let tally = self.tally(case.by).unwrap_or_default();
        if wait.at_most.is_some_and(|most| tally.waits >= most) {
            return Err(StopReason::WaitsExhausted);
        }
        self.check_resend(case)?;
        // The response to a poll says when to come back, success or not.
        let asked = case.outcome.server_hints(case.moment.wall).delay();
        let asked = asked.filter(|_| case.policy.0.rules.server_delays != ServerDelays::Ignore);
        let n = tally.waits.saturating_add(1);
        let own = match (wait.delay, asked) {
            (Some(delay), _) => delay,
            (None, Some(_)) => Duration::ZERO,
            (None, None) => self.backoff(n, case),
        };
        let delay = self.delay(own, asked, case)?;
        let since = tally.since.unwrap_or(now);
        let waited = now.saturating_sub(since).saturating_add(delay.0);
        if wait.max.is_some_and(|max| waited > max) {
            return Err(StopReason::WaitsExhausted);
        }
        let mut plan = self.resend(delay, Cost::Nothing, case);
        plan.after.previous = own;
        plan.add().tally = Some(RuleCounters {
            waits: n,
            since: Some(since),
            ..tally
        });
        Ok(plan)
    }

    /// Plans one more attempt, which is not counted as anything else yet.
    pub(super) fn resend(&self, delay: Delay, cost: Cost, case: &Evaluation<'_>) -> RetryPlan {
        let after = SessionCounts {
            resends: self.counts.resends.saturating_add(1),
            in_doubt: self.is_in_doubt(case.outcome),
            ..self.counts
        };
        let mut plan = RetryPlan::new(case.by, after, delay, cost);
        if let Some(set) = self
            .matched_rule(case.by)
            .and_then(|rule| rule.set.as_ref())
        {
            plan.add().set = Some(Arc::clone(set));
        }
        if let Some(budget) = &case.policy.0.rules.budget {
            plan.add().budget = Some(Arc::clone(budget));
        }
        plan
    }

    /// Checks that the request can be sent again, and that processing it twice does no harm.
    pub(super) fn check_resend(&self, case: &Evaluation<'_>) -> Result<(), StopReason> {
        if !self.facts.is_replayable() {
            return Err(StopReason::BodyNotReplayable);
        }
        if !self.is_safe_twice(case.policy) && !case.outcome.reach().is_unprocessed() {
            return Err(case.outcome.doubt_reason());
        }
        Ok(())
    }

    /// Returns what the caller gets at the end of the request.
    pub(crate) fn on_exhausted(&self, stop: Stop) -> &OnExhausted {
        if stop.worth_another && stop.why.is_exhausted() {
            &self.policy_by(stop.by).0.rules.on_exhausted
        } else {
            &OnExhausted::Last
        }
    }

    /// Returns `true` if a rule needs the body or the error's text before it can decide.
    pub(crate) fn needs_evidence(&self, outcome: &Outcome<'_>) -> bool {
        if outcome.body().is_some() || self.standing_aside.is_some() {
            return false;
        }
        let seen = self.condition_input(outcome, false);
        let unread = |policy: &RetryPolicy| policy.0.rules.listed(&seen) == ListMatch::Unread;
        match self.policy.0.rules.verdict(&seen) {
            None => true,
            Some(verdict) => match verdict.action {
                Action::Classify => unread(&self.policy),
                Action::Retry(policy) => unread(policy),
                _ => false,
            },
        }
    }

    pub(super) fn condition_input<'a>(
        &'a self,
        outcome: &'a Outcome<'a>,
        final_word: bool,
    ) -> ConditionInput<'a> {
        ConditionInput {
            outcome,
            attempt: self.counts.resends.saturating_add(1),
            method: self.method.as_ref(),
            idempotent: self.is_idempotent(),
            of_success: SuccessBodyTest::Nothing,
            final_word,
            certain: false,
        }
    }

    /// Returns the policy in charge: the session's own, or the one that a rule retries by.
    pub(super) fn policy_by(&self, by: DecidedBy) -> &RetryPolicy {
        self.policy.0.rules.policy_by(by).unwrap_or(&self.policy)
    }

    pub(super) fn matched_rule(&self, by: DecidedBy) -> Option<&Rule> {
        match by {
            DecidedBy::Rule(rule) => self.policy.0.rules.list.get(rule),
            DecidedBy::Policy | DecidedBy::Otherwise => None,
        }
    }

    pub(super) fn tally(&self, by: DecidedBy) -> Option<RuleCounters> {
        match by {
            DecidedBy::Rule(rule) => Some(self.tallies.get(rule).copied().unwrap_or_default()),
            DecidedBy::Policy | DecidedBy::Otherwise => None,
        }
    }

    /// Sets the services that the request can fail over to. Before this call there are none.
    pub fn set_servers(&mut self, servers: Vec<(Arc<str>, Server)>) {
        self.servers = Some(servers);
    }

    /// Returns `true` once [`set_servers`](Self::set_servers) has been called.
    #[must_use]
    pub fn knows_servers(&self) -> bool {
        self.servers.is_some()
    }

    /// Returns the headers that are withheld from another server, besides those that always are.
    #[must_use]
    pub fn credentials(&self) -> &[HeaderName] {
        &self.policy_by(self.by).0.rules.credentials
    }

    pub(super) fn plan_failover(
        &self,
        to: &Failover,
        set: Option<&Arc<HeaderMap>>,
        case: &Evaluation<'_>,
    ) -> Result<RetryPlan, StopReason> {
        let server = self.server_of(&to.service);
        let server = server.ok_or(StopReason::NotRetryable)?;
        self.check_resend(case)?;
        // Another server does not know the idempotency keys of the first. A request that may have been processed goes
        // there only if it is safe without them.
        let known_there = to.same_keys || server == Server::Same;
        let twice = !known_there && self.is_in_doubt(case.outcome);
        if twice && !self.is_safe_anywhere(case.policy) {
            return Err(if self.counts.in_doubt {
                StopReason::NotIdempotent
            } else {
                case.outcome.doubt_reason()
            });
        }
        let delay = self.in_time((Duration::ZERO, DelaySource::Own), case)?;
        let mut plan = self.resend(delay, Cost::Nothing, case);
        let additions = plan.add();
        additions.failover = Some(Arc::clone(&to.service));
        additions.set = set.cloned();
        Ok(plan)
    }

    /// Returns `true` if a server may have processed this attempt or an earlier one.
    pub(super) fn is_in_doubt(&self, outcome: &Outcome<'_>) -> bool {
        self.counts.in_doubt || outcome.is_in_doubt()
    }

    fn server_of(&self, service: &str) -> Option<Server> {
        let mut servers = self.servers.iter().flatten();
        let (_, server) = servers.find(|(name, _)| **name == *service)?;
        Some(*server)
    }

    /// Returns `true` if processing by two servers does no harm. An idempotency key or the caller's own setting is
    /// about one of them only; the method and the policy hold everywhere.
    fn is_safe_anywhere(&self, policy: &RetryPolicy) -> bool {
        let by_nature = self.facts.is_idempotent_by_method() || policy.0.methods == Methods::All;
        self.own.idempotent != Some(false) && by_nature
    }
}

/// Returns `true` if an outcome is to be repeated by its class, by a list, or because a rule says so.
fn is_wanted(listed: ListMatch, case: &Evaluation<'_>) -> bool {
    match listed {
        ListMatch::No => false,
        ListMatch::Yes => true,
        ListMatch::Unlisted => case.is_forced() || case.outcome.class() != Class::Permanent,
        ListMatch::Unread => case.is_forced(),
    }
}

fn rewrite(case: &Evaluation<'_>) -> Option<RewriteBody> {
    let permanent = case.outcome.class() == Class::Permanent;
    let rewrite = case.policy.0.rewrite.as_ref().filter(|_| permanent)?;
    rewrite.after(case.outcome)
}
