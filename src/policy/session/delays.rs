//! How long a retry waits: the longer of its own delay and what the server asks for, if there is time for it.

use super::RetrySession;
use super::by_rules::Case;
use crate::policy::RetryPolicy;
use crate::policy::decision::DelaySource;
use crate::policy::moment::{nanos, splitmix64, uniform};
use crate::policy::rules::ServerDelays;
use crate::policy::stop_reason::StopReason;
use std::time::Duration;

/// How far a spread goes at most beyond what the server asked for.
const MAX_SPREAD: Duration = Duration::from_secs(10);

/// The part of what the server asked for that a spread adds at most: one in five.
const SPREAD_PART: u32 = 5;

pub(super) type Delay = (Duration, DelaySource);

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
