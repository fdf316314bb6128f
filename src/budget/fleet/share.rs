//! What a process may spend that does not hear from the store.

use super::words::{BudgetAnswer, FleetTerms};
use std::time::Duration;

/// Who has not heard for this long no longer knows what the fleet holds, nor how many processes share it.
const LONGEST_KNOWN: Duration = Duration::from_secs(10);

/// A process's part of what the fleet held when last heard of, and what its own successes have added since. The store
/// charges the process with the next command for what it spent of it.
#[derive(Debug)]
pub(super) struct Share {
    tokens: i64,
    capacity: i64,
    /// The count of successes up to which they are in `tokens`.
    counted: u64,
    heard: Duration,
    /// Nothing is known, or no longer: the share is the one token of such a process.
    unknown: bool,
}

impl Share {
    /// That of a process that has never heard of its fleet.
    pub(super) fn unheard(terms: &FleetTerms) -> Self {
        Self {
            tokens: terms.unit.min(terms.initial),
            capacity: terms.capacity.max(terms.unit),
            counted: 0,
            heard: Duration::ZERO,
            unknown: true,
        }
    }

    /// That of an answer to a command that told of `counted` successes, after which the process has spent `spent` alone.
    pub(super) fn of(
        answer: &BudgetAnswer,
        terms: &FleetTerms,
        (counted, spent): (u64, i64),
        now: Duration,
    ) -> Self {
        let processes = answer.processes.max(1);
        let part = |of: i64| of.max(0).checked_div(processes).unwrap_or(0);
        Self {
            tokens: part(answer.tokens).saturating_sub(spent).max(0),
            capacity: part(answer.capacity).max(terms.unit),
            counted,
            heard: now,
            unknown: false,
        }
    }

    /// Forgets what is too old to be known.
    pub(super) fn ages(&mut self, terms: &FleetTerms, now: Duration) {
        if !self.unknown && now.saturating_sub(self.heard) > LONGEST_KNOWN {
            self.unknown = true;
            self.tokens = terms.unit.min(terms.initial);
        }
    }

    /// Adds what the successes up to the count `successes` have earned.
    pub(super) fn earns(&mut self, terms: &FleetTerms, successes: u64) {
        let new = successes.wrapping_sub(self.counted);
        self.counted = successes;
        let new = i64::try_from(new).unwrap_or(i64::MAX);
        let earned = new.saturating_mul(terms.per_success);
        let room = self.capacity.saturating_sub(self.tokens).max(0);
        self.tokens = self.tokens.saturating_add(earned.min(room));
    }

    pub(super) fn spends(&mut self, price: i64) -> bool {
        let enough = self.tokens >= price;
        if enough {
            self.tokens = self.tokens.saturating_sub(price);
        }
        enough
    }

    pub(super) fn tokens(&self) -> i64 {
        self.tokens
    }

    pub(super) fn capacity(&self) -> i64 {
        self.capacity
    }
}
