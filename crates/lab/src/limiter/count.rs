//! The count of each limit, and its word on an attempt.

use super::{Limit, Limited, SECOND, micros};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The count of one limit, in microseconds since the world began.
#[derive(Debug, Default)]
pub(super) struct Count {
    window: u64,
    used: u64,
    /// In a sliding window: when calls were allowed.
    allowed: VecDeque<u64>,
    /// In a bucket: millionths of tokens.
    tokens: u64,
    since: u64,
    /// The ends of the calls in flight.
    ends: BinaryHeap<Reverse<u64>>,
    /// The end of the queue.
    busy_until: u64,
}

/// The word of a limit on an attempt.
pub(super) enum Word {
    Allowed,
    /// With the time until a call is allowed again, where that is known.
    Refused(Option<u64>),
}

/// The limit of a quota, its rest, and the time until its reset.
pub(super) type Left = (u64, u64, u64);

impl Count {
    /// A bucket is full at first.
    pub(super) fn new(limit: &Limit) -> Self {
        let tokens = match limit {
            Limit::Bucket { burst, .. } => burst * SECOND,
            _ => 0,
        };
        Self {
            tokens,
            ..Self::default()
        }
    }

    pub(super) fn judge(
        &mut self,
        limit: &Limit,
        rules: &Limited,
        now: u64,
        call: u64,
        drawn: u64,
    ) -> (Word, Option<Left>) {
        let scaled = |number| rules.scaled(number, now);
        let word = match *limit {
            Limit::Random { one_in } if drawn % one_in == 0 => Word::Refused(None),
            Limit::Random { .. } => Word::Allowed,
            Limit::Route { .. } if call % 2 == 0 => Word::Allowed,
            Limit::Route { calls, length } => self.in_window(scaled(calls), micros(length), now),
            Limit::Window {
                calls,
                length,
                headers,
            } => {
                let (calls, length) = (scaled(calls), micros(length));
                let word = self.in_window(calls, length, now);
                let left = (
                    calls,
                    calls.saturating_sub(self.used),
                    self.reset(length, now),
                );
                return (word, headers.then_some(left));
            }
            Limit::Sliding { calls, length } => self.sliding(scaled(calls), micros(length), now),
            Limit::Bucket { per_second, burst } => self.bucket(scaled(per_second), burst, now),
            Limit::InFlight { most } => self.in_flight(scaled(most), now),
            Limit::Overload { workers, queue } => {
                self.overload(micros(rules.work) / workers, queue, now)
            }
        };
        (word, None)
    }

    fn reset(&self, length: u64, now: u64) -> u64 {
        length * (self.window + 1) - now
    }

    fn in_window(&mut self, calls: u64, length: u64, now: u64) -> Word {
        if now / length != self.window {
            (self.window, self.used) = (now / length, 0);
        }
        if self.used >= calls {
            return Word::Refused(Some(self.reset(length, now)));
        }
        self.used += 1;
        Word::Allowed
    }

    fn sliding(&mut self, calls: u64, length: u64, now: u64) -> Word {
        while self.allowed.front().is_some_and(|at| at + length <= now) {
            self.allowed.pop_front();
        }
        match self.allowed.front() {
            Some(first) if self.allowed.len() as u64 >= calls => {
                Word::Refused(Some(first + length - now))
            }
            _ => {
                self.allowed.push_back(now);
                Word::Allowed
            }
        }
    }

    fn bucket(&mut self, per_second: u64, burst: u64, now: u64) -> Word {
        let earned = (now - self.since) * per_second;
        self.tokens = (self.tokens + earned).min(burst * SECOND);
        self.since = now;
        if self.tokens < SECOND {
            return Word::Refused(Some((SECOND - self.tokens) / per_second));
        }
        self.tokens -= SECOND;
        Word::Allowed
    }

    fn in_flight(&mut self, most: u64, now: u64) -> Word {
        while self.ends.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.ends.pop();
        }
        if (self.ends.len() as u64) < most {
            Word::Allowed
        } else {
            Word::Refused(None)
        }
    }

    fn overload(&mut self, each: u64, queue: u64, now: u64) -> Word {
        self.busy_until = self.busy_until.max(now);
        if self.busy_until - now > queue * each {
            return Word::Refused(None);
        }
        self.busy_until += each;
        Word::Allowed
    }

    /// A call is served until then.
    pub(super) fn begin(&mut self, ends: u64) {
        self.ends.push(Reverse(ends));
    }

    /// Returns the time of the work that is queued.
    pub(super) fn backlog(&self, now: u64) -> u64 {
        self.busy_until.saturating_sub(now)
    }
}
