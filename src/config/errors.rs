//! Why a document does not take effect.

use crate::error::ConfigError;
use std::error::Error;
use std::fmt;

/// Everything that is wrong with a document: the first 20 problems in the order in which they were found, and how many
/// more there are.
///
/// Printed, it has one problem on each line, with its place in front:
/// `services.orders.retry.base: 2000 has no unit: write 2000ms or 2000s`. It has at most 100 KiB, and holds no user info,
/// no query, no header's value and no body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    problems: Vec<ConfigError>,
    more: usize,
}

impl ConfigErrors {
    pub(super) fn new(problems: Vec<ConfigError>, more: usize) -> Self {
        Self { problems, more }
    }

    /// The first problems one by one, 1 to 20; [`ConfigError::field`] is the place.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.problems.iter()
    }

    /// How many more problems there are.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl Error for ConfigErrors {}
