//! Whether releases go faster than calls succeeded before.
//!
//! At a bucket the calls of a pause and those after it share one rate, and who goes faster is only refused sooner. At a
//! window all that goes before its end is lost time. Nothing that a server says tells them apart, so both are tried, and what
//! lets more calls through stays.

use super::{MILLISECOND, SECOND, product, quotient, sum};

/// A fast release goes at so many times the rate that was found.
const FASTER: u64 = 4;
/// It is tried after pauses of about one and two seconds, where the rest of a window is a large part of it.
const SHORTEST_PAUSE: u64 = 900 * MILLISECOND;
const LONGEST_PAUSE: u64 = 2 * SECOND + 100 * MILLISECOND;
/// It is not tried where fewer calls than this fit in a pause.
const FEWEST: u64 = 4;
/// The first trial comes with the second of such releases.
const FIRST: u32 = 2;
/// After so many releases the other tempo is tried for one, and after twice as many each time that it was no better.
const PATIENCE: u32 = 3;
const MOST_PATIENCE: u32 = 64;
/// It is better where it lets through more by this part.
const CLEARLY: u64 = 8;

/// What both tempos have let through.
#[derive(Debug)]
pub(super) struct Tempo {
    /// The better tempo so far.
    fast: bool,
    /// During a trial of the other one: the time from one call to the next that was found before it.
    trial: Option<u64>,
    /// Whether the last pause was of a length that counts.
    counts: bool,
    /// So many releases until the next trial or its end.
    left: u32,
    patience: u32,
    better: Harvest,
    other: Harvest,
}

/// Successes in a time of milliseconds, the last cycles more than those before.
#[derive(Debug, Clone, Copy, Default)]
struct Harvest {
    ok: u64,
    time: u64,
}

impl Default for Tempo {
    fn default() -> Self {
        Self {
            fast: false,
            trial: None,
            counts: false,
            left: FIRST,
            patience: PATIENCE,
            better: Harvest::default(),
            other: Harvest::default(),
        }
    }
}

impl Tempo {
    /// A pause has ended. `cycle` is how many calls succeeded since the one before, and in what time, if some waited all the
    /// while. `each` is the time from one call to the next that was found, and then the one to go by.
    pub(super) fn choose(&mut self, cycle: Option<(u64, u64)>, pause: u64, each: &mut u64) {
        if let Some(cycle) = cycle.filter(|_| self.counts) {
            match self.trial {
                Some(_) => self.other.add(cycle),
                None => self.better.add(cycle),
            }
        }
        self.counts = (SHORTEST_PAUSE..=LONGEST_PAUSE).contains(&pause);
        if !self.counts {
            self.trial = None;
            self.fast = false;
            self.left = self.patience;
            return;
        }
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return;
        }
        match self.trial.take() {
            Some(before) => self.judge(before, each),
            None if product(*each, FEWEST) <= pause => {
                self.trial = Some(*each);
                self.other = Harvest::default();
                self.left = 1;
            }
            None => {}
        }
    }

    /// How many times faster than found this release goes.
    pub(super) fn faster(&self) -> Option<u64> {
        (self.counts && self.fast != self.trial.is_some()).then_some(FASTER)
    }

    fn judge(&mut self, before: u64, each: &mut u64) {
        if self.other.beats(self.better) {
            self.fast = !self.fast;
            std::mem::swap(&mut self.better, &mut self.other);
            self.patience = PATIENCE;
        } else {
            *each = before;
            self.patience = self.patience.saturating_mul(2).min(MOST_PATIENCE);
        }
        self.left = self.patience;
    }
}

impl Harvest {
    fn add(&mut self, (ok, time): (u64, u64)) {
        let kept = |number: u64| number.saturating_sub(quotient(number, 4));
        self.ok = sum(kept(self.ok), ok);
        self.time = sum(kept(self.time), quotient(time, MILLISECOND));
    }

    /// Whether it has clearly more successes in the same time.
    fn beats(self, other: Self) -> bool {
        let (ours, theirs) = (product(self.ok, other.time), product(other.ok, self.time));
        ours > sum(theirs, quotient(theirs, CLEARLY))
    }
}
