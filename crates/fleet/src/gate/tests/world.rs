//! Many processes and a store, in simulated time.

use super::joined::Joined;
use super::*;
use crate::gate::link::GateLink;
use futures_util::FutureExt;
use http_retry_core::gate::Gate;
use http_retry_core::policy::{Moment, Quota};
use http_retry_core::runtime::Runtime;
use http_retry_core::sharing::{CallEnd, CallKind, GateExt, GateRequest, Passed, Permit};
use http_retry_testing::ManualRuntime;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

pub(super) const MILLI: Duration = Duration::from_millis(1);
const LATENCY: Duration = Duration::from_millis(2);
/// The store's clock is ahead of the processes'.
const AHEAD: u64 = 1_800_000_000 * SECOND;

pub(super) type Wait = Pin<Box<dyn Future<Output = Passed> + Send>>;

/// The reactions of a store to commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Well,
    Fails,
    Hangs,
}

pub(super) struct World {
    pub(super) clock: ManualRuntime,
    pub(super) processes: Vec<Process>,
    pub(super) gate: Option<StoredGate>,
    pub(super) health: Health,
    /// The longest cooldown that calls wait for.
    pub(super) longest: Duration,
    pub(super) count: i64,
    /// The reports that were sent, each with its time and process.
    pub(super) reports: Vec<(Duration, usize, GateReport)>,
    in_transit: Vec<(Duration, usize, Message)>,
}

pub(super) struct Process {
    pub(super) gate: Gate,
    pub(super) joined: Arc<Joined>,
    subscribed: bool,
    in_flight: Option<Duration>,
}

/// A message between the store and a process.
#[derive(Clone, Copy)]
enum Message {
    Report(GateReport),
    Reply(Option<GateReply>),
    Notice(GateNotice),
}

impl Process {
    fn link(&self) -> Option<GateLink> {
        let joined = self.joined.0.lock().unwrap();
        joined.first().map(|(_, _, link)| link.clone())
    }
}

impl World {
    /// So many processes that have joined, with a gate that nobody was refused at.
    pub(super) fn of(processes: usize) -> Self {
        let mut world = Self {
            clock: ManualRuntime::paused().seeded(7),
            processes: Vec::new(),
            gate: None,
            health: Health::Well,
            longest: Duration::from_secs(86_400),
            count: processes.try_into().unwrap(),
            reports: Vec::new(),
            in_transit: Vec::new(),
        };
        for _ in 0..processes {
            let process = world.starts();
            let place = world.go(process);
            world.end(process, &place, CallEnd::Other);
        }
        world.pass(MILLI * 10);
        world
    }

    /// A process starts.
    pub(super) fn starts(&mut self) -> usize {
        let joined = Arc::new(Joined::default());
        self.processes.push(Process {
            gate: joined.share(Gate::new()),
            joined,
            subscribed: true,
            in_flight: None,
        });
        self.processes.len() - 1
    }

    pub(super) fn subscribe(&mut self, process: usize, subscribed: bool) {
        self.processes[process].subscribed = subscribed;
        let link = self.processes[process].link().unwrap();
        link.set_subscribed(self.moment(), subscribed);
    }

    pub(super) fn moment(&self) -> Moment {
        self.clock.moment()
    }

    /// A call that waits for its turn.
    pub(super) fn waits(&mut self, process: usize, kind: CallKind) -> Wait {
        let at = &mut self.processes[process];
        let (gate, runtime) = (at.gate.clone(), self.clock.clone());
        let key = gate.key("a", None);
        let moment = runtime.moment();
        let before = at.link().is_some();
        gate.share_key(key, "a", &runtime, self.longest, || None);
        if let Some(link) = at.link().filter(|_| !before) {
            link.set_subscribed(moment, at.subscribed);
        }
        let ask = GateRequest {
            key,
            kind,
            began: match kind {
                CallKind::Newcomer => moment.now,
                CallKind::Retry => Duration::ZERO,
            },
            deadline: None,
            at_gate: Duration::from_secs(86_400),
            ends_early: false,
            quotas_at_once: true,
        };
        let runtime: Arc<dyn Runtime> = Arc::new(runtime);
        Box::pin(async move { gate.pass(ask, &runtime, || ()).await })
    }

    /// A call that goes at once.
    pub(super) fn go(&mut self, process: usize) -> Permit {
        let passed = self.waits(process, CallKind::Newcomer).now_or_never();
        passed.expect("the gate is open").place.unwrap().unwrap()
    }

    pub(super) fn is_open(&mut self, process: usize) -> bool {
        let passed = self.waits(process, CallKind::Newcomer).now_or_never();
        if let Some(Ok(Some(place))) = passed.as_ref().map(|passed| passed.place) {
            self.end(process, &place, CallEnd::Other);
        }
        passed.is_some()
    }

    pub(super) fn end(&self, process: usize, place: &Permit, end: CallEnd) {
        self.end_with_quota(process, place, end, None);
    }

    pub(super) fn end_with_quota(
        &self,
        process: usize,
        place: &Permit,
        end: CallEnd,
        quota: Option<Quota>,
    ) {
        let gate = &self.processes[process].gate;
        gate.end(place, end, quota, &self.clock);
    }

    /// So many calls of a process, one after another, are let through.
    pub(super) fn succeed(&mut self, process: usize, calls: usize) {
        for _ in 0..calls {
            let place = self.go(process);
            self.end(process, &place, CallEnd::Succeeded);
        }
    }

    /// So many calls of a process are refused, one after another as far as its gate lets them.
    pub(super) fn refuse(&mut self, process: usize, calls: usize, asked: Duration) {
        let places: Vec<_> = (0..calls).map(|_| self.go(process)).collect();
        for place in &places {
            self.end(process, place, CallEnd::Refused(Some(asked)));
        }
    }

    /// Four calls of a process are refused: a vote.
    pub(super) fn vote(&mut self, process: usize, asked: Duration) {
        self.refuse(process, 4, asked);
    }

    pub(super) fn link(&self, process: usize) -> GateLink {
        self.processes[process].link().unwrap()
    }

    /// Time passes, and what is on the way arrives.
    pub(super) fn pass(&mut self, time: Duration) {
        self.play(&mut [], time);
    }

    /// Time passes; when each call went, each of which succeeds at once.
    pub(super) fn play(
        &mut self,
        waits: &mut [(usize, Option<Wait>)],
        time: Duration,
    ) -> Vec<Option<Duration>> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut went = vec![None; waits.len()];
        let end = self.clock.now() + time;
        loop {
            self.drive();
            for ((process, wait), went) in waits.iter_mut().zip(&mut went) {
                let Some(waiting) = wait.as_mut() else {
                    continue;
                };
                if let Poll::Ready(passed) = waiting.as_mut().poll(&mut cx) {
                    *wait = None;
                    *went = Some(self.clock.now());
                    let place = passed.place.unwrap().unwrap();
                    self.end(*process, &place, CallEnd::Succeeded);
                }
            }
            self.drive();
            if self.clock.now() >= end {
                return went;
            }
            self.clock.advance(MILLI);
        }
    }

    /// Runs the tasks of all processes and the store at this time.
    pub(super) fn drive(&mut self) {
        let (now, moment) = (self.clock.now(), self.moment());
        for number in 0..self.processes.len() {
            let process = &mut self.processes[number];
            let Some(link) = process.link() else {
                continue;
            };
            if process.in_flight.is_some() {
                continue;
            }
            if let NextAction::Send(report) = link.next(moment, self.count, Waker::noop()) {
                process.in_flight = Some(now);
                self.reports.push((now, number, report));
                self.in_transit
                    .push((now + LATENCY / 2, number, Message::Report(report)));
            }
        }
        while let Some(at) = self.in_transit.iter().position(|(due, ..)| *due <= now) {
            let (_, process, message) = self.in_transit.remove(at);
            self.arrives(process, message);
        }
    }

    fn arrives(&mut self, number: usize, message: Message) {
        let (now, moment) = (self.clock.now(), self.moment());
        let process = &mut self.processes[number];
        let link = process.link().unwrap();
        match message {
            Message::Report(_) if self.health == Health::Hangs => {}
            Message::Report(_) if self.health == Health::Fails => {
                self.send(number, Message::Reply(None));
            }
            Message::Report(report) => {
                let micros = AHEAD + u64::try_from(now.as_micros()).unwrap();
                let (answer, push) = step(&mut self.gate, &report, micros);
                self.send(number, Message::Reply(Some(answer)));
                let subscribed = |number: &usize| self.processes[*number].subscribed;
                let all = (0..self.processes.len()).filter(subscribed);
                for number in all.collect::<Vec<_>>() {
                    push.into_iter()
                        .for_each(|push| self.send(number, Message::Notice(push)));
                }
            }
            Message::Reply(answer) => {
                process.in_flight = None;
                link.replied(moment, answer);
            }
            Message::Notice(push) if process.subscribed => link.notified(moment, push),
            Message::Notice(_) => {}
        }
    }

    fn send(&mut self, process: usize, message: Message) {
        if self.processes[process].link().is_some() {
            let due = self.clock.now() + LATENCY / 2;
            self.in_transit.push((due, process, message));
        }
    }

    /// Replaces the connection of a process that got no reply.
    pub(super) fn reconnects(&mut self, process: usize) {
        self.in_transit.retain(|(_, of, _)| *of != process);
        self.processes[process].in_flight = None;
        let link = self.processes[process].link().unwrap();
        link.replied(self.moment(), None);
        link.watch(Waker::noop(), true);
        link.set_subscribed(self.moment(), true);
    }
}
