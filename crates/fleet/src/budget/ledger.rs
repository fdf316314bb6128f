//! The amounts that one process tracks: its earnings and spending in total, and its allowance without the store.

use super::message::{BudgetReply, BudgetReport, MAX_BATCH, ReplyKind, StoreTerms, bounded};
use http_retry_core::policy::splitmix64;
use std::time::Duration;

/// The totals of a process under its present ID, and the part of them that the store is known to have.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    process: u64,
    seq: i64,
    /// The count of successes at which this ID's totals begin.
    base: u64,
    successes_acked: i64,
    /// The amount granted in replies, or spent alone.
    taken: i64,
    taken_acked: i64,
    /// The number of replies in a row that did not settle their own report.
    repeated: u8,
}

/// After this many the store must have another record under this ID, and a new ID is tried. If that fails too,
/// something on the way repeats messages.
const MAX_REPEATED: u8 = 2;

impl Ledger {
    pub(super) fn new(process: u64) -> Self {
        Self {
            process,
            ..Self::default()
        }
    }

    /// Returns `true` if the store does not have everything, given the program's count of successes.
    pub(super) fn has_unreported(&self, successes: u64) -> bool {
        self.successes(successes) != self.successes_acked || self.taken != self.taken_acked
    }

    pub(super) fn spend(&mut self, price: i64) {
        self.taken = self.taken.saturating_add(price);
    }

    /// Returns the next report, which requests nothing: with all totals, or as much of them as one report settles.
    pub(super) fn report(&mut self, successes: u64, terms: StoreTerms) -> BudgetReport {
        self.seq = self.seq.saturating_add(1);
        let bounded_part = |all: i64, acked: i64| all.min(acked.saturating_add(MAX_BATCH));
        BudgetReport {
            process: self.process,
            terms,
            seq: self.seq,
            successes: bounded_part(self.successes(successes), self.successes_acked),
            successes_acked: self.successes_acked,
            taken: bounded_part(self.taken, self.taken_acked),
            taken_acked: self.taken_acked,
            want: 0,
            known: None,
        }
    }

    /// Returns the program's count of successes that a report includes.
    pub(super) fn counted(&self, report: &BudgetReport) -> u64 {
        let reported = u64::try_from(report.successes).unwrap_or(0);
        // The program's count may wrap, so only its distance from the base is used.
        self.base.wrapping_add(reported)
    }

    /// Returns `true` if waiting retries need another report: this reply did not settle theirs, and the next one may.
    pub(super) fn needs_retry(&self, reply: &BudgetReply) -> bool {
        reply.kind == ReplyKind::Repeated && self.repeated < MAX_REPEATED
    }

    /// Records the amounts that the store has settled. Returns the amount taken since the report.
    pub(super) fn settle(
        &mut self,
        report: &BudgetReport,
        reply: &BudgetReply,
        random: u64,
    ) -> i64 {
        let since = self.taken.saturating_sub(report.taken);
        // The store has these successes, even if from an earlier report. A grant is known only from the reply to its
        // own report.
        self.successes_acked = report.successes;
        if reply.kind == ReplyKind::Repeated {
            self.repeated = self.repeated.saturating_add(1);
        } else {
            self.repeated = 0;
            self.taken = self.taken.saturating_add(reply.granted);
            self.taken_acked = report.taken.saturating_add(reply.granted);
        }
        let full = self.successes_acked.max(self.taken_acked) > MAX_BATCH;
        if full || self.repeated == MAX_REPEATED {
            self.renew_id(random);
        }
        since
    }

    /// Takes a new ID, whose totals begin at the settled ones of the old: the store cannot count above 2^53.
    fn renew_id(&mut self, random: u64) {
        let settled = u64::try_from(self.successes_acked).unwrap_or(0);
        *self = Self {
            base: self.base.wrapping_add(settled),
            taken: self.taken.saturating_sub(self.taken_acked),
            repeated: self.repeated,
            ..Self::new(splitmix64(self.process ^ splitmix64(random)))
        };
    }

    fn successes(&self, counted: u64) -> i64 {
        bounded(counted.wrapping_sub(self.base))
    }
}

/// The time without a reply after which a process no longer knows the fleet's tokens and number of processes.
const MAX_KNOWN_AGE: Duration = Duration::from_secs(10);

/// The amount that a process may spend without the store: its share of the fleet's tokens at the last reply, and the
/// earnings of its own successes since. The next report charges the process for the amount that it has spent.
#[derive(Debug)]
pub(super) struct Allowance {
    tokens: i64,
    capacity: i64,
    /// The count of successes that `tokens` includes.
    counted: u64,
    since: Duration,
    /// `true` if nothing is known, or no longer: the process then has one token.
    is_unknown: bool,
}

impl Allowance {
    /// Returns the allowance of a process that never had a reply.
    pub(super) fn unknown(terms: &StoreTerms) -> Self {
        Self {
            tokens: terms.unit.min(terms.initial),
            capacity: terms.capacity.max(terms.unit),
            counted: 0,
            since: Duration::ZERO,
            is_unknown: true,
        }
    }

    /// Returns the allowance after a reply to a report of `counted` successes, after which the process has spent
    /// `spent` alone.
    pub(super) fn of(
        reply: &BudgetReply,
        terms: &StoreTerms,
        counted: u64,
        spent: i64,
        now: Duration,
    ) -> Self {
        let processes = reply.processes.max(1);
        let part = |whole: i64| whole.max(0).checked_div(processes).unwrap_or(0);
        Self {
            // The reply does not include the amount that was spent after its report.
            tokens: part(reply.tokens).saturating_sub(spent).max(0),
            // In a large fleet a share may be less than the price of one retry.
            capacity: part(reply.capacity).max(terms.unit),
            counted,
            since: now,
            is_unknown: false,
        }
    }

    /// Resets the allowance if its last reply is too old.
    pub(super) fn age(&mut self, terms: &StoreTerms, now: Duration) {
        if !self.is_unknown && now.saturating_sub(self.since) > MAX_KNOWN_AGE {
            self.is_unknown = true;
            self.tokens = terms.unit.min(terms.initial);
        }
    }

    /// Adds the earnings of the successes up to the count `successes`.
    pub(super) fn earn(&mut self, terms: &StoreTerms, successes: u64) {
        let new = successes.wrapping_sub(self.counted);
        self.counted = successes;
        let new = i64::try_from(new).unwrap_or(i64::MAX);
        let earned = new.saturating_mul(terms.per_success);
        // Tokens above a capacity that has shrunk stay, and are not added to.
        let room = self.capacity.saturating_sub(self.tokens).max(0);
        self.tokens = self.tokens.saturating_add(earned.min(room));
    }

    pub(super) fn spend(&mut self, price: i64) -> bool {
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
