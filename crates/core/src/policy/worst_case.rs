//! The most that one request can cost under a policy, its rules included.

mod sources;
#[cfg(test)]
mod tests;

pub(super) use sources::limited;
pub(crate) use sources::most_refusals;

use super::{Jitter, RetryPolicy, Settings};
use sources::Sources;
use std::time::Duration;

/// The most that one request can cost under a policy: attempts for the server, and time for the caller.
///
/// It is an upper bound, unless the request sets its own limits, fails over, or its last attempt cannot be cut (tower
/// with `unchanged_errors()`, and `Runner`). A part that only the deadline bounds, or nothing does, is `None`.
///
/// ```
/// use http_retry::RetryPolicy;
/// use std::time::Duration;
///
/// let worst = RetryPolicy::user_facing().worst_case();
/// assert_eq!(worst.attempts, Some(2));
/// assert_eq!(worst.backoff, Some(Duration::from_millis(500)));
/// assert_eq!(worst.time(), None); // an attempt may take for ever
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorstCase {
    /// All attempts, the first included: the number of times that one request can reach a failing server. Those of
    /// [`gated_attempts`](Self::gated_attempts) come on top. `None` if nothing bounds their number.
    pub attempts: Option<u64>,
    /// All waits, if no server asks for any. `None` if nothing bounds them.
    pub backoff: Option<Duration>,
    /// All waits, if the server always asks for the longest that the policy allows, with the spread on top. `None` if
    /// that wait or the number of retries has no bound.
    pub waits: Option<Duration>,
    /// All attempts together, each up to its response head. `None` unless their number is bounded, and the policy and
    /// each policy that a rule retries by has an [`attempt_timeout`](crate::RetryPolicyBuilder::attempt_timeout).
    pub sending: Option<Duration>,
    /// The deadline.
    pub deadline: Option<Duration>,
    /// The attempts that a rate limit may refuse besides the [`attempts`](Self::attempts): the policy's
    /// [`max_refused`](crate::RetryPolicyBuilder::max_refused), and no more than one for each second of its
    /// [`max_gate_wait`](crate::RetryPolicyBuilder::max_gate_wait). 0 without a gate, or without retries.
    pub gated_attempts: u64,
    /// All waits at the gate: the policy's `max_gate_wait`, without the seconds over which calls spread after the
    /// longest wait. Zero without a gate.
    pub gated_waits: Duration,
    /// The [`gated_attempts`](Self::gated_attempts) together, each up to its response head. `None` if there are any,
    /// and no `attempt_timeout`.
    pub gated_sending: Option<Duration>,
}

impl RetryPolicy {
    /// Returns the policy's own longest delay before retry n = 1, 2, and so on, jitter and cap included; 0 counts as 1.
    /// A server may ask for a longer one.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// assert_eq!(RetryPolicy::background().longest_delay(3), Duration::from_secs(8));
    /// ```
    #[must_use]
    pub fn longest_delay(&self, retry: u32) -> Duration {
        self.0.backoff.longest(retry.max(1))
    }

    /// Returns the random part of a ceiling, as set by [`Backoff::jitter`](crate::Backoff::jitter).
    #[must_use]
    pub fn own_jitter(&self) -> Jitter {
        self.0.backoff.jitter
    }

    /// Returns the most that one request can cost. Each rule that retries or waits counts with its own limit; attempts
    /// after a failover to another service do not count.
    #[must_use]
    pub fn worst_case(&self) -> WorstCase {
        self.0.worst_case()
    }
}

impl Settings {
    pub(super) fn worst_case(&self) -> WorstCase {
        Sources::of(self).worst_case()
    }
}

impl WorstCase {
    /// Returns the longest time of a request up to its response head, or `None` if it has no bound: all waits that a
    /// server may ask for, all attempts, and what the gate adds, or the deadline if that is shorter.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        let gated = sum(Some(self.gated_waits), self.gated_sending);
        match (sum(sum(self.waits, self.sending), gated), self.deadline) {
            (Some(all), Some(deadline)) => Some(all.min(deadline)),
            (all, deadline) => all.or(deadline),
        }
    }
}

fn sum(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.zip(other).map(|(one, other)| one.saturating_add(other))
}
