//! Token arithmetic, with integers only and without a clock or a lock.

use crate::policy::Cost;
use std::time::Duration;

/// The validated numbers of a budget, from [`RetryBudgetBuilder::terms`](super::RetryBudgetBuilder::terms). Amounts are
/// in millionths of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetTerms {
    /// The most tokens that the budget holds, above 0.
    pub capacity: u64,
    /// The tokens at the start, at most the capacity.
    pub initial: u64,
    /// The time whose successes, averaged over 10 s, the capacity grows to.
    pub growth: Duration,
    /// The amount added per second.
    pub per_second: u64,
    /// The amount added per success.
    pub per_success: u64,
    /// The amount that successes add per second at least, while there are fewer tokens than for five retries.
    pub min_per_second: u64,
    /// The price of a retry, above 0.
    pub retry_cost: u64,
    /// The price of a retry after a timeout, above 0.
    pub timeout_cost: u64,
    /// The price of a retry after a 429 whose call waits at the gate.
    pub gated_cost: u64,
}

impl BudgetTerms {
    /// The terms of a builder in which nothing is set, as a test checks. A program that sets nothing then has no checks,
    /// and nothing that shows a rejected number.
    pub(super) const DEFAULT: Self = Self {
        capacity: 20_000_000,
        initial: 20_000_000,
        growth: Duration::from_millis(250),
        per_second: 0,
        per_success: 100_000,
        min_per_second: 100_000,
        retry_cost: 1_000_000,
        timeout_cost: 2_000_000,
        gated_cost: 0,
    };
}

/// The state of a bucket at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bucket {
    tokens: u64,
    capacity: u64,
    /// The part of the refill below a millionth, in millionths x nanoseconds.
    remainder: u64,
    /// The average number of successes in a thousand seconds.
    rate: u64,
    /// The time up to which the refill is counted; `None` before the first use, since the clock may start at any value.
    settled: Option<Duration>,
    /// The time since the last count that had a success, in nanoseconds.
    quiet: u128,
    /// The successes of the account that are counted, wrapping.
    pub(super) counted: u64,
}

/// The retries for which [`BudgetTerms::min_per_second`] fills a bucket.
const FLOOR_RETRIES: u64 = 5;

const SECOND: u128 = 1_000_000_000;
/// The time over which the rate of successes is averaged, in nanoseconds.
const WINDOW: u128 = 10 * SECOND;
/// The unit of `Bucket::rate`: successes in this many nanoseconds.
const RATE_UNIT: u128 = 1_000 * SECOND;

impl BudgetTerms {
    /// Returns `true` if neither time nor successes add tokens.
    pub(super) fn never_refill(&self) -> bool {
        self.per_second == 0 && self.per_success == 0
    }

    pub(super) fn price(&self, cost: Cost) -> u64 {
        match cost {
            Cost::Nothing => 0,
            Cost::Retry => self.retry_cost,
            Cost::Timeout => self.timeout_cost,
            Cost::Gated => self.gated_cost,
        }
    }
}

impl Bucket {
    pub(super) fn new(terms: &BudgetTerms) -> Self {
        Self {
            tokens: terms.initial.min(terms.capacity),
            capacity: terms.capacity,
            remainder: 0,
            rate: 0,
            settled: None,
            quiet: 0,
            counted: 0,
        }
    }

    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Counts the time until `now` and the successes since the last call. A clock that steps back counts as standing
    /// still, and no time is counted twice.
    pub(super) fn settle(&mut self, terms: &BudgetTerms, successes: u64, now: Duration) {
        let elapsed = match self.settled {
            Some(settled) => now.saturating_sub(settled).as_nanos(),
            None => 0,
        };
        // If it stepped back, the time until it has caught up is counted already.
        self.settled = self.settled.max(Some(now));
        self.advance(terms, successes, elapsed);
    }

    /// Counts successes since the last call, and the elapsed nanoseconds.
    pub(super) fn advance(&mut self, terms: &BudgetTerms, successes: u64, elapsed: u128) {
        self.average(successes, elapsed);
        // The capacity grows first, since it limits the tokens that are added.
        self.capacity = terms.capacity.max(self.grown_capacity(terms.growth));
        let deposited = successes.saturating_mul(terms.per_success);
        let refilled = self.refill(terms.per_second, elapsed);
        self.add(deposited.saturating_add(refilled));
        self.quiet = self.quiet.saturating_add(elapsed);
        if successes > 0 {
            self.fill_to_the_floor(terms);
        }
    }

    /// Adds what successes earn at least in the time since the last one. Time alone adds nothing, so a server that is
    /// down gets no more retries from this.
    fn fill_to_the_floor(&mut self, terms: &BudgetTerms) {
        let quiet = std::mem::take(&mut self.quiet);
        let floor = terms.retry_cost.saturating_mul(FLOOR_RETRIES);
        let missing = floor.saturating_sub(self.tokens);
        // A budget without deposits earns none.
        if terms.per_success > 0 && missing > 0 {
            let earned = u128::from(terms.min_per_second).saturating_mul(quiet) / SECOND;
            let earned = u64::try_from(earned).unwrap_or(u64::MAX);
            self.add(earned.min(missing));
        }
    }

    /// Withdraws the price if there are enough tokens, else nothing.
    pub(super) fn withdraw(&mut self, price: u64) -> bool {
        let left = self.tokens.checked_sub(price);
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }

    /// Adds earned or refunded tokens, up to the capacity.
    pub(super) fn add(&mut self, amount: u64) {
        self.tokens = self.tokens.saturating_add(amount).min(self.capacity);
    }

    /// Updates the average; older successes weigh less.
    fn average(&mut self, successes: u64, elapsed: u128) {
        // Nothing has succeeded yet: a failing service is looked at often.
        if self.rate == 0 && successes == 0 {
            return;
        }
        // An exponential average with integers only: the old rate weighs `WINDOW`, the new successes their own time.
        let new = u128::from(successes).saturating_mul(RATE_UNIT);
        let old = u128::from(self.rate).saturating_mul(WINDOW);
        let rate = old
            .saturating_add(new)
            .checked_div(WINDOW.saturating_add(elapsed));
        self.rate = rate
            .and_then(|rate| u64::try_from(rate).ok())
            .unwrap_or(u64::MAX);
    }

    fn grown_capacity(&self, growth: Duration) -> u64 {
        const MILLIONTHS: u128 = 1_000_000;
        if growth.is_zero() {
            return 0;
        }
        let successes = u128::from(self.rate).saturating_mul(growth.as_nanos());
        let tokens = successes.saturating_mul(MILLIONTHS) / RATE_UNIT;
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    fn refill(&mut self, per_second: u64, elapsed: u128) -> u64 {
        // Without a refill there is no remainder either.
        if per_second == 0 {
            return 0;
        }
        let earned = u128::from(per_second)
            .saturating_mul(elapsed)
            .saturating_add(u128::from(self.remainder));
        // Carried over, so that many short steps add as much as a long one.
        self.remainder = u64::try_from(earned % SECOND).unwrap_or_default();
        u64::try_from(earned / SECOND).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOKEN: u64 = 1_000_000;

    fn terms(capacity: u64, initial: u64) -> BudgetTerms {
        BudgetTerms {
            capacity: capacity * TOKEN,
            initial,
            growth: Duration::ZERO,
            per_second: 0,
            per_success: 0,
            min_per_second: 0,
            retry_cost: TOKEN,
            timeout_cost: 2 * TOKEN,
            gated_cost: 0,
        }
    }

    #[test]
    fn a_bucket_never_goes_below_zero_or_above_its_capacity() {
        let mut bucket = Bucket::new(&terms(3, 2 * TOKEN));
        assert!(bucket.withdraw(2 * TOKEN));
        assert!(!bucket.withdraw(1));
        assert_eq!(bucket.tokens(), 0);
        bucket.add(5 * TOKEN);
        assert_eq!(bucket.tokens(), 3 * TOKEN);
    }

    #[test]
    fn the_refill_starts_at_the_first_use_not_at_zero() {
        let terms = BudgetTerms {
            per_second: TOKEN,
            ..terms(10, 0)
        };
        let mut bucket = Bucket::new(&terms);
        bucket.settle(&terms, 0, Duration::from_secs(9_000));
        assert_eq!(bucket.tokens(), 0);
        bucket.settle(&terms, 0, Duration::from_secs(9_003));
        assert_eq!(bucket.tokens(), 3 * TOKEN);
    }

    #[test]
    fn a_month_without_use_fills_the_bucket() {
        let terms = BudgetTerms {
            per_second: TOKEN,
            ..terms(10, 0)
        };
        let mut bucket = Bucket::new(&terms);
        bucket.settle(&terms, 0, Duration::ZERO);
        bucket.settle(&terms, 0, Duration::from_secs(30 * 24 * 3600));
        assert_eq!(bucket.tokens(), 10 * TOKEN);
    }

    #[test]
    fn no_time_is_lost_or_counted_twice_if_the_clock_steps_back() {
        let terms = BudgetTerms {
            per_second: 10 * TOKEN,
            ..terms(100, 0)
        };
        let mut bucket = Bucket::new(&terms);
        for millis in [1_000, 500, 1_000, 1_100] {
            bucket.settle(&terms, 0, Duration::from_millis(millis));
        }
        assert_eq!(bucket.tokens(), TOKEN);
    }

    #[test]
    fn the_capacity_follows_the_rate_of_successes() {
        let terms = BudgetTerms {
            growth: Duration::from_millis(250),
            per_success: TOKEN / 10,
            ..terms(20, 20 * TOKEN)
        };
        let mut bucket = Bucket::new(&terms);
        for second in 0..60 {
            bucket.settle(&terms, 500, Duration::from_secs(second));
        }
        let grown = bucket.capacity();
        assert!((120 * TOKEN..=126 * TOKEN).contains(&grown), "{grown}");
        assert_eq!(bucket.tokens(), grown);
        bucket.settle(&terms, 0, Duration::from_secs(3_600));
        assert_eq!(
            (bucket.capacity(), bucket.tokens()),
            (20 * TOKEN, 20 * TOKEN)
        );
    }

    #[test]
    fn a_success_after_a_quiet_time_adds_up_to_five_retries() {
        let terms = BudgetTerms {
            per_success: TOKEN / 10,
            min_per_second: TOKEN / 10,
            ..terms(20, 0)
        };
        let mut bucket = Bucket::new(&terms);
        let mut after = |successes, seconds| {
            bucket.settle(&terms, successes, Duration::from_secs(seconds));
            bucket.tokens()
        };
        assert_eq!(after(1, 1_000), TOKEN / 10);
        assert_eq!(after(0, 1_600), TOKEN / 10, "time alone adds nothing");
        assert_eq!(after(1, 1_610), 5 * TOKEN);
        assert_eq!(after(1, 9_000), 5 * TOKEN + TOKEN / 10);
    }

    #[test]
    fn without_deposits_a_quiet_time_adds_nothing() {
        let terms = BudgetTerms {
            min_per_second: TOKEN,
            ..terms(20, 0)
        };
        let mut bucket = Bucket::new(&terms);
        bucket.settle(&terms, 1, Duration::ZERO);
        bucket.settle(&terms, 1, Duration::from_secs(60));
        assert_eq!(bucket.tokens(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn many_short_refills_add_as_much_as_one_long_one(
            per_second in 0_u64..1_000_000_000,
            steps in prop::collection::vec(0_u64..5_000_000_000, 1..50),
        ) {
            let terms = BudgetTerms { per_second, ..terms(1_000_000_000, 0) };
            let mut many = Bucket::new(&terms);
            let mut one = Bucket::new(&terms);
            many.settle(&terms, 0, Duration::ZERO);
            one.settle(&terms, 0, Duration::ZERO);
            let mut now = Duration::ZERO;
            for step in steps {
                now += Duration::from_nanos(step);
                many.settle(&terms, 0, now);
            }
            one.settle(&terms, 0, now);
            prop_assert_eq!(many.tokens(), one.tokens());
        }

        #[test]
        fn nothing_panics_and_nothing_exceeds_the_capacity(
            terms in any::<(u64, u64, u64, u64)>(),
            steps in prop::collection::vec(any::<(u64, u64, u32, u64)>(), 0..20),
        ) {
            let (capacity, growth, per_second, per_success) = terms;
            let growth = Duration::from_nanos(growth);
            let terms =
                BudgetTerms { capacity, initial: u64::MAX, growth, per_second, per_success, min_per_second: per_second, retry_cost: 1, timeout_cost: 2, gated_cost: 0 };
            let mut bucket = Bucket::new(&terms);
            for (successes, seconds, nanos, price) in steps {
                let now = Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos.into()));
                bucket.settle(&terms, successes, now);
                bucket.withdraw(price);
                bucket.add(price);
                prop_assert!(bucket.tokens() <= bucket.capacity());
            }
        }
    }
}
