//! Whether a server refuses by chance: as many calls right after a pause as at any other time.
//!
//! A server with a limit lets through the first call after a pause, or nearly none for as long as the limit is spent. One that
//! refuses a share of all calls refuses that share of the first ones too, however long the pause was. There pauses help
//! nobody, and only the refused calls wait.

use super::{Permit, product, sum};

/// The first calls of so many openings are heard before anything is concluded.
const ENOUGH: u64 = 8;
/// From so many on all that was heard counts half.
const MANY: u64 = 32;
/// Three in ten are refused at least, or else credit pays for them...
const LEAST: (u64, u64) = (3, 10);
/// ...and of the first calls at least three quarters of that share.
const LEAST_OF_FIRSTS: (u64, u64) = (3, 4);
/// It is over where more than two are refused for each success, and so many more...
const SLACK: u64 = 10;
/// ...or, of so many answers, less than so many are refusals.
const SPAN: u64 = 64;
const FEW: u64 = 8;

/// What was heard of calls that were sent since the last opening.
#[derive(Debug, Default)]
pub(super) struct Chance {
    all: Heard,
    firsts: Heard,
    /// The first call of the last opening, while it is under way.
    first: Option<Permit>,
    /// What was heard since refusals are taken for chance.
    late: Option<Heard>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    good: u64,
    bad: u64,
}

impl Chance {
    /// Whether refusals are taken for chance.
    pub(super) fn reigns(&self) -> bool {
        self.late.is_some()
    }

    /// Whether an answer is waited for that must not be missed.
    pub(super) fn is_curious(&self) -> bool {
        self.first.is_some()
    }

    /// The first call of an opening was sent.
    pub(super) fn begin(&mut self, first: Permit) {
        self.first = Some(first);
    }

    /// A call ended without an answer that counts.
    pub(super) fn gone(&mut self, permit: Permit) {
        self.first = self.first.filter(|first| *first != permit);
    }

    /// So many succeeded unheard.
    pub(super) fn unheard(&mut self, good: u64) {
        self.all.good = sum(self.all.good, good);
    }

    /// A call was answered; `new` is whether it was sent since the last opening. Whether chance reigned until now, and few are
    /// refused any more.
    pub(super) fn hear(&mut self, permit: Permit, good: bool, new: bool) -> bool {
        let first = self.first == Some(permit);
        self.gone(permit);
        if let Some(late) = &mut self.late {
            late.add(good);
            let few = late.is_long() && late.bad < FEW;
            if few || late.are_mostly_bad() {
                *self = Self::default();
            } else if late.is_long() {
                *late = late.half();
            }
            return few;
        }
        if new {
            self.all.add(good);
        }
        if new && first {
            self.firsts.add(good);
            if self.firsts.count() >= MANY {
                self.firsts = self.firsts.half();
                self.all = self.all.half();
            }
        }
        false
    }

    /// Whether the next answers may let chance reign.
    pub(super) fn is_near(&self) -> bool {
        sum(self.firsts.count(), 1) >= ENOUGH && product(self.all.bad, 4) >= self.all.count()
    }

    /// A refusal would close the gate: whether chance reigns from here on.
    pub(super) fn takes_over(&mut self) -> bool {
        let (all, firsts) = (self.all, self.firsts);
        let bad = product(all.bad, firsts.count());
        let firsts_bad = product(firsts.bad, all.count());
        let takes = !self.reigns()
            && firsts.count() >= ENOUGH
            && product(all.bad, LEAST.1) >= product(all.count(), LEAST.0)
            && product(firsts_bad, LEAST_OF_FIRSTS.1) >= product(bad, LEAST_OF_FIRSTS.0);
        if takes {
            self.late = Some(Heard::default());
        }
        takes
    }
}

impl Heard {
    fn add(&mut self, good: bool) {
        let number = match good {
            true => &mut self.good,
            false => &mut self.bad,
        };
        *number = sum(*number, 1);
    }

    fn count(self) -> u64 {
        sum(self.good, self.bad)
    }

    fn half(self) -> Self {
        Self {
            good: self.good >> 1,
            bad: self.bad >> 1,
        }
    }

    fn is_long(self) -> bool {
        self.count() >= SPAN
    }

    fn are_mostly_bad(self) -> bool {
        self.bad > sum(product(self.good, 2), SLACK)
    }
}
