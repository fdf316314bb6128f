//! Numbers for tests: small ones, the ends of what is allowed, and all between.

use super::super::message::MAX_COUNT;
use super::*;
use http_retry_core::policy::splitmix64;

/// A random number after the other, the same in every run.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        splitmix64(self.0)
    }

    /// One of so many.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(super) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// From 0 to `most`, both ends and small numbers more often than the rest.
    pub(super) fn up_to(&mut self, most: i64) -> i64 {
        let most = u64::try_from(most).unwrap();
        let number = match self.below(6) {
            0 => 0,
            1 => most,
            2 => most.saturating_sub(self.below(3)),
            3 => self.below(3).min(most),
            4 => self.below(most.saturating_add(1).min(30_000_000)),
            _ => self.below(most.saturating_add(1)),
        };
        i64::try_from(number).unwrap()
    }

    pub(super) fn terms(&mut self) -> StoreTerms {
        if self.one_in(2) {
            return usual();
        }
        StoreTerms {
            capacity: self.up_to(MAX_COUNT - 1) + 1,
            initial: self.up_to(MAX_COUNT),
            growth_ms: self.up_to(MAX_COUNT),
            per_second: self.up_to(MAX_COUNT / 1_000),
            per_success: self.up_to(MAX_COUNT),
            min_per_second: self.up_to(MAX_COUNT),
            unit: self.up_to(MAX_COUNT - 1) + 1,
        }
    }
}

/// The default budget's.
pub(super) fn usual() -> StoreTerms {
    StoreTerms {
        capacity: 20_000_000,
        initial: 20_000_000,
        growth_ms: 250,
        per_second: 0,
        per_success: 100_000,
        min_per_second: 0,
        unit: 1_000_000,
    }
}

/// A first command of a process that has done nothing.
pub(super) fn report() -> BudgetReport {
    BudgetReport {
        process: 1,
        terms: usual(),
        seq: 1,
        successes: 0,
        successes_acked: 0,
        taken: 0,
        taken_acked: 0,
        want: 0,
        known: None,
    }
}
