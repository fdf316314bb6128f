//! Where the calls of a route wait.

use super::Engine;
use crate::route::Route;
use http_retry_core::adapter::GateKey;
use std::time::Duration;

impl Engine {
    /// The key under which calls on this route wait. With its first call it joins the gate's fleet, if there is one, by
    /// its name and by what tells it from others of that name; that of a route that shares nothing stays in this process.
    pub(crate) fn comes_to_the_gate(
        &self,
        route: &Route,
        (key, name): (GateKey, &str),
        apart: impl FnOnce() -> Option<String>,
    ) -> GateKey {
        if self.waits_alone(route) {
            return self.gate.unshared_key(key, self.runtime.now());
        }
        let longest = route.policy().longest_pause().unwrap_or(Duration::MAX);
        self.gate
            .share_key(key, name, &*self.runtime, longest, apart);
        key
    }

    /// Whether no other process is told of the pauses on this route, whatever fleet the gate is in. A gate that was given
    /// by hand is shared as its giver says.
    pub(super) fn waits_alone(&self, route: &Route) -> bool {
        route.is_alone() && !self.has_gate
    }
}
