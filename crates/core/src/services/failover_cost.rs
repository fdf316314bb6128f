//! The cost of a request that fails over to another service: the sum or the maximum of the costs of its policies.

use crate::policy::{WorstCase, most_refusals};
use std::time::Duration;

impl WorstCase {
    /// Returns the cost of a request that continues under another policy afterwards, at most until its own deadline.
    pub(super) fn and_then(self, next: Self) -> Self {
        let both = sum(self.time(), next.time());
        let ends_in_time = next.deadline.and(both);
        let gated_waits = self.gated_waits.max(next.gated_waits);
        let gated_attempts = self.gated_attempts.saturating_add(next.gated_attempts);
        Self {
            attempts: sum_of(self.attempts, next.attempts, u64::saturating_add),
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
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            attempts: sum_of(self.attempts, other.attempts, u64::max),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Backoff, RetryPolicy, RetryPolicyBuilder};

    const SECOND: Duration = Duration::from_secs(1);

    fn fixed(retries: u32) -> RetryPolicyBuilder {
        RetryPolicy::builder()
            .max_retries(retries)
            .backoff(Backoff::fixed(SECOND))
            .max_server_delay(SECOND * 50)
            .attempt_timeout(SECOND * 2)
            .max_gate_wait(None)
    }

    fn cost(policy: RetryPolicyBuilder) -> WorstCase {
        policy.build().unwrap().worst_case()
    }

    #[test]
    fn what_follows_a_failover_is_added_within_the_deadline() {
        let timed = |retries, deadline| cost(fixed(retries).deadline(deadline));
        let (open, bounded) = (timed(1, None), timed(2, Some(SECOND * 30)));
        assert_eq!(open.and_then(open).attempts, Some(4));
        assert_eq!(open.and_then(open).time(), Some(SECOND * (60 + 60 + 8)));
        assert_eq!(bounded.and_then(open).time(), Some(SECOND * 30));
        assert_eq!(open.and_then(bounded).time(), Some(SECOND * (60 + 4 + 30)));
        assert_eq!(open.max(bounded).time(), Some(SECOND * 64));
        assert_eq!(open.max(bounded).attempts, Some(3));
    }

    #[test]
    fn two_gates_are_waited_at_as_long_as_the_more_patient_allows() {
        let gated = |millis| {
            let builder = fixed(1).max_gate_wait(Duration::from_millis(millis));
            cost(builder.max_refused(100))
        };
        let (worst, patient) = (gated(4_500), gated(9_000));
        let twice = worst.time().unwrap() * 2 - Duration::from_millis(4_500);
        assert_eq!(worst.and_then(worst).time(), Some(twice));
        assert_eq!(worst.and_then(worst).gated_attempts, 5);
        assert_eq!(worst.max(patient).gated_attempts, 9);
    }

    #[test]
    fn refused_attempts_count_anew_after_a_failover() {
        let gated = |refused| cost(fixed(1).max_gate_wait(SECOND * 10).max_refused(refused));
        assert_eq!(gated(3).and_then(gated(4)).gated_attempts, 7);
        assert_eq!(gated(8).and_then(gated(4)).gated_attempts, 10);
        assert_eq!(gated(3).max(gated(4)).gated_attempts, 4);
    }
}
