//! A simulated server: a queue, workers, outages, stalls, random failures, limits.

use super::chance::{Use, draw, happens, next_attempt};
use super::limiter::{Limited, Limiter};
use super::runtime::Clock;
use bytes::Bytes;
use http::{Response, StatusCode};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The behaviour of a server. By default every call is served in 10 ms, regardless of their number.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// None: a worker for every call.
    pub(crate) workers: Option<usize>,
    pub(crate) service_time: Duration,
    /// The share of calls that take ten times as long.
    pub(crate) slow: f64,
    /// The time of a response that needs no worker.
    pub(crate) round_trip: Duration,
    /// The time in which everything is answered 503.
    pub(crate) outage: Range<Duration>,
    /// The time in which no worker works.
    pub(crate) stall: Range<Duration>,
    /// The share of attempts that are answered 500, from when on.
    pub(crate) failures: Vec<(Duration, f64)>,
    /// Above this wait in the queue a call is answered 503 and `Retry-After: 1`.
    pub(crate) longest_queue: Option<Duration>,
    /// Its limits; then nothing below decides.
    pub(crate) limited: Option<Limited>,
    /// The time in which the limits apply.
    pub(crate) limited_during: Range<Duration>,
    /// The attempts after which the world ends.
    pub(crate) most_attempts: usize,
    /// Until then everything is answered 429 with the time that is left.
    pub(crate) closed_until: Duration,
    /// The calls that are refused whenever they are sent.
    pub(crate) always_refused: Option<AlwaysRefused>,
}

/// Calls that are refused whenever they are sent, by their numbers.
#[derive(Debug, Clone)]
pub(crate) struct AlwaysRefused {
    pub(crate) calls: Range<u64>,
    /// The seconds of `Retry-After`, if it is sent.
    pub(crate) asks: Option<u64>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            workers: None,
            service_time: Duration::from_millis(10),
            slow: 0.0,
            round_trip: Duration::from_millis(1),
            outage: Duration::ZERO..Duration::ZERO,
            stall: Duration::ZERO..Duration::ZERO,
            failures: Vec::new(),
            longest_queue: None,
            limited: None,
            limited_during: Duration::ZERO..Duration::MAX,
            most_attempts: usize::MAX,
            closed_until: Duration::ZERO,
            always_refused: None,
        }
    }
}

impl Rules {
    /// Everything is answered 503, to the end.
    pub(crate) fn down() -> Self {
        Self {
            outage: Duration::ZERO..Duration::MAX,
            ..Self::default()
        }
    }
}

/// The server. Work whose caller gave up is done all the same.
#[derive(Debug, Clone)]
pub(crate) struct Server(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    seed: u64,
    rules: Rules,
    state: Mutex<State>,
    overrun: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// For each worker, the end of its queue.
    free: BinaryHeap<Reverse<Duration>>,
    attempts: Vec<Duration>,
    refused: usize,
    early: usize,
    /// Until when each refused call was asked to wait.
    asked: HashMap<u64, Duration>,
    limiter: Option<Limiter>,
}

impl Server {
    pub(crate) fn new(clock: Clock, seed: u64, rules: Rules) -> Self {
        let workers = rules.workers.unwrap_or(0);
        let state = State {
            free: vec![Reverse(Duration::ZERO); workers].into(),
            limiter: rules.limited.map(Limiter::new),
            ..State::default()
        };
        Self(Arc::new(Inner {
            clock,
            seed,
            rules,
            state: Mutex::new(state),
            overrun: Notify::new(),
        }))
    }

    /// Returns the arrival of each attempt.
    pub(crate) fn attempts(&self) -> Vec<Duration> {
        self.0.lock().attempts.clone()
    }

    /// Returns once it has had the most attempts.
    pub(crate) async fn overrun(&self) {
        self.0.overrun.notified().await;
    }

    /// Returns the number of attempts that were answered 429.
    pub(crate) fn refused(&self) -> usize {
        self.0.lock().refused
    }

    /// Returns the number of attempts that came before the time that the call's last response asked for.
    pub(crate) fn early(&self) -> usize {
        self.0.lock().early
    }

    /// Takes an attempt and answers it in its time.
    pub(crate) async fn answer(self) -> Response<Bytes> {
        let Inner {
            clock, seed, rules, ..
        } = &*self.0;
        let (call, attempt) = next_attempt();
        let limited = rules.limited.as_ref();
        if let Some(limited) = limited.filter(|_| rules.limited_during.contains(&clock.now())) {
            self.0.notice_early(call);
            let way = limited.way_there(*seed, call, attempt);
            clock.until(clock.now() + way).await;
        }
        let (then, answer) = self.0.take(call, attempt);
        clock.until(then).await;
        answer
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the response to an attempt, and its time.
    fn take(&self, call: u64, attempt: u64) -> (Duration, Response<Bytes>) {
        let (rules, now) = (&self.rules, self.clock.now());
        let mut state = self.lock();
        state.attempts.push(now);
        if state.attempts.len() >= rules.most_attempts {
            self.overrun.notify_one();
        }
        let soon = now + rules.round_trip;
        if rules.outage.contains(&now) {
            return (soon, status(503));
        }
        let refused = rules.always_refused.as_ref();
        if let Some(refused) = refused.filter(|refused| refused.calls.contains(&call)) {
            state.refused += 1;
            let answer = match refused.asks {
                Some(seconds) => asking(429, seconds),
                None => status(429),
            };
            return (soon, answer);
        }
        if now < rules.closed_until {
            state.refused += 1;
            return (soon, asking(429, whole_seconds(rules.closed_until - now)));
        }
        if happens(
            self.failing(now),
            draw(self.seed, Use::Failure, call, attempt),
        ) {
            return (soon, status(500));
        }
        let limiter = state.limiter.as_mut();
        if let Some(limiter) = limiter.filter(|_| rules.limited_during.contains(&now)) {
            let (then, answer) = limiter.take(self.clock, self.seed, (call, attempt));
            if answer.status() == StatusCode::TOO_MANY_REQUESTS {
                state.refused += 1;
                state.asked.insert(call, then + asked_by(&answer));
            }
            return (then, answer);
        }
        drop(state);
        self.work(now, (call, attempt))
    }

    /// Queues an attempt for a worker.
    fn work(&self, now: Duration, (call, attempt): (u64, u64)) -> (Duration, Response<Bytes>) {
        let (rules, mut state) = (&self.rules, self.lock());
        let soon = now + rules.round_trip;
        let slow = happens(rules.slow, draw(self.seed, Use::Slowness, call, attempt));
        let work = rules.service_time * if slow { 10 } else { 1 };
        let Some(Reverse(free)) = state.free.peek().copied() else {
            return (now + work, status(200));
        };
        let begins = free.max(now);
        if rules
            .longest_queue
            .is_some_and(|longest| begins - now > longest)
        {
            return (soon, asking(503, 1));
        }
        let ends = past(&rules.stall, begins, work);
        state.free.pop();
        state.free.push(Reverse(ends));
        (ends, status(200))
    }

    fn notice_early(&self, call: u64) {
        let mut state = self.lock();
        let asked = state.asked.remove(&call);
        state.early += usize::from(asked.is_some_and(|asked| self.clock.now() < asked));
    }

    fn failing(&self, now: Duration) -> f64 {
        let begun = self
            .rules
            .failures
            .iter()
            .rev()
            .find(|(from, _)| *from <= now);
        begun.map_or(0.0, |(_, share)| *share)
    }
}

/// Returns the end of work that rests during a stall.
fn past(stall: &Range<Duration>, begins: Duration, work: Duration) -> Duration {
    let rests = begins < stall.end && begins + work > stall.start;
    let rest = if rests {
        stall.end - begins.max(stall.start)
    } else {
        Duration::ZERO
    };
    begins + work + rest
}

pub(super) fn status(status: u16) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    answer
}

fn asking(status_code: u16, seconds: u64) -> Response<Bytes> {
    let mut answer = status(status_code);
    answer
        .headers_mut()
        .insert(http::header::RETRY_AFTER, seconds.into());
    answer
}

/// A duration in seconds, rounded up.
fn whole_seconds(duration: Duration) -> u64 {
    let part = u64::from(duration.subsec_millis() > 0);
    duration.as_secs() + part
}

fn asked_by(answer: &Response<Bytes>) -> Duration {
    let number = |name: &str| answer.headers().get(name)?.to_str().ok()?.parse().ok();
    let milliseconds = number("retry-after-ms").map(Duration::from_millis);
    milliseconds
        .or_else(|| number("retry-after").map(Duration::from_secs))
        .unwrap_or_default()
}
