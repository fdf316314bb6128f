//! What the end of a pause begins: who goes when, found from what succeeded before it, in groups, in rounds of equal
//! length, each at twice the rate of the one before.

use crate::gate::controller::SECOND;
use crate::gate::controller::numbers::{product, quotient, sum};

/// The longest time from one call to the next.
pub(in crate::gate) const SLOWEST: u64 = 60 * SECOND;
/// As many calls go at one time at most: one speaks for the others.
pub(in crate::gate) const LARGEST_GROUP: u64 = 4;
/// The rate doubles no more often: by then it is beyond every count.
const ROUNDS: u32 = 40;
/// Rounds of more calls than this have no times of their own: they would lie within a microsecond.
const MOST_IN_A_ROUND: u64 = 1 << 26;

/// The due times of the calls 0, 1, and so on; the same in every process that knows these numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Release {
    pub(in crate::gate) from: u64,
    pub(in crate::gate) round: u64,
    /// How many go in the first round.
    pub(in crate::gate) first: u64,
    /// How many go at one time.
    pub(in crate::gate) group: u64,
    /// How many have gone; in a fleet, how many tickets were given: the next has this number.
    pub(in crate::gate) gone: u64,
}

impl Release {
    pub(in crate::gate) fn due(&self, call: u64) -> u64 {
        let within = call.checked_rem(self.group).unwrap_or_default();
        let mut left = call.saturating_sub(within);
        let (mut at, mut count) = (self.from, self.first.max(1));
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
