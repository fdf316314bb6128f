//! A run of refusals, which may be a vote.

use super::MAX_PATIENCE;
use super::numbers::{product, sum};

/// Refusals, and the successes of calls that were sent after the first refused one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::gate) struct Run {
    refusals: u64,
    successes: u64,
}

impl Run {
    pub(in crate::gate) fn is_empty(self) -> bool {
        self.refusals == 0
    }

    pub(in crate::gate) fn refused(&mut self, times: u64) {
        self.refusals = sum(self.refusals, times);
    }

    /// Returns `true` if so many refusals are a vote.
    pub(in crate::gate) fn reaches(self, patience: u64) -> bool {
        self.refusals >= patience
    }

    /// Calls have succeeded that were sent since the run began. Half as many as refusals end it: the limit is not everybody's.
    /// A single one does not, since calls that are sent together with the refused ones may overtake them. Of a long run a
    /// quarter is enough, or a server that refuses every other call at random would hold up all of them.
    /// Returns `true` if the run ends.
    pub(in crate::gate) fn succeeded(&mut self, times: u64) -> bool {
        self.successes = sum(self.successes, times);
        let share = if self.refusals < MAX_PATIENCE { 2 } else { 4 };
        let ends = product(self.successes, share) >= self.refusals;
        if ends {
            *self = Self::default();
        }
        ends
    }
}
