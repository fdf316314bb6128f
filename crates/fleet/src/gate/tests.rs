//! The store's arithmetic, its script on a real server, and the processes that share a gate.

mod join;
mod joined;
mod model;
mod participant;
mod processes;
mod properties;
mod quotas;
mod script;
mod world;

use super::model::{StoredGate, step};
use super::{GateNotice, GateReply, GateReport, NextAction};
use std::time::Duration;

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000_000;

/// A store with one gate, and its clock.
struct Store {
    gate: Option<StoredGate>,
    now: u64,
    pushes: Vec<GateNotice>,
    change: u64,
}

impl Store {
    fn new() -> Self {
        Self {
            gate: None,
            now: 1_800_000_000 * SECOND,
            pushes: Vec::new(),
            change: 0,
        }
    }

    /// Sends these report, of the last change.
    fn say(&mut self, report: GateReport) -> GateReply {
        let change = self.change;
        self.say_of(change, report)
    }

    fn say_of(&mut self, change: u64, report: GateReport) -> GateReply {
        let report = GateReport { change, ..report };
        let (answer, push) = step(&mut self.gate, &report, self.now);
        self.pushes.extend(push);
        self.change = answer.notice.change;
        answer
    }

    fn refuse(&mut self, refusals: u64, delay: Option<u64>) -> GateReply {
        self.say(refused(refusals, delay))
    }

    /// As many refusals as close a new gate.
    fn vote(&mut self, delay: Option<u64>) -> GateReply {
        self.refuse(4, delay)
    }

    fn contradict(&mut self) -> GateReply {
        self.say(GateReport {
            later: 100,
            ..GateReport::default()
        })
    }

    fn succeed(&mut self, successes: u64) -> GateReply {
        self.say(GateReport {
            successes,
            ..GateReport::default()
        })
    }

    /// Returns the time for which the gate stays closed.
    fn closed(&mut self) -> u64 {
        closed(&self.say(GateReport::default()))
    }

    /// Goes to the end of the cooldown.
    fn open(&mut self) {
        self.now += self.closed();
        assert_eq!(self.closed(), 0);
    }

    fn pushed(&mut self) -> Vec<u128> {
        let pushes = std::mem::take(&mut self.pushes);
        pushes.iter().map(|push| push.closed.as_millis()).collect()
    }
}

fn closed(answer: &GateReply) -> u64 {
    answer.notice.closed.as_micros().try_into().unwrap()
}

fn refused(refusals: u64, delay: Option<u64>) -> GateReport {
    GateReport {
        refusals,
        delay,
        ..GateReport::default()
    }
}
