//! The fleets that a layer is in: one of its own, and its document's.

use super::{Engine, Routes};
use crate::fleet::Fleet;

impl Engine {
    /// That of a document.
    pub(crate) fn fleet_of_routes(&self) -> Option<Fleet> {
        match &self.routes {
            Routes::One(_) => None,
            Routes::PerRequest(choose) => choose.fleet(),
        }
    }

    /// Gives them the layer's clock, and those who watch it.
    pub(super) fn tell_fleets(&self) {
        for fleet in self.fleet.iter().chain(&self.fleet_of_routes()) {
            fleet.has(&self.runtime, &self.observers);
        }
    }
}
