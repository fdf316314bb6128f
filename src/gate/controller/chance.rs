//! Whether a server refuses by chance: as many calls right after a pause as at any other time.
//!
//! A server with a limit lets through the first call after a pause, or nearly none for as long as the limit is spent. One that
//! refuses a share of all calls refuses that share of the first ones too, however long the pause was. There pauses help
//! nobody, and only the refused calls wait.

use super::witnesses::Heard;
use super::{Permit, product, sum};

/// The first calls of so many openings are heard before anything is concluded.
const ENOUGH: u64 = 8;
/// From so many on all that was heard counts half.
const MANY: u64 = 32;
/// Three in ten are refused at least, or else credit pays for them...
const LEAST: (u64, u64) = (3, 10);
/// ...and of the first calls at least half of that share.
const LEAST_OF_FIRSTS: u64 = 2;
/// It is over where more than two are refused for each success, and so many more...
const SLACK: u64 = 10;
/// ...or, of so many answers, less than so many are refusals.
const SPAN: u64 = 64;
const FEW: u64 = 8;

/// What was heard of calls that were sent since the last opening.
#[derive(Debug, Default)]
pub(super) struct Chance {
    /// Of all of them; since refusals are taken for chance, if they are.
    all: Heard,
    firsts: Heard,
    /// The first call of the last opening, until it has come back: its answer must not be missed.
    pub(super) first: Option<Permit>,
    /// Whether refusals are taken for chance.
    pub(super) reigns: bool,
}

impl Chance {
    /// A call ended without an answer that counts; whether it was the first of the last opening.
    pub(super) fn gone(&mut self, permit: Permit) -> bool {
        self.first.take_if(|first| *first == permit).is_some()
    }

    /// So many succeeded unheard.
    pub(super) fn unheard(&mut self, good: u64) {
        self.all.good = sum(self.all.good, good);
        self.forget();
    }

    /// A call was answered that was sent since the last opening.
    pub(super) fn hear(&mut self, permit: Permit, good: bool) {
        self.all.add(good);
        if self.gone(permit) {
            self.firsts.add(good);
        }
        self.forget();
    }

    /// A refusal would close the gate: whether refusals are taken for chance from here on.
    pub(super) fn takes_over(&mut self) -> bool {
        let (all, firsts) = (self.all, self.firsts);
        let bad = product(all.bad, firsts.count());
        let firsts_bad = product(firsts.bad, all.count());
        let takes = !self.reigns
            && firsts.count() >= ENOUGH
            && product(all.bad, LEAST.1) >= product(all.count(), LEAST.0)
            && product(firsts_bad, LEAST_OF_FIRSTS) >= bad;
        if takes {
            self.reigns = true;
            self.all = Heard::default();
        }
        takes
    }

    /// Old answers weigh less, and chance does not reign where they are not like it.
    fn forget(&mut self) {
        let Heard { good, bad } = self.all;
        let is_long = self.all.count() >= SPAN;
        if self.reigns && (bad > sum(product(good, 2), SLACK) || is_long && bad < FEW) {
            *self = Self::default();
        } else if self.reigns && is_long || self.firsts.count() >= MANY {
            self.firsts.halve();
            self.all.halve();
        }
    }
}
