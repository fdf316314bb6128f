//! What is known of a request that cannot be sent again, when its first attempt has ended.

use super::HasHead;
use super::facts::{has_own_key, line};
use super::gate_key::key_at_the_gate;
use crate::engine::Engine;
use crate::gate::GateKey;
use crate::policy::RequestLine;
use crate::route::Route;

/// What the loop must know of a request of which nothing is kept, besides its facts.
pub(super) struct Unkept {
    pub(super) line: RequestLine,
    pub(super) gate_key: Option<GateKey>,
}

impl Unkept {
    pub(super) fn of((engine, route): (&Engine, &Route), request: &impl HasHead) -> Self {
        let keyed = has_own_key(&route.policy, request);
        let line = line(request).keyed(keyed);
        let gate_key = key_at_the_gate((engine, route), line.authority(), request);
        Self { line, gate_key }
    }
}
