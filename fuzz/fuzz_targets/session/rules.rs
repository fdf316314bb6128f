//! Policies and budgets, whether they can work or not.

use http_retry::policy::Decimal;
use http_retry::{Backoff, Class, Jitter, Methods, Reach, RetryBudget, RetryPolicy};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use std::time::Duration;

#[derive(Debug, Arbitrary)]
pub(super) struct Rules {
    pub(super) max_retries: u32,
    as_attempts: bool,
    backoff: Growth,
    factor: Number,
    first_step: u8,
    jitter: Spread,
    cap: u8,
    max_delay: Option<Option<Time>>,
    pub(super) deadline: Option<Time>,
    pub(super) attempt_timeout: Option<Time>,
    pub(super) max_server_delay: Option<Time>,
    pub(super) all_methods: bool,
    own_rule: bool,
}

#[derive(Debug, Arbitrary)]
enum Growth {
    None,
    Fixed(Time),
    Linear(Time),
    Exponential(Time),
    Schedule(Vec<Time>),
    Custom(Time),
}

#[derive(Debug, Arbitrary)]
enum Spread {
    None,
    Full,
    Equal,
    Between(Number, Number),
    Decorrelated,
}

/// A decimal that is often one.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Number {
    Whole(u16),
    Micros(u32),
    Float(f64),
}

/// A time that is often a short one.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum Time {
    Milliseconds(u16),
    Any(Duration),
}

#[derive(Debug, Arbitrary)]
pub(super) struct Purse {
    capacity: Number,
    initial: Option<Number>,
    growth: Option<Time>,
    per_second: Number,
    per_success: Number,
    retry_cost: Number,
    timeout_cost: Option<Number>,
}

impl Number {
    fn decimal(self) -> Decimal {
        match self {
            Self::Whole(whole) => Decimal::from(u32::from(whole)),
            Self::Micros(micros) => Decimal::from(f64::from(micros) / 1e6),
            Self::Float(float) => Decimal::from(float),
        }
    }
}

impl Time {
    pub(super) fn duration(self) -> Duration {
        match self {
            Self::Milliseconds(milliseconds) => Duration::from_millis(u64::from(milliseconds)),
            Self::Any(duration) => duration,
        }
    }
}

impl Growth {
    fn backoff(&self) -> Backoff {
        match self {
            Self::None => Backoff::none(),
            Self::Fixed(time) => Backoff::fixed(time.duration()),
            Self::Linear(time) => Backoff::linear(time.duration()),
            Self::Exponential(time) => Backoff::exponential(time.duration()),
            Self::Schedule(times) => {
                let times: Vec<_> = times.iter().map(|time| time.duration()).collect();
                Backoff::schedule(times)
            }
            Self::Custom(time) => {
                let step = time.duration();
                Backoff::custom(move |n| step.saturating_mul(n))
            }
        }
    }
}

impl Spread {
    fn jitter(&self) -> Jitter {
        match self {
            Self::None => Jitter::None,
            Self::Full => Jitter::Full,
            Self::Equal => Jitter::Equal,
            Self::Between(min, max) => Jitter::between(min.decimal(), max.decimal()),
            Self::Decorrelated => Jitter::Decorrelated,
        }
    }
}

impl Rules {
    pub(super) fn policy(&self) -> Option<RetryPolicy> {
        let builder = RetryPolicy::builder()
            .backoff(self.backoff())
            .deadline(self.deadline.map(Time::duration))
            .attempt_timeout(self.attempt_timeout.map(Time::duration))
            .max_server_delay(self.max_server_delay.map(Time::duration));
        let builder = if self.as_attempts {
            builder.max_attempts(self.max_retries)
        } else {
            builder.max_retries(self.max_retries)
        };
        let builder = if self.all_methods {
            builder.methods(Methods::All)
        } else {
            builder
        };
        let builder = if self.own_rule {
            builder.classify(|outcome| {
                let locked = outcome.status().is_some_and(|status| status == 409);
                locked.then_some((Class::Transient, Reach::Refused))
            })
        } else {
            builder
        };
        // What cannot work is refused, with the field's name.
        let built = builder.build();
        built.map_err(|error| assert!(!error.field.is_empty())).ok()
    }

    fn backoff(&self) -> Backoff {
        let backoff = self.backoff.backoff();
        let backoff = backoff
            .factor(self.factor.decimal())
            .first_step(u32::from(self.first_step))
            .jitter(self.jitter.jitter());
        let backoff = match self.cap % 3 {
            0 => backoff,
            1 => backoff.cap_before_jitter(),
            _ => backoff.cap_after_jitter(),
        };
        match self.max_delay {
            Some(most) => backoff.max_delay(most.map(Time::duration)),
            None => backoff,
        }
    }

    pub(super) fn max_retries(&self) -> u32 {
        if self.as_attempts {
            self.max_retries.saturating_sub(1)
        } else {
            self.max_retries
        }
    }

    /// The longest delay of the policy's own, where there is a bound.
    pub(super) fn longest(&self) -> Option<Duration> {
        let most = self.max_delay.flatten().map(Time::duration);
        most.filter(|_| self.cap % 3 != 1)
    }
}

impl Purse {
    /// Returns `true` if a success adds tokens.
    pub(super) fn earns(&self) -> bool {
        self.per_success.decimal() != Decimal::from(0)
    }

    pub(super) fn budget(&self) -> Option<RetryBudget> {
        let mut builder = RetryBudget::builder()
            .capacity(self.capacity.decimal())
            .per_second(self.per_second.decimal())
            .per_success(self.per_success.decimal())
            .retry_cost(self.retry_cost.decimal());
        if let Some(initial) = self.initial {
            builder = builder.initial(initial.decimal());
        }
        if let Some(growth) = self.growth {
            builder = builder.growth(growth.duration());
        }
        if let Some(cost) = self.timeout_cost {
            builder = builder.timeout_cost(cost.decimal());
        }
        let built = builder.build();
        built.map_err(|error| assert!(!error.field.is_empty())).ok()
    }
}
