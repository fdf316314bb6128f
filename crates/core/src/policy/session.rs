//! One request's way through a policy: outcomes in, decisions out.

use super::Methods;
use super::decision::{RuleCounters, SessionCounts, Stop};
use super::request_facts::RequestFacts;
use super::settings::RetryOverride;
use super::worst_case::limited;
use crate::policy::RetryPolicy;
use crate::policy::decision::{RetryPlan, StopReason};
use crate::policy::moment::{Moment, millis};
use crate::policy::outcome::Outcome;
use crate::policy::rules::DecidedBy;
use crate::request_head::RequestHead;
use crate::server_hints::ServerHints;
use http::{HeaderMap, Method};
use judging::Reading;
use std::sync::Arc;
use std::time::Duration;

mod delay;
pub(crate) mod ext;
mod judging;
pub(crate) mod plan;
mod refusal;

pub(in crate::policy) use delay::{MIN_UNPAID_WAIT, longest_spread};
pub(crate) use judging::Decision;
pub(crate) use plan::Server;
pub(in crate::policy) use refusal::MIN_GATED_WAIT;
pub(crate) use refusal::Refusal;

/// The state of one request: its retries so far, and its deadline.
///
/// Time and randomness come with each call, so the same calls give the same decisions. Four steps make a retry:
///
/// 1. [`RetryPolicy::classify`] judges an outcome by the policy's classifier, dialect and header rules. Without this
///    step the standard tables alone count.
/// 2. [`RetrySession::plan`] plans what follows. It changes nothing.
/// 3. [`RetryBudget::withdraw`](crate::RetryBudget::withdraw) pays for the plan, and reveals its delay.
/// 4. [`RetrySession::apply`] counts the paid retry. A refused or dropped plan leaves no trace.
///
/// ```
/// use http::{HeaderMap, Method, StatusCode};
/// use http_retry::policy::Moment;
/// use http_retry::{Outcome, RequestFacts, RetryBudget, RetryPolicy, StopReason};
/// use std::time::Duration;
///
/// let headers = HeaderMap::new();
/// let (policy, budget) = (RetryPolicy::user_facing(), RetryBudget::default());
/// let mut session = policy.session(RequestFacts::of(&Method::GET, &headers), Duration::ZERO);
///
/// let unavailable = policy.classify(Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers));
/// let moment = Moment::new(Duration::from_millis(30));
/// let plan = session.plan(&unavailable, moment)?;
/// let paid = budget.withdraw(plan, moment.now)?;
/// session.apply(&paid);
/// // wait for paid.delay(), then:
/// paid.commit();
///
/// let second = session.plan(&unavailable, moment).map(drop);
/// assert_eq!(second, Err(StopReason::AttemptsExhausted));
/// # Ok::<(), StopReason>(())
/// ```
#[derive(Debug, Clone)]
pub struct RetrySession {
    policy: RetryPolicy,
    /// The source of the decision behind the retry under way.
    retrying_by: DecidedBy,
    /// The source of the last decision.
    last_decision_by: DecidedBy,
    reading: Reading,
    /// The hints in the head of the last outcome.
    hints: Option<Box<ServerHints>>,
    /// The refusal that the head of a response shows whose body is being read.
    provisional: Option<Refusal>,
    /// Set once the budget has refused a retry after the last outcome.
    was_refused: bool,
    /// The end of the request, once it is reached.
    stopped: Option<Stop>,
    facts: RequestFacts,
    method: Option<Method>,
    /// The request that outcomes belong to, if a classifier or a rule may look at it.
    request: Option<Arc<RequestHead<'static>>>,
    own: RetryOverride,
    started: Duration,
    /// The start of the attempt under way, in milliseconds: a number takes half the space of a duration.
    sent: u64,
    /// The time by which the whole request must be over, whatever the policy says.
    until: Option<Duration>,
    /// The reason for making no retries at all, if there is one.
    disabled: Option<StopReason>,
    counts: SessionCounts,
    /// The counters of each rule, up to the last one that has retried or waited.
    rule_counters: Vec<RuleCounters>,
    /// The services that the request can fail over to, with their servers; `None` until they are resolved.
    servers: Option<Vec<(Arc<str>, Server)>>,
}

impl RetrySession {
    pub(super) fn new(policy: RetryPolicy, facts: RequestFacts, started: Duration) -> Self {
        Self {
            policy,
            retrying_by: DecidedBy::Policy,
            last_decision_by: DecidedBy::Policy,
            reading: Reading::Nothing,
            hints: None,
            provisional: None,
            was_refused: false,
            stopped: None,
            facts,
            method: None,
            request: None,
            own: RetryOverride::default(),
            started,
            sent: millis(started),
            until: None,
            disabled: None,
            counts: SessionCounts::default(),
            rule_counters: Vec::new(),
            servers: None,
        }
    }

    /// Returns this session with the request's own settings in place of the policy's. If a setting is given twice, the
    /// last one counts, but [`RetryOverride::off`] stays.
    #[must_use]
    pub fn with_override(self, own: &RetryOverride) -> Self {
        let own = own.over(&self.own);
        let off = own.off.then_some(StopReason::Disabled);
        Self {
            disabled: off.or(self.disabled),
            own,
            ..self
        }
    }

    /// Returns this session without any retries, for the reason `why` unless an earlier one was given.
    #[must_use]
    pub(crate) fn disabled(self, why: StopReason) -> Self {
        Self {
            disabled: self.disabled.or(Some(why)),
            ..self
        }
    }

    /// Returns the session that continues at another service, whose policy counts anew; the deadline of the request
    /// stays.
    #[must_use]
    pub(crate) fn moved_to(&self, policy: RetryPolicy, now: Duration) -> Self {
        Self {
            until: self.deadline(),
            own: RetryOverride {
                // Part of `until` now. It would otherwise start again at `now`.
                deadline: None,
                ..self.own.clone()
            },
            // Only retries start anew: the attempts, the doubt, the time spent at a gate and what happens once belong
            // to the request.
            counts: SessionCounts {
                retries: 0,
                refusals: 0,
                previous: Duration::ZERO,
                ..self.counts
            },
            method: self.method.clone(),
            request: self.request.clone(),
            disabled: self.disabled,
            ..Self::new(policy, self.facts, now)
        }
    }

    /// Returns `true` if a retry can follow the next attempt at all; if not, the request need not be kept. Only the
    /// limits count, not the clock.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        let at_the_gate = || {
            let time_is_left = self.gate_wait_left() > Some(Duration::ZERO);
            self.repeats() && time_is_left && self.has_refused_left(&self.policy)
        };
        self.may_retry_a_success() || at_the_gate()
    }

    /// Returns `true` if a retry can follow even a success. Refused attempts that count separately do not matter, since
    /// they follow only a rate limit.
    pub(crate) fn may_retry_a_success(&self) -> bool {
        let left = self.counts.retries < self.max_retries(&self.policy);
        self.disabled.is_none() && (left || self.policy.resends_beyond_its_limit())
    }

    /// Returns `true` if processing the request twice counts as harmless: by the request's own setting, which takes
    /// precedence, else by its facts or the policy's [`Methods`].
    #[must_use]
    #[inline]
    pub(crate) fn is_idempotent(&self) -> bool {
        self.is_safe_twice(&self.policy)
    }

    /// Returns `true` if the request's own setting or its facts make it idempotent, whatever policy a rule retries it
    /// by.
    #[must_use]
    #[inline]
    pub(crate) fn is_idempotent_by_itself(&self) -> bool {
        self.own.idempotent.unwrap_or(self.facts.idempotent)
    }

    /// Returns `true` if the request may be sent again before its outcome is known: by the policy's [`Methods`], its own
    /// settings and its facts, body included.
    pub(crate) fn may_send_twice(&self) -> bool {
        let excluded = self.policy.0.methods.exclude(self.method.as_ref());
        let is_allowed = self.disabled.is_none() && !excluded && self.facts.replayable;
        is_allowed && self.is_idempotent()
    }

    /// Returns `true` if a server may have processed one of the attempts that were followed by another, and the request
    /// is not idempotent by itself. A layer within an attempt of another one [reports](crate::attempt::sent) that.
    #[must_use]
    #[inline]
    pub(crate) fn may_have_done_harm(&self) -> bool {
        self.counts.in_doubt && !self.is_idempotent_by_itself()
    }

    /// Returns the number of retries counted so far. Waits of rules do not count, nor do retries of refused attempts
    /// that the policy's [`max_refused`](crate::RetryPolicyBuilder::max_refused) counts separately.
    #[must_use]
    #[inline]
    pub fn retries(&self) -> u32 {
        self.counts.retries
    }

    /// Returns the end of a request whose next attempt was planned and is not made.
    fn stop(&self, why: StopReason) -> Stop {
        Stop {
            why,
            by: self.last_decision_by,
            list: None,
            row: None,
            worth_another: true,
        }
    }

    /// Returns `true` if this layer can repeat the request at all. If so, its success is counted here, and an inner
    /// retry layer stands aside.
    #[must_use]
    pub(crate) fn repeats(&self) -> bool {
        let ever = self.max_retries(&self.policy) > 0 || self.policy.resends_beyond_its_limit();
        self.disabled.is_none() && ever
    }

    /// Records the start of an attempt.
    #[inline]
    pub(crate) fn attempt_started(&mut self, now: Duration) {
        self.sent = millis(now);
    }

    /// Returns the policy that the request follows.
    #[must_use]
    #[inline]
    pub(crate) fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// Returns the request that outcomes belong to, if it is kept.
    #[must_use]
    #[inline]
    pub(crate) fn request(&self) -> Option<Arc<RequestHead<'static>>> {
        self.request.clone()
    }

    /// Returns the facts of the request as it is sent now.
    #[must_use]
    #[inline]
    pub(crate) fn facts(&self) -> RequestFacts {
        self.facts
    }

    /// Updates the facts to new headers, which may hold another idempotency key than before, or none.
    pub(crate) fn replace_headers(&mut self, headers: &HeaderMap, keyed: bool) {
        if let Some(method) = &self.method {
            let mut facts = RequestFacts::of(method, headers).keyed(keyed);
            // Headers say nothing about the body.
            facts.replayable = self.facts.replayable;
            self.facts = facts;
        }
    }

    /// Records if the body of the attempt that ended can be sent again. If not, [`plan`](Self::plan) stops with
    /// [`StopReason::BodyNotReplayable`].
    #[inline]
    pub fn set_replayable(&mut self, replayable: bool) {
        self.facts.replayable = replayable;
    }

    /// Plans the retry that follows a classified outcome; a budget must still pay for it. Nothing changes: the same
    /// call gives the same plan.
    ///
    /// # Errors
    ///
    /// The reason for making no further attempt. The first check that refuses gives it: limit, class, body,
    /// idempotence, server delay, deadline. The budget comes last, with the plan.
    #[inline]
    pub fn plan(&self, outcome: &Outcome<'_>, moment: Moment) -> Result<RetryPlan, StopReason> {
        self.plan_or_stop(outcome, moment).map_err(|stop| stop.why)
    }

    /// Counts a paid plan. Counting it twice has no further effect.
    pub(crate) fn count(&mut self, plan: &RetryPlan) {
        self.retrying_by = plan.by;
        // A plan holds the counts after its retry instead of increments, so a second call changes nothing.
        self.counts = plan.after;
        if let (DecidedBy::Rule(rule), Some(counters)) = (plan.by, plan.counters()) {
            // The list grows on demand: most requests never meet a rule, and should not allocate for any.
            if self.rule_counters.len() <= rule {
                self.rule_counters
                    .resize(rule.saturating_add(1), RuleCounters::default());
            }
            if let Some(counted) = self.rule_counters.get_mut(rule) {
                *counted = counters;
            }
        }
    }

    /// Returns the time at which the call began.
    #[must_use]
    #[inline]
    pub(crate) fn started(&self) -> Duration {
        self.started
    }

    /// Returns the time at which the whole request must be over, on the clock of
    /// [`Moment::now`](crate::policy::Moment::now), or `None` without a deadline.
    #[must_use]
    #[inline(never)]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline_by(self.policy_by(self.retrying_by))
    }

    /// Returns the longest time for the request at its current service, or `None` without a limit.
    #[must_use]
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.deadline()
            .map(|deadline| deadline.saturating_sub(self.started))
    }

    /// Returns the time that the request may still wait at the gate, or `None` if there is no gate for it. The gate is
    /// the service's, whatever policy a rule retries by.
    #[must_use]
    pub(crate) fn gate_wait_left(&self) -> Option<Duration> {
        let most = self.policy.0.max_gate_wait?;
        let gated = self.disabled.is_none();
        gated.then(|| most.saturating_sub(self.counts.gate_waited))
    }

    pub(crate) fn has_waited_at_the_gate(&mut self, waited: Duration) {
        self.counts.gate_waited = self.counts.gate_waited.saturating_add(waited);
    }

    /// Returns the time limit of an attempt that starts at `now`: the shorter of the attempt timeout and the rest of
    /// the deadline. Zero past the deadline; `None` without either.
    #[must_use]
    pub fn attempt_limit(&self, now: Duration) -> Option<Duration> {
        let left = self.deadline().map(|deadline| deadline.saturating_sub(now));
        self.policy_by(self.retrying_by)
            .0
            .attempt_limit(Some(&self.own), left)
    }

    /// Returns the most bytes of a response body that belong to the attempt under way; 0 for none. A layer that stands
    /// aside leaves the response to another layer, or to the caller. A response to HEAD declares a length and has no
    /// body.
    pub(crate) fn whole_responses(&self) -> u64 {
        let by_policy = || self.policy_by(self.retrying_by).0.whole_responses;
        if self.method == Some(Method::HEAD) {
            return 0;
        }
        match (self.disabled, self.own.whole_responses) {
            (Some(_), _) => 0,
            (None, Some(own)) => own.into(),
            (None, None) => by_policy(),
        }
    }

    /// Returns the most attempts that the limit in charge allows, or `None` if there is no limit. Attempts that do not
    /// count, such as refused ones, come on top.
    pub(crate) fn max_attempts(&self) -> Option<u64> {
        let retries = limited(self.max_retries(self.policy_by(self.retrying_by)));
        retries.map(|retries| retries.saturating_add(1))
    }

    pub(super) fn max_retries(&self, policy: &RetryPolicy) -> u32 {
        self.own.max_retries.unwrap_or(policy.0.max_retries)
    }

    /// Returns `true` if the next refused attempt counts separately from the retries.
    pub(super) fn has_refused_left(&self, policy: &RetryPolicy) -> bool {
        // A limit that the request itself sets bounds all attempts, refused ones included.
        let most = policy.0.max_refused;
        self.own.max_retries.is_none() && self.counts.refusals < most
    }

    pub(super) fn is_safe_twice(&self, policy: &RetryPolicy) -> bool {
        let by_policy = self.facts.idempotent || policy.0.methods == Methods::All;
        self.own.idempotent.unwrap_or(by_policy)
    }

    pub(super) fn deadline_by(&self, policy: &RetryPolicy) -> Option<Duration> {
        let allowed = self.own.deadline.or(policy.0.deadline);
        let own = allowed.map(|allowed| self.started.saturating_add(allowed));
        // A failover keeps the deadline of the first service, even if the next one's policy allows more time.
        match (own, self.until) {
            (Some(own), Some(until)) => Some(own.min(until)),
            (own, until) => own.or(until),
        }
    }
}

#[cfg(test)]
mod tests;
