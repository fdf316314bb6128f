//! A backoff in words.

use super::{Backoff, Growth};
use std::fmt;
use std::time::Duration;

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
