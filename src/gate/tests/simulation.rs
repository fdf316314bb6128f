//! Callers, a gate, and a server with a quota, on a clock that jumps from event to event.

use super::super::line::{Kind, Ticket};
use super::super::queue::{Entry, Look, Permit, Queue};
use super::super::quota::Quota;
use crate::policy::second;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

pub(super) const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Windows {
    /// One after another from zero on.
    Fixed,
    /// From the first call on that comes after the last one.
    FromFirstCall,
    /// The last so many calls may not be younger than the window.
    Sliding,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Setup {
    pub(super) calls: usize,
    pub(super) at_once: usize,
    pub(super) quota: usize,
    pub(super) window: Duration,
    pub(super) windows: Windows,
    /// What a 429 asks for; otherwise whole seconds until the reset.
    pub(super) asks: Option<Duration>,
    pub(super) headers: bool,
    pub(super) round_trip: Duration,
    /// In percent, each way.
    pub(super) jitter: u32,
    pub(super) head_start: bool,
    pub(super) others_first: bool,
    pub(super) seed: u64,
}

impl Setup {
    /// 5,000 calls against 500 per 10 s, 10 ms away.
    pub(super) const QUOTA: Self = Self {
        calls: 5_000,
        at_once: 200,
        quota: 500,
        window: Duration::from_secs(10),
        windows: Windows::Fixed,
        asks: None,
        headers: false,
        round_trip: Duration::from_millis(10),
        jitter: 0,
        head_start: false,
        others_first: true,
        seed: 0,
    };

    /// The least time in which the quota lets all calls through.
    pub(super) fn bound(&self) -> Duration {
        let windows = (self.calls - 1) / self.quota;
        let by_quota = self.window * u32::try_from(windows).unwrap();
        let rounds = self.calls.div_ceil(self.at_once);
        by_quota.max(self.round_trip * u32::try_from(rounds).unwrap())
    }

    pub(super) fn run(self) -> Tally {
        let mut world = World {
            setup: self,
            now: Duration::ZERO,
            events: BinaryHeap::new(),
            number: 0,
            random: self.seed << 32,
            queue: Queue::default().with_head_start(self.head_start),
            calls: Vec::new(),
            tickets: HashMap::new(),
            server: Server {
                setup: self,
                began: None,
                used: 0,
                log: VecDeque::new(),
            },
            tally: Tally::default(),
        };
        for _ in 0..self.at_once.min(self.calls) {
            world.start();
        }
        while let Some(Reverse((at, _, event))) = world.events.pop() {
            world.now = at;
            world.happens(event);
        }
        world.tally.waiting = world.queue.waiting();
        world.tally.in_flight = world.queue.in_flight();
        world.tally
    }
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) done: usize,
    pub(super) rejected: usize,
    pub(super) looks: usize,
    pub(super) time: Duration,
    pub(super) longest: Duration,
    pub(super) sent: Vec<Duration>,
    pub(super) waiting: usize,
    pub(super) in_flight: u64,
    /// The accepted calls of each window.
    pub(super) used: BTreeMap<u128, usize>,
}

impl Tally {
    /// Rejected calls per 10,000.
    pub(super) fn rejected_per_10_000(&self) -> usize {
        self.rejected * 10_000 / self.done.max(1)
    }

    pub(super) fn percent_of(&self, bound: Duration) -> u128 {
        self.time.as_nanos() * 100 / bound.as_nanos()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Enter(usize),
    Look(usize, u64),
    Arrive(usize),
    Answer(usize),
}

#[derive(Debug, Default)]
struct Call {
    started: Duration,
    ticket: Option<Ticket>,
    /// Which of its looks is the one in force.
    look: u64,
    permit: Option<Permit>,
    retry: bool,
    answer: Option<(Option<Duration>, Option<Quota>)>,
}

struct World {
    setup: Setup,
    now: Duration,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    number: u64,
    random: u64,
    queue: Queue,
    calls: Vec<Call>,
    tickets: HashMap<u64, usize>,
    server: Server,
    tally: Tally,
}

impl World {
    fn plan(&mut self, at: Duration, event: Event) {
        self.number += 1;
        self.events
            .push(Reverse((at.max(self.now), self.number, event)));
    }

    fn draw(&mut self) -> u64 {
        self.random += 1;
        second(self.random)
    }

    fn start(&mut self) {
        if self.calls.len() < self.setup.calls {
            self.calls.push(Call {
                started: self.now,
                ..Call::default()
            });
            self.enter(self.calls.len() - 1);
        }
    }

    /// At once, or after the answers that are there already.
    fn enter(&mut self, call: usize) {
        match self.setup.others_first && self.queue.in_flight() > 0 {
            true => self.plan(self.now, Event::Enter(call)),
            false => self.look(call),
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Enter(call) => self.look(call),
            Event::Look(call, look) => {
                if self.calls[call].look == look && self.calls[call].ticket.is_some() {
                    self.look(call);
                }
            }
            Event::Arrive(call) => {
                self.calls[call].answer = Some(self.server.takes(self.now, &mut self.tally));
                let at = self.now + self.one_way();
                self.plan(at, Event::Answer(call));
            }
            Event::Answer(call) => self.answer(call),
        }
        if let Some(ticket) = self.queue.called(self.now) {
            let call = self.tickets[&ticket.number()];
            self.look_at(call, self.now);
        }
    }

    fn look(&mut self, call: usize) {
        self.tally.looks += 1;
        let look = Look {
            now: self.now,
            random: self.draw(),
            overdue: false,
        };
        let kind = if self.calls[call].retry {
            Kind::Retry
        } else {
            Kind::Newcomer
        };
        let entry = match self.calls[call].ticket {
            Some(ticket) => self.queue.look(ticket, look),
            None => self.queue.enter(kind, look),
        };
        match entry {
            Entry::Wait { ticket, look_at } => {
                assert!(look_at > self.now, "a look that is due at once");
                self.tickets.insert(ticket.number(), call);
                self.calls[call].ticket = Some(ticket);
                // Timers go off a little late.
                let late = Duration::from_micros(self.draw() % 1_000);
                self.look_at(call, look_at + late);
            }
            Entry::Go(permit) => {
                self.calls[call].ticket = None;
                self.calls[call].permit = Some(permit);
                self.tally.sent.push(self.now);
                let at = self.now + self.one_way();
                self.plan(at, Event::Arrive(call));
            }
        }
    }

    fn look_at(&mut self, call: usize, at: Duration) {
        self.calls[call].look += 1;
        let look = self.calls[call].look;
        self.plan(at, Event::Look(call, look));
    }

    fn one_way(&mut self) -> Duration {
        let way = self.setup.round_trip / 2;
        let most = u64::try_from((way * self.setup.jitter / 100).as_nanos()).unwrap();
        let less = self.draw() % (2 * most + 1);
        way + Duration::from_nanos(most) - Duration::from_nanos(less)
    }

    fn answer(&mut self, call: usize) {
        let permit = self.calls[call].permit.take().unwrap();
        let (asked, quota) = self.calls[call].answer.take().unwrap();
        match asked {
            Some(asked) => {
                self.tally.rejected += 1;
                self.queue.refused(self.now, &permit, asked, quota);
                self.calls[call].retry = true;
                self.enter(call);
            }
            None => {
                self.queue.succeeded(self.now, &permit, quota);
                self.tally.done += 1;
                self.tally.time = self.now;
                let took = self.now - self.calls[call].started;
                self.tally.longest = self.tally.longest.max(took);
                self.start();
            }
        }
    }
}

struct Server {
    setup: Setup,
    began: Option<Duration>,
    used: usize,
    log: VecDeque<Duration>,
}

impl Server {
    fn takes(&mut self, now: Duration, tally: &mut Tally) -> (Option<Duration>, Option<Quota>) {
        let Setup {
            quota,
            window,
            windows,
            ..
        } = self.setup;
        let since = |began: Duration| now - began;
        match windows {
            Windows::Fixed => {
                let n = now.as_nanos() / window.as_nanos();
                let began = window * u32::try_from(n).unwrap();
                if self.began != Some(began) {
                    (self.began, self.used) = (Some(began), 0);
                }
            }
            Windows::FromFirstCall => {
                if self.began.is_none_or(|began| since(began) >= window) {
                    (self.began, self.used) = (Some(now), 0);
                }
            }
            Windows::Sliding => {
                while self.log.front().is_some_and(|at| now - *at >= window) {
                    self.log.pop_front();
                }
                self.used = self.log.len();
                self.began = Some(self.log.front().copied().unwrap_or(now));
            }
        }
        let accepted = self.used < quota;
        if accepted {
            self.used += 1;
            self.log.push_back(now);
            *tally
                .used
                .entry(now.as_nanos() / window.as_nanos())
                .or_default() += 1;
        }
        let left = window - since(self.began.unwrap());
        let whole = SECOND * u32::try_from(left.as_nanos().div_ceil(SECOND.as_nanos())).unwrap();
        let asked = (!accepted).then(|| self.setup.asks.unwrap_or(whole));
        let quota = self.setup.headers.then(|| Quota {
            limit: Some(u64::try_from(quota).unwrap()),
            remaining: u64::try_from(quota - self.used).unwrap(),
            reset: whole,
        });
        (asked, quota)
    }
}
