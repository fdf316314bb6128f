//! The calls and attempts of a run, and the numbers read off them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

/// A call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ended {
    /// The number of the call; the first is 0.
    pub number: u64,
    /// The start of the call, since the start of the world.
    pub began: Duration,
    /// The time from the start to the end.
    pub took: Duration,
    /// `true` if it ended with a success.
    pub succeeded: bool,
}

/// All calls and all attempts of a run, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The calls, by number.
    pub calls: Vec<Ended>,
    /// The arrival of each attempt at the server.
    pub attempts: Vec<Duration>,
    /// The number of attempts that were answered 429.
    pub refused: usize,
    /// The number of attempts that were sent before the time that the call's last response asked for.
    pub early: usize,
}

/// Attempts and successes in each second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The attempts that arrived in each second.
    pub attempts: Vec<u32>,
    /// The calls that ended with a success in each second.
    pub goodput: Vec<u32>,
}

impl Run {
    pub(crate) fn new(
        mut calls: Vec<Ended>,
        mut attempts: Vec<Duration>,
        refused: usize,
        early: usize,
    ) -> Self {
        calls.sort_unstable();
        attempts.sort_unstable();
        Self {
            calls,
            attempts,
            refused,
            early,
        }
    }

    /// Calls of which nothing else is known.
    pub(crate) fn of_calls(calls: Vec<Ended>) -> Self {
        Self::new(calls, Vec::new(), 0, 0)
    }

    /// The same with times since then.
    pub(crate) fn from(mut self, then: Duration) -> Self {
        for call in &mut self.calls {
            call.began = call.began.saturating_sub(then);
        }
        for at in &mut self.attempts {
            *at = at.saturating_sub(then);
        }
        self
    }

    /// Returns the calls and the attempts that began in this time.
    #[must_use]
    pub fn during(&self, time: &Range<Duration>) -> Self {
        Self {
            calls: self
                .calls
                .iter()
                .filter(|call| time.contains(&call.began))
                .copied()
                .collect(),
            attempts: self
                .attempts
                .iter()
                .filter(|at| time.contains::<Duration>(at))
                .copied()
                .collect(),
            refused: self.refused,
            early: self.early,
        }
    }

    /// Returns the calls and the attempts that began from then on.
    #[must_use]
    pub fn since(&self, then: Duration) -> Self {
        self.during(&(then..Duration::MAX))
    }

    /// Returns the share of calls that succeeded, 0 to 1; 0 if there are none.
    #[must_use]
    pub fn success(&self) -> f64 {
        ratio(self.done(), self.calls.len())
    }

    /// Returns the number of calls that succeeded.
    #[must_use]
    pub fn done(&self) -> usize {
        self.calls.iter().filter(|call| call.succeeded).count()
    }

    /// Returns the attempts per call; 0 if there are no calls.
    #[must_use]
    pub fn attempts_per_call(&self) -> f64 {
        ratio(self.attempts.len(), self.calls.len())
    }

    /// Returns the attempts per call that were answered 429.
    #[must_use]
    pub fn refused_per_call(&self) -> f64 {
        ratio(self.refused, self.calls.len())
    }

    /// Returns the most attempts in any time of this length.
    #[must_use]
    pub fn most_attempts_in(&self, length: Duration) -> usize {
        let mut window = VecDeque::new();
        let mut most = 0;
        for at in &self.attempts {
            while window.front().is_some_and(|first| *first + length <= *at) {
                window.pop_front();
            }
            window.push_back(*at);
            most = most.max(window.len());
        }
        most
    }

    /// Returns the start of the last call that did not succeed within this time; zero if all did.
    #[must_use]
    pub fn last_unserved(&self, within: Duration) -> Duration {
        let unserved = |call: &&Ended| !call.succeeded || call.took > within;
        let last = self
            .calls
            .iter()
            .filter(unserved)
            .map(|call| call.began)
            .max();
        last.unwrap_or_default()
    }

    /// Returns the end of the last call.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.calls
            .iter()
            .map(|call| call.began + call.took)
            .max()
            .unwrap_or_default()
    }

    /// Returns the time of the longest call.
    #[must_use]
    pub fn longest_call(&self) -> Duration {
        self.calls
            .iter()
            .map(|call| call.took)
            .max()
            .unwrap_or_default()
    }

    /// Returns the attempts and the successes of each second.
    #[must_use]
    pub fn series(&self) -> Series {
        let done = self.calls.iter().filter(|call| call.succeeded);
        Series {
            attempts: per_second(self.attempts.iter().copied()),
            goodput: per_second(done.map(|call| call.began + call.took)),
        }
    }
}

fn per_second(times: impl Iterator<Item = Duration>) -> Vec<u32> {
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    for time in times {
        *counts.entry(time.as_secs()).or_default() += 1;
    }
    let seconds = counts.keys().next_back().map_or(0, |last| last + 1);
    let count = |second| counts.get(&second).copied().unwrap_or_default();
    (0..seconds).map(count).collect()
}

fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
