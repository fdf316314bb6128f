//! The sources of repeated attempts, added up.

use super::WorstCase;
use crate::policy::Settings;
use crate::policy::rules::{Action, Counter, Rule, ServerDelays, Wait};
use crate::policy::session::{MIN_GATED_WAIT, longest_spread};
use std::time::Duration;

/// The number of delays that are added up one by one; the rest count as long as the last of them.
const ADDED: u32 = 1_000;

/// Everything that makes a request be sent again.
pub(super) struct Sources<'a> {
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
    pub(super) fn of(first: &'a Settings) -> Self {
        let mut sources = Self {
            first,
            together: Vec::new(),
            apart: Vec::new(),
            waits: Vec::new(),
        };
        for rule in first.rules.list.iter() {
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

    pub(super) fn worst_case(&self) -> WorstCase {
        let attempts = self.attempts();
        let settings = || self.together.iter().chain(&self.apart);
        let all = || settings().copied().chain([self.first]);
        let timeout = all().map(|settings| settings.attempt_timeout).max_or_none();
        let sending = attempts.and_then(|attempts| sending_time(attempts, timeout));
        let bounded = attempts.is_some() || self.waits_alone_are_uncounted();
        let total = |lengthened| self.total(lengthened).filter(|_| bounded);
        let gated_waits = self.first.max_gate_wait.unwrap_or_default();
        let gated_attempts = self.refusals(gated_waits);
        WorstCase {
            attempts,
            backoff: total(without_server_delay),
            waits: total(with_server_delay),
            sending,
            // The policy that retries a request sets its deadline, so the longest counts.
            deadline: all().map(|settings| settings.deadline).max_or_none(),
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

    /// Returns `true` if only the number of waits is unbounded, while their total time is not.
    fn waits_alone_are_uncounted(&self) -> bool {
        let mut retries = self.together.iter().chain(&self.apart);
        retries.all(|settings| limited(settings.max_retries).is_some())
            && self
                .waits
                .iter()
                .all(|wait| wait.max.is_some() || most_waits(wait).is_some())
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
            None => self.first.backoff.delay_after(before, n, u64::MAX),
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
pub(crate) fn most_refusals(wait: Duration) -> u64 {
    let times = wait.as_nanos().div_ceil(MIN_GATED_WAIT.as_nanos());
    u64::try_from(times).unwrap_or(u64::MAX)
}

/// Returns the number of retries, or `None` if there is no limit.
pub(in crate::policy) fn limited(retries: u32) -> Option<u64> {
    (retries < u32::MAX).then(|| retries.into())
}

/// Returns the most waits of a rule, or `None` if it sets no limit.
fn most_waits(wait: &Wait) -> Option<u64> {
    // Without a delay of the rule's own, the server may ask for one as short as it likes.
    let by_time = wait.max.zip(wait.delay).and_then(|(max, delay)| {
        let times = max.as_nanos().checked_div(delay.as_nanos())?;
        u64::try_from(times).ok()
    });
    let by_count = wait.at_most.map(u64::from);
    match (by_count, by_time) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

trait MaxOrNone {
    fn max_or_none(self) -> Option<Duration>;
}

impl<I: Iterator<Item = Option<Duration>>> MaxOrNone for I {
    /// Returns the longest of all limits, or `None` if one is missing.
    fn max_or_none(mut self) -> Option<Duration> {
        let first = self.next()??;
        self.try_fold(first, |longest, limit| Some(longest.max(limit?)))
    }
}
