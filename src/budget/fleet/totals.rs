//! A process's running totals, and what of them the store is known to have.

use super::words::{BudgetAnswer, BudgetWords, Flag, FleetTerms, MOST_AT_ONCE, bounded};
use crate::policy::splitmix64;

/// What a process has earned and taken under its present ID.
#[derive(Debug, Default)]
pub(super) struct Totals {
    process: u64,
    seq: i64,
    /// The count of successes at which this ID's totals begin.
    base: u64,
    successes_acked: i64,
    /// Granted and heard of, or spent alone.
    taken: i64,
    taken_acked: i64,
    /// Answers in a row that say nothing of their own command.
    repeated: u8,
}

/// After so many the store must have something else under this ID, and another one is tried. If that is answered no better,
/// something on the way repeats what is said.
const MOST_REPEATED: u8 = 2;

impl Totals {
    pub(super) fn new(process: u64) -> Self {
        Self {
            process,
            ..Self::default()
        }
    }

    /// Whether there is anything that the store does not have, where the program has counted so many successes.
    pub(super) fn are_news(&self, successes: u64) -> bool {
        self.successes(successes) != self.successes_acked || self.taken != self.taken_acked
    }

    pub(super) fn spend(&mut self, price: i64) {
        self.taken = self.taken.saturating_add(price);
    }

    /// The next command, which wants nothing: it tells all, or as much as one command settles.
    pub(super) fn say(&mut self, successes: u64, terms: FleetTerms) -> BudgetWords {
        self.seq = self.seq.saturating_add(1);
        let part = |all: i64, acked: i64| all.min(acked.saturating_add(MOST_AT_ONCE));
        BudgetWords {
            process: self.process,
            terms,
            seq: self.seq,
            successes: part(self.successes(successes), self.successes_acked),
            successes_acked: self.successes_acked,
            taken: part(self.taken, self.taken_acked),
            taken_acked: self.taken_acked,
            want: 0,
            known: None,
        }
    }

    /// The count of successes that a command of this ID tells of.
    pub(super) fn counted(&self, words: &BudgetWords) -> u64 {
        let told = u64::try_from(words.successes).unwrap_or(0);
        self.base.wrapping_add(told)
    }

    /// Whether who asked is asked for again: this answer says nothing of the command, and the next one may.
    pub(super) fn asks_again(&self, answer: &BudgetAnswer) -> bool {
        answer.flag == Flag::Repeated && self.repeated < MOST_REPEATED
    }

    /// Takes in what the store has settled. Gives what was taken since that was said.
    pub(super) fn hear(&mut self, said: &BudgetWords, answer: &BudgetAnswer, random: u64) -> i64 {
        let since = self.taken.saturating_sub(said.taken);
        self.successes_acked = said.successes;
        if answer.flag == Flag::Repeated {
            self.repeated = self.repeated.saturating_add(1);
        } else {
            self.repeated = 0;
            self.taken = self.taken.saturating_add(answer.granted);
            self.taken_acked = said.taken.saturating_add(answer.granted);
        }
        let full = self.successes_acked.max(self.taken_acked) > MOST_AT_ONCE;
        if full || self.repeated == MOST_REPEATED {
            self.begin_anew(random);
        }
        since
    }

    /// Takes a new ID, whose totals begin where the old one's are settled: the store cannot count above 2^53.
    fn begin_anew(&mut self, random: u64) {
        let settled = u64::try_from(self.successes_acked).unwrap_or(0);
        *self = Self {
            base: self.base.wrapping_add(settled),
            taken: self.taken.saturating_sub(self.taken_acked),
            repeated: self.repeated,
            ..Self::new(splitmix64(self.process ^ splitmix64(random)))
        };
    }

    fn successes(&self, counted: u64) -> i64 {
        bounded(counted.wrapping_sub(self.base))
    }
}
