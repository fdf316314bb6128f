//! What the end of a pause begins: who goes when, found from what succeeded before it, in groups, in rounds of equal
//! length, each at twice the rate of the one before.

use crate::gate::controller::numbers::{product, quotient, sum};
use crate::gate::controller::{MILLISECOND, SECOND};

/// A release looks this many pauses ahead, within these bounds.
pub(in crate::gate) const REACH: u64 = 4;
pub(in crate::gate) const SHORTEST_REACH: u64 = SECOND;
pub(in crate::gate) const LONGEST_REACH: u64 = 5 * SECOND;
/// The longest time from one call to the next.
pub(in crate::gate) const SLOWEST: u64 = 60 * SECOND;
/// A group is a quarter of what was let through of late, within these bounds: one speaks for the others.
pub(in crate::gate) const GROUP_PART: u64 = 4;
pub(in crate::gate) const SMALLEST_GROUP: u64 = 2;
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

/// What is doubled at least, and how far doubling goes.
const LEAST_DOUBLED: u64 = 10 * MILLISECOND;
const MOST_DOUBLED: u64 = 20 * SECOND;
/// From so many doublings on, even the least that is doubled exceeds the most.
pub(in crate::gate) const DOUBLINGS: u32 = 11;
/// A refusal doubles the pause where the one before it was over for less than this.
pub(in crate::gate) const SOON: u64 = 60 * SECOND;

pub(in crate::gate) fn doubled(asked: u64, times: u32) -> u64 {
    if times == 0 {
        return asked;
    }
    let most = MOST_DOUBLED.max(asked);
    product(asked.max(LEAST_DOUBLED), 1 << times).min(most)
}
