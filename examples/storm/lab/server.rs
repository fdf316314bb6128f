//! A simulated server: a queue, workers, outages, stalls, random failures, a quota.

use super::call::next_attempt;
use super::chance::{Use, draw, happens};
use super::runtime::Clock;
use bytes::Bytes;
use http::{Response, StatusCode};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a server behaves. By default every call is served in 10 ms, however many there are.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// None: a worker for every call.
    pub(crate) workers: Option<usize>,
    pub(crate) service_time: Duration,
    /// The share of calls that take ten times as long.
    pub(crate) slow: f64,
    /// What an answer takes that needs no worker.
    pub(crate) round_trip: Duration,
    /// When everything is answered 503.
    pub(crate) outage: Range<Duration>,
    /// When no worker works.
    pub(crate) stall: Range<Duration>,
    /// The share of attempts that are answered 500, from when on.
    pub(crate) failures: Vec<(Duration, f64)>,
    /// Above this wait in the queue a call is answered 503 and `Retry-After: 1`.
    pub(crate) longest_queue: Option<Duration>,
    pub(crate) quota: Option<Quota>,
    /// Until then everything is answered 429 with the time that is left.
    pub(crate) closed_until: Duration,
}

/// So many calls in each window, the first of which begins with the world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    pub(crate) calls: u64,
    pub(crate) window: Duration,
    /// What a 429 asks for in place of what is right.
    pub(crate) asks: Option<u64>,
    /// Whether every answer says what is left.
    pub(crate) headers: bool,
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
            quota: None,
            closed_until: Duration::ZERO,
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
}

#[derive(Debug, Default)]
struct State {
    /// When each worker has done all that is in the queue.
    free: BinaryHeap<Reverse<Duration>>,
    attempts: Vec<Duration>,
    refused: usize,
    window: u128,
    used: u64,
}

impl Server {
    pub(crate) fn new(clock: Clock, seed: u64, rules: Rules) -> Self {
        let workers = rules.workers.unwrap_or(0);
        let state = State {
            free: vec![Reverse(Duration::ZERO); workers].into(),
            ..State::default()
        };
        Self(Arc::new(Inner {
            clock,
            seed,
            rules,
            state: Mutex::new(state),
        }))
    }

    /// When each attempt came.
    pub(crate) fn attempts(&self) -> Vec<Duration> {
        self.0
            .state
            .lock()
            .expect("nothing panics")
            .attempts
            .clone()
    }

    /// How many attempts were answered 429.
    pub(crate) fn refused(&self) -> usize {
        self.0.state.lock().expect("nothing panics").refused
    }

    /// Takes an attempt and answers it in its time.
    pub(crate) async fn answer(self) -> Response<Bytes> {
        let (then, answer) = self.0.take();
        self.0.clock.until(then).await;
        answer
    }
}

impl Inner {
    /// What comes of an attempt, and when.
    fn take(&self) -> (Duration, Response<Bytes>) {
        let (rules, now) = (&self.rules, self.clock.now());
        let (call, attempt) = next_attempt();
        let mut state = self.state.lock().expect("nothing panics");
        state.attempts.push(now);
        let soon = now + rules.round_trip;
        if rules.outage.contains(&now) {
            return (soon, status(503));
        }
        if now < rules.closed_until {
            state.refused += 1;
            return (
                soon,
                asking(429, (rules.closed_until - now).as_millis().div_ceil(1_000)),
            );
        }
        if happens(
            self.failing(now),
            draw(self.seed, Use::Failure, call, attempt),
        ) {
            return (soon, status(500));
        }
        if let Some(quota) = rules.quota {
            return (soon, state.within(quota, now));
        }
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

/// When work ends that rests during a stall.
fn past(stall: &Range<Duration>, begins: Duration, work: Duration) -> Duration {
    let rests = begins < stall.end && begins + work > stall.start;
    let rest = match rests {
        true => stall.end - begins.max(stall.start),
        false => Duration::ZERO,
    };
    begins + work + rest
}

impl State {
    fn within(&mut self, quota: Quota, now: Duration) -> Response<Bytes> {
        let window = now.as_nanos() / quota.window.as_nanos();
        if window != self.window {
            (self.window, self.used) = (window, 0);
        }
        let reset = quota.window.as_nanos() * (window + 1) - now.as_nanos();
        let reset = reset.div_ceil(1_000_000_000);
        let mut answer = match self.used < quota.calls {
            true => {
                self.used += 1;
                status(200)
            }
            false => {
                self.refused += 1;
                asking(429, quota.asks.map_or(reset, u128::from))
            }
        };
        if quota.headers {
            let left = quota.calls - self.used;
            let said = [
                ("x-ratelimit-limit", u128::from(quota.calls)),
                ("x-ratelimit-remaining", u128::from(left)),
                ("x-ratelimit-reset", reset),
            ];
            for (name, number) in said {
                answer.headers_mut().insert(name, decimal(number));
            }
        }
        answer
    }
}

fn status(status: u16) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = StatusCode::from_u16(status).expect("a status");
    answer
}

fn asking(status_code: u16, seconds: u128) -> Response<Bytes> {
    let mut answer = status(status_code);
    answer
        .headers_mut()
        .insert(http::header::RETRY_AFTER, decimal(seconds));
    answer
}

fn decimal(number: u128) -> http::HeaderValue {
    http::HeaderValue::from_str(&number.to_string()).expect("digits")
}
