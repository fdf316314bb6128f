//! Delays: the longer of the policy's own and the server's, and the wait of a refused call at the gate.

use super::RetrySession;
use crate::policy::decision::{Cost, DelaySource, RetryPlan};
use crate::policy::moment::{Moment, nanos, splitmix64, uniform};
use crate::policy::outcome::Outcome;
use crate::policy::rules::{By, ServerDelays};
use crate::policy::stop_reason::StopReason;
use crate::policy::{Class, Reason, RetryPolicy, Scope};
use std::time::Duration;

/// How far a spread goes at most beyond what the server asked for.
const MAX_SPREAD: Duration = Duration::from_secs(10);

/// The part of what the server asked for that a spread adds at most: one in five.
const SPREAD_PART: u32 = 5;

pub(super) type Delay = (Duration, DelaySource);

/// What each refusal takes at least from the time that a call may wait at the gate: a server that asks for next to nothing
/// is not asked without end.
pub(in crate::policy) const GATED_LEAST: Duration = Duration::from_secs(1);

/// The least wait of a refused call that was told a time, and of one that was told none; both double with each refusal.
const LEAST_ASKED: Duration = Duration::from_millis(10);
const LEAST_UNASKED: Duration = Duration::from_millis(100);
const MOST_UNASKED: Duration = Duration::from_secs(10);

/// An outcome by which a rate limit sends all callers away for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// For how long, where the server says that.
    pub asked: Option<Duration>,
}

/// One outcome, and by what it is judged.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) outcome: &'a Outcome<'a>,
    pub(super) moment: Moment,
    pub(super) by: By,
    /// The policy in charge.
    pub(super) policy: &'a RetryPolicy,
}

impl RetrySession {
    /// The own delay before the nth attempt of its kind.
    pub(super) fn backoff(&self, n: u32, case: &Case<'_>) -> Duration {
        let backoff = &case.policy.0.backoff;
        backoff.delay_after(self.counts.previous, n, case.moment.random)
    }

    /// The longer of one's own delay and what the server asks for, and a spread upwards; if there is time for it.
    pub(super) fn delay(
        &self,
        own: Duration,
        asked: Option<Duration>,
        case: &Case<'_>,
    ) -> Result<Delay, StopReason> {
        let asked = heard(asked.unwrap_or_default(), case.policy)?;
        let asked = asked.unwrap_or_default();
        let delay = own
            .max(asked)
            .saturating_add(spread(asked, case.moment.random));
        let source = match asked > own {
            true => DelaySource::Server,
            false => DelaySource::Own,
        };
        self.in_time((delay, source), case)
    }

    pub(super) fn in_time(&self, delay: Delay, case: &Case<'_>) -> Result<Delay, StopReason> {
        let due = case.moment.now.saturating_add(delay.0);
        let deadline = self.deadline_by(case.policy);
        match deadline.is_some_and(|deadline| due >= deadline) {
            true => Err(StopReason::DeadlineExceeded),
            false => Ok(delay),
        }
    }

    /// What a rate limit asks of all callers, who wait for it together; nothing where it asks for more than any of them
    /// would wait.
    #[must_use]
    pub fn refusal(&self, outcome: &Outcome<'_>, moment: Moment) -> Option<Refusal> {
        self.refusal_by(self.decided_by, outcome, moment)
    }

    fn refusal_by(&self, by: By, outcome: &Outcome<'_>, moment: Moment) -> Option<Refusal> {
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
        let refusal = self.refusal_by(case.by, case.outcome, case.moment)?;
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

/// What counts of a delay that the server asks for.
pub(super) fn heard(asked: Duration, policy: &RetryPolicy) -> Result<Option<Duration>, StopReason> {
    let settings = &policy.0;
    let most = settings.max_server_delay.unwrap_or(Duration::MAX);
    match settings.rules.server_delays {
        ServerDelays::Respect if asked > most => Err(StopReason::ServerDelayTooLong),
        ServerDelays::Respect => Ok(Some(asked)),
        ServerDelays::Clamp => Ok(Some(asked.min(most))),
        ServerDelays::Ignore => Ok(None),
    }
}

/// A part more than was asked for, so that clients told the same time do not come back at once; never less.
pub(super) fn spread(asked: Duration, random: u64) -> Duration {
    part_of(longest_spread(asked), random)
}

/// A random part of a time.
pub(super) fn part_of(most: Duration, random: u64) -> Duration {
    nanos(uniform(splitmix64(random), most.as_nanos()))
}

/// The most that is added to what a server asked for.
pub(in crate::policy) fn longest_spread(asked: Duration) -> Duration {
    let part = asked.checked_div(SPREAD_PART).unwrap_or_default();
    part.min(MAX_SPREAD)
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
