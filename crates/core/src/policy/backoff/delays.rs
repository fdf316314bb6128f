//! The delays of a backoff: the ceiling of each retry, and what is drawn below it.

use super::{Backoff, DECORRELATED_GROWTH, DEFAULT_MAX_DELAY, Growth, MaxDelay};
use crate::policy::decimal::Decimal;
use crate::policy::jitter::{Cap, Jitter};
use crate::policy::moment::{nanos, uniform};
use std::time::Duration;

impl Backoff {
    /// The longest delay before retry n = 1, 2, and so on, before jitter. With decorrelated jitter it is three times the
    /// first ceiling, and three times more with each retry. n = 0 counts as 1.
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
                Decimal::from(DECORRELATED_GROWTH).power_of(n.max(1), self.grown(1))
            }
            _ => self.grown(n),
        };
        match self.cap {
            Cap::Both | Cap::Before => ceiling.min(self.limit()),
            Cap::After => ceiling,
        }
    }

    /// The delay before retry n = 1, 2, and so on, for one random number: 0 gives the shortest, `u64::MAX` the longest, and
    /// those between are uniform. n = 0 counts as 1.
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

    /// The delay before retry n, after a delay of `previous`, on which decorrelated jitter builds; zero before the first
    /// retry. Other jitters do not look at it.
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
        // Decorrelated jitter draws from no ceiling that was cut before.
        match (self.cap, self.jitter) {
            (Cap::Before, Jitter::None | Jitter::Full | Jitter::Equal | Jitter::Between { .. }) => {
                (least, most)
            }
            _ => (least.min(self.limit()), most.min(self.limit())),
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

    /// The maximum delay.
    pub(in crate::policy) fn limit(&self) -> Duration {
        match (self.max_delay, &self.growth) {
            (MaxDelay::Given(limit), _) => limit.unwrap_or(Duration::MAX),
            (MaxDelay::Default, Growth::Linear(base) | Growth::Exponential(base)) => {
                DEFAULT_MAX_DELAY.max(*base)
            }
            (MaxDelay::Default, _) => Duration::MAX,
        }
    }
}
