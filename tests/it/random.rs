//! Numbers that repeat from run to run.

use http_retry::policy::splitmix64;
use std::fmt::Debug;

/// SplitMix64: the same numbers from the same seed, everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        let next = splitmix64(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        next
    }

    pub(crate) fn below<N>(&mut self, end: N) -> N
    where
        N: TryInto<u64, Error: Debug> + TryFrom<u64, Error: Debug>,
    {
        let end: u64 = end.try_into().unwrap();
        N::try_from(self.next() % end).unwrap()
    }

    pub(crate) fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }

    pub(crate) fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}
