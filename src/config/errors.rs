//! Why a document does not take effect.

use crate::error::ConfigError;
use std::error::Error;
use std::fmt;

/// Everything that is wrong with a document, in the order in which it was found; at most 100 problems.
///
/// Printed, it has one problem on each line, with its place in front:
/// `services.orders.retry.base: 2000 has no unit: write 2000ms or 2000s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    pub(super) fn new(problems: Vec<ConfigError>) -> Self {
        Self(problems)
    }

    /// The problems one by one, at least one; [`ConfigError::field`] is the place.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl Error for ConfigErrors {}
