//! The gates on a request's way: its service's, and those of limits that stop fewer calls than all.

use super::{Admission, Progress};
use crate::engine::Engine;
use crate::gate::{Ask, End, GateKey, GatedCall, Kind, Passed, RouteOf};
use crate::policy::{By, Class, Moment, Outcome, RequestLine};
use crate::route::public_authority;
use http::{Extensions, HeaderMap};
use std::sync::Arc;
use std::time::Duration;

impl Progress {
    /// Waits for its turn at the gate, if there is one, but no longer than it may; tells whether the deadline has passed
    /// meanwhile.
    pub(super) async fn pass_the_gate(&mut self, kind: Kind, on_wait: impl FnOnce()) -> bool {
        self.narrower.clear();
        if self.session.gate_wait_left().is_none() {
            self.admission = None;
            return true;
        }
        let (in_time, admission) = self.pass(self.gate_key, kind, on_wait).await;
        self.admission = admission;
        if !in_time {
            return false;
        }
        for key in self.narrower_gates() {
            let (in_time, admission) = self.pass(key, kind, || ()).await;
            let admission = admission.map(|admission| (key, admission));
            self.narrower.extend(admission);
            if !in_time {
                return false;
            }
        }
        true
    }

    /// Waits for its turn at one gate; tells whether it came in time.
    async fn pass(
        &mut self,
        key: GateKey,
        kind: Kind,
        on_wait: impl FnOnce(),
    ) -> (bool, Option<Admission>) {
        let at_gate = self.session.gate_wait_left().unwrap_or_default();
        let ask = Ask {
            key,
            kind,
            began: self.session.started(),
            deadline: self.session.deadline(),
            at_gate,
            quotas_at_once: self.route.policy.quotas_at_once(),
        };
        let Engine { gate, runtime, .. } = &*self.engine;
        let passed = gate.pass(ask, &**runtime, on_wait).await;
        let Passed { waited, .. } = passed;
        // A turn that came at once is no wait, whatever the clock says.
        if waited >= Duration::from_millis(1) {
            self.session.has_waited_at_the_gate(waited);
            let now = self.engine.runtime.now();
            self.recorder.waited_at_the_gate(waited, now);
        }
        let admission = || Admission::new(Arc::clone(&self.engine), passed.place);
        (passed.in_time, passed.in_time.then(admission))
    }

    /// The gates of limits that stop fewer calls than all of the service's, as far as such a limit was met.
    fn narrower_gates(&self) -> Vec<GateKey> {
        let request = self.session.request();
        let gates = request.map(|request| {
            let now = self.engine.runtime.now();
            self.engine.gate.narrower(self.route_of(&request), now)
        });
        gates.unwrap_or_default()
    }

    fn route_of<'a>(&self, request: &'a RequestLine) -> RouteOf<'a> {
        RouteOf {
            key: self.gate_key,
            method: request.method(),
            path: request.path(),
        }
    }

    /// Tells the gates what came of the attempt that they let through: a refusal only the gate of the limit that was met.
    pub(super) fn leave_the_gate(&mut self, outcome: &Outcome<'_>, at: Moment, by: By) {
        let mut narrower = std::mem::take(&mut self.narrower);
        let Some(mut admission) = self.admission.take() else {
            return;
        };
        let quota = self.route.quota(outcome, at);
        let refusal = self.session.refusal(by, outcome, at);
        let met = refusal.and_then(|_| self.narrow_gate(outcome, at));
        match (refusal, met) {
            (Some(refusal), None) => admission.ends(End::Refused(refusal.asked), quota),
            (Some(refusal), Some(key)) => {
                admission.ends(End::Other, None);
                let own = narrower.iter().position(|(of, _)| *of == key);
                let own = own.map(|own| narrower.swap_remove(own).1);
                if let Some(mut own) = own.or_else(|| self.enter(key, at)) {
                    own.ends(End::Refused(refusal.asked), None);
                }
            }
            (None, _) if outcome.class() == Class::Success => {
                admission.ends(End::Succeeded, quota);
                for (_, own) in &mut narrower {
                    own.ends(End::Succeeded, None);
                }
            }
            (None, _) => admission.ends(End::Other, quota),
        }
    }

    /// The gate of a limit that stops fewer calls than all of the service's, if the answer says that it is one.
    fn narrow_gate(&self, outcome: &Outcome<'_>, at: Moment) -> Option<GateKey> {
        let (scope, request) = (outcome.scope()?, self.session.request()?);
        let call = self.route_of(&request);
        self.engine.gate.narrowed(call, scope, at.now)
    }

    /// The right of a call that has gone, at a gate that is made by its refusal.
    fn enter(&self, key: GateKey, at: Moment) -> Option<Admission> {
        let place = self.engine.gate.enter(key, at.now, false).ok()??;
        Some(Admission::new(Arc::clone(&self.engine), Some(place)))
    }

    /// Finds out who shares a rate limit with the request where it goes now.
    pub(super) fn comes_to_the_gate(
        &mut self,
        headers: &HeaderMap,
        extensions: Option<&Extensions>,
    ) {
        let key = self.gate_key_of(headers, extensions);
        self.gate_key = key.unwrap_or_default();
    }

    fn gate_key_of(&self, headers: &HeaderMap, extensions: Option<&Extensions>) -> Option<GateKey> {
        self.route.policy.max_gate_wait()?;
        let head = self.head.as_ref()?;
        let at = head.at.as_ref()?;
        let authority = public_authority(at, || None)?;
        let call = GatedCall {
            authority: &authority,
            method: &head.method,
            path: at.path(),
            headers,
            extensions,
        };
        let gate = &self.engine.gate;
        let key = (gate.key(&call), &*authority);
        let apart = || gate.apart(&call);
        Some(self.engine.comes_to_the_gate(&self.route, key, apart))
    }
}
