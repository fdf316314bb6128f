//! The policy's own delay before a retry: growth x jitter x cap.

use super::decimal::Decimal;
use crate::error::ConfigError;
use crate::policy::explain::in_units;
use crate::policy::moment::{nanos, uniform};
use std::fmt;
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
/// Setters take any value; a policy's `build` refuses those that cannot work. Outside a policy, a `Backoff` saturates
/// and never panics, for every retry up to `u32::MAX`.
#[derive(Clone, Debug)]
pub struct Backoff {
    growth: Growth,
    factor: Decimal,
    first_step: u32,
    /// `Duration::MAX` if there is no bound.
    pub(super) max_delay: Duration,
    pub(super) jitter: Jitter,
    cap: CapMode,
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

const MAX_FACTOR: u32 = 1_000;
const DEFAULT_MAX_DELAY: Duration = Duration::from_secs(60);
/// The factor in `sleep = min(cap, random(base, sleep * 3))`, the formula of the article that [`Jitter`] cites.
const DECORRELATED_GROWTH: u32 = 3;

impl Backoff {
    fn new(growth: Growth) -> Self {
        let max_delay = match growth {
            // A base above the default is a choice of the caller's, and `check_growth` must not refuse it.
            Growth::Linear(base) | Growth::Exponential(base) => DEFAULT_MAX_DELAY.max(base),
            _ => Duration::MAX,
        };
        Self {
            growth,
            factor: Decimal::from(2),
            first_step: 0,
            max_delay,
            jitter: Jitter::Full,
            cap: CapMode::Both,
        }
    }

    /// Creates a backoff without a delay of its own. A server that asks for a wait still gets it.
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

    /// Creates a backoff with the same ceiling before every retry. `build` refuses one above
    /// [`max_delay`](Self::max_delay).
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

    /// Creates a backoff with a ceiling of `base * n` before retry n. `build` refuses a base of 0 or above
    /// [`max_delay`](Self::max_delay).
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

    /// Creates a backoff with a ceiling of `base * factor^(n-1)` before retry n. `build` refuses a base of 0 or above
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

    /// Creates a backoff with a ceiling for each retry in turn; the last one repeats. There must be at least one, each
    /// as long as you like: they are cut only if [`max_delay`](Self::max_delay) sets a maximum.
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

    /// Creates a backoff with the ceiling that a function returns for retry n = 1, 2, and so on. Jitter and
    /// [`max_delay`](Self::max_delay) apply to it. The function must be quick, return the same ceiling for the same n,
    /// and not panic.
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

    /// Sets the factor of exponential growth, 1 to 1000, with up to six decimal places. Default 2. Other kinds of
    /// growth ignore it.
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

    /// Sets the exponent of the first retry in exponential growth, 0 or 1. Default 0: the first ceiling is the base.
    /// With 1 it is the base times the factor, as in some other systems.
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

    /// Sets the longest delay; `None` for no bound. Default for linear and exponential growth: 60 s, or the base if
    /// that is longer, so that no schedule reaches hours by accident; none for the others.
    ///
    /// It cuts the interval that a delay is drawn from, so delays do not pile up at the maximum unless the whole
    /// interval lies above it. A server may ask for a longer wait
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
            max_delay: max_delay.into().unwrap_or(Duration::MAX),
            ..self
        }
    }

    /// Sets the random part of the ceiling. Default [`Jitter::Full`], which spreads clients the most.
    #[must_use]
    pub fn jitter(self, jitter: Jitter) -> Self {
        // So that `between(0, 1)` is shown as full jitter.
        let jitter = jitter.canonical();
        Self { jitter, ..self }
    }

    /// Cuts the ceiling at [`max_delay`](Self::max_delay), but not the drawn delay: a jitter above 1 may exceed it. By
    /// default both are cut, so that no delay exceeds the maximum.
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
        self.cap(CapMode::Before)
    }

    /// Cuts the drawn delay at [`max_delay`](Self::max_delay), but not the ceiling: with [`Jitter::Equal`], a retry
    /// whose ceiling is more than twice the maximum waits exactly the maximum. By default both are cut.
    #[must_use]
    pub fn cap_after_jitter(self) -> Self {
        self.cap(CapMode::After)
    }

    pub(crate) fn cap(self, cap: CapMode) -> Self {
        Self { cap, ..self }
    }
}

impl Backoff {
    /// Returns the longest delay before retry n = 1, 2, and so on, before jitter. With decorrelated jitter it is three
    /// times the first ceiling, and three times more with each retry. n = 0 counts as 1.
    ///
    /// ```
    /// use http_retry::Backoff;
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::exponential(Duration::from_secs(1));
    /// assert_eq!(backoff.ceiling(4), Duration::from_secs(8));
    /// ```
    #[must_use]
    pub fn ceiling(&self, n: u32) -> Duration {
        let ceiling = match self.jitter {
            Jitter::Decorrelated => {
                Decimal::from(DECORRELATED_GROWTH).power_of(n.max(1), self.uncapped_ceiling(1))
            }
            _ => self.uncapped_ceiling(n),
        };
        match self.cap {
            CapMode::Both | CapMode::Before => ceiling.min(self.max_delay),
            CapMode::After => ceiling,
        }
    }

    /// Returns the delay before retry n = 1, 2, and so on, for one random number: 0 gives the shortest, `u64::MAX` the
    /// longest, and those in between are uniform. n = 0 counts as 1.
    ///
    /// ```
    /// use http_retry::Backoff;
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::exponential(Duration::from_secs(1));
    /// assert_eq!(backoff.delay(4, u64::MAX / 2), Duration::from_secs(4));
    /// ```
    #[must_use]
    pub fn delay(&self, n: u32, random: u64) -> Duration {
        self.delay_after(Duration::ZERO, n, random)
    }

    /// Returns the delay before retry n after a delay of `previous`, on which decorrelated jitter builds; zero before
    /// the first retry. Other jitters ignore it.
    ///
    /// ```
    /// use http_retry::{Backoff, Jitter};
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::fixed(Duration::from_secs(1)).jitter(Jitter::Decorrelated);
    /// let previous = Duration::from_secs(2);
    /// assert_eq!(backoff.delay_after(previous, 2, 0), Duration::from_secs(1));
    /// assert_eq!(backoff.delay_after(previous, 2, u64::MAX), Duration::from_secs(6));
    /// ```
    #[must_use]
    pub fn delay_after(&self, previous: Duration, n: u32, random: u64) -> Duration {
        let (least, most) = self.interval(previous, n);
        let span = most.as_nanos().saturating_sub(least.as_nanos());
        nanos(least.as_nanos().saturating_add(uniform(random, span)))
    }

    /// Returns the longest delay that [`Backoff::delay_after`] can give for retry n.
    pub(crate) fn longest(&self, n: u32) -> Duration {
        match self.jitter {
            // The maximum cuts these delays in every mode, but the ceiling only in some.
            Jitter::Decorrelated => self.ceiling(n).min(self.max_delay),
            _ => self.interval(Duration::ZERO, n).1,
        }
    }

    fn interval(&self, previous: Duration, n: u32) -> (Duration, Duration) {
        let (least, most) = match self.jitter {
            Jitter::Decorrelated => {
                let first = self.uncapped_ceiling(1);
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
        // Decorrelated jitter does not draw from a ceiling that was cut before, so its interval is cut here.
        match (self.cap, self.jitter) {
            (
                CapMode::Before,
                Jitter::None | Jitter::Full | Jitter::Equal | Jitter::Between { .. },
            ) => (least, most),
            _ => (least.min(self.max_delay), most.min(self.max_delay)),
        }
    }

    fn uncapped_ceiling(&self, n: u32) -> Duration {
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
}

impl Backoff {
    /// Refuses a value that cannot work, by the field's name under `backoff`.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.check_growth()?;
        self.jitter.check()?;
        let most = Decimal::from(MAX_FACTOR);
        self.factor.within("backoff.factor", Decimal::ONE, most)?;
        if self.first_step > 1 {
            return Err(ConfigError::new(
                "backoff.first_step",
                self.first_step,
                "must be 0 or 1",
            ));
        }
        Ok(())
    }

    fn check_growth(&self) -> Result<(), ConfigError> {
        match &self.growth {
            Growth::Schedule(ceilings) if ceilings.is_empty() => Err(ConfigError::new(
                "backoff.schedule",
                "an empty list",
                "must hold at least one delay",
            )),
            Growth::Linear(base) | Growth::Exponential(base) if base.is_zero() => {
                Err(ConfigError::new(
                    "backoff.base",
                    "0ns",
                    "must be above 0; for no delay use Backoff::none()",
                ))
            }
            Growth::Fixed(base) | Growth::Linear(base) | Growth::Exponential(base)
                if *base > self.max_delay =>
            {
                let allowed = format!("must be at most max_delay, which is {:?}", self.max_delay);
                let error = ConfigError::new("backoff.base", format!("{base:?}"), allowed);
                Err(error.bounded_by("backoff.max_delay"))
            }
            _ => Ok(()),
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
            Growth::Schedule(ceilings) => {
                let waits: Vec<String> = ceilings.iter().copied().map(in_units).collect();
                write!(f, "schedule [{}]", waits.join(", "))?;
            }
            Growth::Custom(_) => f.write_str("custom")?,
        }
        write!(f, ", {}", self.jitter)?;
        match self.max_delay {
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

/// The greatest part of the ceiling in a [`Jitter::Between`].
const MAX_JITTER_PART: u32 = 1_000;

/// The interval, in parts of the ceiling, from which a delay is drawn uniformly, both ends included.
///
/// ```
/// use http_retry::{Backoff, Jitter};
/// use std::time::Duration;
///
/// let backoff = Backoff::fixed(Duration::from_secs(10));
/// let (shortest, longest) = (0, u64::MAX); // the random number of a draw
/// let equal = backoff.clone().jitter(Jitter::Equal);
/// assert_eq!(equal.delay(1, shortest), Duration::from_secs(5));
/// assert_eq!(equal.delay(1, longest), Duration::from_secs(10));
/// let around = backoff.jitter(Jitter::between(0.8, 1.2));
/// assert_eq!(around.delay(1, shortest), Duration::from_secs(8));
/// assert_eq!(around.delay(1, longest), Duration::from_secs(12));
/// ```
///
/// # Source
///
/// `Full`, `Equal` and `Decorrelated` are those of "Exponential Backoff and Jitter", AWS Architecture Blog, 2015; its
/// measurements show the fewest calls with full jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Jitter {
    /// The ceiling itself. Clients that failed together come back together, so it suits tests, or a single client.
    None,
    /// 0 to the ceiling. The default, since it spreads clients the most.
    Full,
    /// Half the ceiling to the ceiling: no retry comes at once.
    Equal,
    /// The ceiling times `min` to times `max`, each 0 to 1000, `min` at most `max`.
    Between {
        /// The least part of the ceiling.
        min: Decimal,
        /// The greatest part of the ceiling.
        max: Decimal,
    },
    /// From the first ceiling to three times the last delay, whatever the growth; the maximum delay cuts it.
    Decorrelated,
}

impl Jitter {
    /// Creates a jitter from the ceiling times `min` to the ceiling times `max`, each 0 to 1000, `min` at most `max`:
    /// `Jitter::between(0.8, 1.2)` is 20 % either way. A policy's `build` refuses other values.
    #[must_use]
    pub fn between(min: impl Into<Decimal>, max: impl Into<Decimal>) -> Self {
        Self::Between {
            min: min.into(),
            max: max.into(),
        }
    }

    /// Returns this jitter as the named variant with the same interval, if there is one.
    pub(super) fn canonical(self) -> Self {
        let presets = [Self::None, Self::Full, Self::Equal];
        let same = |other: &Self| other.interval() == self.interval();
        match self {
            Self::Decorrelated => self,
            _ => presets.into_iter().find(same).unwrap_or(self),
        }
    }

    pub(super) fn interval(self) -> (Decimal, Decimal) {
        match self {
            Self::None => (Decimal::ONE, Decimal::ONE),
            Self::Full | Self::Decorrelated => (Decimal::ZERO, Decimal::ONE),
            Self::Equal => (Decimal::from_micros(500_000), Decimal::ONE),
            Self::Between { min, max } => (min, max),
        }
    }

    /// Refuses a value that cannot work, by the field's name under `backoff`.
    pub(super) fn check(self) -> Result<(), ConfigError> {
        let Self::Between { min, max } = self else {
            return Ok(());
        };
        let most = Decimal::from(MAX_JITTER_PART);
        // `max` first, since it is the bound of `min`.
        let max = max.within("backoff.jitter.max", Decimal::ZERO, most)?;
        let fits = min.within("backoff.jitter.min", Decimal::ZERO, max);
        fits.map_or_else(
            |_| {
                let allowed = format!("must be 0 to the jitter's max, which is {max}");
                let error = ConfigError::new("backoff.jitter.min", min, allowed);
                Err(error.bounded_by("backoff.jitter.max"))
            },
            |_| Ok(()),
        )
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no jitter"),
            Self::Full => f.write_str("full jitter"),
            Self::Equal => f.write_str("equal jitter"),
            Self::Between { min, max } => write!(f, "jitter {min} to {max}"),
            Self::Decorrelated => f.write_str("decorrelated jitter"),
        }
    }
}

/// The values that the maximum delay cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CapMode {
    /// The ceiling and the drawn delay.
    Both,
    /// The ceiling only.
    Before,
    /// The drawn delay only.
    After,
}

#[cfg(test)]
mod tests;
