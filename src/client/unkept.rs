//! A request that cannot be sent again, and what is known of it when its first attempt has ended.

use super::HasHead;
use super::gate_key::key_at_the_gate;
use super::options::{RequestOptions, facts, has_own_key, line};
use crate::engine::Engine;
use crate::gate::GateKey;
use crate::policy::RequestLine;
use crate::route::{Budgets, Route};

/// What the loop must know of a request of which nothing is kept, besides its facts.
pub(super) struct Unkept {
    line: RequestLine,
    gate_key: Option<GateKey>,
}

impl RequestOptions {
    /// Keeps what is needed of a request that cannot be sent again: its facts, and where each service has a budget, by
    /// what that is found.
    pub(super) fn keep_facts(
        &mut self,
        (engine, route): (&Engine, &Route),
        request: &impl HasHead,
    ) {
        self.unkept = Some(facts(request));
        if !matches!(engine.budgets_of(route), Budgets::One(_)) {
            self.keep_line((engine, route), request);
        }
    }

    #[cold]
    fn keep_line(&mut self, (engine, route): (&Engine, &Route), request: &impl HasHead) {
        let keyed = has_own_key(&route.policy, request);
        self.unkept = self.unkept.map(|facts| facts.keyed(keyed));
        let line = line(request).keyed(keyed);
        let gate_key = key_at_the_gate((engine, route), line.authority(), request);
        let own = self.own.get_or_insert_default();
        own.unkept = Some(Box::new(Unkept { line, gate_key }));
    }

    /// The line of a request of which nothing else is kept, where that is.
    pub(super) fn line(&self) -> Option<&RequestLine> {
        self.kept().map(|unkept| &unkept.line)
    }

    /// Its gate.
    pub(super) fn gate_key(&self) -> Option<GateKey> {
        self.kept()?.gate_key
    }

    fn kept(&self) -> Option<&Unkept> {
        self.own.as_ref()?.unkept.as_deref()
    }
}
