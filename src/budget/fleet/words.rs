//! What a process says to the store of a fleet's budget, and what it hears.

use super::super::bucket::Terms;

/// The largest number that a script takes: sums of several of them stay below 2^53, up to which Lua counts exactly.
pub(super) const MOST: i64 = 1_000_000_000_000_000;

/// The most that one command settles of a total, and the total past which a process takes a new ID.
pub(super) const MOST_AT_ONCE: i64 = MOST / 10;

/// A budget's fixed numbers as the store counts them: amounts in millionths of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FleetTerms {
    pub(crate) capacity: i64,
    pub(crate) initial: i64,
    /// The capacity grows to the fleet's successes of this time.
    pub(crate) growth_ms: i64,
    pub(crate) per_second: i64,
    pub(crate) per_success: i64,
    /// The price of a retry; grants leave whole retries only, while there is one.
    pub(crate) unit: i64,
}

impl FleetTerms {
    pub(in crate::budget) fn new(terms: &Terms, initial: u64) -> Self {
        let growth = u64::try_from(terms.growth.as_millis());
        Self {
            capacity: bounded(terms.capacity),
            initial: bounded(initial),
            growth_ms: bounded(growth.unwrap_or(u64::MAX)),
            per_second: bounded(terms.per_second),
            per_success: bounded(terms.per_success),
            unit: bounded(terms.retry_cost).max(1),
        }
    }
}

/// A number as the store takes it.
pub(super) fn bounded(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(MOST).min(MOST)
}

/// One command of a process: its totals so far, and what it wants.
///
/// Totals and not differences: a command that is lost, late or repeated settles nothing twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetWords {
    /// By which the store knows the process; its record's name.
    pub(crate) process: u64,
    pub(crate) terms: FleetTerms,
    /// The number of the command: 1, 2, and so on.
    pub(crate) seq: i64,
    /// Successes ever.
    pub(crate) successes: i64,
    /// Those of the last answered command.
    pub(crate) successes_acked: i64,
    /// Taken ever, what the process spent alone included.
    pub(crate) taken: i64,
    /// What the last answered command left as taken.
    pub(crate) taken_acked: i64,
    pub(crate) want: i64,
    /// The fleet's tokens when last heard of, at least 0; nothing if never.
    pub(crate) known: Option<i64>,
}

impl BudgetWords {
    /// The script's arguments in their order.
    pub(crate) fn numbers(&self) -> [i64; 13] {
        let terms = self.terms;
        [
            terms.capacity,
            terms.initial,
            terms.growth_ms,
            terms.per_second,
            terms.per_success,
            terms.unit,
            self.seq,
            self.successes,
            self.successes_acked,
            self.taken,
            self.taken_acked,
            self.want,
            self.known.unwrap_or(-1),
        ]
    }
}

/// What a command did besides what it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    Settled,
    /// The store had this command or a later one already, and changed nothing.
    Repeated,
    /// The store had no bucket, and made one.
    New,
}

/// What the store answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetAnswer {
    pub(crate) granted: i64,
    /// What the fleet has left; below 0 while it owes what processes spent alone.
    pub(crate) tokens: i64,
    pub(crate) capacity: i64,
    /// How many processes have spoken lately.
    pub(crate) processes: i64,
    /// The store's clock.
    pub(crate) now_ms: i64,
    pub(crate) flag: Flag,
}

impl BudgetAnswer {
    /// Reads the script's answer; nothing where it is none.
    pub(crate) fn of(numbers: &[i64]) -> Option<Self> {
        let &[granted, tokens, capacity, processes, now_ms, flag] = numbers else {
            return None;
        };
        let answer = Self {
            granted,
            tokens,
            capacity,
            processes,
            now_ms,
            flag: match flag {
                0 => Flag::Settled,
                1 => Flag::Repeated,
                2 => Flag::New,
                _ => return None,
            },
        };
        let amounts = 0..=MOST;
        let known = amounts.contains(&granted)
            && amounts.contains(&capacity)
            && amounts.contains(&processes)
            && (-MOST..=MOST).contains(&tokens);
        known.then_some(answer)
    }
}
