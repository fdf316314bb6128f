//! The fleets that a layer is in: one of its own, and its document's.

use super::{Engine, Routes};
use crate::fleet::Fleet;

impl Engine {
    /// That of a document.
    pub(crate) fn fleet_of_routes(&self) -> Option<Fleet> {
        match &self.routes {
            Routes::One(_) => None,
            Routes::PerRequest(router) => router.fleet(),
        }
    }

    /// Waits at the gate of the document's fleet, where neither a gate nor another fleet was given by hand.
    pub(super) fn wait_together(&mut self) {
        let by_hand = self.has_gate || self.fleet.is_some();
        if let Some(fleet) = self.fleet_of_routes().filter(|_| !by_hand) {
            self.gate = fleet.gate();
        }
    }

    /// Gives them the layer's clock, and those who watch it.
    pub(super) fn tell_fleets(&self) {
        for fleet in self.fleet.iter().chain(&self.fleet_of_routes()) {
            fleet.has(&self.runtime, &self.observers);
        }
    }
}
