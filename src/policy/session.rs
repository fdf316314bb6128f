//! One request's way through a policy: outcomes in, decisions out.

mod plan;
#[cfg(test)]
mod tests;

pub(super) use plan::{GATED_LEAST, longest_spread};

use super::decision::{Decision, RetryPlan, StopReason};
use super::directives::{Judged, Listed, OnExhausted, Rule};
use super::moment::Moment;
use super::outcome::{Outcome, RequestFacts};
use super::request_override::RetryOverride;
use super::when::Seen;
use super::{Methods, RetryPolicy};
use http::{HeaderMap, Method};
use std::sync::Arc;
use std::time::Duration;

/// The state of one request: how many retries were planned, and until when it may go on.
///
/// A session asks nobody for the time or for randomness: both come with each call, so the same calls give the same
/// decisions.
///
/// ```
/// use http::{HeaderMap, Method, StatusCode};
/// use http_retry::policy::{Decision, Moment};
/// use http_retry::{Outcome, RequestFacts, RetryPolicy, StopReason};
/// use std::time::Duration;
///
/// let headers = HeaderMap::new();
/// let policy = RetryPolicy::user_facing();
/// let mut session = policy.session(RequestFacts::of(&Method::GET, &headers), Duration::ZERO);
///
/// let unavailable = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
/// let moment = Moment::new(Duration::from_millis(30));
/// assert!(matches!(session.on_outcome(&unavailable, moment), Decision::Retry(_)));
/// let second = session.on_outcome(&unavailable, moment);
/// assert!(matches!(second, Decision::Stop(StopReason::AttemptsExhausted)));
/// ```
#[derive(Debug, Clone)]
pub struct RetrySession {
    policy: RetryPolicy,
    /// What judged the last outcome: the policy itself, or the one that a rule retries by.
    current: RetryPolicy,
    /// The rule that judged the last outcome.
    rule: Option<usize>,
    facts: RequestFacts,
    method: Option<Method>,
    own: RetryOverride,
    started: Duration,
    /// When the whole request must be over, whatever the policy says.
    until: Option<Duration>,
    standing_aside: Option<StopReason>,
    /// All attempts but the first, waits included.
    resends: u32,
    retries: u32,
    /// What each rule has done so far.
    tallies: Vec<Tally>,
    /// Whether the last outcome was worth another attempt, had there been one left.
    worth_another: bool,
    previous: Duration,
    /// How long it has waited at the gate.
    gate_waited: Duration,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    retries: u32,
    waits: u32,
    /// When it waited first.
    since: Option<Duration>,
}

impl RetrySession {
    pub(super) fn new(policy: RetryPolicy, facts: RequestFacts, started: Duration) -> Self {
        Self {
            current: policy.clone(),
            policy,
            rule: None,
            facts,
            method: None,
            own: RetryOverride::default(),
            started,
            until: None,
            standing_aside: None,
            resends: 0,
            retries: 0,
            tallies: Vec::new(),
            worth_another: true,
            previous: Duration::ZERO,
            gate_waited: Duration::ZERO,
        }
    }

    /// The same session, with what the request itself says in front of what the policy says.
    #[must_use]
    pub fn with_override(self, own: &RetryOverride) -> Self {
        let before = self.own;
        let own = RetryOverride {
            off: own.off || before.off,
            max_retries: own.max_retries.or(before.max_retries),
            idempotent: own.idempotent.or(before.idempotent),
            deadline: own.deadline.or(before.deadline),
            ..RetryOverride::default()
        };
        let off = own.off.then_some(StopReason::Disabled);
        Self {
            standing_aside: off.or(self.standing_aside),
            own,
            ..self
        }
    }

    /// The same session, for rules that look at the method.
    pub(crate) fn with_method(self, method: Option<Method>) -> Self {
        Self { method, ..self }
    }

    /// The same session without any retries, and why.
    pub(crate) fn standing_aside(self, why: StopReason) -> Self {
        Self {
            standing_aside: self.standing_aside.or(Some(why)),
            ..self
        }
    }

    /// The session that goes on at another service, whose policy counts anew; the request must still be over in time.
    pub(crate) fn moved_to(&self, policy: RetryPolicy, now: Duration) -> Self {
        Self {
            until: self.deadline(),
            own: RetryOverride {
                deadline: None,
                ..self.own.clone()
            },
            resends: self.resends,
            method: self.method.clone(),
            standing_aside: self.standing_aside,
            ..Self::new(policy, self.facts, now)
        }
    }

    /// The policy that the request goes by.
    pub(crate) fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// Whether a retry can follow the next attempt at all; if not, nothing need be kept for one.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        let at_the_gate = || self.repeats() && self.gate_wait_left() > Some(Duration::ZERO);
        self.may_retry_a_success() || at_the_gate()
    }

    /// The same without those that wait at the gate, which follow nothing but a rate limit.
    pub(crate) fn may_retry_a_success(&self) -> bool {
        let left = self.retries < self.max_retries(&self.policy);
        self.standing_aside.is_none() && (left || self.policy.resends_beyond_its_limit())
    }

    /// Whether processing the request twice counts as no more than once.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.is_safe_twice(&self.policy)
    }

    /// How many retries have been planned so far.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// When the whole request must be over, on the clock of [`Moment::now`], if it must.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let allowed = self.own.deadline.or(self.current.0.deadline);
        let own = allowed.map(|allowed| self.started.saturating_add(allowed));
        match (own, self.until) {
            (Some(own), Some(until)) => Some(own.min(until)),
            (own, until) => own.or(until),
        }
    }

    /// How long the request may take where it is now, if there is a limit.
    pub(crate) fn allowed(&self) -> Option<Duration> {
        self.deadline()
            .map(|deadline| deadline.saturating_sub(self.started))
    }

    /// How long the request may still wait at the gate; none where there is no gate for it. The gate is the service's,
    /// whatever policy a rule retries by.
    pub(crate) fn gate_wait_left(&self) -> Option<Duration> {
        let most = self.policy.0.max_gate_wait?;
        let gated = self.standing_aside.is_none();
        gated.then(|| most.saturating_sub(self.gate_waited))
    }

    pub(crate) fn has_waited_at_the_gate(&mut self, waited: Duration) {
        self.gate_waited = self.gate_waited.saturating_add(waited);
    }

    /// The name of the rule that judged the last outcome.
    pub(crate) fn rule(&self) -> Option<&Arc<str>> {
        self.matched_rule().map(|rule| &rule.name)
    }

    /// What becomes of the request now that it has no retries left.
    pub(crate) fn on_exhausted(&self) -> &OnExhausted {
        match self.worth_another {
            true => &self.current.0.directives.on_exhausted,
            // An answer that no retry would have changed is the caller's.
            false => &OnExhausted::Last,
        }
    }

    /// Whether this request can be repeated here at all: then its success is counted here, and a retry layer further in
    /// stands aside.
    pub(crate) fn repeats(&self) -> bool {
        let ever = self.max_retries(&self.policy) > 0 || self.policy.resends_beyond_its_limit();
        self.standing_aside.is_none() && ever
    }

    /// How long an attempt that starts at `now` may take: the attempt timeout, or what is left of the deadline.
    #[must_use]
    pub fn attempt_limit(&self, now: Duration) -> Option<Duration> {
        let left = self.deadline().map(|deadline| deadline.saturating_sub(now));
        match (self.current.0.attempt_timeout, left) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (timeout, left) => timeout.or(left),
        }
    }

    /// What is known of the request as it goes on now.
    pub(crate) fn facts(&self) -> RequestFacts {
        self.facts
    }

    /// The request goes on with these headers, which may hold another key of idempotency than before, or none.
    pub(crate) fn goes_on_with(&mut self, headers: &HeaderMap) {
        if let Some(method) = &self.method {
            let facts = RequestFacts::of(method, headers);
            self.facts = facts.replayable(self.facts.is_replayable());
        }
    }

    /// Says whether the body of the attempt that ended can be sent again.
    pub fn set_replayable(&mut self, replayable: bool) {
        self.facts = self.facts.replayable(replayable);
    }

    /// Whether a rule must look into the outcome before it can decide.
    pub(crate) fn needs_evidence(&self, outcome: &Outcome<'_>) -> bool {
        if outcome.evidence().is_some() || self.standing_aside.is_some() {
            return false;
        }
        let seen = self.seen(outcome, false);
        let unread = |policy: &RetryPolicy| policy.0.directives.listed(&seen) == Listed::Unread;
        match self.policy.0.directives.verdict(&seen) {
            None => true,
            Some(verdict) => match verdict.then {
                Judged::ByClass => unread(&self.policy),
                Judged::Retry(policy) => unread(policy),
                _ => false,
            },
        }
    }

    /// Decides what follows from an outcome that the policy has classified.
    ///
    /// The gates, the first that refuses being the reason: limit, class, body, idempotence, server delay, deadline. The
    /// budget comes last and is asked with the plan.
    pub fn on_outcome(&mut self, outcome: &Outcome<'_>, moment: Moment) -> Decision {
        let planned = self.plan(outcome, moment);
        let planned = planned.or_else(|why| self.failover(why, outcome, moment));
        self.decided(planned)
    }

    /// Goes back to before a plan that was refused, but for who judged the outcome.
    pub(crate) fn take_back(&mut self, before: Self) {
        let (current, rule) = (self.current.clone(), self.rule);
        *self = Self {
            current,
            rule,
            ..before
        };
    }

    /// Another service instead of a retry that the budget refused, where the policy names one.
    pub(crate) fn on_refusal(
        &mut self,
        why: StopReason,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Decision {
        let planned = self.failover(why, outcome, moment);
        self.decided(planned)
    }

    fn decided(&mut self, planned: Result<RetryPlan, StopReason>) -> Decision {
        match planned {
            Ok(plan) => {
                self.resends = plan.retry;
                Decision::Retry(plan)
            }
            Err(why) => Decision::Stop(why),
        }
    }

    /// Another service in the place of what was refused, where the policy names one that the request may go to.
    fn failover(
        &self,
        why: StopReason,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Result<RetryPlan, StopReason> {
        match self.on_exhausted() {
            OnExhausted::Failover(service) if why.is_exhausted() => {
                let plan = self.plan_failover(service, outcome, moment);
                plan.map_err(|_| why)
            }
            _ => Err(why),
        }
    }

    fn seen<'a>(&'a self, outcome: &'a Outcome<'a>, final_word: bool) -> Seen<'a> {
        Seen {
            outcome,
            attempt: self.resends.saturating_add(1),
            method: self.method.as_ref(),
            idempotent: self.is_idempotent(),
            final_word,
        }
    }

    fn max_retries(&self, policy: &RetryPolicy) -> u32 {
        self.own.max_retries.unwrap_or(policy.0.max_retries)
    }

    fn is_safe_twice(&self, policy: &RetryPolicy) -> bool {
        let by_policy = self.facts.is_idempotent() || policy.0.methods == Methods::All;
        self.own.idempotent.unwrap_or(by_policy)
    }

    fn matched_rule(&self) -> Option<&Rule> {
        self.policy.0.directives.rules.get(self.rule?)
    }

    fn tally(&self) -> Option<Tally> {
        self.rule
            .map(|rule| self.tallies.get(rule).copied().unwrap_or_default())
    }

    fn tally_mut(&mut self) -> Option<&mut Tally> {
        let rule = self.rule?;
        if self.tallies.len() <= rule {
            self.tallies
                .resize(rule.saturating_add(1), Tally::default());
        }
        self.tallies.get_mut(rule)
    }
}
