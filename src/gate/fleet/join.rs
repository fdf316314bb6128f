//! How the keys of a gate come into a fleet, each with its first call.

use super::{GateFleet, GateLink};
use crate::gate::counters::Counters;
use crate::gate::state::KeyState;
use crate::gate::{Gate, GateKey, micros};
use crate::policy::{Moment, splitmix64};
use crate::runtime::Runtime;
use std::sync::Arc;
use std::time::Duration;

pub(in crate::gate) type JoinedFleet = Arc<dyn GateFleet>;

impl Gate {
    /// The same gate, of which each key is one with those of the same name in all processes of a fleet.
    pub(crate) fn in_fleet(self, fleet: Arc<dyn GateFleet>) -> Self {
        self.but(|options| options.fleet = Some(fleet))
    }

    /// A call comes to the gate that does not go at once: the first of a key always is one. If the gate is shared, its key
    /// joins the fleet by its name, a host and port, and by the text that tells it from others of that name. `longest` is
    /// the longest pause that the call would wait for.
    pub(crate) fn joins_fleet(
        &self,
        key: GateKey,
        name: &str,
        runtime: &dyn Runtime,
        longest: Duration,
        apart: impl FnOnce() -> Option<String>,
    ) {
        let Some(fleet) = &self.0.options.fleet else {
            return;
        };
        let Some(slot) = self.0.map.find(key).filter(|slot| !slot.counters.is_idle()) else {
            return;
        };
        let wait = micros(fleet.wait());
        let joins = |state: &mut KeyState, _: &Counters| state.joins_fleet(wait, micros(longest));
        let half = self.0.map.decide(slot, key, runtime.moment(), joins);
        if let Some(half) = half.flatten() {
            let link = GateLink {
                gate: Arc::downgrade(&self.0),
                at: slot.at,
                key,
                half,
            };
            fleet.joins(name, apart().as_deref(), link);
        }
    }

    /// The key of the same calls that are told to no other process.
    pub(crate) fn alone(&self, key: GateKey, now: Duration) -> GateKey {
        if self.0.options.fleet.is_none() {
            return key;
        }
        let key = GateKey(splitmix64(key.0).max(1));
        self.makes_place(key, now);
        key
    }

    /// Makes the place of a key that is not shared, so that its first call goes at once.
    pub(in crate::gate) fn makes_place(&self, key: GateKey, now: Duration) {
        if self.0.options.fleet.is_none() {
            return;
        }
        let moment = Moment::new(now).with_random(key.0);
        if let Some(slot) = self.0.map.find(key).filter(|slot| !slot.counters.is_idle()) {
            self.0.map.decide(slot, key, moment, |_, _| ());
        }
    }
}
