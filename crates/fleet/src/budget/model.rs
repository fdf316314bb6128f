//! A model of the store's step, in the same integers as its script `budget.lua`, so that tests and simulations can run
//! without a server.

use super::message::{BudgetReply, BudgetReport, MAX_COUNT, ReplyKind};

/// The state of a budget in the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoredBucket {
    /// The tokens; may be below 0.
    pub(crate) tokens: i64,
    /// The average number of successes in 1,000 s.
    pub(crate) rate: i64,
    /// The remainder of the refill by time, in thousandths of a millionth.
    pub(crate) rest: i64,
    /// The milliseconds since the last step with a success.
    pub(crate) quiet: i64,
    pub(crate) at: i64,
    /// The window, and the numbers of processes that reported in it and in the one before.
    pub(crate) window: i64,
    pub(crate) current: i64,
    pub(crate) before: i64,
}

/// The state of a process in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredRecord {
    pub(crate) seq: i64,
    pub(crate) successes: i64,
    pub(crate) taken: i64,
    pub(crate) window: i64,
}

pub(crate) const MAX_RATE: i64 = 1_000_000_000;
const MAX_PER_SECOND: i64 = 1_000_000_000_000;
/// The retries for which rare successes fill the bucket.
const FLOOR_RETRIES: i64 = 5;
/// The window in which processes and successes are counted, in milliseconds.
const WINDOW: i64 = 10_000;
/// The most milliseconds, and the most successes, that one step counts.
const MAX_STEP: i64 = 1_000_000_000;

/// Takes one step at the store's time `now`, in milliseconds.
pub(crate) fn settle(
    bucket: &mut Option<StoredBucket>,
    record: &mut Option<StoredRecord>,
    report: &BudgetReport,
    now: i64,
) -> BudgetReply {
    let mut kind = match bucket {
        Some(_) => ReplyKind::Settled,
        None => ReplyKind::New,
    };
    let mut next = bucket.unwrap_or_else(|| StoredBucket::new(report, now));
    let last = record.unwrap_or_else(|| StoredRecord::unknown(report));
    let mut granted = 0;
    // Repeated or overtaken by a later report, whose totals include this one's.
    if report.seq <= last.seq {
        kind = ReplyKind::Repeated;
    } else {
        let elapsed = next.pass_time(now);
        let new = report.successes.saturating_sub(last.successes);
        let unreported = report.taken.saturating_sub(last.taken);
        next.earn(report, new.clamp(0, MAX_STEP), elapsed, unreported);
        granted = next.grant(report);
        next.count(last.window, now);
        *bucket = Some(next);
        *record = Some(StoredRecord {
            seq: report.seq,
            successes: report.successes,
            taken: report.taken.saturating_add(granted),
            window: next.window,
        });
    }
    BudgetReply {
        granted,
        tokens: next.tokens,
        capacity: next.capacity(report),
        // The present window may have just begun.
        processes: next.before.max(next.current),
        now_ms: now,
        kind,
    }
}

impl StoredRecord {
    /// Returns the record of a process that is new to the store, or forgotten.
    fn unknown(report: &BudgetReport) -> Self {
        Self {
            seq: -1,
            successes: report.successes_acked,
            taken: report.taken_acked,
            window: -1,
        }
    }
}

impl StoredBucket {
    fn new(report: &BudgetReport, now: i64) -> Self {
        let initial = report.terms.initial;
        Self {
            tokens: report.known.map_or(initial, |known| known.min(initial)),
            at: now,
            ..Self::default()
        }
    }

    fn capacity(&self, report: &BudgetReport) -> i64 {
        let grown = self.rate.saturating_mul(report.terms.growth_ms);
        report.terms.capacity.max(grown.min(MAX_COUNT))
    }

    /// Returns the elapsed time. A clock that was set back starts anew; one that jitters stands still.
    fn pass_time(&mut self, now: i64) -> i64 {
        if self.at.saturating_sub(now) > WINDOW {
            self.at = now;
        }
        let elapsed = now.saturating_sub(self.at).clamp(0, MAX_STEP);
        self.at = self.at.max(now);
        elapsed
    }

    fn earn(&mut self, report: &BudgetReport, new: i64, elapsed: i64, unreported: i64) {
        // The rate is in successes per 1,000 s, which are 1,000,000 ms.
        let added = new.saturating_mul(1_000_000);
        let before = self.rate.saturating_mul(WINDOW);
        let time = WINDOW.saturating_add(elapsed);
        self.rate = div(before.saturating_add(added), time).min(MAX_RATE);
        let most = self.capacity(report);
        let mut earned = new.saturating_mul(report.terms.per_success).min(MAX_COUNT);
        let per_second = report.terms.per_second.min(MAX_PER_SECOND);
        if per_second > 0 {
            let seconds = div(elapsed, 1_000).min(div(MAX_COUNT, per_second));
            // Seconds and the rest apart, since their product could exceed 2^53.
            let part = rem(elapsed, 1_000).saturating_mul(per_second);
            let part = part.saturating_add(self.rest);
            let refill = seconds.saturating_mul(per_second);
            let refill = refill.saturating_add(div(part, 1_000));
            earned = earned.saturating_add(refill).min(MAX_COUNT);
            self.rest = rem(part, 1_000);
        }
        let tokens = self.tokens.saturating_add(earned);
        let floor = self.fill_to_the_floor(report, new, elapsed, tokens);
        let tokens = tokens.saturating_add(floor);
        // A fleet can owe at most one capacity.
        let least = 0_i64.saturating_sub(most);
        self.tokens = tokens.saturating_sub(unreported).clamp(least, most);
    }

    /// Returns what successes earn at least in the time since the last one, while the bucket has less than a few
    /// retries cost.
    fn fill_to_the_floor(
        &mut self,
        report: &BudgetReport,
        new: i64,
        elapsed: i64,
        tokens: i64,
    ) -> i64 {
        self.quiet = self.quiet.saturating_add(elapsed).min(MAX_STEP);
        if new == 0 || report.terms.per_success == 0 {
            return 0;
        }
        let quiet = std::mem::take(&mut self.quiet);
        let per_second = report.terms.min_per_second.min(MAX_PER_SECOND);
        let seconds = div(quiet, 1_000).min(div(MAX_COUNT, per_second));
        let part = div(rem(quiet, 1_000).saturating_mul(per_second), 1_000);
        let earned = seconds.saturating_mul(per_second).saturating_add(part);
        let floor = report
            .terms
            .unit
            .saturating_mul(FLOOR_RETRIES)
            .min(MAX_COUNT);
        earned.min(floor.saturating_sub(tokens)).max(0)
    }

    fn grant(&mut self, report: &BudgetReport) -> i64 {
        // Only whole retries: part of a price is of no use to this process, and would be missing for the others.
        let whole = self
            .tokens
            .saturating_sub(rem(self.tokens, report.terms.unit));
        let granted = if self.tokens > 0 {
            report.want.min(whole)
        } else {
            0
        };
        self.tokens = self.tokens.saturating_sub(granted);
        granted
    }

    /// Counts each process once in a window.
    fn count(&mut self, last_window: i64, now: i64) {
        let current = div(now, WINDOW);
        // A clock that jitters may step back by one window, which continues the later one.
        if current > self.window || current < self.window.saturating_sub(1) {
            self.before = if current == self.window.saturating_add(1) {
                self.current
            } else {
                0
            };
            (self.window, self.current) = (current, 0);
        }
        if last_window != self.window {
            self.current = self.current.saturating_add(1).min(MAX_RATE);
        }
    }
}

fn div(a: i64, b: i64) -> i64 {
    a.checked_div(b).unwrap_or(0)
}

fn rem(a: i64, b: i64) -> i64 {
    a.checked_rem(b).unwrap_or(0)
}
