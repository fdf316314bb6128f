//! A builder of budgets, which validates their numbers.

use super::RetryBudget;
use super::bucket::BudgetTerms;
use crate::error::ConfigError;
use crate::policy::Decimal;
use std::time::Duration;

/// A builder of [`RetryBudget`]. Every amount is a decimal of up to six places, given as an integer or a float, and
/// stored exactly.
///
/// | setting | default | range |
/// |---|---|---|
/// | [`capacity`](Self::capacity) | 20, growing | above 0, up to 1,000,000,000 |
/// | [`growth`](Self::growth) | 250 ms; none if `capacity` is set | any duration |
/// | [`initial`](Self::initial) | the capacity | 0 up to the capacity |
/// | [`per_second`](Self::per_second) | 0 | 0 to 1,000,000 |
/// | [`per_success`](Self::per_success) | 0.1 | 0 to the larger of 1 and `retry_cost`, at most 1,000 |
/// | [`min_per_second`](Self::min_per_second) | 0.1 | 0 to 1,000,000 |
/// | [`retry_cost`](Self::retry_cost) | 1 | above 0, up to the capacity |
/// | [`timeout_cost`](Self::timeout_cost) | twice `retry_cost` | above 0, up to the capacity |
/// | [`gated_cost`](Self::gated_cost) | 0 | 0 up to the capacity |
///
/// The setters take any value, in any order; [`build`](Self::build) rejects invalid ones.
///
/// ```
/// use http_retry::RetryBudget;
/// use std::time::Duration;
///
/// let budget = RetryBudget::builder().capacity(50).initial(5).per_success(0.2).build()?;
/// assert_eq!(budget.available(Duration::ZERO), 5);
///
/// let error = RetryBudget::builder().capacity(5).initial(6).build().unwrap_err();
/// assert_eq!(error.to_string(), "budget.initial: 6 is not allowed: must be 0 to 5");
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
///
/// # Source
///
/// The defaults were chosen with the storm lab (`crates/lab`); the design document explains each of them.
#[derive(Debug, Clone)]
#[must_use]
pub struct RetryBudgetBuilder {
    capacity: Option<Decimal>,
    growth: Option<Duration>,
    initial: Option<Decimal>,
    per_second: Decimal,
    per_success: Decimal,
    min_per_second: Decimal,
    retry_cost: Decimal,
    timeout_cost: Option<Decimal>,
    gated_cost: Decimal,
}

const DEFAULT_CAPACITY: u32 = 20;
const DEFAULT_GROWTH: Duration = Duration::from_millis(250);
const DEFAULT_PER_SUCCESS: Decimal = Decimal::from_micros(100_000);
const DEFAULT_MIN_PER_SECOND: Decimal = Decimal::from_micros(100_000);
const MAX_CAPACITY: u32 = 1_000_000_000;
const MAX_RATE: u32 = 1_000_000;
const MAX_RATIO: u32 = 1_000;

impl Default for RetryBudgetBuilder {
    fn default() -> Self {
        Self {
            capacity: None,
            growth: None,
            initial: None,
            per_second: Decimal::ZERO,
            per_success: DEFAULT_PER_SUCCESS,
            min_per_second: DEFAULT_MIN_PER_SECOND,
            retry_cost: Decimal::ONE,
            timeout_cost: None,
            gated_cost: Decimal::ZERO,
        }
    }
}

impl RetryBudgetBuilder {
    /// Sets the most tokens that the budget holds: above 0, up to 1,000,000,000. Default: 20, and more under traffic.
    /// An explicit capacity stays fixed unless you also set `growth`.
    ///
    /// In an outage a budget pays for at most this many retries, and up to two for each call that was under way when the
    /// outage began are free ([`RetryBudget`]); with `per_success` at 0, none are. The capacity must be at least
    /// `retry_cost`, or no retry could be paid for.
    pub fn capacity(mut self, capacity: impl Into<Decimal>) -> Self {
        self.capacity = Some(capacity.into());
        self
    }

    /// Lets the capacity grow to the budget's own successes in this time, averaged over 10 s. Default: 250 ms, or no
    /// growth if `capacity` is set.
    ///
    /// A busy client thus survives an outage of that length, while a hundred small ones do not overload a stalled
    /// server. The capacity never falls below `capacity`; zero means no growth.
    pub fn growth(mut self, growth: Duration) -> Self {
        self.growth = Some(growth);
        self
    }

    /// Sets the initial tokens: 0 up to the capacity. Default: the capacity, so that a client that has just started can
    /// retry. A short program that is started often may set less, since each of its processes starts with this many.
    pub fn initial(mut self, initial: impl Into<Decimal>) -> Self {
        self.initial = Some(initial.into());
        self
    }

    /// Sets the tokens that each second adds: 0 to 1,000,000. Default: 0.
    ///
    /// With many clients, a refill by time keeps sending retries to a server that is down: a hundred clients at 10 a
    /// second send it a thousand retries a second. Time counts from the first use of the budget.
    pub fn per_second(mut self, per_second: impl Into<Decimal>) -> Self {
        self.per_second = per_second.into();
        self
    }

    /// Sets the tokens that each success adds: 0 to 1, or to `retry_cost` if that is more, at most 1000. Default: 0.1,
    /// one retry for ten successes, so that in the long run the retries that cost a token are at most a tenth of the
    /// successes. It is not a percentage.
    pub fn per_success(mut self, per_success: impl Into<Decimal>) -> Self {
        self.per_success = per_success.into();
        self
    }

    /// Sets the tokens that successes add at least in each second since the last success, as long as there are fewer
    /// than five retries cost: 0 to 1,000,000. Default: 0.1, a token for 10 s.
    ///
    /// It is for a program of few calls, whose successes are too rare to pay for its retries: one call a minute, of
    /// whose attempts a fifth fail, would lose every tenth call. A server that is down gets no retry from it, since
    /// only a success adds the tokens. Without deposits, so with `per_success` 0, it adds nothing either.
    pub fn min_per_second(mut self, min_per_second: impl Into<Decimal>) -> Self {
        self.min_per_second = min_per_second.into();
        self
    }

    /// Sets the price of a retry: above 0, at most the capacity. Default: 1. With free retries there would be no
    /// budget, so 0 is rejected.
    pub fn retry_cost(mut self, retry_cost: impl Into<Decimal>) -> Self {
        self.retry_cost = retry_cost.into();
        self
    }

    /// Sets the price of a retry after a timeout: above 0, at most the capacity. Default: twice `retry_cost`, or the
    /// capacity if that is less. A server that does not respond in time needs rest more than one that responds with
    /// errors.
    ///
    /// # Source
    ///
    /// The standard retry mode of the AWS SDKs charges timeouts double.
    pub fn timeout_cost(mut self, timeout_cost: impl Into<Decimal>) -> Self {
        self.timeout_cost = Some(timeout_cost.into());
        self
    }

    /// Sets the price of a retry after a 429 if its call waits at the gate: 0 to the capacity. Default: 0, since the
    /// gate sends no more than the server accepts. Every other throttled retry costs `retry_cost`.
    pub fn gated_cost(mut self, gated_cost: impl Into<Decimal>) -> Self {
        self.gated_cost = gated_cost.into();
        self
    }

    /// Builds the budget.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] that names the first invalid field, such as `budget.capacity`: it is out of range, has
    /// more than six decimal places, or is not a finite number.
    pub fn build(self) -> Result<RetryBudget, ConfigError> {
        Ok(RetryBudget::local(self.terms()?))
    }

    /// Returns the validated numbers, for a budget on a [`SharedAccount`](super::SharedAccount).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`build`](Self::build).
    pub fn terms(&self) -> Result<BudgetTerms, ConfigError> {
        let least = Decimal::from_micros(1);
        let bounded = |value: Decimal, field, most: u32| {
            value.within(field, Decimal::ZERO, Decimal::from(most))
        };
        let capacity = self
            .capacity
            .unwrap_or(Decimal::from(DEFAULT_CAPACITY))
            .within("budget.capacity", least, Decimal::from(MAX_CAPACITY))?;
        // With the default price, the capacity is the setting to change, so the error must name it and not
        // `retry_cost`.
        if self.retry_cost == Decimal::ONE && capacity.micros() < Decimal::ONE.micros() {
            let allowed = "must be at least retry_cost, which is 1";
            return Err(ConfigError::new("budget.capacity", capacity, allowed));
        }
        let retry_cost = self
            .retry_cost
            .within("budget.retry_cost", least, capacity)?;
        // Bounded, or `capacity(1)` would fail for a price that nobody has set.
        let double = retry_cost.micros().saturating_mul(2).min(capacity.micros());
        let timeout_cost = self.timeout_cost.unwrap_or(Decimal::from_micros(double));
        let initial = self.initial.unwrap_or(capacity);
        // An explicit capacity is meant as the bound.
        let default_growth = match self.capacity {
            Some(_) => Duration::ZERO,
            None => DEFAULT_GROWTH,
        };
        Ok(BudgetTerms {
            capacity: capacity.micros(),
            growth: self.growth.unwrap_or(default_growth),
            per_second: bounded(self.per_second, "budget.per_second", MAX_RATE)?.micros(),
            per_success: self.checked_per_success()?.micros(),
            min_per_second: bounded(self.min_per_second, "budget.min_per_second", MAX_RATE)?
                .micros(),
            retry_cost: retry_cost.micros(),
            timeout_cost: timeout_cost
                .within("budget.timeout_cost", least, capacity)?
                .micros(),
            gated_cost: self
                .gated_cost
                .within("budget.gated_cost", Decimal::ZERO, capacity)?
                .micros(),
            initial: initial
                .within("budget.initial", Decimal::ZERO, capacity)?
                .micros(),
        })
    }

    /// Checks `per_success`. More than a retry per success would be no limit, and is most likely meant as a percentage.
    fn checked_per_success(&self) -> Result<Decimal, ConfigError> {
        let field = "budget.per_success";
        let given = self
            .per_success
            .within(field, Decimal::ZERO, Decimal::from(MAX_RATIO))?;
        let most = self.retry_cost.micros().max(Decimal::ONE.micros());
        if given.micros() <= most {
            return Ok(given);
        }
        let most = Decimal::from_micros(most);
        let allowed =
            format!("must be 0 to {most}, what a retry costs: 0.1 is a retry for ten successes");
        Err(ConfigError::new(field, given, allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected_field(builder: RetryBudgetBuilder) -> String {
        builder.build().unwrap_err().field.into()
    }

    #[test]
    fn an_invalid_setting_is_rejected_with_its_name() {
        let builder = RetryBudget::builder;
        assert_eq!(rejected_field(builder().capacity(0)), "budget.capacity");
        assert_eq!(rejected_field(builder().capacity(0.5)), "budget.capacity");
        assert_eq!(
            rejected_field(builder().capacity(2).initial(3)),
            "budget.initial"
        );
        assert_eq!(
            rejected_field(builder().per_success(-0.1)),
            "budget.per_success"
        );
        assert_eq!(
            rejected_field(builder().per_success(1_001)),
            "budget.per_success"
        );
        assert_eq!(
            rejected_field(builder().per_success(0.123_456_7)),
            "budget.per_success"
        );
        assert_eq!(
            rejected_field(builder().per_second(f64::INFINITY)),
            "budget.per_second"
        );
        assert_eq!(
            rejected_field(builder().min_per_second(-0.1)),
            "budget.min_per_second"
        );
        assert_eq!(rejected_field(builder().retry_cost(0)), "budget.retry_cost");
        assert_eq!(
            rejected_field(builder().timeout_cost(21)),
            "budget.timeout_cost"
        );
    }

    #[test]
    fn a_success_pays_for_at_most_one_retry() {
        let percent = RetryBudget::builder().per_success(10).build().unwrap_err();
        assert_eq!(
            percent.to_string(),
            "budget.per_success: 10 is not allowed: must be 0 to 1, what a retry costs: 0.1 is a retry for ten successes"
        );
        let costs = |cost: u32| RetryBudget::builder().capacity(500).retry_cost(cost);
        assert!(costs(5).per_success(5).build().is_ok());
        assert_eq!(
            rejected_field(costs(5).per_success(6)),
            "budget.per_success"
        );
        // Tokens of any size.
        let cheap = RetryBudget::builder().capacity(5).retry_cost(0.1);
        assert!(cheap.per_success(1).build().is_ok());
    }

    #[test]
    fn a_given_capacity_stays_and_bounds_the_timeout_price() {
        let terms = RetryBudget::builder().capacity(1).terms().unwrap();
        assert_eq!(terms.growth, Duration::ZERO);
        assert_eq!((terms.timeout_cost, terms.initial), (1_000_000, 1_000_000));
    }

    #[test]
    fn a_given_capacity_grows_if_that_is_asked_for() {
        let growth = Duration::from_secs(2);
        let builder = RetryBudget::builder().growth(growth);
        for terms in [builder.clone().capacity(5).terms(), builder.terms()] {
            assert_eq!(terms.unwrap().growth, growth);
        }
        let budget = RetryBudget::builder().capacity(5).growth(growth);
        let budget = budget.build().unwrap();
        for second in 0..60 {
            (0..100).for_each(|_| budget.deposit(Duration::from_secs(second)));
            let _ = budget.available(Duration::from_secs(second));
        }
        let grown = budget.available(Duration::from_secs(60));
        assert!((150..=200).contains(&grown), "{grown}");
    }

    #[test]
    fn the_defaults() {
        let wanted = BudgetTerms {
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
        assert_eq!(RetryBudget::builder().terms(), Ok(wanted));
        assert_eq!(BudgetTerms::DEFAULT, wanted);
    }
}
