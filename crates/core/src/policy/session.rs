//! One request's way through a policy: outcomes in, decisions out.

use super::Methods;
use super::decision::{RuleCounters, SessionCounts, Stop};
use super::request_facts::RequestFacts;
use super::request_facts::RequestLine;
use super::settings::RetryOverride;
use crate::policy::decision::StopReason;
use crate::policy::decision::{Cost, DelaySource, RetryPlan};
use crate::policy::moment::{Moment, nanos, splitmix64, uniform};
use crate::policy::outcome::Outcome;
use crate::policy::rules::{DecidedBy, ServerDelays};
use crate::policy::{Class, Reason, RetryPolicy, Scope};
use crate::server_hints::ServerHints;
use http::{HeaderMap, Method};
use std::sync::Arc;
use std::time::Duration;
use step::Reading;
pub(crate) mod plan;
mod step;
/// The longest random delay that is added to a wait that the server asks for.
const MAX_SPREAD: Duration = Duration::from_secs(10);

/// The divisor of a server's wait that gives the most a spread adds: one in five.
const SPREAD_PART: u32 = 5;

type Delay = (Duration, DelaySource);

/// The least time that each refusal takes from a call's wait at the gate, so that a server that asks for next to no
/// wait is not asked endlessly.
pub(in crate::policy) const MIN_GATED_WAIT: Duration = Duration::from_secs(1);

/// The least wait of a refused call if the server named a time, and if it named none; both double with each refusal.
const MIN_WAIT_ASKED: Duration = Duration::from_millis(10);
const MIN_WAIT_UNASKED: Duration = Duration::from_millis(100);
const MAX_WAIT_UNASKED: Duration = Duration::from_secs(10);

/// An outcome by which a rate limit holds back all callers for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The wait that the server asks for, if it names one.
    pub asked: Option<Duration>,
}

/// An outcome, and what it is judged by.
#[derive(Clone, Copy)]
struct Evaluation<'a> {
    outcome: &'a Outcome<'a>,
    moment: Moment,
    by: DecidedBy,
    /// The policy in charge.
    policy: &'a RetryPolicy,
}

impl RetrySession {
    /// Returns the policy's own delay before the nth attempt of its kind.
    fn backoff(&self, n: u32, case: &Evaluation<'_>) -> Duration {
        let backoff = &case.policy.0.backoff;
        backoff.delay_after(self.counts.previous, n, case.moment.random)
    }

    /// Returns the longer of the policy's own delay and the one that the server asks for, plus a spread on the latter,
    /// if there is time for it.
    fn delay(
        &self,
        own: Duration,
        asked: Option<Duration>,
        case: &Evaluation<'_>,
    ) -> Result<Delay, StopReason> {
        let asked = accepted_delay(asked.unwrap_or_default(), case.policy)?;
        let asked = asked.unwrap_or_default();
        let delay = own
            .max(asked)
            .saturating_add(spread(asked, case.moment.random));
        let source = if asked > own {
            DelaySource::Server
        } else {
            DelaySource::Own
        };
        self.in_time((delay, source), case)
    }

    fn in_time(&self, delay: Delay, case: &Evaluation<'_>) -> Result<Delay, StopReason> {
        let due = case.moment.now.saturating_add(delay.0);
        let deadline = self.deadline_by(case.policy);
        if deadline.is_some_and(|deadline| due >= deadline) {
            Err(StopReason::DeadlineExceeded)
        } else {
            Ok(delay)
        }
    }

    /// Returns the pause that a rate limit imposes on all callers, who wait for it together. `None` if the outcome is
    /// no such limit, if there is no gate, or if the limit asks for more than any caller would wait.
    #[must_use]
    pub fn refusal(&self, outcome: &Outcome<'_>, moment: Moment) -> Option<Refusal> {
        self.refusal_by(self.decided_by, outcome, moment)
    }

    fn refusal_by(&self, by: DecidedBy, outcome: &Outcome<'_>, moment: Moment) -> Option<Refusal> {
        self.gate_wait_left()?;
        if !may_be_shared(outcome) {
            return None;
        }
        let policy = self.policy_by(by);
        let asked = self.demanded_delay(outcome, moment, policy);
        let names_a_time = asked.is_some();
        let heard = asked
            .map(|asked| accepted_delay(asked, policy))
            .transpose()
            .ok()?;
        // A server that asks for a wait of zero has not said when to come back.
        let asked = heard.flatten().filter(|asked| !asked.is_zero());
        is_of_all(outcome, names_a_time).then_some(Refusal { asked })
    }

    /// Returns the wait that the server asks for, raised to the minimum of a classifier or a dialect, which also holds
    /// if the server names no time. The minimum doubles with each repetition, up to the policy's longest delay.
    fn demanded_delay(
        &self,
        outcome: &Outcome<'_>,
        moment: Moment,
        policy: &RetryPolicy,
    ) -> Option<Duration> {
        let asked = outcome.server_delay(moment.wall);
        let least = outcome.at_least().map(|least| {
            let before = self.counts.retries.saturating_add(self.counts.refusals);
            let times = 1_u32.checked_shl(before).unwrap_or(u32::MAX);
            let longest = policy.0.backoff.limit();
            least.saturating_mul(times).min(longest).max(least)
        });
        asked.max(least)
    }

    /// Returns the time for which a refused call waits on its own before it queues at the gate: as long as it was asked
    /// to, and at most a fifth more. If the server named no time, or next to none, the wait doubles with each refusal;
    /// n counts them.
    fn delay_of(refusal: Refusal, n: u32, case: &Evaluation<'_>) -> Duration {
        let times = 1_u32.checked_shl(n.saturating_sub(1)).unwrap_or(u32::MAX);
        let grown = |least: Duration, most: Duration| least.saturating_mul(times).min(most);
        match refusal.asked {
            Some(asked) => {
                let asked = asked.max(grown(MIN_WAIT_ASKED, MIN_GATED_WAIT));
                asked.saturating_add(spread(asked, case.moment.random))
            }
            None => {
                let whole = grown(MIN_WAIT_UNASKED, MAX_WAIT_UNASKED);
                let half = whole.checked_div(2).unwrap_or_default();
                half.saturating_add(part_of(half, case.moment.random))
            }
        }
    }

    /// Returns `true` if the call may wait this long at the gate. A call without retries is not sent back to the gate
    /// either: another service may take it at once.
    fn may_wait_at_the_gate(&self, delay: Duration, policy: &RetryPolicy) -> bool {
        let left = self.gate_wait_left().unwrap_or_default();
        self.max_retries(policy) > 0 && !left.is_zero() && delay <= left
    }

    /// Returns the delay after a refused attempt, or `None` if the call does not wait at the gate; n counts the
    /// attempts of its kind.
    fn gated_delay(&self, n: u32, case: &Evaluation<'_>) -> Option<Duration> {
        let refusal = self.refusal_by(case.by, case.outcome, case.moment)?;
        let delay = Self::delay_of(refusal, n, case);
        self.may_wait_at_the_gate(delay, case.policy)
            .then_some(delay)
    }

    /// Plans another attempt behind the gate, which is not counted as anything yet.
    fn plan_gated(&self, delay: Duration, case: &Evaluation<'_>) -> Result<RetryPlan, StopReason> {
        self.check_resend(case)?;
        let planned = self.in_time((delay, DelaySource::Gate), case)?;
        let mut plan = self.resend(planned, Cost::Gated, case);
        let waited = delay.max(MIN_GATED_WAIT);
        plan.after.gate_waited = plan.after.gate_waited.saturating_add(waited);
        Ok(plan)
    }
}

/// Returns the part of a server's delay that counts under the policy, or `None` if the policy ignores such delays.
fn accepted_delay(asked: Duration, policy: &RetryPolicy) -> Result<Option<Duration>, StopReason> {
    let settings = &policy.0;
    let most = settings.max_server_delay.unwrap_or(Duration::MAX);
    match settings.rules.server_delays {
        ServerDelays::Respect if asked > most => Err(StopReason::ServerDelayTooLong),
        ServerDelays::Respect => Ok(Some(asked)),
        ServerDelays::Clamp => Ok(Some(asked.min(most))),
        ServerDelays::Ignore => Ok(None),
    }
}

/// Returns a random extra on top of a server's wait, so that clients told the same time do not come back at once; never
/// negative.
fn spread(asked: Duration, random: u64) -> Duration {
    part_of(longest_spread(asked), random)
}

/// Returns a random part of a duration.
fn part_of(most: Duration, random: u64) -> Duration {
    nanos(uniform(splitmix64(random), most.as_nanos()))
}

/// Returns the most that a spread adds to a server's wait.
pub(in crate::policy) fn longest_spread(asked: Duration) -> Duration {
    let part = asked.checked_div(SPREAD_PART).unwrap_or_default();
    part.min(MAX_SPREAD)
}

/// Returns `true` if status, class, scope and reason allow that a limit is shared by all callers. Overload never is,
/// whatever a classifier calls it: a gate that closes on overload turns load into bursts.
fn may_be_shared(outcome: &Outcome<'_>) -> bool {
    let status = outcome.status().map(|status| status.as_u16());
    let others = outcome.scope() != Some(Scope::Request);
    let why = outcome.reason();
    !matches!(status, None | Some(413 | 503 | 529))
        && outcome.class() == Class::Throttled
        && others
        && why.is_none_or(|reason| reason == Reason::RateLimited)
}

/// Returns `true` if a limit that may be shared is: a 429, a status of 500 or more if a classifier or a dialect names a
/// time, or any other status if the server or one of them does.
fn is_of_all(outcome: &Outcome<'_>, names_a_time: bool) -> bool {
    match outcome.status().map(|status| status.as_u16()) {
        Some(429) => true,
        Some(500..) => outcome.names_delay(),
        _ => names_a_time,
    }
}

#[cfg(test)]
mod tests;

pub(crate) use plan::Server;
pub use step::{BodyRequirement, Command, Event};

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
    by: DecidedBy,
    /// The source of the last decision.
    decided_by: DecidedBy,
    reading: Reading,
    /// The hints in the head of the last outcome.
    hints: Option<Box<ServerHints>>,
    /// Set once the budget has refused a retry after the last outcome.
    was_refused: bool,
    /// The end of the request, once it is reached.
    stopped: Option<Stop>,
    facts: RequestFacts,
    method: Option<Method>,
    /// The request that outcomes belong to, if a classifier or a rule may look at it.
    request: Option<Arc<RequestLine>>,
    own: RetryOverride,
    started: Duration,
    /// The time by which the whole request must be over, whatever the policy says.
    until: Option<Duration>,
    standing_aside: Option<StopReason>,
    counts: SessionCounts,
    /// The counters of each rule.
    tallies: Vec<RuleCounters>,
    /// The services that the request can fail over to, with their servers; `None` until they are resolved.
    servers: Option<Vec<(Arc<str>, Server)>>,
}

impl RetrySession {
    pub(super) fn new(policy: RetryPolicy, facts: RequestFacts, started: Duration) -> Self {
        Self {
            policy,
            by: DecidedBy::Policy,
            decided_by: DecidedBy::Policy,
            reading: Reading::Nothing,
            hints: None,
            was_refused: false,
            stopped: None,
            facts,
            method: None,
            request: None,
            own: RetryOverride::default(),
            started,
            until: None,
            standing_aside: None,
            counts: SessionCounts::default(),
            tallies: Vec::new(),
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
            standing_aside: off.or(self.standing_aside),
            own,
            ..self
        }
    }

    /// Returns this session with the request's method, for rules that look at it.
    #[must_use]
    #[inline]
    pub fn with_method(self, method: Option<Method>) -> Self {
        Self { method, ..self }
    }

    /// Returns this session with the request that its outcomes belong to, for classifiers and rules that look at it.
    pub fn of_request(self, request: Option<RequestLine>) -> Self {
        Self {
            request: request.map(Arc::new),
            ..self
        }
    }

    /// Returns the request that outcomes belong to, if it is kept.
    #[must_use]
    #[inline]
    pub fn request(&self) -> Option<Arc<RequestLine>> {
        self.request.clone()
    }

    /// Returns this session without any retries, for the reason `why` unless an earlier one was given.
    #[must_use]
    pub fn disabled(self, why: StopReason) -> Self {
        Self {
            standing_aside: self.standing_aside.or(Some(why)),
            ..self
        }
    }

    /// Returns the session that continues at another service, whose policy counts anew; the deadline of the request
    /// stays.
    #[must_use]
    pub fn moved_to(&self, policy: RetryPolicy, now: Duration) -> Self {
        Self {
            until: self.deadline(),
            own: RetryOverride {
                deadline: None,
                ..self.own.clone()
            },
            // Only retries start anew: the attempts, the doubt and the time spent at a gate belong to the request.
            counts: SessionCounts {
                resends: self.counts.resends,
                in_doubt: self.counts.in_doubt,
                gate_waited: self.counts.gate_waited,
                ..SessionCounts::default()
            },
            method: self.method.clone(),
            request: self.request.clone(),
            standing_aside: self.standing_aside,
            ..Self::new(policy, self.facts, now)
        }
    }

    /// Returns the policy that the request follows.
    #[must_use]
    #[inline]
    pub fn policy(&self) -> &RetryPolicy {
        &self.policy
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
        self.standing_aside.is_none() && (left || self.policy.resends_beyond_its_limit())
    }

    /// Returns `true` if processing the request twice counts as harmless: by the request's own setting, which takes
    /// precedence, else by its facts or the policy's [`Methods`].
    #[must_use]
    #[inline]
    pub fn is_idempotent(&self) -> bool {
        self.is_safe_twice(&self.policy)
    }

    /// Returns `true` if the request's own setting or its facts make it idempotent, whatever policy a rule retries it
    /// by.
    #[must_use]
    #[inline]
    pub fn is_idempotent_by_itself(&self) -> bool {
        self.own.idempotent.unwrap_or(self.facts.is_idempotent())
    }

    /// Returns the number of retries counted so far. Waits of rules do not count, nor do retries of refused attempts
    /// that the policy's [`max_refused`](crate::RetryPolicyBuilder::max_refused) counts separately.
    #[must_use]
    #[inline]
    pub fn retries(&self) -> u32 {
        self.counts.retries
    }

    /// Returns the end of a request whose next attempt is not made although its plan allowed it.
    fn stop(&self, why: StopReason) -> Stop {
        Stop {
            why,
            by: self.decided_by,
            worth_another: true,
        }
    }

    /// Returns `true` if this layer can repeat the request at all. If so, its success is counted here, and an inner
    /// retry layer stands aside.
    #[must_use]
    pub fn repeats(&self) -> bool {
        let ever = self.max_retries(&self.policy) > 0 || self.policy.resends_beyond_its_limit();
        self.standing_aside.is_none() && ever
    }

    /// Returns the facts of the request as it is sent now.
    #[must_use]
    #[inline]
    pub fn facts(&self) -> RequestFacts {
        self.facts
    }

    /// Updates the facts to new headers, which may hold another idempotency key than before, or none.
    pub fn replace_headers(&mut self, headers: &HeaderMap, keyed: bool) {
        if let Some(method) = &self.method {
            let facts = RequestFacts::of(method, headers).keyed(keyed);
            self.facts = facts.replayable(self.facts.is_replayable());
        }
    }

    /// Records if the body of the attempt that ended can be sent again. If not, [`plan`](Self::plan) stops with
    /// [`StopReason::BodyNotReplayable`].
    #[inline]
    pub fn set_replayable(&mut self, replayable: bool) {
        self.facts = self.facts.replayable(replayable);
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
        self.judge(outcome, moment).map_err(|stop| stop.why)
    }

    /// Counts a paid plan. Counting it twice has no further effect.
    pub(crate) fn count(&mut self, plan: &RetryPlan) {
        self.by = plan.by;
        self.counts = plan.after;
        if let (DecidedBy::Rule(rule), Some(tally)) = (plan.by, plan.tally()) {
            if self.tallies.len() <= rule {
                self.tallies
                    .resize(rule.saturating_add(1), RuleCounters::default());
            }
            if let Some(counted) = self.tallies.get_mut(rule) {
                *counted = tally;
            }
        }
    }

    /// Returns the time at which the call began.
    #[must_use]
    #[inline]
    pub fn started(&self) -> Duration {
        self.started
    }

    /// Returns the time at which the whole request must be over, on the clock of
    /// [`Moment::now`](crate::policy::Moment::now), or `None` without a deadline.
    #[must_use]
    #[inline]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline_by(self.policy_by(self.by))
    }

    /// Returns the time that the request may take at its current service, or `None` without a limit.
    #[must_use]
    pub fn allowed(&self) -> Option<Duration> {
        self.deadline()
            .map(|deadline| deadline.saturating_sub(self.started))
    }

    /// Returns the time that the request may still wait at the gate, or `None` if there is no gate for it. The gate is
    /// the service's, whatever policy a rule retries by.
    #[must_use]
    pub fn gate_wait_left(&self) -> Option<Duration> {
        let most = self.policy.0.max_gate_wait?;
        let gated = self.standing_aside.is_none();
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
        let by_policy = self.policy_by(self.by).0.attempt_timeout;
        let timeout = self.own.attempt_timeout.or(by_policy);
        timeout.into_iter().chain(left).min()
    }

    /// Returns the most bytes of a response body that belong to the attempt under way; 0 for none. A layer that stands
    /// aside leaves the response to another layer, or to the caller. A response to HEAD declares a length and has no
    /// body.
    pub(crate) fn whole_answers(&self) -> u64 {
        let by_policy = || self.policy_by(self.by).0.whole_answers;
        if self.method == Some(Method::HEAD) {
            return 0;
        }
        match (self.standing_aside, self.own.whole_answers) {
            (Some(_), _) => 0,
            (None, Some(own)) => own.into(),
            (None, None) => by_policy(),
        }
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
        let by_policy = self.facts.is_idempotent() || policy.0.methods == Methods::All;
        self.own.idempotent.unwrap_or(by_policy)
    }

    pub(super) fn deadline_by(&self, policy: &RetryPolicy) -> Option<Duration> {
        let allowed = self.own.deadline.or(policy.0.deadline);
        let own = allowed.map(|allowed| self.started.saturating_add(allowed));
        match (own, self.until) {
            (Some(own), Some(until)) => Some(own.min(until)),
            (own, until) => own.or(until),
        }
    }
}
