//! What a backoff refuses.

use super::{Backoff, Growth, MAX_FACTOR};
use crate::error::ConfigError;
use crate::policy::decimal::Decimal;

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
                if *base > self.limit() =>
            {
                let allowed = format!("must be at most max_delay, which is {:?}", self.limit());
                Err(ConfigError::new(
                    "backoff.base",
                    format!("{base:?}"),
                    allowed,
                ))
            }
            _ => Ok(()),
        }
    }
}
