//! The store's half: the arithmetic of its script, in the same integers.
//!
//! The vote and the cooldown are those of one process's controller, with the outcomes of all.

use super::words::LONGEST_COOLDOWN;
use super::{GateAnswer, GatePush, GateWords};
use crate::gate::controller::numbers::{product, quotient, sum};
use crate::gate::controller::{FIRST_PATIENCE, MAX_PATIENCE, MIN_PATIENCE, NO_WISH, SECOND};
use crate::gate::controller::{Run, next_cooldown};
use std::time::Duration;

/// A clock that goes back by more than this was set back.
const TREMBLES: u64 = SECOND;

/// One gate in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedGate {
    /// How often the gate was closed, or opened by a contradiction.
    change: u64,
    /// The end of the last cooldown, and whether no step has come after it.
    until: u64,
    standing: bool,
    /// The refusals in a row of all processes, and how many close the gate.
    run: Run,
    patience: u64,
    doublings: u32,
    /// Whether a call succeeded since the gate closed last.
    ok_since_closed: bool,
    /// How many more processes may send a probe.
    probes: u64,
}

/// One step of a gate, or of one that the store knows nothing of; with the message to all processes, if there is one.
pub(crate) fn step(
    gate: &mut Option<SharedGate>,
    words: &GateWords,
    now: u64,
) -> (GateAnswer, Option<GatePush>) {
    gate.take_if(|gate| gate.until > sum(now, sum(LONGEST_COOLDOWN, TREMBLES)));
    gate.take_if(|gate| gate.change < words.change);
    let gate = gate.get_or_insert_with(|| SharedGate::new(words.change));
    let changed = gate.hear(words, now);
    let probes = gate.standing && gate.probes > 0;
    gate.probes = gate.probes.saturating_sub(u64::from(probes));
    let push = gate.push(now);
    let answer = GateAnswer { push, probes };
    (answer, changed.then_some(push))
}

impl SharedGate {
    fn new(change: u64) -> Self {
        Self {
            change,
            until: 0,
            standing: false,
            run: Run::default(),
            patience: FIRST_PATIENCE,
            doublings: 0,
            ok_since_closed: true,
            probes: 0,
        }
    }

    /// Takes a report; gives whether all processes are told.
    fn hear(&mut self, words: &GateWords, now: u64) -> bool {
        if self.standing && now >= self.until {
            self.standing = false;
            self.patience = quotient(self.patience, 2).max(MIN_PATIENCE);
            self.run = Run::default();
        }
        self.ok_since_closed |= words.successes > 0 || words.later > 0;
        if !self.standing {
            self.run.succeeded(words.successes);
        }
        if words.change < self.change {
            return false;
        }
        self.run.refused(words.refusals);
        let ends = words.later > 0 && self.run.succeeded(words.later);
        if self.standing && ends {
            self.standing = false;
            self.patience = product(self.patience, 2).min(MAX_PATIENCE);
            self.change = sum(self.change, 1);
            return true;
        }
        words.refusals > 0 && self.refused(words, now)
    }

    fn refused(&mut self, words: &GateWords, now: u64) -> bool {
        let asked = words.asked.map(|asked| asked.min(LONGEST_COOLDOWN));
        if self.standing {
            let until = self.until.max(sum(now, asked.unwrap_or(NO_WISH)));
            return std::mem::replace(&mut self.until, until) != until;
        }
        if !self.run.reaches(self.patience) {
            return false;
        }
        let again = !std::mem::take(&mut self.ok_since_closed);
        self.until = sum(now, next_cooldown(asked, again, &mut self.doublings));
        self.standing = true;
        // One at the least, unlike in one process: a vote of some processes may be none of the others'.
        self.probes = quotient(self.patience, 2);
        self.change = sum(self.change, 1);
        true
    }

    fn push(&self, now: u64) -> GatePush {
        let left = if self.standing {
            self.until.saturating_sub(now)
        } else {
            0
        };
        GatePush {
            change: self.change,
            closed: Duration::from_micros(left),
        }
    }
}
