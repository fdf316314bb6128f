//! The setting for second copies of slow requests.

use super::Decimal;
use super::explain::in_units;
use crate::error::ConfigError;
use std::fmt;
use std::time::Duration;

/// The time after which a request that is slow is sent once more, how often, and at what cost: for a hedging layer, of
/// the crate `http-retry-hedge`.
///
/// ```
/// use http_retry::policy::Hedge;
/// use std::time::Duration;
///
/// let usual = Hedge::default(); // later than 95 of 100 responses, once for an attempt, for one token
/// assert_eq!(usual, Hedge::percentile(95).max(1).cost(1));
/// let fixed = Hedge::after(Duration::from_millis(200)).max(2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hedge {
    /// The time after which a copy follows the one before.
    pub after: HedgeAfter,
    /// The most copies that an attempt sends besides its first request; 0 turns hedging off.
    pub max: u32,
    /// The price of a copy, in tokens of the retry budget.
    pub cost: Decimal,
    /// The number of responses before which a percentile is not known.
    pub min_samples: u32,
}

/// The time after which a copy follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HedgeAfter {
    /// This time.
    Delay(Duration),
    /// The time within which this many of 100 responses of the service have arrived.
    Percentile(u8),
}

impl Hedge {
    /// The most hedges of an attempt.
    const MOST: u32 = 3;

    /// Sends a copy once the one before has had no response for this time, above 0.
    #[must_use]
    pub fn after(delay: Duration) -> Self {
        Self::new(HedgeAfter::Delay(delay))
    }

    /// Sends a copy once the one before has taken longer than this many of 100 responses of the service, 50 to 99. No
    /// copy is sent before [`min_samples`](Self::min_samples) responses have arrived.
    #[must_use]
    pub fn percentile(percent: u8) -> Self {
        Self::new(HedgeAfter::Percentile(percent))
    }

    fn new(after: HedgeAfter) -> Self {
        Self {
            after,
            max: 1,
            cost: Decimal::ONE,
            min_samples: 100,
        }
    }

    /// Sets the most copies that an attempt sends besides its first request, 0 to 3. Default 1; 0 turns hedging off.
    ///
    /// One copy takes nearly all of the gain: two that are both slow are rare, unless the server is.
    #[must_use]
    pub fn max(self, copies: u32) -> Self {
        Self {
            max: copies,
            ..self
        }
    }

    /// Sets the price of a copy in tokens of the retry budget, above 0. Default 1, that of a retry.
    #[must_use]
    pub fn cost(self, tokens: impl Into<Decimal>) -> Self {
        let cost = tokens.into();
        Self { cost, ..self }
    }

    /// Sets the number of responses before which a percentile is not known, from 1 on. Default 100, of which five were
    /// slower than the 95th percentile.
    #[must_use]
    pub fn min_samples(self, responses: u32) -> Self {
        Self {
            min_samples: responses,
            ..self
        }
    }

    /// Checks the setting. The `build` of a policy does it too.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] for the first part that is out of bounds.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.after {
            HedgeAfter::Delay(Duration::ZERO) => {
                return Err(ConfigError::new("hedge.after", "0ns", "must be above 0"));
            }
            HedgeAfter::Percentile(percent) if !(50..=99).contains(&percent) => {
                let given = format!("p{percent}");
                return Err(ConfigError::new("hedge.after", given, "must be p50 to p99"));
            }
            HedgeAfter::Delay(_) | HedgeAfter::Percentile(_) => {}
        }
        if self.max > Self::MOST {
            return Err(ConfigError::new("hedge.max", self.max, "must be 0 to 3"));
        }
        if self.min_samples == 0 {
            return Err(ConfigError::new(
                "hedge.min_samples",
                0,
                "must be at least 1",
            ));
        }
        let (least, most) = (Decimal::from_micros(1), Decimal::from(1_000_000_000));
        self.cost.within("hedge.cost", least, most).map(drop)
    }
}

/// The 95th percentile, at most one copy.
impl Default for Hedge {
    fn default() -> Self {
        Self::percentile(95)
    }
}

/// As a line of an explanation has it.
impl fmt::Display for Hedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max, cost, .. } = self;
        match (max, self.after) {
            (0, _) => return f.write_str("no hedges"),
            (_, HedgeAfter::Delay(delay)) => write!(f, "hedge: after {}", in_units(delay))?,
            (_, HedgeAfter::Percentile(percent)) => {
                write!(f, "hedge: later than {percent} of 100 responses")?;
            }
        }
        let plural = if *cost == Decimal::ONE { "" } else { "s" };
        write!(
            f,
            ", at most {max} for an attempt, {cost} token{plural} each"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_out_of_bounds_is_named() {
        for (hedge, wanted) in [
            (Hedge::default(), ""),
            (Hedge::default().max(3), ""),
            (Hedge::percentile(50), ""),
            (
                Hedge::percentile(49),
                "hedge.after: p49 is not allowed: must be p50 to p99",
            ),
            (
                Hedge::percentile(100),
                "hedge.after: p100 is not allowed: must be p50 to p99",
            ),
            (
                Hedge::after(Duration::ZERO),
                "hedge.after: 0ns is not allowed: must be above 0",
            ),
            (
                Hedge::default().max(4),
                "hedge.max: 4 is not allowed: must be 0 to 3",
            ),
            (
                Hedge::default().min_samples(0),
                "hedge.min_samples: 0 is not allowed: must be at least 1",
            ),
            (
                Hedge::default().cost(0),
                "hedge.cost: 0 is not allowed: must be 0.000001 to 1000000000",
            ),
        ] {
            let error = hedge.check().err();
            assert_eq!(error.map(|e| e.to_string()).unwrap_or_default(), wanted);
        }
    }
}
