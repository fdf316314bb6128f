//! The policy's own delay before a retry: growth x jitter x cap.

mod checks;

use super::decimal::Decimal;
use super::jitter::{Cap, Jitter};
use super::moment::{nanos, uniform};
use std::fmt;
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

    /// The longest delay before retry n = 1, 2, and so on, before jitter; 0 counts as 1.
    #[must_use]
    pub fn ceiling(&self, n: u32) -> Duration {
        let ceiling = match self.jitter {
            Jitter::Decorrelated => Decimal::from(DECORRELATED_GROWTH).power_of(n, self.grown(1)),
            _ => self.grown(n),
        };
        match self.cap {
            Cap::Both | Cap::Before => ceiling.min(self.limit()),
            Cap::After => ceiling,
        }
    }

    /// The delay before retry n = 1, 2, and so on, for one random number: 0 gives the shortest, `u64::MAX` the longest.
    #[must_use]
    pub fn delay(&self, n: u32, random: u64) -> Duration {
        self.delay_after(Duration::ZERO, n, random)
    }

    /// The delay before retry n, after a delay of `previous`, on which decorrelated jitter builds.
    #[must_use]
    pub fn delay_after(&self, previous: Duration, n: u32, random: u64) -> Duration {
        let (least, most) = self.interval(previous, n);
        let span = most.as_nanos().saturating_sub(least.as_nanos());
        nanos(least.as_nanos().saturating_add(uniform(random, span)))
    }

    /// The longest delay that [`Backoff::delay_after`] can give for retry n.
    pub(crate) fn longest(&self, n: u32) -> Duration {
        match self.jitter {
            Jitter::Decorrelated => self.ceiling(n).min(self.limit()),
            _ => self.interval(Duration::ZERO, n).1,
        }
    }

    fn interval(&self, previous: Duration, n: u32) -> (Duration, Duration) {
        let (least, most) = match self.jitter {
            Jitter::Decorrelated => {
                let first = self.grown(1);
                (
                    first,
                    previous.max(first).saturating_mul(DECORRELATED_GROWTH),
                )
            }
            jitter => {
                let (min, max) = jitter.interval();
                let ceiling = self.ceiling(n);
                (min.of(ceiling), max.of(ceiling))
            }
        };
        match self.cap {
            Cap::Both | Cap::After => (least.min(self.limit()), most.min(self.limit())),
            Cap::Before => (least, most),
        }
    }

    fn grown(&self, n: u32) -> Duration {
        let n = n.max(1);
        match &self.growth {
            Growth::None => Duration::ZERO,
            Growth::Fixed(delay) => *delay,
            Growth::Linear(base) => base.saturating_mul(n),
            Growth::Exponential(base) => {
                let exponent = n.saturating_sub(1).saturating_add(self.first_step);
                self.factor.power_of(exponent, *base)
            }
            Growth::Schedule(ceilings) => {
                let index = usize::try_from(n.saturating_sub(1)).unwrap_or(usize::MAX);
                let ceiling = ceilings.get(index).or(ceilings.last());
                ceiling.copied().unwrap_or_default()
            }
            Growth::Custom(ceiling) => ceiling(n),
        }
    }

    /// The longest delay of all.
    pub(super) fn limit(&self) -> Duration {
        match (self.max_delay, &self.growth) {
            (MaxDelay::Given(limit), _) => limit.unwrap_or(Duration::MAX),
            (MaxDelay::Default, Growth::Linear(base) | Growth::Exponential(base)) => {
                DEFAULT_MAX_DELAY.max(*base)
            }
            (MaxDelay::Default, _) => Duration::MAX,
        }
    }
}

impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.growth {
            Growth::None => return f.write_str("no delay"),
            Growth::Fixed(delay) => write!(f, "fixed {delay:?}")?,
            Growth::Linear(base) => write!(f, "linear, {base:?} more each time")?,
            Growth::Exponential(base) => {
                write!(f, "exponential from {base:?}, factor {}", self.factor)?;
            }
            Growth::Schedule(ceilings) => write!(f, "schedule {ceilings:?}")?,
            Growth::Custom(_) => f.write_str("custom")?,
        }
        write!(f, ", {}", self.jitter)?;
        match self.limit() {
            Duration::MAX => Ok(()),
            limit => write!(f, ", at most {limit:?}"),
        }
    }
}

impl fmt::Debug for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Fixed(delay) => f.debug_tuple("Fixed").field(delay).finish(),
            Self::Linear(base) => f.debug_tuple("Linear").field(base).finish(),
            Self::Exponential(base) => f.debug_tuple("Exponential").field(base).finish(),
            Self::Schedule(ceilings) => f.debug_tuple("Schedule").field(ceilings).finish(),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

#[cfg(test)]
mod tests;
