//! Twenty processes that call one limited server at once.

use super::world::{MILLI, Wait, World};
use crate::gate::{End, Kind, Place, Quota};
use crate::runtime::Runtime;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const PROCESSES: usize = 20;
const CALLERS: usize = 60;
const CALLS: usize = 600;
const LIMIT: u64 = 100;
const WINDOW: Duration = Duration::from_secs(2);
const ROUND_TRIP: Duration = Duration::from_millis(10);

/// A server that lets so many calls through in each window, and says when the next begins, in whole seconds.
#[derive(Default)]
struct Server {
    window: u128,
    used: u64,
    refusals: usize,
    /// Those among them after the first window: who begins knows of no limit.
    later: usize,
    tells: bool,
}

struct Answer {
    refused: Option<Duration>,
    quota: Option<Quota>,
}

impl Server {
    fn answer(&mut self, now: Duration) -> Answer {
        let window = now.as_nanos() / WINDOW.as_nanos();
        if window != self.window {
            (self.window, self.used) = (window, 0);
        }
        let left = WINDOW.as_nanos() - now.as_nanos() % WINDOW.as_nanos();
        let left = Duration::from_secs(u64::try_from(left.div_ceil(1_000_000_000)).unwrap());
        let refused = (self.used >= LIMIT).then_some(left);
        self.used = (self.used + 1).min(LIMIT);
        self.refusals += usize::from(refused.is_some());
        self.later += usize::from(refused.is_some() && window > 0);
        let quota = Quota {
            limit: Some(LIMIT),
            remaining: LIMIT - self.used,
            reset: u64::try_from(left.as_micros()).unwrap(),
        };
        Answer {
            refused,
            quota: self.tells.then_some(quota),
        }
    }
}

/// One of those who send the calls, each one after another.
enum Caller {
    Waits(Wait),
    Flies(Duration, Place),
    Sleeps(Duration),
    Is(Kind),
}

/// How many refusals there are, and when the last call has succeeded.
fn run(world: &mut World, tells: bool) -> (Server, Duration) {
    let mut server = Server {
        tells,
        ..Server::default()
    };
    let begun = world.clock.now();
    let mut callers: Vec<_> = (0..CALLERS).map(|_| Caller::Is(Kind::Newcomer)).collect();
    let (mut begins, mut done) = (CALLERS, 0);
    while done < CALLS {
        world.drive();
        let now = world.clock.now();
        assert!(now - begun < WINDOW * 100, "{done} calls");
        for (number, caller) in callers.iter_mut().enumerate() {
            let process = number % PROCESSES;
            let next = match caller {
                Caller::Is(kind) => Some(Caller::Waits(world.waits(process, *kind))),
                Caller::Waits(wait) => {
                    let passed = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    match passed {
                        Poll::Ready(passed) => {
                            Some(Caller::Flies(now + ROUND_TRIP, passed.place.unwrap()))
                        }
                        Poll::Pending => None,
                    }
                }
                Caller::Sleeps(until) => (now >= *until).then_some(Caller::Is(Kind::Retry)),
                Caller::Flies(due, place) if now >= *due => {
                    let answer = server.answer(now - ROUND_TRIP / 2);
                    let end = match answer.refused {
                        Some(asked) => End::Refused(Some(asked)),
                        None => End::Succeeded,
                    };
                    world.told(process, place, end, answer.quota);
                    done += usize::from(answer.refused.is_none());
                    match answer.refused {
                        Some(asked) => Some(Caller::Sleeps(now + asked)),
                        None if begins < CALLS => {
                            begins += 1;
                            Some(Caller::Is(Kind::Newcomer))
                        }
                        None => Some(Caller::Sleeps(Duration::MAX)),
                    }
                }
                Caller::Flies(..) => None,
            };
            if let Some(next) = next {
                *caller = next;
            }
        }
        world.clock.advance(MILLI * 2);
    }
    (server, world.clock.now() - begun)
}

#[test]
fn a_fleet_keeps_to_a_limit_that_no_process_knows_alone() {
    for (tells, most, most_later) in [(false, 78, 18), (true, 24, 3)] {
        let mut fleet = World::of(PROCESSES);
        let (server, took) = run(&mut fleet, tells);
        let (refusals, later) = (server.refusals, server.later);
        assert!(
            refusals <= most && later <= most_later,
            "{refusals}, {later}"
        );
        assert!(took <= Duration::from_millis(13_500), "{took:?}");
    }
}
