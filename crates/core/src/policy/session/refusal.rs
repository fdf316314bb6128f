//! Refusals: the outcomes by which a rate limit holds back all callers, and the wait of a refused call.

use super::RetrySession;
use super::delay::{MIN_UNPAID_WAIT, accepted_delay, is_worth_a_wait, spread};
use super::plan::Evaluation;
use crate::policy::decision::{Cost, DelaySource, RetryPlan, StopReason};
use crate::policy::moment::Moment;
use crate::policy::outcome::Outcome;
use crate::policy::rules::DecidedBy;
use crate::policy::{Class, Reason, RetryPolicy, Scope};
use std::time::Duration;

/// The least time that each refusal takes from a call's wait at the gate, which bounds the attempts at a server that
/// asks for next to no wait.
pub(in crate::policy) const MIN_GATED_WAIT: Duration = Duration::from_secs(1);

/// The longest wait of a call whose refusals count separately, if the server names no time.
const MAX_WAIT_UNASKED: Duration = Duration::from_secs(10);

/// The refusals in a row after which a call that waits as long as it is asked to trusts that time no longer.
const MAX_REFUSED_AS_ASKED: u32 = 3;

/// An outcome by which a rate limit holds back all callers for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Refusal {
    /// The wait that the server asks for, if it names one.
    pub asked: Option<Duration>,
}

impl RetrySession {
    /// Returns the pause that a rate limit imposes on all callers, who wait for it together. `None` if the outcome is
    /// no such limit, if there is no gate, or if the limit asks for more than any caller would wait.
    #[must_use]
    pub(crate) fn refusal(&self, outcome: &Outcome<'_>, moment: Moment) -> Option<Refusal> {
        self.refusal_by(self.last_decision_by, outcome, moment)
    }

    /// Returns the pause that the head of a response imposes on all callers, if its body is read before it is judged.
    /// The body may show that the limit affects fewer calls, or none.
    #[must_use]
    pub(crate) fn provisional_refusal(&self) -> Option<Refusal> {
        self.provisional
    }

    /// Returns the refusal that the head of a response shows, unless it affects only some calls.
    pub(super) fn refusal_by_head(&self, outcome: &Outcome<'_>, moment: Moment) -> Option<Refusal> {
        let affects_all = matches!(outcome.verdict().scope, None | Some(Scope::Account));
        let refusal = self.refusal_by(DecidedBy::Policy, outcome, moment);
        refusal.filter(|_| affects_all)
    }

    pub(super) fn refusal_by(
        &self,
        by: DecidedBy,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Option<Refusal> {
        self.gate_wait_left()?;
        if !may_be_shared(outcome) {
            return None;
        }
        let policy = self.policy_by(by);
        let requested = self.demanded_delay(outcome, moment, policy);
        let names_a_time = requested.is_some();
        // A wait beyond `max_server_delay` ends this call, and no other would wait that long at the gate.
        let accepted = requested
            .map(|requested| accepted_delay(requested, policy))
            .transpose()
            .ok()?;
        // A server that asks for a wait of zero has not said when to come back.
        let asked = accepted.flatten().filter(|delay| !delay.is_zero());
        is_shared_limit(outcome, names_a_time).then_some(Refusal { asked })
    }

    /// Returns the wait that the server asks for, raised to the minimum of a classifier or a dialect, which also holds
    /// if the server names no time. The minimum doubles with each repetition, up to the policy's longest delay.
    #[inline(never)]
    pub(super) fn demanded_delay(
        &self,
        outcome: &Outcome<'_>,
        moment: Moment,
        policy: &RetryPolicy,
    ) -> Option<Duration> {
        let requested = outcome.server_delay(moment.wall);
        let minimum = outcome.verdict().at_least.map(|least| {
            let before = self.counts.retries.saturating_add(self.counts.refusals);
            let times = 1_u32.checked_shl(before).unwrap_or(u32::MAX);
            let longest = policy.0.backoff.max_delay;
            // The backoff's limit stops the doubling, but never cuts the minimum itself.
            least.saturating_mul(times).min(longest).max(least)
        });
        // `None` is less than any delay, so the minimum also holds if the server names no time.
        requested.max(minimum)
    }

    /// Returns the time for which a call whose refusal counts as a retry waits on its own before it queues at the gate,
    /// or `None` if it does not wait there: the policy's backoff, or the time that it was asked to wait and at most a
    /// fifth more, if that is longer.
    #[inline(never)]
    pub(super) fn delay_of_counted_refusal(
        &self,
        refusal: Refusal,
        own: Duration,
        evaluation: &Evaluation<'_>,
    ) -> Option<Duration> {
        let asked = refusal.worth_a_wait();
        let asked = asked.map(|asked| spread_out(asked, evaluation));
        let delay = own.max(MIN_UNPAID_WAIT).max(asked.unwrap_or_default());
        self.may_wait_at_the_gate(delay, evaluation.policy)
            .then_some(delay)
    }

    /// Returns the same time for a call whose nth refusal counts separately. It leaves the pace to the gate, and waits as
    /// long as it was asked to, and at most a fifth more; if the server named no time, or next to none, the wait doubles
    /// each time.
    #[inline(never)]
    pub(super) fn delay_of_separate_refusal(
        &self,
        refusal: Refusal,
        n: u32,
        evaluation: &Evaluation<'_>,
    ) -> Option<Duration> {
        let asked = refusal.worth_a_wait();
        let unasked = || {
            let times = 1_u32.checked_shl(n.saturating_sub(1)).unwrap_or(u32::MAX);
            MIN_UNPAID_WAIT.saturating_mul(times).min(MAX_WAIT_UNASKED)
        };
        let delay = spread_out(asked.unwrap_or_else(unasked), evaluation);
        let delay = delay.max(self.least_delay_in_a_row(asked, evaluation));
        self.may_wait_at_the_gate(delay, evaluation.policy)
            .then_some(delay)
    }

    /// Returns the least delay of a call whose refusals count separately. Up to the third refusal in a row it trusts
    /// the time that it is asked to wait. From then on its backoff is the floor, one step for three refusals, until
    /// that time has doubled as often.
    fn least_delay_in_a_row(
        &self,
        asked: Option<Duration>,
        evaluation: &Evaluation<'_>,
    ) -> Duration {
        let row = self.counts.refused_in_a_row.saturating_add(1);
        let more = row.saturating_sub(MAX_REFUSED_AS_ASKED);
        if more == 0 {
            return Duration::ZERO;
        }
        let own = self.backoff(more.div_ceil(MAX_REFUSED_AS_ASKED), evaluation);
        let times = 1_u32.checked_shl(more).unwrap_or(u32::MAX);
        asked.map_or(own, |asked| own.min(asked.saturating_mul(times)))
    }

    /// Returns the number of refusals in a row up to this outcome, in whichever way they count.
    pub(super) fn refused_in_a_row(&self, evaluation: &Evaluation<'_>) -> u32 {
        let before = self.counts.refused_in_a_row;
        self.refusal_by(evaluation.by, evaluation.outcome, evaluation.moment)
            .map_or(0, |_| before.saturating_add(1))
    }

    /// Returns `true` if the call may wait this long at the gate. A call without retries is not sent back to the gate
    /// either: another service may take it at once.
    fn may_wait_at_the_gate(&self, delay: Duration, policy: &RetryPolicy) -> bool {
        let left = self.gate_wait_left().unwrap_or_default();
        self.max_retries(policy) > 0 && !left.is_zero() && delay <= left
    }

    /// Plans another attempt behind the gate, which is not counted as anything yet.
    #[inline(never)]
    pub(super) fn plan_gated(
        &self,
        delay: Duration,
        evaluation: &Evaluation<'_>,
    ) -> Result<RetryPlan, StopReason> {
        self.check_resend(evaluation)?;
        let planned = self.in_time((delay, DelaySource::Gate), evaluation)?;
        let mut plan = self.resend(planned, Cost::Gated, evaluation);
        // Only this delay is charged here; the time in the gate's queue comes on top with `has_waited_at_the_gate`.
        let waited = delay.max(MIN_GATED_WAIT);
        plan.after.gate_waited = plan.after.gate_waited.saturating_add(waited);
        Ok(plan)
    }
}

impl Refusal {
    /// Returns the wait that the server asks for, if it has thereby said when to come back.
    fn worth_a_wait(self) -> Option<Duration> {
        self.asked.filter(|asked| is_worth_a_wait(*asked))
    }
}

/// Returns a delay with a random extra on top.
fn spread_out(delay: Duration, evaluation: &Evaluation<'_>) -> Duration {
    delay.saturating_add(spread(delay, evaluation.moment.random))
}

/// Returns `true` if status, class, scope and reason allow that a limit is shared by all callers. Overload never is,
/// whatever a classifier calls it: a gate that closes on overload turns load into bursts.
fn may_be_shared(outcome: &Outcome<'_>) -> bool {
    let status = outcome.status().map(|status| status.as_u16());
    let verdict = outcome.verdict();
    // 413 is about the size of one request; 503 and 529 report overload.
    !matches!(status, None | Some(413 | 503 | 529))
        && outcome.class() == Class::Throttled
        && verdict.scope != Some(Scope::Request)
        && matches!(verdict.reason, None | Some(Reason::RateLimited))
}

/// Returns `true` if a limit that may be shared is: a 429, a status of 500 or more if a classifier or a dialect names a
/// time, or any other status if the server or one of them does.
fn is_shared_limit(outcome: &Outcome<'_>, names_a_time: bool) -> bool {
    match outcome.status().map(|status| status.as_u16()) {
        Some(429) => true,
        // A 5xx may name a time because the server is overloaded, so its headers alone do not prove a limit.
        Some(500..) => outcome.names_delay(),
        _ => names_a_time,
    }
}
