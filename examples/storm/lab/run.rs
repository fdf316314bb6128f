//! What happened in a run, and what can be read off it.

use std::ops::Range;
use std::time::Duration;

/// A call that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ended {
    pub(crate) number: u64,
    pub(crate) began: Duration,
    pub(crate) took: Duration,
    pub(crate) succeeded: bool,
}

/// All calls and all attempts of a run, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) calls: Vec<Ended>,
    pub(crate) attempts: Vec<Duration>,
    /// How many attempts were answered 429.
    pub(crate) refused: usize,
    /// How many attempts were sent before the time that the call's last answer asked for.
    pub(crate) early: usize,
}

/// Attempts and successes in each second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Series {
    pub(crate) attempts: Vec<u32>,
    pub(crate) goodput: Vec<u32>,
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

    /// The calls and the attempts that began in this time.
    pub(crate) fn during(&self, time: &Range<Duration>) -> Self {
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

    /// The same from then on.
    pub(crate) fn since(&self, then: Duration) -> Self {
        self.during(&(then..Duration::MAX))
    }

    pub(crate) fn success(&self) -> f64 {
        ratio(self.done(), self.calls.len())
    }

    pub(crate) fn done(&self) -> usize {
        self.calls.iter().filter(|call| call.succeeded).count()
    }

    pub(crate) fn attempts_per_call(&self) -> f64 {
        ratio(self.attempts.len(), self.calls.len())
    }

    pub(crate) fn refused_per_call(&self) -> f64 {
        ratio(self.refused, self.calls.len())
    }

    /// The most attempts in any time of this length.
    pub(crate) fn most_attempts_in(&self, length: Duration) -> usize {
        let mut first = 0;
        let mut most = 0;
        for (last, at) in self.attempts.iter().enumerate() {
            while self.attempts[first] + length <= *at {
                first += 1;
            }
            most = most.max(last - first + 1);
        }
        most
    }

    /// When the last call was made that was not answered well in this time: from then on all is well.
    pub(crate) fn last_unserved(&self, within: Duration) -> Duration {
        let unserved = |call: &&Ended| !call.succeeded || call.took > within;
        let last = self
            .calls
            .iter()
            .filter(unserved)
            .map(|call| call.began)
            .max();
        last.unwrap_or_default()
    }

    /// When the last call was over.
    pub(crate) fn took(&self) -> Duration {
        self.calls
            .iter()
            .map(|call| call.began + call.took)
            .max()
            .unwrap_or_default()
    }

    pub(crate) fn longest_call(&self) -> Duration {
        self.calls
            .iter()
            .map(|call| call.took)
            .max()
            .unwrap_or_default()
    }

    pub(crate) fn series(&self) -> Series {
        let done = self.calls.iter().filter(|call| call.succeeded);
        Series {
            attempts: per_second(self.attempts.iter().copied()),
            goodput: per_second(done.map(|call| call.began + call.took)),
        }
    }
}

fn per_second(times: impl Iterator<Item = Duration>) -> Vec<u32> {
    let mut seconds = Vec::new();
    for time in times {
        let second = usize::try_from(time.as_secs()).expect("a run of some hours");
        if second >= seconds.len() {
            seconds.resize(second + 1, 0);
        }
        seconds[second] += 1;
    }
    seconds
}

fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
