//! Which attempt this is.

use std::time::Duration;

/// Which attempt of a request is being made: handed to an operation under [`Runner::run`](crate::run::Runner::run), and
/// put into the extensions of every request that is sent again, for services further in.
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

    /// How long this attempt is given: the policy's attempt timeout, or what is left of the deadline.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }
}
