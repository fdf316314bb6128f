//! The vote that closes a gate, and the cooldown that follows: the numbers that all processes of a shared gate must have in
//! common.
//!
//! [`Peer`](super::Peer) tells whoever shares a gate of its calls; a store that closes the gate for all of them decides as
//! each process does if it decides by what is here. Times are microseconds. Every number stays below 2^53, so that a script
//! can do the same whose only numbers are floats of 64 bits; sums and products saturate there.
//!
//! ```
//! use http_retry::gate::vote::{FIRST_PATIENCE, Run, next_cooldown};
//!
//! let (mut run, mut doublings) = (Run::default(), 0);
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
/// The refusals in a row that close a gate to begin with: 4.
pub const FIRST_PATIENCE: u64 = 4;
/// The fewest refusals in a row that close a gate: 2, after gates that closed rightly.
pub const MIN_PATIENCE: u64 = 2;
/// The most refusals in a row that it takes to close a gate: 16, after gates that closed wrongly.
pub const MAX_PATIENCE: u64 = 16;

/// Doubling ends here, unless the server asked for more.
const MAX_DOUBLED: u64 = 20 * SECOND;
/// A cooldown doubles at most this often if the server named a time: it says what it knows.
const MAX_DOUBLINGS: u32 = 1;
/// And this often if it named none.
const MAX_DOUBLINGS_UNNAMED: u32 = 11;

/// A run of refusals, which may be a vote: the refusals, and the successes of calls that were sent after the first refused one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusalRun {
    refusals: u64,
    successes: u64,
}

impl RefusalRun {
    /// Returns `true` if nothing was refused since the last run ended.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.refusals == 0
    }

    /// Counts refusals.
    pub fn refused(&mut self, times: u64) {
        self.refusals = sum(self.refusals, times);
    }

    /// Returns `true` if so many refusals are a vote to close the gate.
    #[must_use]
    pub fn reaches(self, patience: u64) -> bool {
        self.refusals >= patience
    }

    /// Counts successes of calls that were sent since the run began, and returns `true` if they end it. Half as many as
    /// refusals do: the limit is not everybody's. A single one does not, since calls that are sent together with the refused
    /// ones may overtake them. Of a long run a quarter is enough, or a server that refuses every other call at random would
    /// hold up all of them.
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

/// Returns the cooldown after a refusal that asked for this time, in microseconds. It doubles if the gate closes again
/// (`again`) and nothing succeeded since, but for a time of the server's only once and else up to 20 s; `doublings` counts
/// how often it did so in a row.
pub fn next_cooldown(asked: Option<u64>, again: bool, doublings: &mut u32) -> u64 {
    let most = if asked.is_some() {
        MAX_DOUBLINGS
    } else {
        MAX_DOUBLINGS_UNNAMED
    };
    let more = doublings.saturating_add(1).min(most);
    *doublings = if again { more } else { 0 };
    let asked = asked.unwrap_or(DEFAULT_COOLDOWN);
    product(asked, 1 << *doublings).min(MAX_DOUBLED.max(asked))
}
