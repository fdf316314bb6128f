//! The most that one request can cost under a policy, its rules included: the sources of repeated attempts, added up.
//! The cost of a request that fails over is the sum or the maximum of the costs of its policies.

use super::{RetryPolicy, Settings};
use crate::policy::rules::{Action, Counter, Rule, ServerDelays, Wait};
use crate::policy::session::{MIN_GATED_WAIT, MIN_UNPAID_WAIT, longest_spread};
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
    /// All requests that these attempts send, with the copies of the policy's [`hedge`](crate::RetryPolicyBuilder::hedge);
    /// the same as `attempts` without it. `None` if nothing bounds their number.
    pub requests: Option<u64>,
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

    /// Returns `true` if there can be a second attempt.
    pub(super) fn repeats(&self) -> bool {
        self.attempts != Some(1)
    }

    /// Returns the cost of a request that continues under another policy afterwards, at most until its own deadline.
    #[must_use]
    pub fn and_then(self, next: Self) -> Self {
        let both = sum(self.time(), next.time());
        let ends_in_time = next.deadline.and(both);
        let gated_waits = self.gated_waits.max(next.gated_waits);
        let gated_attempts = self.gated_attempts.saturating_add(next.gated_attempts);
        Self {
            attempts: sum_of(self.attempts, next.attempts, u64::saturating_add),
            requests: sum_of(self.requests, next.requests, u64::saturating_add),
            backoff: sum(self.backoff, next.backoff),
            waits: sum(self.waits, next.waits),
            sending: sum(self.sending, next.sending),
            deadline: self.deadline.or(ends_in_time),
            // Time spent waiting at one gate does not count at the next.
            gated_attempts: gated_attempts.min(most_refusals(gated_waits)),
            gated_waits,
            gated_sending: sum(self.gated_sending, next.gated_sending),
        }
    }

    /// Returns the larger of two costs, part by part.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            attempts: sum_of(self.attempts, other.attempts, u64::max),
            requests: sum_of(self.requests, other.requests, u64::max),
            backoff: larger(self.backoff, other.backoff),
            waits: larger(self.waits, other.waits),
            sending: larger(self.sending, other.sending),
            deadline: match self.deadline.or(other.deadline) {
                Some(_) => larger(self.time(), other.time()),
                None => None,
            },
            gated_attempts: self.gated_attempts.max(other.gated_attempts),
            gated_waits: self.gated_waits.max(other.gated_waits),
            gated_sending: larger(self.gated_sending, other.gated_sending),
        }
    }
}

fn sum(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    sum_of(one, other, Duration::saturating_add)
}

fn larger(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    sum_of(one, other, Duration::max)
}

fn sum_of<T>(one: Option<T>, other: Option<T>, of: fn(T, T) -> T) -> Option<T> {
    one.zip(other).map(|(one, other)| of(one, other))
}

/// The number of delays that are added up one by one; the rest count as long as the last of them.
const ADDED: u32 = 1_000;

/// Everything that makes a request be sent again.
struct Sources<'a> {
    first: &'a Settings,
    /// The policies that count all retries together.
    together: Vec<&'a Settings>,
    /// The policies that count only their own.
    apart: Vec<&'a Settings>,
    waits: Vec<&'a Wait>,
}

/// A policy's longest delay before retry n, if its own would be this long: with or without a wait that the server asks
/// for.
type LongestDelay = fn(&Settings, Duration) -> Option<Duration>;

impl<'a> Sources<'a> {
    fn of(first: &'a Settings) -> Self {
        let mut sources = Self {
            first,
            together: Vec::new(),
            apart: Vec::new(),
            waits: Vec::new(),
        };
        for rule in first.classifiers.rules() {
            sources.add_rule(rule);
            // No outcome gets past such a rule.
            if rule.when.is_always() {
                return sources;
            }
        }
        match &first.rules.otherwise {
            Action::Classify => sources.together.push(first),
            Action::Retry(policy) => sources.together.push(&policy.0),
            _ => {}
        }
        sources
    }

    fn add_rule(&mut self, rule: &'a Rule) {
        match &rule.action {
            Action::Retry(policy) => match policy.0.rules.counter {
                Counter::Request => self.together.push(&policy.0),
                Counter::Rule => self.apart.push(&policy.0),
            },
            Action::Wait(wait) => self.waits.push(wait),
            Action::Classify => self.together.push(self.first),
            _ => {}
        }
    }

    fn worst_case(&self) -> WorstCase {
        let attempts = self.attempts();
        let settings = || self.together.iter().chain(&self.apart);
        let all = || settings().copied().chain([self.first]);
        let timeout = longest(all().map(|settings| settings.attempt_timeout));
        let sending = attempts.and_then(|attempts| sending_time(attempts, timeout));
        let bounded = attempts.is_some();
        let total = |lengthened| self.total(lengthened).filter(|_| bounded);
        let gated_waits = self.first.max_gate_wait.unwrap_or_default();
        let gated_attempts = self.refusals(gated_waits);
        let copies = self
            .first
            .hedge
            .as_ref()
            .map_or(1, |hedge| u64::from(hedge.max).saturating_add(1));
        WorstCase {
            attempts,
            requests: attempts.map(|attempts| attempts.saturating_mul(copies)),
            backoff: total(without_server_delay),
            waits: total(with_server_delay),
            sending,
            // The policy that retries a request sets its deadline, so the longest counts.
            deadline: longest(all().map(|settings| settings.deadline)),
            gated_attempts,
            gated_waits,
            gated_sending: sending_time(gated_attempts, timeout),
        }
    }

    /// Returns the number of refusals. The gate is the service's, whatever policy a rule retries by; if nothing
    /// retries, no refusal leads back to it.
    fn refusals(&self, waits: Duration) -> u64 {
        let settings = self.together.iter().chain(&self.apart);
        let repeating = settings.filter(|settings| settings.max_retries > 0);
        let most = repeating.map(|settings| u64::from(settings.max_refused));
        most.max().unwrap_or_default().min(most_refusals(waits))
    }

    fn attempts(&self) -> Option<u64> {
        let together = self.together.iter().map(|settings| settings.max_retries);
        let apart = self.apart.iter().map(|settings| settings.max_retries);
        let mut attempts = 1_u64;
        for retries in apart.chain(together.max()) {
            attempts = attempts.saturating_add(limited(retries)?);
        }
        for wait in &self.waits {
            attempts = attempts.saturating_add(most_waits(wait)?);
        }
        Some(attempts)
    }

    /// Returns the sum of all delays. A delay that builds on the one before may follow the longest of all.
    fn total(&self, lengthened: LongestDelay) -> Option<Duration> {
        let several = self.together.len().saturating_add(self.apart.len()) > 1;
        let mut previous = Duration::ZERO;
        // Rules may apply in any order, so a first pass finds the longest delay and the second builds on it.
        if several || !self.waits.is_empty() {
            self.add_up(&mut previous, lengthened)?;
        }
        self.add_up(&mut previous, lengthened)
    }

    fn add_up(&self, previous: &mut Duration, lengthened: LongestDelay) -> Option<Duration> {
        let mut total = total_of_retries(&self.together, previous, lengthened)?;
        for settings in &self.apart {
            let delays = total_of_retries(&[settings], previous, lengthened)?;
            total = total.saturating_add(delays);
        }
        for wait in &self.waits {
            let delays = self.total_of_waits(wait, previous, lengthened)?;
            total = total.saturating_add(delays);
        }
        Some(total)
    }

    fn total_of_waits(
        &self,
        wait: &Wait,
        previous: &mut Duration,
        lengthened: LongestDelay,
    ) -> Option<Duration> {
        let times = most_waits(wait).map(|times| u32::try_from(times).unwrap_or(u32::MAX));
        let own = |n, before| match wait.delay {
            Some(delay) => delay,
            None => {
                let backoff = self.first.backoff.delay_after(before, n, u64::MAX);
                backoff.max(MIN_UNPAID_WAIT)
            }
        };
        let all = times.and_then(|times| {
            add_delays(times, |n| {
                let delay = own(n, *previous);
                *previous = delay.max(*previous);
                lengthened(self.first, delay)
            })
        });
        // A wait that would exceed `max` is not begun, so `max` bounds the sum.
        match (all, wait.max) {
            (Some(all), Some(max)) => Some(all.min(max)),
            (all, max) => all.or(max),
        }
    }
}

/// Adds up the delays of retries that are counted together, each the longest that one of the policies gives.
fn total_of_retries(
    policies: &[&Settings],
    previous: &mut Duration,
    lengthened: LongestDelay,
) -> Option<Duration> {
    let most = policies.iter().map(|settings| settings.max_retries).max();
    add_delays(most.unwrap_or_default(), |n| {
        let (mut longest, mut next) = (Duration::ZERO, *previous);
        for settings in policies.iter().filter(|settings| settings.max_retries >= n) {
            let delay = settings.backoff.delay_after(*previous, n, u64::MAX);
            // Decorrelated jitter builds on the policy's own delay, not on the server's.
            next = next.max(delay);
            longest = longest.max(lengthened(settings, delay)?);
        }
        *previous = next;
        Some(longest)
    })
}

/// Adds up the delays for n = 1, 2, and so on; those beyond [`ADDED`] count as long as the last.
fn add_delays(times: u32, mut delay: impl FnMut(u32) -> Option<Duration>) -> Option<Duration> {
    let listed = times.min(ADDED);
    let mut total = Duration::ZERO;
    for n in 1..=listed {
        total = total.saturating_add(delay(n)?);
    }
    let rest = times.saturating_sub(listed);
    if rest > 0 {
        total = total.saturating_add(delay(times)?.saturating_mul(rest));
    }
    Some(total)
}

/// Returns a delay if no server asks for one.
#[expect(clippy::unnecessary_wraps, reason = "the other one may have no bound")]
fn without_server_delay(_: &Settings, delay: Duration) -> Option<Duration> {
    Some(delay)
}

/// Returns a delay if the server asks for the longest that is respected, or `None` if it may ask for any.
fn with_server_delay(settings: &Settings, delay: Duration) -> Option<Duration> {
    if settings.rules.server_delays == ServerDelays::Ignore {
        return Some(delay);
    }
    let most = settings.max_server_delay?;
    Some(delay.max(most).saturating_add(longest_spread(most)))
}

/// Returns the time of this number of attempts, each as long as it may last.
fn sending_time(attempts: u64, timeout: Option<Duration>) -> Option<Duration> {
    let times = u32::try_from(attempts).unwrap_or(u32::MAX);
    match times {
        0 => Some(Duration::ZERO),
        _ => Some(timeout?.saturating_mul(times)),
    }
}

/// Returns the number of refusals that use up the time that a call may wait at the gate.
fn most_refusals(wait: Duration) -> u64 {
    let times = wait.as_nanos().div_ceil(MIN_GATED_WAIT.as_nanos());
    u64::try_from(times).unwrap_or(u64::MAX)
}

/// Returns the number of retries, or `None` if there is no limit.
pub(super) fn limited(retries: u32) -> Option<u64> {
    (retries < u32::MAX).then(|| retries.into())
}

/// Returns the most waits of a rule, or `None` if it sets no limit.
fn most_waits(wait: &Wait) -> Option<u64> {
    let delay = wait.delay.unwrap_or(MIN_UNPAID_WAIT);
    let by_time = wait.max.and_then(|max| {
        let times = max.as_nanos().checked_div(delay.as_nanos())?;
        u64::try_from(times).ok()
    });
    let by_count = wait.at_most.map(u64::from);
    match (by_count, by_time) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Returns the longest of all limits, or `None` if one is missing.
fn longest(mut limits: impl Iterator<Item = Option<Duration>>) -> Option<Duration> {
    let first = limits.next()??;
    limits.try_fold(first, |longest, limit| Some(longest.max(limit?)))
}

#[cfg(test)]
mod tests;
