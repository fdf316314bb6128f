//! The arithmetic of the store's step, in the same integers as its script (`fleet/budget.lua`): the twin that tests and
//! simulations run without a server.

use super::words::{BudgetAnswer, BudgetWords, Flag, MOST};

/// What the store keeps of a budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoredBucket {
    /// May be below 0.
    pub(crate) tokens: i64,
    /// Successes in 1,000 s, averaged.
    pub(crate) rate: i64,
    /// Thousandths of a millionth, of the refill by time.
    pub(crate) rest: i64,
    pub(crate) at: i64,
    /// In which this many processes have spoken, and before it.
    pub(crate) window: i64,
    pub(crate) current: i64,
    pub(crate) before: i64,
}

/// What the store keeps of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredRecord {
    pub(crate) seq: i64,
    pub(crate) successes: i64,
    pub(crate) taken: i64,
    pub(crate) window: i64,
}

pub(crate) const MOST_RATE: i64 = 1_000_000_000;
const MOST_PER_SECOND: i64 = 1_000_000_000_000;
const WINDOW: i64 = 10_000;
const LONGEST: i64 = 1_000_000_000;

/// One step at the store's time `now`, in milliseconds.
pub(crate) fn settle(
    bucket: &mut Option<StoredBucket>,
    record: &mut Option<StoredRecord>,
    words: &BudgetWords,
    now: i64,
) -> BudgetAnswer {
    let mut flag = match bucket {
        Some(_) => Flag::Settled,
        None => Flag::New,
    };
    let mut next = bucket.unwrap_or_else(|| StoredBucket::new(words, now));
    let last = record.unwrap_or_else(|| StoredRecord::unknown(words));
    let mut granted = 0;
    if words.seq <= last.seq {
        flag = Flag::Repeated;
    } else {
        let elapsed = next.passes(now);
        let new = words.successes.saturating_sub(last.successes);
        let unheard = words.taken.saturating_sub(last.taken);
        next.earns(words, new.clamp(0, LONGEST), elapsed, unheard);
        granted = next.grants(words);
        next.counts(last.window, now);
        *bucket = Some(next);
        *record = Some(StoredRecord {
            seq: words.seq,
            successes: words.successes,
            taken: words.taken.saturating_add(granted),
            window: next.window,
        });
    }
    BudgetAnswer {
        granted,
        tokens: next.tokens,
        capacity: next.capacity(words),
        processes: next.before.max(next.current),
        now_ms: now,
        flag,
    }
}

impl StoredRecord {
    /// Of a process that the store has not heard of, or has forgotten.
    fn unknown(words: &BudgetWords) -> Self {
        Self {
            seq: -1,
            successes: words.successes_acked,
            taken: words.taken_acked,
            window: -1,
        }
    }
}

impl StoredBucket {
    fn new(words: &BudgetWords, now: i64) -> Self {
        let initial = words.terms.initial;
        Self {
            tokens: words.known.map_or(initial, |known| known.min(initial)),
            at: now,
            ..Self::default()
        }
    }

    fn capacity(&self, words: &BudgetWords) -> i64 {
        let grown = self.rate.saturating_mul(words.terms.growth_ms);
        words.terms.capacity.max(grown.min(MOST))
    }

    /// The time that has passed. A clock that was set back begins anew; one that trembles stands still.
    fn passes(&mut self, now: i64) -> i64 {
        if self.at.saturating_sub(now) > WINDOW {
            self.at = now;
        }
        let elapsed = now.saturating_sub(self.at).clamp(0, LONGEST);
        self.at = self.at.max(now);
        elapsed
    }

    fn earns(&mut self, words: &BudgetWords, new: i64, elapsed: i64, unheard: i64) {
        let seen = new.saturating_mul(1_000_000);
        let kept = self.rate.saturating_mul(WINDOW);
        let time = WINDOW.saturating_add(elapsed);
        self.rate = div(kept.saturating_add(seen), time).min(MOST_RATE);
        let most = self.capacity(words);
        let mut earned = new.saturating_mul(words.terms.per_success).min(MOST);
        let per_second = words.terms.per_second.min(MOST_PER_SECOND);
        if per_second > 0 {
            let seconds = div(elapsed, 1_000).min(div(MOST, per_second));
            let part = rem(elapsed, 1_000).saturating_mul(per_second);
            let part = part.saturating_add(self.rest);
            let refill = seconds.saturating_mul(per_second);
            let refill = refill.saturating_add(div(part, 1_000));
            earned = earned.saturating_add(refill).min(MOST);
            self.rest = rem(part, 1_000);
        }
        let tokens = self.tokens.saturating_add(earned);
        let least = 0_i64.saturating_sub(most);
        self.tokens = tokens.saturating_sub(unheard).clamp(least, most);
    }

    fn grants(&mut self, words: &BudgetWords) -> i64 {
        let whole = self
            .tokens
            .saturating_sub(rem(self.tokens, words.terms.unit));
        let granted = match self.tokens > 0 {
            true => words.want.min(whole),
            false => 0,
        };
        self.tokens = self.tokens.saturating_sub(granted);
        granted
    }

    /// Counts each process once in a window.
    fn counts(&mut self, last_window: i64, now: i64) {
        let this = div(now, WINDOW);
        if this > self.window || this < self.window.saturating_sub(1) {
            self.before = match this == self.window.saturating_add(1) {
                true => self.current,
                false => 0,
            };
            (self.window, self.current) = (this, 0);
        }
        if last_window != self.window {
            self.current = self.current.saturating_add(1).min(MOST_RATE);
        }
    }
}

fn div(a: i64, b: i64) -> i64 {
    a.checked_div(b).unwrap_or(0)
}

fn rem(a: i64, b: i64) -> i64 {
    a.checked_rem(b).unwrap_or(0)
}
