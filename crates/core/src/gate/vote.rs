//! The vote that closes a gate, and the cooldown that follows: the numbers that all processes of a shared gate must
//! agree on.
//!
//! [`Peer`](crate::sharing::Peer) reports the calls of a process; a store that closes the gate for all processes
//! decides as each of them would if it uses the items here. Times are microseconds. Every number stays below 2^53, so
//! that a script whose only numbers are 64-bit floats can compute the same; sums and products saturate there.
//!
//! ```
//! use http_retry_core::sharing::vote::{FIRST_PATIENCE, RefusalRun, next_cooldown};
//!
//! let (mut run, mut doublings) = (RefusalRun::default(), 0);
//! run.refused(4);
//! assert!(run.reaches(FIRST_PATIENCE));
//! assert_eq!(next_cooldown(Some(2_000_000), false, &mut doublings), 2_000_000);
//! assert_eq!(next_cooldown(Some(2_000_000), true, &mut doublings), 4_000_000);
//! assert!(run.succeeded(2)); // half as many successes as refusals
//! ```

use super::controller::{product, sum};

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000_000;

/// The cooldown after a refusal that names no time, in microseconds: 100 ms.
pub const DEFAULT_COOLDOWN: u64 = 100 * MILLISECOND;
/// The initial number of refusals in a row that closes a gate: 4.
pub const FIRST_PATIENCE: u64 = 4;
/// The fewest refusals in a row that close a gate: 2, after gates that closed rightly.
pub const MIN_PATIENCE: u64 = 2;
/// The most refusals in a row that it takes to close a gate: 16, after gates that closed wrongly.
pub const MAX_PATIENCE: u64 = 16;

/// The longest doubled cooldown, unless the server asked for more.
const MAX_DOUBLED: u64 = 20 * SECOND;
/// The most doublings in a row if the server named a time: it may name a part of the time that it means.
const MAX_DOUBLINGS: u32 = 2;
/// The most doublings in a row if the server named none.
const MAX_DOUBLINGS_UNNAMED: u32 = 11;

/// A run of refusals, which may become a vote: the number of refusals, and of successes of calls sent after the first
/// refused one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusalRun {
    refusals: u64,
    successes: u64,
}

impl RefusalRun {
    /// Returns `true` if no call was refused since the last run ended.
    #[must_use]
    pub(crate) fn is_empty(self) -> bool {
        self.refusals == 0
    }

    /// Counts refusals.
    pub fn refused(&mut self, times: u64) {
        self.refusals = sum(self.refusals, times);
    }

    /// Returns the number of refusals.
    #[must_use]
    pub(crate) fn refusals(self) -> u64 {
        self.refusals
    }

    /// Takes back one refusal, which may end the run.
    pub(crate) fn lift(&mut self) {
        self.refusals = self.refusals.saturating_sub(1);
        self.succeeded(0);
    }

    /// Returns `true` if there are enough refusals to close the gate.
    #[must_use]
    pub fn reaches(self, patience: u64) -> bool {
        self.refusals >= patience
    }

    /// Counts successes of calls that were sent since the run began. Returns `true` if they end it: half as many
    /// successes as refusals show that the limit does not affect all calls. A single one does not suffice, since calls
    /// sent together with the refused ones may overtake them. For a long run a quarter suffices, or a server that
    /// refuses every other call at random would hold up all of them.
    pub fn succeeded(&mut self, times: u64) -> bool {
        self.successes = sum(self.successes, times);
        let share = if self.refusals < MAX_PATIENCE { 2 } else { 4 };
        let ends = product(self.successes, share) >= self.refusals;
        if ends {
            *self = Self::default();
        }
        ends
    }
}

/// Returns the cooldown after a refusal that asks for this delay, in microseconds. It doubles if the gate closes
/// repeatedly (`repeated`) without a success in between: twice if the server named a time, and otherwise up to 20 s.
/// `doublings` counts the doublings in a row.
pub fn next_cooldown(delay: Option<u64>, repeated: bool, doublings: &mut u32) -> u64 {
    let most = if delay.is_some() {
        MAX_DOUBLINGS
    } else {
        MAX_DOUBLINGS_UNNAMED
    };
    let more = doublings.saturating_add(1).min(most);
    *doublings = if repeated { more } else { 0 };
    let delay = delay.unwrap_or(DEFAULT_COOLDOWN);
    // The bound never shortens the delay that the server asks for.
    product(delay, 1 << *doublings).min(MAX_DOUBLED.max(delay))
}
