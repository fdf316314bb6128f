//! One process's half of one shared gate, as the fleet's driver sees it.

use super::{GateAnswer, GatePush, NextWords};
use crate::gate::counters::Counters;
use crate::gate::state::KeyState;
use crate::gate::{GateKey, Shared, micros};
use crate::policy::Moment;
use std::sync::Weak;
use std::task::Waker;
use std::time::Duration;

/// Where the halves of a gate's keys are driven.
pub(crate) trait GateFleet: Send + Sync {
    /// The longest time that an answer may take.
    fn wait(&self) -> Duration;

    /// How often successes are reported by themselves.
    fn flush(&self) -> Duration;

    /// How many processes share a service.
    fn processes(&self) -> u64;

    /// A key is used for the first time: the gate of `name`, a host and port, of which `apart` tells it from the others.
    fn joins(&self, name: &str, apart: Option<&str>, link: GateLink);
}

/// One process's half of a shared gate. It does not keep the gate alive.
#[derive(Clone)]
pub(crate) struct GateLink {
    pub(super) gate: Weak<Shared>,
    /// The number of its slot.
    pub(super) at: u32,
    pub(super) key: GateKey,
    /// Gone with the key's place, which the same key may have again.
    pub(super) half: Weak<()>,
}

impl GateLink {
    /// What is to be said now. At most one command is in flight; `waker` is woken when there is something to say.
    pub(crate) fn next(&self, at: Moment, waker: &Waker) -> NextWords {
        let gate = self.gate.upgrade();
        let fleet = gate.as_ref().and_then(|gate| gate.options.fleet.as_ref());
        let next = fleet.and_then(|fleet| {
            let terms = (micros(fleet.flush()), fleet.processes());
            self.act(at, |state, _| state.says_next(waker, terms, at.random))
        });
        next.flatten().unwrap_or(NextWords::Gone)
    }

    /// Wakes this one when there is something to say, and begins nothing. Where a task drove the gate until now, there is
    /// with the next call.
    pub(crate) fn watch(&self, waker: &Waker, has_run: bool) {
        let gate = self.gate.upgrade();
        let slot = gate.as_ref().and_then(|gate| gate.map.at(self.at));
        if let Some(slot) = slot {
            slot.touch(self.key, |state, counters| {
                if state.has(&self.half) {
                    state.parks(counters, waker, has_run);
                }
            });
        }
    }

    /// The store has answered the last words, maybe later than it should have; `None` if it failed. Returns `true` if this
    /// process is in the fleet.
    pub(crate) fn answered(&self, at: Moment, answer: Option<GateAnswer>) -> bool {
        let random = at.random;
        let is_in_fleet = self.act(at, |state, counters| {
            state.is_answered(counters, answer, random)
        });
        is_in_fleet.unwrap_or_default()
    }

    /// The store tells everybody that the gate is closed, or open.
    pub(crate) fn told(&self, at: Moment, push: GatePush) {
        let random = at.random;
        self.act(at, |state, counters| state.is_told(counters, push, random));
    }

    /// The store tells this process of closed gates, or no longer.
    pub(crate) fn subscribed(&self, at: Moment, subscribed: bool) {
        self.act(at, |state, _| state.is_subscribed(subscribed));
    }

    fn act<T>(&self, at: Moment, act: impl FnOnce(&mut KeyState, &Counters) -> T) -> Option<T> {
        let gate = self.gate.upgrade()?;
        let slot = gate.map.at(self.at)?;
        let half = &self.half;
        gate.map.decide(slot, self.key, at, |state, counters| {
            state.has(half).then(|| act(state, counters))
        })?
    }
}
