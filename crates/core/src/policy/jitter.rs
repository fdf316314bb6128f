//! The random part of a ceiling, and where the maximum delay cuts.

use super::decimal::Decimal;
use crate::error::ConfigError;
use std::fmt;

const MAX_PART: u32 = 1_000;

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
    /// The ceiling times `min` to times `max`, each 0 to 1000, `min` at most `max`: `Jitter::between(0.8, 1.2)` is 20 %
    /// either way. A policy's `build` refuses other values.
    #[must_use]
    pub fn between(min: impl Into<Decimal>, max: impl Into<Decimal>) -> Self {
        Self::Between {
            min: min.into(),
            max: max.into(),
        }
    }

    /// The same under its own name, where it has one.
    pub(super) fn named(self) -> Self {
        let named = [Self::None, Self::Full, Self::Equal];
        let same = |other: &Self| other.interval() == self.interval();
        match self {
            Self::Decorrelated => self,
            _ => named.into_iter().find(same).unwrap_or(self),
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
        let most = Decimal::from(MAX_PART);
        let max = max.within("backoff.jitter.max", Decimal::ZERO, most)?;
        let fits = min.within("backoff.jitter.min", Decimal::ZERO, max);
        fits.map_or_else(
            |_| {
                let allowed = format!("must be 0 to the jitter's max, which is {max}");
                Err(ConfigError::new("backoff.jitter.min", min, allowed))
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

/// Where the maximum delay cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cap {
    /// The ceiling and the drawn delay.
    Both,
    /// The ceiling only.
    Before,
    /// The drawn delay only.
    After,
}
