//! One service in trouble, and the calls around it, under retries of any kind.
//!
//! Ten seconds of calm, then the trouble, then calm again. The server can serve a quarter more than is asked of it,
//! from one queue; it completes what it has begun for a caller who gave up. With a limit it has no queue.

use super::Arrivals;
pub use super::client::PlainLoop;
use super::client::{Client, Target};
use super::limiter::Limited;
use super::load::{Load, offer_into};
use super::origin::Origin;
use super::run::{Ended, Run};
use super::runtime::{Clock, LabRuntime, run_paused};
use super::server::{Rules, Server};
use http::Request;
use http_retry::hedge::HedgeLayer;
use http_retry::tower::RetryLayer;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::time::Duration;
use tower::Layer;

/// The calm before the trouble.
pub const CALM: Duration = Duration::from_secs(10);
/// The attempts after which a storm ends: no server would be there any more.
pub const MAX_ATTEMPTS: usize = 1_000_000;
/// The time that a call may take after the last one was made.
const LAST_CALLS: Duration = Duration::from_secs(600);
/// The server can serve this times the rate of calls.
const HEADROOM: f64 = 1.25;
/// One attempt occupies a worker for so long, unless the rate is very small.
const SERVICE_TIME: f64 = 0.05;
const MAX_WORKERS: usize = 10_000;
const MAX_TIME: Duration = Duration::from_secs(3_600);

/// The way in which a server is in trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every attempt is answered 503 at once.
    Outage,
    /// Nothing is answered, and attempts queue.
    Stall,
    /// A quota of `calls` in each window of this length, from the start of the world on. What is above it is answered
    /// 429 with `Retry-After`.
    Limit {
        /// The attempts that one window allows.
        calls: u64,
        /// The length of a window.
        length: Duration,
    },
}

/// A service in trouble, and the calls around it.
#[derive(Debug, Clone)]
pub struct Storm {
    /// Every call sends this request. Requests to other hosts, such as those of a failover, reach a server without
    /// trouble.
    pub request: Request<()>,
    /// Calls per second, in all processes together; less than 0.001 counts as 0.001, more than 100,000 as that.
    pub rate: f64,
    /// The number of processes that share the calls. Each has a retry layer of its own.
    pub processes: usize,
    /// The trouble.
    pub fault: Fault,
    /// The time of the trouble, which starts after [`CALM`]; at most an hour.
    pub lasts: Duration,
    /// The time after the trouble in which calls are made; at most an hour.
    pub after: Duration,
    /// The time after which callers give up an attempt. A call counts as served if it succeeds within it.
    pub patience: Duration,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// The retries of one process.
#[derive(Debug, Clone)]
pub enum Retries {
    /// One attempt for each call.
    None,
    /// A loop that looks at nothing but the failure.
    Plain(PlainLoop),
    /// A retry layer. It needs the runtime that it was made for.
    Layer(Box<RetryLayer>),
    /// A retry layer, and a hedging layer below it.
    Hedged(Box<RetryLayer>, HedgeLayer),
}

/// The calls and attempts of a storm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aftermath {
    /// The calls, and the attempts at the server in trouble.
    pub run: Run,
    /// The number of attempts at other servers.
    pub elsewhere: usize,
    /// `true` if the storm ended early, at [`MAX_ATTEMPTS`].
    pub overrun: bool,
}

impl Storm {
    fn rate(&self) -> f64 {
        // A rate that is not a number passes the first bound, and not the second.
        self.rate.clamp(0.001, 100_000.0).max(0.001)
    }

    /// Returns the number of calls that are made.
    #[must_use]
    pub fn calls(&self) -> f64 {
        self.rate() * self.end().as_secs_f64()
    }

    /// Returns the time of the trouble.
    #[must_use]
    pub fn trouble_time(&self) -> Range<Duration> {
        CALM..CALM + self.lasts.min(MAX_TIME)
    }

    /// Returns the time of the last call.
    #[must_use]
    pub fn end(&self) -> Duration {
        self.trouble_time().end + self.after.min(MAX_TIME)
    }

    /// Plays the storm in simulated time. `retries` makes the retries of each process; its runtime is the one that a
    /// layer must run on.
    ///
    /// # Errors
    ///
    /// The operating system's, if there cannot be a runtime.
    pub fn play(&self, retries: impl FnMut(&LabRuntime) -> Retries) -> io::Result<Aftermath> {
        self.play_watched(retries, |_| {})
    }

    /// The same. `watch` is called before each call with the time since the start of the world, to follow what changes
    /// or to show progress.
    ///
    /// # Errors
    ///
    /// The operating system's, if there cannot be a runtime.
    pub fn play_watched(
        &self,
        retries: impl FnMut(&LabRuntime) -> Retries,
        watch: impl FnMut(Duration),
    ) -> io::Result<Aftermath> {
        run_paused(self.story(retries, watch))
    }

    async fn story(
        &self,
        mut retries: impl FnMut(&LabRuntime) -> Retries,
        mut watch: impl FnMut(Duration),
    ) -> Aftermath {
        let clock = Clock::new();
        let runtime = LabRuntime::new(clock, self.seed);
        let here = Server::new(clock, self.seed, self.rules());
        let elsewhere = Server::new(clock, self.seed, Rules::default());
        let host = self.request.uri().host().unwrap_or_default();
        let origin = Origin::at(host, here.clone(), elsewhere.clone());
        let origin = origin.with_patience(Some(self.patience));
        let clients = (0..self.processes.max(1)).map(|_| client(&origin, retries(&runtime)));
        let clients: Vec<Client> = clients.collect();
        let target = Target::of(&self.request);
        let times: Vec<Duration> = self.times().collect();
        let mut ended = Vec::new();
        let callers = clients
            .iter()
            .cycle()
            .map(|client| (client.clone(), &target));
        // A time is taken as soon as the call before it was made.
        let watched = times.iter().copied().inspect(|_| watch(clock.now()));
        let calls = offer_into(&mut ended, clock, callers, watched);
        let overrun = tokio::select! {
            () = here.overrun() => true,
            () = calls => false,
            () = clock.until(self.end() + LAST_CALLS) => false,
        };
        add_unfinished(&mut ended, &times, clock.now());
        Aftermath {
            run: Run::new(ended, here.attempts(), here.refused(), here.early()),
            elsewhere: elsewhere.attempts().len(),
            overrun,
        }
    }

    fn times(&self) -> impl Iterator<Item = Duration> {
        let load = Load {
            per_second: self.rate(),
            during: Duration::ZERO..self.end(),
        };
        load.times(Arrivals::Even, self.seed)
    }

    fn rules(&self) -> Rules {
        let capacity = self.rate() * HEADROOM;
        let are_enough = |workers: &usize| *workers as f64 >= capacity * SERVICE_TIME;
        let workers = (1..MAX_WORKERS).find(are_enough).unwrap_or(MAX_WORKERS);
        let rules = Rules {
            workers: Some(workers),
            service_time: Duration::from_secs_f64(workers as f64 / capacity),
            most_attempts: MAX_ATTEMPTS,
            ..Rules::default()
        };
        let time = self.trouble_time();
        match self.fault {
            Fault::Outage => Rules {
                outage: time,
                ..rules
            },
            Fault::Stall => Rules {
                stall: time,
                ..rules
            },
            // A limit lets through no more than the server can do, and no less once it is gone.
            Fault::Limit { calls, length } => Rules {
                workers: None,
                service_time: Rules::default().service_time,
                limited: Some(Limited::window(calls, length)),
                limited_during: time,
                ..rules
            },
        }
    }
}

fn client(origin: &Origin, retries: Retries) -> Client {
    match retries {
        Retries::None => Client::bare(origin),
        Retries::Plain(plain) => Client::plain_loop(origin, plain),
        Retries::Layer(layer) => Client::tower(layer.layer(origin.clone())),
        Retries::Hedged(layer, hedge) => Client::tower(layer.layer(hedge.layer(origin.clone()))),
    }
}

/// A call that has not ended by now has failed.
fn add_unfinished(ended: &mut Vec<Ended>, times: &[Duration], now: Duration) {
    let known: BTreeSet<u64> = ended.iter().map(|call| call.number).collect();
    let times = (0..).zip(times).filter(|(_, began)| **began <= now);
    let unfinished = times.filter(|(number, _)| !known.contains(number));
    ended.extend(unfinished.map(|(number, began)| Ended {
        number,
        began: *began,
        took: now - *began,
        succeeded: false,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_retry::RetryPolicy;
    use http_retry::hedge::Hedge;

    fn storm(fault: Fault) -> Storm {
        Storm {
            request: Request::get("http://orders.example/").body(()).unwrap(),
            rate: 20.0,
            processes: 1,
            fault,
            lasts: Duration::from_secs(10),
            after: Duration::from_secs(80),
            patience: Duration::from_secs(1),
            seed: 1,
        }
    }

    #[test]
    fn a_rate_that_is_none_is_a_small_one() {
        for rate in [f64::NAN, f64::NEG_INFINITY, 0.0] {
            let storm = Storm {
                rate,
                after: Duration::ZERO,
                ..storm(Fault::Outage)
            };
            let after = storm.play(|_| Retries::None).unwrap();
            assert_eq!(after.run.calls.len(), 1);
        }
    }

    #[test]
    fn calls_without_retries_are_one_attempt_each() {
        let after = storm(Fault::Outage).play(|_| Retries::None).unwrap();
        assert_eq!(after.run.calls.len(), 2_000);
        assert_eq!(after.run.attempts.len(), 2_000);
        let failed = after.run.calls.len() - after.run.done();
        assert_eq!(failed, 200);
    }

    #[test]
    fn a_storm_is_watched_before_each_call() {
        let mut seen = Vec::new();
        let storm = storm(Fault::Outage);
        let watched = storm
            .play_watched(|_| Retries::None, |now| seen.push(now))
            .unwrap();
        assert_eq!(watched, storm.play(|_| Retries::None).unwrap());
        assert_eq!(seen.len(), 2_000);
        assert!(seen.is_sorted());
        let last = storm.end() - Duration::from_millis(100);
        assert_eq!((seen[0], seen[1_999]), (Duration::ZERO, last));
    }

    #[test]
    fn a_plain_loop_multiplies_the_attempts_of_an_outage() {
        let storm = storm(Fault::Outage);
        let plain = PlainLoop {
            retries: 3,
            first_wait: Duration::ZERO,
        };
        let after = storm.play(|_| Retries::Plain(plain)).unwrap();
        let during = after.run.during(&storm.trouble_time());
        assert_eq!(during.attempts.len(), 4 * during.calls.len());
    }

    /// A stall costs with hedges no more than the budget has.
    #[test]
    fn hedges_stop_in_a_stall_with_the_budget() {
        let storm = storm(Fault::Stall);
        let attempts = |hedges: bool| {
            let retries = |runtime: &LabRuntime| {
                let layer = RetryLayer::new(RetryPolicy::user_facing()).runtime(runtime.clone());
                let hedge = HedgeLayer::new(Hedge::after(Duration::from_millis(200))).unwrap();
                if hedges {
                    Retries::Hedged(Box::new(layer), hedge)
                } else {
                    Retries::Layer(Box::new(layer))
                }
            };
            let after = storm.play(retries).unwrap();
            after.run.during(&storm.trouble_time()).attempts.len()
        };
        let (without, with) = (attempts(false), attempts(true));
        assert!(with > without && with <= without + 20, "{with} {without}");
    }

    #[test]
    fn a_quota_refuses_what_is_above_it() {
        let limit = Fault::Limit {
            calls: 50,
            length: Duration::from_secs(5),
        };
        let after = storm(limit).play(|_| Retries::None).unwrap();
        assert!(
            (95..=105).contains(&after.run.refused),
            "{}",
            after.run.refused
        );
    }

    #[test]
    fn a_storm_of_too_many_attempts_ends() {
        let plain = PlainLoop {
            retries: u32::MAX,
            first_wait: Duration::ZERO,
        };
        let after = storm(Fault::Outage).play(|_| Retries::Plain(plain));
        let after = after.unwrap();
        assert!(after.overrun);
        assert_eq!(after.run.attempts.len(), MAX_ATTEMPTS);
    }
}
