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

    /// No wait at all.
    #[must_use]
    pub fn none() -> Self {
        Self::new(Growth::None)
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self.growth, Growth::None)
    }

    /// The same ceiling before every retry.
    #[must_use]
    pub fn fixed(delay: Duration) -> Self {
        Self::new(Growth::Fixed(delay))
    }

    /// A ceiling of `base * n` before retry n.
    #[must_use]
    pub fn linear(base: Duration) -> Self {
        Self::new(Growth::Linear(base))
    }

    /// A ceiling of `base * factor^(n-1)` before retry n.
    #[must_use]
    pub fn exponential(base: Duration) -> Self {
        Self::new(Growth::Exponential(base))
    }

    /// The ceiling before each retry in turn; the last one repeats. At least one.
    #[must_use]
    pub fn schedule(ceilings: impl Into<Vec<Duration>>) -> Self {
        Self::new(Growth::Schedule(ceilings.into().into()))
    }

    /// The same, with shared ceilings.
    #[cfg(feature = "serde")]
    pub(crate) fn shared_schedule(ceilings: Arc<[Duration]>) -> Self {
        Self::new(Growth::Schedule(ceilings))
    }

    /// The ceiling that a function returns for retry n = 1, 2, and so on. It must not panic.
    #[must_use]
    pub fn custom(ceiling: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Self {
        Self::new(Growth::Custom(Arc::new(ceiling)))
    }

    /// The factor of exponential growth, 1 to 1000. Default 2.
    #[must_use]
    pub fn factor(self, factor: impl Into<Decimal>) -> Self {
        Self {
            factor: factor.into(),
            ..self
        }
    }

    /// The exponent of the first retry in exponential growth, 0 or 1. Default 0: the first ceiling is the base.
    #[must_use]
    pub fn first_step(self, first_step: u32) -> Self {
        Self { first_step, ..self }
    }

    /// The longest delay; `None` for no bound. Default: for linear and exponential growth 60 s, or the base if that is
    /// longer, so that no schedule reaches hours by accident; none for the others.
    #[must_use]
    pub fn max_delay(self, max_delay: impl Into<Option<Duration>>) -> Self {
        Self {
            max_delay: MaxDelay::Given(max_delay.into()),
            ..self
        }
    }

    /// The random part of the ceiling. Default [`Jitter::Full`].
    #[must_use]
    pub fn jitter(self, jitter: Jitter) -> Self {
        Self { jitter, ..self }
    }

    /// Cuts the ceiling at [`max_delay`](Self::max_delay), and not the drawn delay: a jitter above 1 may exceed it. Default
    /// both are cut.
    #[must_use]
    pub fn cap_before_jitter(self) -> Self {
        self.cap(Cap::Before)
    }

    /// Cuts the drawn delay at [`max_delay`](Self::max_delay), and not the ceiling. Default both are cut.
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
