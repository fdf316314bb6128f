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

/// The calls of all processes, as far as they have come.
struct Batch<'a> {
    world: &'a mut World,
    server: Server,
    begun: usize,
    done: usize,
}

impl Batch<'_> {
    /// What a caller of this process does next, if that is something else.
    fn next(&mut self, process: usize, caller: &mut Caller, now: Duration) -> Option<Caller> {
        match caller {
            Caller::Is(kind) => Some(Caller::Waits(self.world.waits(process, *kind))),
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
            Caller::Flies(due, place) => (now >= *due).then(|| self.ends(process, place, now)),
        }
    }

    /// A call is answered.
    fn ends(&mut self, process: usize, place: &Place, now: Duration) -> Caller {
        let answer = self.server.answer(now - ROUND_TRIP / 2);
        let end = match answer.refused {
            Some(asked) => End::Refused(Some(asked)),
            None => End::Succeeded,
        };
        self.world.told(process, place, end, answer.quota);
        if let Some(asked) = answer.refused {
            return Caller::Sleeps(now + asked);
        }
        self.done += 1;
        if self.begun == CALLS {
            return Caller::Sleeps(Duration::MAX);
        }
        self.begun += 1;
        Caller::Is(Kind::Newcomer)
    }
}

/// How many refusals there are, and when the last call has succeeded.
fn run(world: &mut World, tells: bool) -> (Server, Duration) {
    let begun = world.clock.now();
    let mut callers: Vec<_> = (0..CALLERS).map(|_| Caller::Is(Kind::Newcomer)).collect();
    let mut batch = Batch {
        world,
        server: Server {
            tells,
            ..Server::default()
        },
        begun: CALLERS,
        done: 0,
    };
    while batch.done < CALLS {
        batch.world.drive();
        let now = batch.world.clock.now();
        assert!(now - begun < WINDOW * 100, "{} calls", batch.done);
        for (number, caller) in callers.iter_mut().enumerate() {
            if let Some(next) = batch.next(number % PROCESSES, caller, now) {
                *caller = next;
            }
        }
        batch.world.clock.advance(MILLI * 2);
    }
    let took = batch.world.clock.now() - begun;
    (batch.server, took)
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
