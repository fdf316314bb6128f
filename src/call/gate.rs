//! The gates on a request's way: its service's, and those of limits that stop fewer calls than all.

use super::client::Client;
use super::driver::State;
use super::start::Permit;
use crate::engine::Engine;
use crate::gate::GatedCall;
use crate::policy::{Class, Moment, Outcome, RequestLine};
use http::{Extensions, HeaderMap};
use http_retry_core::adapter::{Ask, End, GateKey, Kind, RouteOf, public_authority};
use std::sync::Arc;
use std::time::Duration;

impl<C: Client> State<C> {
    /// Waits for the request's turn at its gates, but no longer than it may. Returns how long, or `None` if the deadline
    /// has passed meanwhile.
    pub(super) async fn pass_the_gates(
        &mut self,
        kind: Kind,
        on_wait: &mut impl FnMut(),
    ) -> Option<Duration> {
        self.narrower.clear();
        let mut waited = Duration::ZERO;
        let permit = self.pass(self.gate_key, kind, &mut waited, on_wait).await?;
        self.permit = Some(permit);
        let line = self.session.request();
        let now = self.engine.runtime.now();
        let narrower = line.map(|line| self.engine.gate.narrower(self.route_of(&line), now));
        for key in narrower.unwrap_or_default() {
            let permit = self.pass(key, kind, &mut waited, &mut || ()).await?;
            self.narrower.push((key, permit));
        }
        Some(waited)
    }

    /// Waits for the request's turn at one gate.
    async fn pass(
        &mut self,
        key: GateKey,
        kind: Kind,
        waited: &mut Duration,
        on_wait: &mut impl FnMut(),
    ) -> Option<Permit> {
        let left = self.session.gate_wait_left().unwrap_or_default();
        let passed = {
            let Engine { gate, runtime, .. } = &*self.engine;
            let ask = Ask {
                key,
                kind,
                began: self.session.started(),
                deadline: self.session.deadline(),
                at_gate: left.saturating_sub(*waited),
                quotas_at_once: self.route.policy().quotas_at_once(),
            };
            gate.pass(ask, &**runtime, on_wait)
        };
        let passed = passed.await;
        // A turn that came at once is no wait, whatever the clock says.
        if passed.waited >= Duration::from_millis(1) {
            *waited = waited.saturating_add(passed.waited);
            let now = self.engine.runtime.now();
            self.recorder.waited_at_the_gate(passed.waited, now);
        }
        let permit = || Permit::new(Arc::clone(&self.engine), passed.place);
        passed.in_time.then(permit)
    }

    fn route_of<'a>(&self, request: &'a RequestLine) -> RouteOf<'a> {
        RouteOf {
            key: self.gate_key,
            method: request.method(),
            path: request.path(),
        }
    }

    /// Tells the gates what came of the attempt that they let through: a refusal only the gate of the limit that was met.
    pub(super) fn leave_the_gates(&mut self, outcome: &Outcome<'_>, at: Moment) {
        let mut narrower = std::mem::take(&mut self.narrower);
        let Some(mut permit) = self.permit.take() else {
            return;
        };
        let quota = self.route.quota(outcome, at);
        let Some(refusal) = self.session.refusal(outcome, at) else {
            let end = match outcome.class() {
                Class::Success => End::Succeeded,
                _ => End::Other,
            };
            permit.ends(end, quota);
            if end == End::Succeeded {
                for (_, own) in &mut narrower {
                    own.ends(End::Succeeded, None);
                }
            }
            return;
        };
        let Some(key) = self.narrow_gate(outcome, at) else {
            return permit.ends(End::Refused(refusal.asked), quota);
        };
        permit.ends(End::Other, None);
        let own = narrower.iter().position(|(of, _)| *of == key);
        let own = own.map(|own| narrower.swap_remove(own).1);
        // A call that went before the gate was made still has its place there.
        let enter = || {
            let place = self.engine.gate.enter(key, at.now, false).ok()??;
            Some(Permit::new(Arc::clone(&self.engine), Some(place)))
        };
        if let Some(mut own) = own.or_else(enter) {
            own.ends(End::Refused(refusal.asked), None);
        }
    }

    /// Returns the gate of a limit that stops fewer calls than all of the service's, if the response says that it is one.
    fn narrow_gate(&self, outcome: &Outcome<'_>, at: Moment) -> Option<GateKey> {
        let (scope, request) = (outcome.scope()?, self.session.request()?);
        let call = self.route_of(&request);
        self.engine.gate.narrowed(call, scope, at.now)
    }

    /// Finds the gate of the place where the request goes now.
    pub(super) fn find_gate(
        &self,
        headers: &HeaderMap,
        extensions: Option<&Extensions>,
    ) -> Option<GateKey> {
        self.route.policy().max_gate_wait()?;
        let head = self.head.as_ref()?;
        let at = head.at.as_ref()?;
        let authority = public_authority(at, || None)?;
        let mut call = GatedCall::new(&authority, &head.method, at.path(), headers);
        call.extensions = extensions;
        let gate = &self.engine.gate;
        let key = (gate.key(&call), &*authority);
        let apart = || gate.apart(&call);
        Some(self.engine.comes_to_the_gate(&self.route, key, apart))
    }
}
