//! The random part of a ceiling, and where the maximum delay cuts.

use super::decimal::Decimal;
use crate::error::ConfigError;
use std::fmt;

const MAX_PART: u32 = 1_000;

/// The interval, in parts of the ceiling, from which a delay is drawn uniformly, both ends included.
///
/// # Source
///
/// `Full`, `Equal` and `Decorrelated` are those of "Exponential Backoff and Jitter", AWS Architecture Blog, 2015; its
/// measurements show the fewest calls with full jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Jitter {
    /// The ceiling itself. Clients that failed together come back together.
    None,
    /// 0 to the ceiling. The default, since it spreads clients the most.
    Full,
    /// Half the ceiling to the ceiling.
    Equal,
    /// The ceiling times `min` to times `max`, each 0 to 1000, `min` at most `max`.
    Between {
        /// The least part of the ceiling.
        min: Decimal,
        /// The greatest part of the ceiling.
        max: Decimal,
    },
    /// From the first ceiling to three times the last delay, whatever the growth.
    Decorrelated,
}

impl Jitter {
    /// The ceiling times `min` to times `max`, each 0 to 1000: `Jitter::between(0.8, 1.2)` is 20 % either way.
    #[must_use]
    pub fn between(min: impl Into<Decimal>, max: impl Into<Decimal>) -> Self {
        Self::Between {
            min: min.into(),
            max: max.into(),
        }
    }

    /// The same under its own name, where it has one.
    #[cfg(feature = "serde")]
    pub(crate) fn named(self) -> Self {
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
