//! What the end of a pause begins: who goes when, found from what succeeded before it, in groups, in rounds of equal
//! length, each at twice the rate of the one before.

use super::{Controller, MILLISECOND, SECOND, part, product, quotient, sum};

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
/// In a fast release it is an eighth, and may be one call: the next ones go before its answer is there.
const FAST_GROUP_PART: u64 = 8;
/// Where pauses are given up so many go in the first second.
const FEWEST_LET_GO: u64 = 8;
/// How much later the others go than the first, where it goes ahead of them.
const HEAD_START: u64 = 100 * MILLISECOND;
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
    /// Call 0 goes ahead of the others.
    pub(in crate::gate) head_start: bool,
    /// How many have gone; in a fleet, how many tickets were given: the next has this number.
    pub(in crate::gate) gone: u64,
}

impl Controller {
    /// The pause has ended by itself: plans who goes when.
    pub(super) fn open(&mut self, now: u64, random: u64) {
        let pause = self.until.saturating_sub(self.closed_at);
        let reach = product(pause, REACH).clamp(SHORTEST_REACH, LONGEST_REACH);
        // The pause is a part of the cycle: 500 in 10 s are 50 in a second.
        let cycle = now.saturating_sub(self.since).min(reach).max(1);
        let slowest = product(self.each, 2).min(SLOWEST);
        self.each = quotient(cycle, self.ok.max(1)).clamp(1, slowest);
        self.lately = self.ok.max(quotient(self.lately, 2));
        let time = self.until.saturating_sub(self.since);
        let whole = self.release.is_some().then_some((self.ok, time));
        self.tempo.choose(whole, pause, &mut self.each);
        let faster = self.tempo.faster();
        let group = match faster {
            Some(_) => quotient(self.lately, FAST_GROUP_PART).clamp(1, LARGEST_GROUP),
            None => quotient(self.lately, GROUP_PART).clamp(SMALLEST_GROUP, LARGEST_GROUP),
        };
        let round = reach.max(self.each);
        let release = Release {
            from: sum(now, part(random, self.each)),
            round,
            first: product(quotient(round, self.each), faster.unwrap_or(1)),
            group,
            head_start: self.head_start,
            gone: 0,
        };
        let paced = !self.quota.is_whole_and_ours(self.lately);
        self.release = paced.then_some(release);
        self.ok = 0;
        self.since = now;
        self.closed = false;
        self.told = false;
        self.opening = sum(self.opening, 1);
        self.sent_before = self.sent;
    }

    /// Pauses are of no use here: those who wait go, at a rate that shows soon if that is wrong.
    pub(super) fn give_up_pauses(&mut self, now: u64) {
        self.release = Some(Release {
            from: now,
            round: SHORTEST_REACH,
            first: self.lately.max(FEWEST_LET_GO),
            group: LARGEST_GROUP,
            head_start: false,
            gone: 0,
        });
    }
}

impl Release {
    pub(in crate::gate) fn due(&self, call: u64) -> u64 {
        let stays_behind = self.head_start && call > 0;
        let ahead = if stays_behind { HEAD_START } else { 0 };
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
