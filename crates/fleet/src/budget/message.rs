//! The messages between a process and the store of a fleet's budget.

use http_retry_core::sharing::BudgetTerms;

/// The largest number that a script takes: sums of several of them stay below 2^53, up to which Lua counts exactly.
pub(super) const MAX_COUNT: i64 = 1_000_000_000_000_000;

/// The most that one command settles of a total, and the total above which a process takes a new ID.
pub(super) const MAX_BATCH: i64 = MAX_COUNT / 10;

/// A budget's fixed numbers as the store counts them: amounts in millionths of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreTerms {
    pub(crate) capacity: i64,
    pub(crate) initial: i64,
    /// The capacity grows to the fleet's successes in this time.
    pub(crate) growth_ms: i64,
    pub(crate) per_second: i64,
    pub(crate) per_success: i64,
    pub(crate) min_per_second: i64,
    /// The price of a retry; a grant takes no more than the whole multiples of it in the bucket.
    pub(crate) unit: i64,
}

impl StoreTerms {
    pub(super) fn new(terms: &BudgetTerms) -> Self {
        let growth = u64::try_from(terms.growth.as_millis());
        Self {
            capacity: bounded(terms.capacity),
            initial: bounded(terms.initial),
            growth_ms: bounded(growth.unwrap_or(u64::MAX)),
            per_second: bounded(terms.per_second),
            per_success: bounded(terms.per_success),
            min_per_second: bounded(terms.min_per_second),
            unit: bounded(terms.retry_cost).max(1),
        }
    }
}

/// Returns the number within the store's bounds.
pub(super) fn bounded(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(MAX_COUNT).min(MAX_COUNT)
}

/// A report of one process: its totals so far, and the amount that it requests.
///
/// It has totals rather than differences, so a report that is lost, late or repeated settles nothing twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetReport {
    /// The ID of the process, which names its record in the store.
    pub(crate) process: u64,
    pub(crate) terms: StoreTerms,
    /// The number of the report: 1, 2, and so on.
    pub(crate) seq: i64,
    /// The total number of successes.
    pub(crate) successes: i64,
    /// The total of the last report with a reply.
    pub(crate) successes_acked: i64,
    /// The total amount taken, including that spent alone.
    pub(crate) taken: i64,
    /// The total amount taken after the last report with a reply.
    pub(crate) taken_acked: i64,
    pub(crate) want: i64,
    /// The fleet's tokens at the last reply, at least 0; `None` before the first.
    pub(crate) known: Option<i64>,
}

impl BudgetReport {
    /// Returns the script's arguments in their order.
    pub(crate) fn numbers(&self) -> [i64; 14] {
        let terms = self.terms;
        [
            terms.capacity,
            terms.initial,
            terms.growth_ms,
            terms.per_second,
            terms.per_success,
            terms.min_per_second,
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

/// The effect of a report on the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    Settled,
    /// The store had this report or a later one already, and changed nothing.
    Repeated,
    /// The store had no bucket, and made one.
    New,
}

/// The reply of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetReply {
    pub(crate) granted: i64,
    /// The tokens of the fleet; below 0 while it owes amounts that processes spent alone.
    pub(crate) tokens: i64,
    pub(crate) capacity: i64,
    /// The number of processes that have reported lately.
    pub(crate) processes: i64,
    /// The time of the store's clock.
    pub(crate) now_ms: i64,
    pub(crate) kind: ReplyKind,
}

impl BudgetReply {
    /// Parses the script's reply. Returns `None` if it is invalid.
    pub(crate) fn of(numbers: &[i64]) -> Option<Self> {
        let &[granted, tokens, capacity, processes, now_ms, kind] = numbers else {
            return None;
        };
        let reply = Self {
            granted,
            tokens,
            capacity,
            processes,
            now_ms,
            kind: match kind {
                0 => ReplyKind::Settled,
                1 => ReplyKind::Repeated,
                2 => ReplyKind::New,
                _ => return None,
            },
        };
        // Checked, since sums of amounts must stay in range whatever answers at the store's address.
        let amounts = 0..=MAX_COUNT;
        let is_valid = amounts.contains(&granted)
            && amounts.contains(&capacity)
            && amounts.contains(&processes)
            && (-MAX_COUNT..=MAX_COUNT).contains(&tokens);
        is_valid.then_some(reply)
    }
}
