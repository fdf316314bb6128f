//! Servers that refuse calls: by a quota, a bucket, what is in flight, or at random.

mod count;

use super::chance::{Use, draw};
use super::runtime::Clock;
use super::server::status;
use bytes::Bytes;
use count::{Count, Left, Word};
use http::{HeaderName, Response};
use std::time::Duration;

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000_000;

/// A limit of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// Refuses one attempt in `one_in`, whatever the load.
    Random { one_in: u64 },
    /// Allows `calls` in each window, the first of which begins with the world.
    Window {
        calls: u64,
        length: Duration,
        /// `true` if every response states the rest of the quota.
        headers: bool,
    },
    /// Allows `calls` in any time of this length.
    Sliding { calls: u64, length: Duration },
    /// A token bucket.
    Bucket { per_second: u64, burst: u64 },
    /// Allows `most` calls at the same time.
    InFlight { most: u64 },
    /// A window for every other call; the calls between have no limit.
    Route { calls: u64, length: Duration },
    /// Refuses what would wait behind more than `queue` calls for one of its workers.
    Overload { workers: u64, queue: u64 },
}

/// The wait that a refusal asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asks {
    /// The time until a call is allowed again, in whole seconds.
    Right,
    /// The same in milliseconds.
    Exact,
    /// Always the same.
    Of(Duration),
    Nothing,
}

/// A server with limits, and the way to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limited {
    /// An attempt must be allowed by both.
    pub(crate) limits: [Option<Limit>; 2],
    pub(crate) asks: Asks,
    /// The time of a refusal, from the sender's call to its return.
    pub(crate) round_trip: Duration,
    /// By how many hundredths the way to the server differs from call to call, so that calls overtake each other.
    pub(crate) differ: u64,
    /// The time of a success beyond the round trip.
    pub(crate) work: Duration,
    /// `true` if work is heavy-tailed: a Pareto distribution of shape 1.5, cut at 50 times `work`.
    pub(crate) heavy_tail: bool,
    /// The calls per second that others send to the same server.
    pub(crate) others_per_second: u64,
    /// From when on each limit is so many halves of what it was.
    pub(crate) change: Option<(Duration, u64)>,
}

impl Limited {
    /// A server with these limits, at most two, that says what is right, 10 ms away.
    pub(crate) const fn by(limits: &'static [Limit]) -> Self {
        let limits = match limits {
            [] => [None, None],
            [one] => [Some(*one), None],
            [one, other, ..] => [Some(*one), Some(*other)],
        };
        Self::all_of(limits)
    }

    /// A server with this quota.
    pub(crate) const fn window(calls: u64, length: Duration) -> Self {
        let quota = Limit::Window {
            calls,
            length,
            headers: false,
        };
        Self::all_of([Some(quota), None])
    }

    const fn all_of(limits: [Option<Limit>; 2]) -> Self {
        Self {
            limits,
            asks: Asks::Right,
            round_trip: Duration::from_millis(10),
            differ: 10,
            work: Duration::ZERO,
            heavy_tail: false,
            others_per_second: 0,
            change: None,
        }
    }
}

/// The state of a limited server.
#[derive(Debug)]
pub(crate) struct Limiter {
    rules: Limited,
    counts: Vec<Count>,
    /// The number of calls of others so far.
    others: u64,
}

impl Limited {
    /// Returns the time of an attempt on its way to the server.
    pub(crate) fn way_there(&self, seed: u64, call: u64, attempt: u64) -> Duration {
        let half = micros(self.round_trip) / 2;
        let least = half * (200 - self.differ.min(200)) / 200;
        let span = half * self.differ / 100 + 1;
        Duration::from_micros(least + draw(seed, Use::Way, call, attempt) % span)
    }

    fn scaled(&self, number: u64, now: u64) -> u64 {
        match self.change {
            Some((from, halves)) if now >= micros(from) => number * halves / 2,
            _ => number,
        }
    }

    fn work(&self, drawn: u64) -> u64 {
        let work = micros(self.work);
        if !self.heavy_tail {
            return work;
        }
        let share = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
        let times = (1.0 - share).powf(-1.0 / 1.5).min(50.0);
        Duration::from_secs_f64(self.work.as_secs_f64() * times)
            .as_micros()
            .try_into()
            .unwrap_or(u64::MAX)
    }
}

impl Limiter {
    pub(crate) fn new(rules: Limited) -> Self {
        Self {
            rules,
            counts: rules.limits.iter().flatten().map(Count::new).collect(),
            others: 0,
        }
    }

    /// Takes an attempt that has just arrived: when its answer is back, and the answer.
    pub(crate) fn take(
        &mut self,
        clock: Clock,
        seed: u64,
        (call, attempt): (u64, u64),
    ) -> (Duration, Response<Bytes>) {
        let now = micros(clock.now());
        self.let_others_in(now);
        let drawn = |what| draw(seed, what, call, attempt);
        let mut work = self.rules.work(drawn(Use::Slowness));
        let mut left = None;
        let mut refused = None;
        let limits = self.rules.limits.iter().flatten().zip(&mut self.counts);
        for (limit, count) in limits {
            let (word, said) = count.judge(limit, &self.rules, now, call, drawn(Use::Failure));
            left = left.or(said);
            match word {
                Word::Allowed => {}
                Word::Refused(right) => refused = refused.or(Some(right)),
            }
            if let Limit::Overload { .. } = limit {
                work = work.saturating_add(count.backlog(now));
            }
        }
        let back = now + micros(self.rules.round_trip) / 2;
        let (at, mut answer) = match refused {
            Some(right) => (back, self.refusal(right)),
            None => {
                self.count_in_flight(now + work);
                (back + work, status(200))
            }
        };
        if let Some(left) = left {
            say_what_is_left(&mut answer, left);
        }
        (Duration::from_micros(at), answer)
    }

    fn refusal(&self, right: Option<u64>) -> Response<Bytes> {
        let right = right.unwrap_or(SECOND);
        let asked = match self.rules.asks {
            Asks::Right => right.div_ceil(SECOND).max(1) * SECOND,
            Asks::Exact => right.div_ceil(MILLISECOND).max(1) * MILLISECOND,
            Asks::Of(asked) => micros(asked),
            Asks::Nothing => return status(429),
        };
        let mut answer = status(429);
        let (name, number) = match asked % SECOND {
            0 => (http::header::RETRY_AFTER, asked / SECOND),
            _ => (
                HeaderName::from_static("retry-after-ms"),
                asked / MILLISECOND,
            ),
        };
        answer.headers_mut().insert(name, number.into());
        answer
    }

    fn count_in_flight(&mut self, ends: u64) {
        for (limit, count) in self.rules.limits.iter().flatten().zip(&mut self.counts) {
            if let Limit::InFlight { .. } = limit {
                count.begin(ends);
            }
        }
    }

    /// Counts the calls of others that came since the last attempt.
    fn let_others_in(&mut self, now: u64) {
        let rate = self.rules.others_per_second;
        while rate > 0 && self.others * SECOND / rate <= now {
            let at = self.others * SECOND / rate;
            for (limit, count) in self.rules.limits.iter().flatten().zip(&mut self.counts) {
                count.judge(limit, &self.rules, at, 1, u64::MAX);
            }
            self.others += 1;
        }
    }
}

fn say_what_is_left(answer: &mut Response<Bytes>, (limit, left, reset): Left) {
    let said = [
        ("x-ratelimit-limit", limit),
        ("x-ratelimit-remaining", left),
        ("x-ratelimit-reset", reset.div_ceil(SECOND)),
    ];
    for (name, number) in said {
        answer.headers_mut().insert(name, number.into());
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros().try_into().unwrap_or(u64::MAX)
}
