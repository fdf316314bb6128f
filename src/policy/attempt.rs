//! Which attempt this is.

use std::time::Duration;

/// The number and time limit of an attempt. [`Runner::run`](crate::run::Runner::run) passes it to the operation;
/// adapters put it into the extensions of every repeated request, for services below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    limit: Option<Duration>,
}

impl Attempt {
    pub(crate) fn new(number: u32, limit: Option<Duration>) -> Self {
        Self { number, limit }
    }

    /// 1 for the first attempt, 2 for the first retry, and so on.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The time limit of this attempt: the policy's attempt timeout, or what is left of the deadline.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }
}
