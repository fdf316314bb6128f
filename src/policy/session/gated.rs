//! What a rate limit asks of all callers: when a refused call stands in line at the gate.

use super::RetrySession;
use super::by_rules::Case;
use super::delays::{heard, part_of, spread};
use crate::policy::decision::{Cost, DelaySource, RetryPlan};
use crate::policy::moment::Moment;
use crate::policy::outcome::Outcome;
use crate::policy::rules::By;
use crate::policy::stop_reason::StopReason;
use crate::policy::{Class, Reason, RetryPolicy, Scope};
use std::time::Duration;

/// What each refusal takes at least from the time that a call may wait at the gate: a server that asks for next to nothing
/// is not asked without end.
pub(in crate::policy) const GATED_LEAST: Duration = Duration::from_secs(1);

/// The least wait of a refused call that was told a time, and of one that was told none; both double with each refusal.
const LEAST_ASKED: Duration = Duration::from_millis(10);
const LEAST_UNASKED: Duration = Duration::from_millis(100);
const MOST_UNASKED: Duration = Duration::from_secs(10);

/// An outcome by which a rate limit sends all callers away for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// For how long, where the server says that.
    pub(crate) asked: Option<Duration>,
}

impl RetrySession {
    /// What a rate limit asks of all callers, who wait for it together; nothing where it asks for more than any of them
    /// would wait.
    pub(crate) fn refusal(&self, by: By, outcome: &Outcome<'_>, moment: Moment) -> Option<Refusal> {
        self.gate_wait_left()?;
        if !may_be_of_all(outcome) {
            return None;
        }
        let policy = self.policy_by(by);
        let asked = self.demanded(outcome, moment, policy);
        let names_a_time = asked.is_some();
        let heard = asked.map(|asked| heard(asked, policy)).transpose().ok()?;
        // Who asks for no time at all has not said when to come back.
        let asked = heard.flatten().filter(|asked| !asked.is_zero());
        is_of_all(outcome, names_a_time).then_some(Refusal { asked })
    }

    /// The wait that the server asks for, and at least what a table demands where the server names no time, or a shorter
    /// one: that is twice as long with each repetition, up to the longest delay of the policy.
    pub(super) fn demanded(
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

    /// How long a refused call waits by itself before it stands in line: for as long as it was asked, and a fifth more at
    /// most. If the server named no time, or next to none, the wait doubles with n, which counts the refusals.
    fn delay_of(refusal: Refusal, n: u32, case: &Case<'_>) -> Duration {
        let times = 1_u32.checked_shl(n.saturating_sub(1)).unwrap_or(u32::MAX);
        let grown = |least: Duration, most: Duration| least.saturating_mul(times).min(most);
        match refusal.asked {
            Some(asked) => {
                let asked = asked.max(grown(LEAST_ASKED, GATED_LEAST));
                asked.saturating_add(spread(asked, case.moment.random))
            }
            None => {
                let whole = grown(LEAST_UNASKED, MOST_UNASKED);
                let half = whole.checked_div(2).unwrap_or_default();
                half.saturating_add(part_of(half, case.moment.random))
            }
        }
    }

    /// Who has no retries is not sent back to the gate either: another service may stand in at once.
    fn may_wait_at_the_gate(&self, delay: Duration, policy: &RetryPolicy) -> bool {
        let left = self.gate_wait_left().unwrap_or_default();
        self.max_retries(policy) > 0 && !left.is_zero() && delay <= left
    }

    /// The delay after a refused attempt, if the call waits at the gate; n counts the attempts of its kind.
    pub(super) fn gated_delay(&self, n: u32, case: &Case<'_>) -> Option<Duration> {
        let refusal = self.refusal(case.by, case.outcome, case.moment)?;
        let delay = Self::delay_of(refusal, n, case);
        self.may_wait_at_the_gate(delay, case.policy)
            .then_some(delay)
    }

    /// Another attempt behind the gate, which counts as nothing yet.
    pub(super) fn plan_gated(
        &self,
        delay: Duration,
        case: &Case<'_>,
    ) -> Result<RetryPlan, StopReason> {
        self.check_resend(case)?;
        let planned = self.in_time((delay, DelaySource::Gate), case)?;
        let mut plan = self.resend(planned, Cost::Gated, case);
        let waited = delay.max(GATED_LEAST);
        plan.after.gate_waited = plan.after.gate_waited.saturating_add(waited);
        Ok(plan)
    }
}

/// Whether a limit that was met, as far as the status and the class tell, may be everybody's. Overload never is, whatever a
/// classifier calls it: a gate that closes on it turns load into bursts.
fn may_be_of_all(outcome: &Outcome<'_>) -> bool {
    let status = outcome.status().map(|status| status.as_u16());
    let others = outcome.scope() != Some(Scope::Request);
    let why = outcome.reason();
    !matches!(status, None | Some(413 | 503 | 529))
        && outcome.class() == Class::Throttled
        && others
        && why.is_none_or(|reason| reason == Reason::RateLimited)
}

/// Whether a limit that may be everybody's is: a 429, or another status for which some time is named.
fn is_of_all(outcome: &Outcome<'_>, names_a_time: bool) -> bool {
    match outcome.status().map(|status| status.as_u16()) {
        Some(429) => true,
        Some(500..) => outcome.is_told_a_time(),
        _ => names_a_time,
    }
}
