//! The delays of a session: the policy's backoff, the server's wait with a spread on top, and the deadline.

use super::RetrySession;
use super::plan::Evaluation;
use crate::policy::RetryPolicy;
use crate::policy::decision::{DelaySource, StopReason};
use crate::policy::moment::{nanos, splitmix64, uniform};
use crate::policy::rules::ServerDelays;
use std::time::Duration;

/// The least wait before an attempt that no token pays for and no rule sets the delay of. A server that asks for less
/// has not said when to come back: nothing else would bound the attempts.
pub(in crate::policy) const MIN_UNPAID_WAIT: Duration = Duration::from_millis(100);

/// The longest random delay that is added to a wait that the server asks for.
const MAX_SPREAD: Duration = Duration::from_secs(10);

/// The divisor of a server's wait that gives the most a spread adds: one in five.
const SPREAD_PART: u32 = 5;

pub(super) type Delay = (Duration, DelaySource);

impl RetrySession {
    /// Returns the policy's own delay before the nth attempt of its kind.
    pub(super) fn backoff(&self, n: u32, evaluation: &Evaluation<'_>) -> Duration {
        let backoff = &evaluation.policy.0.backoff;
        backoff.delay_after(self.counts.previous, n, evaluation.moment.random)
    }

    /// Returns the policy's own delay before an attempt that costs nothing, if the server asks for no wait.
    pub(super) fn unpaid_backoff(&self, n: u32, evaluation: &Evaluation<'_>) -> Duration {
        self.backoff(n, evaluation).max(MIN_UNPAID_WAIT)
    }

    /// Returns the longer of the policy's own delay and the one that the server asks for, plus a spread on the latter,
    /// if there is time for it.
    pub(super) fn delay(
        &self,
        own: Duration,
        requested: Option<Duration>,
        evaluation: &Evaluation<'_>,
    ) -> Result<Delay, StopReason> {
        let accepted = accepted_delay(requested.unwrap_or_default(), evaluation.policy)?;
        let server_delay = accepted.unwrap_or_default();
        // The policy's own delay has its jitter already; only the server's is the same for all of its clients. The
        // spread comes on top, so that no client comes back earlier than the server asked.
        let delay = own
            .max(server_delay)
            .saturating_add(spread(server_delay, evaluation.moment.random));
        let source = if server_delay > own {
            DelaySource::Server
        } else {
            DelaySource::Own
        };
        self.in_time((delay, source), evaluation)
    }

    pub(super) fn in_time(
        &self,
        delay: Delay,
        evaluation: &Evaluation<'_>,
    ) -> Result<Delay, StopReason> {
        let due = evaluation.moment.now.saturating_add(delay.0);
        let deadline = self.deadline_by(evaluation.policy);
        // An attempt that starts at the deadline has no time left, so the request ends now, not after a useless wait.
        if deadline.is_some_and(|deadline| due >= deadline) {
            Err(StopReason::DeadlineExceeded)
        } else {
            Ok(delay)
        }
    }
}

/// Returns the part of a server's delay that counts under the policy, or `None` if the policy ignores such delays.
pub(super) fn accepted_delay(
    requested: Duration,
    policy: &RetryPolicy,
) -> Result<Option<Duration>, StopReason> {
    let settings = &policy.0;
    let most = settings.max_server_delay.unwrap_or(Duration::MAX);
    match settings.rules.server_delays {
        // An earlier retry would ignore the server, a longer wait the caller.
        ServerDelays::Respect if requested > most => Err(StopReason::ServerDelayTooLong),
        ServerDelays::Respect => Ok(Some(requested)),
        ServerDelays::Clamp => Ok(Some(requested.min(most))),
        ServerDelays::Ignore => Ok(None),
    }
}

/// Returns `true` if a server that asks for this wait has said when to come back.
pub(super) fn is_worth_a_wait(asked: Duration) -> bool {
    asked >= MIN_UNPAID_WAIT
}

/// Returns a random extra on top of a server's wait, so that clients with the same wait do not all come back at once.
#[inline(never)]
pub(super) fn spread(server_delay: Duration, random: u64) -> Duration {
    random_part(longest_spread(server_delay), random)
}

/// Returns a random part of a duration.
pub(super) fn random_part(most: Duration, random: u64) -> Duration {
    // Not `random` itself, which draws the backoff: the two would rise and fall together.
    nanos(uniform(splitmix64(random), most.as_nanos()))
}

/// Returns the most that a spread adds to a server's wait.
pub(in crate::policy) fn longest_spread(server_delay: Duration) -> Duration {
    let part = server_delay.checked_div(SPREAD_PART).unwrap_or_default();
    part.min(MAX_SPREAD)
}
