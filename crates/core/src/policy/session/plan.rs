//! The plans of a session: its checks in order, the rules in charge, and failovers.

use super::RetrySession;
use super::delay::{Delay, accepted_delay, is_worth_a_wait};
use crate::policy::decision::{
    Cost, DelaySource, RetryPlan, RuleCounters, SessionCounts, Stop, StopReason,
};
use crate::policy::moment::{Moment, millis};
use crate::policy::outcome::Outcome;
use crate::policy::rules::{
    Action, BodyView, ConditionInput, Counter, DecidedBy, Failover, ListMatch, OnExhausted, Rule,
    Wait,
};
use crate::policy::{Class, Methods, RetryPolicy, RewriteBody};
use http::{HeaderMap, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// The time from an attempt's start within which a 408 comes from a server that closes an idle connection: those that
/// wait for a request do so for longer.
const MAX_IDLE_CLOSE: Duration = Duration::from_secs(1);

/// The location of a service relative to the server that the request goes to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    /// Behind the same scheme, host and port.
    Same,
    /// Behind another scheme, host or port.
    Other,
}

/// An outcome, with the time and the policy that it is judged by.
#[derive(Clone, Copy)]
pub(super) struct Evaluation<'a> {
    pub(super) outcome: &'a Outcome<'a>,
    pub(super) moment: Moment,
    pub(super) by: DecidedBy,
    /// The policy in charge.
    pub(super) policy: &'a RetryPolicy,
}

impl Evaluation<'_> {
    /// Returns `true` if a rule wants the retry, whatever the outcome's class.
    pub(super) fn is_forced(&self) -> bool {
        self.by != DecidedBy::Policy
    }
}

impl RetrySession {
    /// Plans what follows from an outcome, or returns the end of the request with the source of that decision.
    pub(crate) fn plan_or_stop(
        &self,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Result<RetryPlan, Stop> {
        let by = self.decision_on(outcome);
        let action = self.policy.action_on(outcome, by);
        let evaluation = self.evaluation(by, outcome, moment);
        let planned = match action {
            // First, since a session without retries ends whatever a rule says.
            _ if self.disabled.is_some() => Err(self.disabled_reason(outcome)),
            Action::Accept | Action::ByOutcome if outcome.class() == Class::Success => {
                Err(StopReason::Succeeded)
            }
            Action::Accept => Err(StopReason::Accepted),
            Action::Fail | Action::ByOutcome => Err(StopReason::Failed),
            Action::Stop => Err(StopReason::Stopped),
            Action::Classify | Action::Retry(_) => self.plan_retry(&evaluation),
            Action::Wait(wait) => self.plan_wait(wait, &evaluation),
            Action::Failover(to) => {
                let rule = self.matched_rule(by);
                self.plan_failover(to, rule.and_then(|rule| rule.set.as_ref()), &evaluation)
            }
        };
        let why = match planned {
            Ok(plan) => return Ok(plan),
            Err(why) => why,
        };
        // `on_exhausted` replaces an outcome only if a limit was the reason, not the outcome itself.
        let worth_another = why.is_exhausted() && self.is_retryable(action, &evaluation);
        let refused = why == StopReason::NotRetryable && action.follows_lists();
        let list = refused.then(|| self.refusing_list(&evaluation));
        let stop = Stop {
            why,
            by,
            list: list.flatten(),
            row: outcome.row().filter(|_| refused),
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
                let evaluation = self.evaluation(stop.by, outcome, moment);
                let plan = self.plan_failover(to, set.as_ref(), &evaluation);
                // If the failover is not possible either, the report names the reason for the retry that was missed.
                plan.map_err(|_| stop)
            }
            _ => Err(stop),
        }
    }

    fn evaluation<'a>(
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

    fn decision_on(&self, outcome: &Outcome<'_>) -> DecidedBy {
        if self.disabled.is_some() {
            return DecidedBy::Policy;
        }
        // Nothing more will be read, so every condition is decided.
        let input = self.condition_input(outcome, BodyView::Body);
        self.policy.decide(&input).unwrap_or(DecidedBy::Policy)
    }

    fn disabled_reason(&self, outcome: &Outcome<'_>) -> StopReason {
        let why = self.disabled.filter(|_| outcome.class() != Class::Success);
        why.unwrap_or(StopReason::Succeeded)
    }

    fn listed(&self, evaluation: &Evaluation<'_>) -> ListMatch {
        if evaluation.policy.0.rules.have_lists() {
            self.match_lists(evaluation)
        } else {
            ListMatch::Unlisted
        }
    }

    #[inline(never)]
    fn match_lists(&self, evaluation: &Evaluation<'_>) -> ListMatch {
        let input = self.condition_input(evaluation.outcome, BodyView::Body);
        evaluation.policy.0.rules.listed(&input)
    }

    /// Returns the list of the policy in charge that forbids another attempt, if one does.
    fn refusing_list(&self, evaluation: &Evaluation<'_>) -> Option<&'static str> {
        let methods = &evaluation.policy.0.methods;
        let listed = self.listed(evaluation).refusing();
        // A permanent outcome would end the request whatever its method is.
        let wanted = || evaluation.outcome.class() != Class::Permanent;
        listed.or_else(|| (methods.exclude(self.method.as_ref()) && wanted()).then_some("methods"))
    }

    /// Returns `true` if the outcome was worth another attempt, had one been left.
    fn is_retryable(&self, action: &Action, evaluation: &Evaluation<'_>) -> bool {
        !action.follows_lists() || is_wanted(self.listed(evaluation), evaluation)
    }

    /// Plans a retry by the policy in charge.
    fn plan_retry(&self, evaluation: &Evaluation<'_>) -> Result<RetryPlan, StopReason> {
        let (outcome, policy) = (evaluation.outcome, evaluation.policy);
        let listed = self.listed(evaluation);
        // Before the limit: a success ends the request as one, even if no retry is left.
        if outcome.class() == Class::Success && !evaluation.is_forced() && listed != ListMatch::Yes
        {
            return Err(StopReason::Succeeded);
        }
        let refusal = match listed.refusing() {
            Some(_) => None,
            None => self.refusal_by(evaluation.by, outcome, evaluation.moment),
        };
        // A limit that callers share, such as a 429, and never a 503. Refused attempts count separately first; beyond
        // `max_refused`, each counts as a retry.
        if let Some(refusal) = refusal.filter(|_| self.has_refused_left(policy)) {
            let n = self.counts.refusals.saturating_add(1);
            if let Some(delay) = self.delay_of_separate_refusal(refusal, n, evaluation) {
                let mut plan = self.plan_gated(delay, evaluation)?;
                plan.after.refusals = n;
                return Ok(plan);
            }
        }
        let counted = match (policy.0.rules.counter, self.counters(evaluation.by)) {
            (Counter::Rule, Some(counters)) => counters.retries,
            _ => self.counts.retries,
        };
        self.check_count(counted, policy)?;
        if let Some(refusal) = refusal {
            let own = self.backoff(counted.saturating_add(1), evaluation);
            if let Some(delay) = self.delay_of_counted_refusal(refusal, own, evaluation) {
                let mut plan = self.plan_gated(delay, evaluation)?;
                plan.after.previous = own;
                self.count_retry(&mut plan, evaluation);
                return Ok(plan);
            }
        }
        // Before `is_wanted`, which refuses the permanent outcomes that a rewrite is for.
        if let Some(rewrite) = rewrite(evaluation) {
            return self.plan_rewrite(rewrite, evaluation);
        }
        if !is_wanted(listed, evaluation) {
            return Err(StopReason::NotRetryable);
        }
        self.plan_counted(counted, evaluation)
    }

    /// Plans one more retry after `counted` others.
    fn plan_counted(
        &self,
        counted: u32,
        evaluation: &Evaluation<'_>,
    ) -> Result<RetryPlan, StopReason> {
        self.check_resend(evaluation)?;
        let n = counted.saturating_add(1);
        let at_once = self.has_met_idle_close(evaluation);
        let own = if at_once {
            Duration::ZERO
        } else {
            self.backoff(n, evaluation)
        };
        let requested =
            self.demanded_delay(evaluation.outcome, evaluation.moment, evaluation.policy);
        let delay = self.delay(own, requested, evaluation)?;
        let cost = if evaluation.outcome.ran_out_of_time() {
            Cost::Timeout
        } else {
            Cost::Retry
        };
        let mut plan = self.resend(delay, cost, evaluation);
        if at_once {
            plan.after.closed_idle = true;
        } else {
            // Decorrelated jitter builds on the policy's own delay, not on the server's.
            plan.after.previous = own;
        }
        self.count_retry(&mut plan, evaluation);
        Ok(plan)
    }

    /// Returns `true` for a request's first 408 soon after its attempt began. The server did not wait for the request:
    /// it was about to close an idle connection, so there is nothing to wait for.
    fn has_met_idle_close(&self, evaluation: &Evaluation<'_>) -> bool {
        let outcome = evaluation.outcome;
        let took = millis(evaluation.moment.now).saturating_sub(self.sent);
        // A rule's own backoff stands.
        !self.counts.closed_idle
            && !evaluation.is_forced()
            && outcome.status() == Some(StatusCode::REQUEST_TIMEOUT)
            && outcome.reach().is_unprocessed()
            && Duration::from_millis(took) < MAX_IDLE_CLOSE
    }

    fn count_retry(&self, plan: &mut RetryPlan, evaluation: &Evaluation<'_>) {
        plan.after.retries = plan.after.retries.saturating_add(1);
        if let Some(counters) = self.counters(evaluation.by) {
            let retries = counters.retries.saturating_add(1);
            plan.add().counters = Some(RuleCounters {
                retries,
                ..counters
            });
        }
    }

    /// Checks that one more retry is allowed after `counted` others.
    fn check_count(&self, counted: u32, policy: &RetryPolicy) -> Result<(), StopReason> {
        if counted < self.max_retries(policy) {
            return Ok(());
        }
        // `never` whose request asked for retries has used them up; it is not off.
        if policy.is_off() && self.own.max_retries.is_none() {
            Err(StopReason::Disabled)
        } else {
            Err(StopReason::AttemptsExhausted)
        }
    }

    /// Plans an attempt with a rewritten body. It counts as a retry and waits for nothing, since the server is not
    /// busy.
    #[inline(never)]
    fn plan_rewrite(
        &self,
        rewrite: RewriteBody,
        evaluation: &Evaluation<'_>,
    ) -> Result<RetryPlan, StopReason> {
        self.check_resend(evaluation)?;
        let delay = self.in_time((Duration::ZERO, DelaySource::Own), evaluation)?;
        let mut plan = self.resend(delay, Cost::Retry, evaluation);
        plan.add().rewrite = Some(rewrite);
        plan.after.retries = plan.after.retries.saturating_add(1);
        Ok(plan)
    }

    #[inline(never)]
    fn plan_wait(&self, wait: &Wait, evaluation: &Evaluation<'_>) -> Result<RetryPlan, StopReason> {
        let now = evaluation.moment.now;
        let counters = self.counters(evaluation.by).unwrap_or_default();
        if wait.at_most.is_some_and(|most| counters.waits >= most) {
            return Err(StopReason::WaitsExhausted);
        }
        self.check_resend(evaluation)?;
        let requested = self.delay_of_poll(evaluation).unwrap_or_default();
        let asked = accepted_delay(requested, evaluation.policy)?;
        let asked = asked.filter(|asked| is_worth_a_wait(*asked));
        let n = counters.waits.saturating_add(1);
        let own = match (wait.delay, asked) {
            (Some(delay), _) => delay,
            // A server that names a time knows it better than a backoff, which would only lengthen the wait.
            (None, Some(_)) => Duration::ZERO,
            (None, None) => self.unpaid_backoff(n, evaluation),
        };
        let delay = self.delay(own, asked, evaluation)?;
        let since = counters.since.unwrap_or(now);
        let waited = now.saturating_sub(since).saturating_add(delay.0);
        if wait.max.is_some_and(|max| waited > max) {
            return Err(StopReason::WaitsExhausted);
        }
        let mut plan = self.resend(delay, Cost::Nothing, evaluation);
        plan.after.previous = own;
        plan.add().counters = Some(RuleCounters {
            waits: n,
            since: Some(since),
            ..counters
        });
        Ok(plan)
    }

    /// Returns the time after which the server wants to be asked again, which the response to a poll says, success or
    /// not.
    fn delay_of_poll(&self, evaluation: &Evaluation<'_>) -> Option<Duration> {
        let (outcome, moment) = (evaluation.outcome, evaluation.moment);
        if outcome.class() == Class::Success {
            outcome.server_hints(moment.wall).delay()
        } else {
            self.demanded_delay(outcome, moment, evaluation.policy)
        }
    }

    /// Plans one more attempt, which is not counted as anything else yet.
    pub(super) fn resend(
        &self,
        delay: Delay,
        cost: Cost,
        evaluation: &Evaluation<'_>,
    ) -> RetryPlan {
        let after = SessionCounts {
            resends: self.counts.resends.saturating_add(1),
            refused_in_a_row: self.refused_in_a_row(evaluation),
            in_doubt: self.is_in_doubt(evaluation.outcome),
            misdirected: self.counts.misdirected || evaluation.outcome.is_misdirected(),
            ..self.counts
        };
        let mut plan = RetryPlan::new(evaluation.by, after, delay, cost, self.started);
        if let Some(set) = self
            .matched_rule(evaluation.by)
            .and_then(|rule| rule.set.as_ref())
        {
            plan.add().set = Some(Arc::clone(set));
        }
        if let Some(budget) = &evaluation.policy.0.rules.budget {
            plan.add().budget = Some(Arc::clone(budget));
        }
        plan
    }

    /// Checks that the request may and can be sent again, and that processing it twice does no harm.
    #[inline(never)]
    pub(super) fn check_resend(&self, evaluation: &Evaluation<'_>) -> Result<(), StopReason> {
        if evaluation.policy.0.methods.exclude(self.method.as_ref()) {
            return Err(StopReason::NotRetryable);
        }
        if !self.facts.replayable {
            return Err(StopReason::BodyNotReplayable);
        }
        if !self.is_safe_twice(evaluation.policy) && !evaluation.outcome.reach().is_unprocessed() {
            return Err(evaluation.outcome.doubt_reason());
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
    pub(crate) fn needs_body(&self, outcome: &Outcome<'_>) -> bool {
        // A body that is here is all the view there will be; without retries, no rule decides.
        if outcome.body().is_some() || self.disabled.is_some() {
            return false;
        }
        let input = self.condition_input(outcome, BodyView::Head);
        let unread = |policy: &RetryPolicy| policy.0.rules.listed(&input) == ListMatch::Unread;
        let Some(by) = self.policy.decide(&input) else {
            return true;
        };
        match self.policy.action_on(outcome, by) {
            Action::Classify => unread(&self.policy),
            Action::Retry(policy) => unread(policy),
            // Other actions do not look at the lists.
            _ => false,
        }
    }

    pub(super) fn condition_input<'a>(
        &'a self,
        outcome: &'a Outcome<'a>,
        view: BodyView,
    ) -> ConditionInput<'a> {
        ConditionInput {
            attempt: self.counts.resends.saturating_add(1),
            method: self.method.as_ref(),
            idempotent: self.is_idempotent(),
            reads_successes: false,
            ..ConditionInput::new(outcome, view)
        }
    }

    /// Returns the policy in charge: the session's own, or the one that a rule retries by.
    #[inline(never)]
    pub(super) fn policy_by(&self, by: DecidedBy) -> &RetryPolicy {
        match by {
            DecidedBy::Policy => &self.policy,
            _ => match self.policy.action_of(by) {
                Action::Retry(policy) => policy,
                _ => &self.policy,
            },
        }
    }

    /// Returns the place of the list, rule or row that a stop is due to, or `None` if it is due to none.
    pub(super) fn cause_of(&self, stop: Stop) -> Option<Arc<str>> {
        if let Some(list) = stop.list {
            let rules = &self.policy_by(stop.by).0.rules;
            return Some(rules.place_of(list));
        }
        if let Some(row) = stop.row {
            return self.policy.0.classifiers.row_place(row);
        }
        let by = Some(stop.by).filter(|_| stop.why.is_of_rule());
        match by? {
            DecidedBy::Policy => None,
            DecidedBy::Rule(_) => self.matched_rule(stop.by)?.place().cloned(),
            DecidedBy::Otherwise => Some(self.policy.0.rules.place_of("otherwise")),
        }
    }

    pub(super) fn matched_rule(&self, by: DecidedBy) -> Option<&Rule> {
        match by {
            DecidedBy::Rule(rule) => self.policy.0.classifiers.rule(rule),
            DecidedBy::Policy | DecidedBy::Otherwise => None,
        }
    }

    pub(super) fn counters(&self, by: DecidedBy) -> Option<RuleCounters> {
        match by {
            DecidedBy::Rule(rule) => {
                Some(self.rule_counters.get(rule).copied().unwrap_or_default())
            }
            DecidedBy::Policy | DecidedBy::Otherwise => None,
        }
    }

    /// Sets the services that the request can fail over to. Before this call there are none.
    pub(crate) fn set_servers(&mut self, servers: Vec<(Arc<str>, Server)>) {
        self.servers = Some(servers);
    }

    /// Returns `true` once [`set_servers`](Self::set_servers) has been called.
    #[must_use]
    pub(crate) fn knows_servers(&self) -> bool {
        self.servers.is_some()
    }

    pub(super) fn plan_failover(
        &self,
        to: &Failover,
        set: Option<&Arc<HeaderMap>>,
        evaluation: &Evaluation<'_>,
    ) -> Result<RetryPlan, StopReason> {
        let server = self.server_of(&to.service);
        let server = server.ok_or(StopReason::NotRetryable)?;
        self.check_resend(evaluation)?;
        // Another server does not know the idempotency keys of the first. A request that may have been processed goes
        // there only if it is safe without them.
        let keys_are_known = to.same_keys || server == Server::Same;
        let may_repeat = !keys_are_known && self.is_in_doubt(evaluation.outcome);
        if may_repeat && !self.is_safe_anywhere(evaluation.policy) {
            // If an earlier attempt raised the doubt, this outcome's redirects are not the reason.
            return Err(if self.counts.in_doubt {
                StopReason::NotIdempotent
            } else {
                evaluation.outcome.doubt_reason()
            });
        }
        let delay = self.in_time((Duration::ZERO, DelaySource::Own), evaluation)?;
        let mut plan = self.resend(delay, Cost::Nothing, evaluation);
        let additions = plan.add();
        additions.failover = Some(Arc::clone(&to.service));
        // Replaces the headers of the matched rule that `resend` added: a failover on exhaustion has its own, or none.
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

    /// Returns `true` if processing by two servers does no harm. An idempotency key or the caller's own setting holds
    /// for one of them only; the method and the policy hold everywhere.
    fn is_safe_anywhere(&self, policy: &RetryPolicy) -> bool {
        let by_nature = self.facts.is_idempotent_by_method() || policy.0.methods == Methods::All;
        self.own.idempotent != Some(false) && by_nature
    }
}

/// Returns `true` if an outcome is to be repeated by its class, by a list, or because a rule says so.
fn is_wanted(listed: ListMatch, evaluation: &Evaluation<'_>) -> bool {
    match listed {
        ListMatch::No(_) => false,
        ListMatch::Yes => true,
        ListMatch::Unlisted => {
            evaluation.is_forced() || evaluation.outcome.class() != Class::Permanent
        }
        // Not reached in a session, which matches the lists only after the body was read.
        ListMatch::Unread => evaluation.is_forced(),
    }
}

fn rewrite(evaluation: &Evaluation<'_>) -> Option<RewriteBody> {
    let permanent = evaluation.outcome.class() == Class::Permanent;
    let rewrite = evaluation.policy.0.rewrite.as_ref().filter(|_| permanent)?;
    rewrite.after(evaluation.outcome)
}
