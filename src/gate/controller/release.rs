//! When each of a row of calls is due: in groups, in rounds of equal length, each at twice the rate of the one before.

use super::{MILLISECOND, product, quotient, sum};

/// How much later the others go than the first, where it goes ahead of them.
const HEAD_START: u64 = 100 * MILLISECOND;
/// The rate doubles no more often: by then it is beyond every count.
const ROUNDS: u32 = 40;
/// Rounds of more calls than this have no times of their own: they would lie within a microsecond.
const MOST_IN_A_ROUND: u64 = 1 << 26;

/// The due times of the calls 0, 1, and so on; the same in every process that knows these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) from: u64,
    pub(super) round: u64,
    /// How many go in the first round.
    pub(super) first: u64,
    /// How many go at one time.
    pub(super) group: u64,
    /// Call 0 goes ahead of the others.
    pub(super) head_start: bool,
    /// How many have gone.
    pub(super) gone: u64,
}

impl Release {
    /// When the next call is due.
    pub(super) fn next(&self) -> u64 {
        self.due(self.gone)
    }

    pub(super) fn due(&self, call: u64) -> u64 {
        let ahead = match self.head_start && call > 0 {
            true => HEAD_START,
            false => 0,
        };
        let within = call.checked_rem(self.group).unwrap_or_default();
        let mut left = call.saturating_sub(within);
        let (mut at, mut count) = (sum(self.from, ahead), self.first.max(1));
        for _ in 0..ROUNDS {
            if count > MOST_IN_A_ROUND {
                break;
            }
            if left < count {
                return sum(at, quotient(product(left, self.round), count));
            }
            left = left.saturating_sub(count);
            at = sum(at, self.round);
            count = product(count, 2);
        }
        at
    }
}
