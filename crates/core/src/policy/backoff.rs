//! The policy's own delay before a retry: growth x jitter x cap.

mod checks;
mod delays;
mod words;

use super::decimal::Decimal;
use super::jitter::{Cap, Jitter};
use std::sync::Arc;
use std::time::Duration;

/// The delay before each retry: a random part of a ceiling that grows up to a cap.
///
/// | part | set by | default |
/// |---|---|---|
/// | the ceiling before retry n | [`fixed`](Self::fixed), [`linear`](Self::linear), [`exponential`](Self::exponential), [`schedule`](Self::schedule), [`custom`](Self::custom), [`none`](Self::none) | exponential from 2 s, in a policy |
/// | how it grows | [`factor`](Self::factor), [`first_step`](Self::first_step) | doubles, from the base on |
/// | the random part | [`jitter`](Self::jitter) | full: 0 to the ceiling |
/// | the longest delay | [`max_delay`](Self::max_delay) | linear and exponential: 60 s, or the base if that is longer; else none |
///
/// ```
/// use http_retry::{Backoff, Jitter};
/// use std::time::Duration;
///
/// let backoff = Backoff::exponential(Duration::from_secs(1)).jitter(Jitter::Full);
/// assert_eq!(backoff.ceiling(4), Duration::from_secs(8));
/// assert_eq!(backoff.delay(4, u64::MAX), Duration::from_secs(8));
/// assert_eq!(backoff.delay(4, 0), Duration::ZERO);
/// ```
///
/// Setters take any value; a policy's `build` refuses those that cannot work. Without a policy, a `Backoff` saturates
/// and never panics, for every retry up to `u32::MAX`.
#[derive(Clone, Debug)]
pub struct Backoff {
    growth: Growth,
    factor: Decimal,
    first_step: u32,
    max_delay: MaxDelay,
    pub(super) jitter: Jitter,
    cap: Cap,
}

#[derive(Clone)]
enum Growth {
    None,
    Fixed(Duration),
    Linear(Duration),
    Exponential(Duration),
    Schedule(Arc<[Duration]>),
    Custom(Arc<dyn Fn(u32) -> Duration + Send + Sync>),
}

#[derive(Clone, Copy, Debug)]
enum MaxDelay {
    Default,
    Given(Option<Duration>),
}

const MAX_FACTOR: u32 = 1_000;
const DEFAULT_MAX_DELAY: Duration = Duration::from_secs(60);
const DECORRELATED_GROWTH: u32 = 3;

impl Backoff {
    fn new(growth: Growth) -> Self {
        Self {
            growth,
            factor: Decimal::from(2),
            first_step: 0,
            max_delay: MaxDelay::Default,
            jitter: Jitter::Full,
            cap: Cap::Both,
        }
    }

    /// No wait of its own. A server that asks for a wait still gets it.
    ///
    /// ```
    /// use http_retry::Backoff;
    ///
    /// assert!(Backoff::none().delay(9, u64::MAX).is_zero());
    /// ```
    #[must_use]
    pub fn none() -> Self {
        Self::new(Growth::None)
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self.growth, Growth::None)
    }

    /// The same ceiling before every retry. `build` refuses one above [`max_delay`](Self::max_delay).
    ///
    /// ```
    /// use http_retry::{Backoff, Jitter};
    /// use std::time::Duration;
    ///
    /// // Every 5 s, give or take a second, so that clients drift apart.
    /// let backoff = Backoff::fixed(Duration::from_secs(5)).jitter(Jitter::between(0.8, 1.2));
    /// assert_eq!(backoff.ceiling(7), Duration::from_secs(5));
    /// ```
    #[must_use]
    pub fn fixed(delay: Duration) -> Self {
        Self::new(Growth::Fixed(delay))
    }

    /// A ceiling of `base * n` before retry n. `build` refuses a base of 0 or above [`max_delay`](Self::max_delay).
    ///
    /// ```
    /// use http_retry::Backoff;
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::linear(Duration::from_secs(2));
    /// assert_eq!([1, 2, 3].map(|n| backoff.ceiling(n).as_secs()), [2, 4, 6]);
    /// ```
    #[must_use]
    pub fn linear(base: Duration) -> Self {
        Self::new(Growth::Linear(base))
    }

    /// A ceiling of `base * factor^(n-1)` before retry n. `build` refuses a base of 0 or above
    /// [`max_delay`](Self::max_delay). Too large a value counts as [`Duration::MAX`] before the cap.
    ///
    /// ```
    /// use http_retry::Backoff;
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::exponential(Duration::from_millis(100));
    /// assert_eq!([1, 2, 3].map(|n| backoff.ceiling(n).as_millis()), [100, 200, 400]);
    /// assert_eq!(backoff.ceiling(u32::MAX), Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn exponential(base: Duration) -> Self {
        Self::new(Growth::Exponential(base))
    }

    /// The ceiling before each retry in turn; the last one repeats. At least one, each as long as you like: no maximum cuts them
    /// unless [`max_delay`](Self::max_delay) sets one.
    ///
    /// ```
    /// use http_retry::Backoff;
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::schedule([1, 5, 30].map(Duration::from_secs));
    /// assert_eq!(backoff.ceiling(2), Duration::from_secs(5));
    /// assert_eq!(backoff.ceiling(9), Duration::from_secs(30));
    /// ```
    #[must_use]
    pub fn schedule(ceilings: impl Into<Arc<[Duration]>>) -> Self {
        Self::new(Growth::Schedule(ceilings.into()))
    }

    /// The ceiling that a function returns for retry n = 1, 2, and so on. Jitter and [`max_delay`](Self::max_delay) apply
    /// to it. It must be quick, give the same ceiling for the same n, and not panic.
    ///
    /// ```
    /// use http_retry::Backoff;
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::custom(|n| Duration::from_secs(u64::from(n).pow(2)));
    /// assert_eq!(backoff.ceiling(3), Duration::from_secs(9));
    /// ```
    #[must_use]
    pub fn custom(ceiling: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Self {
        Self::new(Growth::Custom(Arc::new(ceiling)))
    }

    /// The factor of exponential growth, 1 to 1000, with up to six decimal places. Default 2. Other growths ignore it.
    ///
    /// ```
    /// use http_retry::Backoff;
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::exponential(Duration::from_secs(4)).factor(1.5);
    /// assert_eq!(backoff.ceiling(3), Duration::from_secs(9));
    /// ```
    #[must_use]
    pub fn factor(self, factor: impl Into<Decimal>) -> Self {
        Self {
            factor: factor.into(),
            ..self
        }
    }

    /// The exponent of the first retry in exponential growth, 0 or 1. Default 0: the first ceiling is the base. With 1 it
    /// is the base times the factor, as some systems have it.
    ///
    /// ```
    /// use http_retry::Backoff;
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::exponential(Duration::from_secs(1)).first_step(1);
    /// assert_eq!(backoff.ceiling(1), Duration::from_secs(2));
    /// ```
    #[must_use]
    pub fn first_step(self, first_step: u32) -> Self {
        Self { first_step, ..self }
    }

    /// The longest delay; `None` for no bound. Default: for linear and exponential growth 60 s, or the base if that is
    /// longer, so that no schedule reaches hours by accident; none for the others.
    ///
    /// It cuts the interval that a delay is drawn from, so delays do not pile up at the maximum, unless the whole interval
    /// lies above it. A server may ask for a longer wait
    /// ([`max_server_delay`](crate::RetryPolicyBuilder::max_server_delay)).
    ///
    /// ```
    /// use http_retry::Backoff;
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::exponential(Duration::from_secs(1)).max_delay(Duration::from_secs(10));
    /// assert_eq!(backoff.ceiling(5), Duration::from_secs(10));
    /// ```
    #[must_use]
    pub fn max_delay(self, max_delay: impl Into<Option<Duration>>) -> Self {
        Self {
            max_delay: MaxDelay::Given(max_delay.into()),
            ..self
        }
    }

    /// The random part of the ceiling. Default [`Jitter::Full`], which spreads clients the most.
    #[must_use]
    pub fn jitter(self, jitter: Jitter) -> Self {
        let jitter = jitter.named();
        Self { jitter, ..self }
    }

    /// Cuts the ceiling at [`max_delay`](Self::max_delay), and not the drawn delay: a jitter above 1 may exceed it. Default
    /// both are cut, so that no delay exceeds the maximum.
    ///
    /// ```
    /// use http_retry::{Backoff, Jitter};
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::fixed(Duration::from_secs(10)).max_delay(Duration::from_secs(10));
    /// let around = backoff.jitter(Jitter::between(0.8, 1.2));
    /// assert_eq!(around.delay(1, u64::MAX), Duration::from_secs(10));
    /// assert_eq!(around.cap_before_jitter().delay(1, u64::MAX), Duration::from_secs(12));
    /// ```
    #[must_use]
    pub fn cap_before_jitter(self) -> Self {
        self.cap(Cap::Before)
    }

    /// Cuts the drawn delay at [`max_delay`](Self::max_delay), and not the ceiling: with [`Jitter::Equal`], a retry whose
    /// ceiling is more than twice the maximum waits exactly the maximum. Default both are cut.
    #[must_use]
    pub fn cap_after_jitter(self) -> Self {
        self.cap(Cap::After)
    }

    pub(crate) fn cap(self, cap: Cap) -> Self {
        Self { cap, ..self }
    }
}

#[cfg(test)]
mod tests;
