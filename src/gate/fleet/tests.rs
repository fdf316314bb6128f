//! The store's arithmetic, its script on a real server, and the processes that share a gate.

mod join;
pub(in crate::gate) mod joined;
mod processes;
mod properties;
mod quotas;
mod script;
mod twin;
mod world;

use super::twin::{SharedGate, step};
use super::{GateAnswer, GatePush, GateWords, NextWords};
use std::time::Duration;

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000_000;

/// A store with one gate, and its clock.
struct Store {
    gate: Option<SharedGate>,
    now: u64,
    pushes: Vec<GatePush>,
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

    /// Sends these words, of the last change.
    fn say(&mut self, words: GateWords) -> GateAnswer {
        let change = self.change;
        self.say_of(change, words)
    }

    fn say_of(&mut self, change: u64, words: GateWords) -> GateAnswer {
        let words = GateWords { change, ..words };
        let (answer, push) = step(&mut self.gate, &words, self.now);
        self.pushes.extend(push);
        self.change = answer.push.change;
        answer
    }

    fn refuse(&mut self, refusals: u64, asked: Option<u64>) -> GateAnswer {
        self.say(refused(refusals, asked))
    }

    /// As many refusals as close a new gate.
    fn vote(&mut self, asked: Option<u64>) -> GateAnswer {
        self.refuse(4, asked)
    }

    fn contradict(&mut self) -> GateAnswer {
        self.say(GateWords {
            later: 100,
            ..GateWords::default()
        })
    }

    fn succeed(&mut self, successes: u64) -> GateAnswer {
        self.say(GateWords {
            successes,
            ..GateWords::default()
        })
    }

    /// How long the gate stays closed.
    fn closed(&mut self) -> u64 {
        closed(&self.say(GateWords::default()))
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

fn closed(answer: &GateAnswer) -> u64 {
    answer.push.closed.as_micros().try_into().unwrap()
}

fn refused(refusals: u64, asked: Option<u64>) -> GateWords {
    GateWords {
        refusals,
        asked,
        ..GateWords::default()
    }
}
