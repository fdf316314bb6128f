//! The wait for a request's turn, and what the gates are told of an attempt.

use super::Call;
use crate::engine::Engine;
use crate::runtime::block_on;
use http_retry_core::adapter::{
    CallEnd, CallKind, Command, Event, GateKey, GateQuota, GateRequest, Hold, Permit, RouteOf,
};
use http_retry_core::gate::GatedCall;
use http_retry_core::policy::{Moment, RequestLine};
use http_retry_core::{Class, Outcome, RateLimited, StopReason};
use std::time::Duration;
use ureq::{Error, Timeout};

/// The rights to send the attempt under way: that of the service's gate, and those of narrower ones.
#[derive(Default)]
pub(super) struct HeldPermits<'e> {
    main: Option<HeldPermit<'e>>,
    /// In place of `main` while the response of a refused attempt is read.
    held: Option<HeldRefusal<'e>>,
    narrower: Vec<(GateKey, HeldPermit<'e>)>,
}

/// The right to send an attempt; dropped, it tells the gate that the attempt is over.
struct HeldPermit<'e> {
    engine: &'e Engine,
    permit: Option<Permit>,
}

impl HeldPermit<'_> {
    fn ends(&mut self, end: CallEnd, quota: Option<GateQuota>) {
        if let Some(permit) = self.permit.take() {
            let Engine { gate, clock, .. } = self.engine;
            gate.end(&permit, end, quota, &**clock);
        }
    }
}

impl Drop for HeldPermit<'_> {
    fn drop(&mut self) {
        self.ends(CallEnd::Other, None);
    }
}

/// A refusal that counts at the gate until its response is judged; dropped, it counts for good, as its head said.
struct HeldRefusal<'e> {
    engine: &'e Engine,
    hold: Option<Hold>,
}

impl HeldRefusal<'_> {
    fn ends(&mut self, end: CallEnd, quota: Option<GateQuota>) {
        if let Some(hold) = self.hold.take() {
            let Engine { gate, clock, .. } = self.engine;
            gate.settle(&hold, end, quota, &**clock);
        }
    }
}

impl Drop for HeldRefusal<'_> {
    fn drop(&mut self) {
        self.ends(CallEnd::Refused(None), None);
    }
}

impl<'e> Call<'e, '_> {
    /// Waits at the gates, but no longer than the request may.
    pub(super) fn admit(&mut self) -> Command {
        let mut waited = Duration::ZERO;
        let Err(shut_for) = self.pass_all(&mut waited) else {
            let now = self.now();
            return self.session.step(Event::Admitted(waited), now);
        };
        let service = self.recorder.service();
        let error = || match shut_for {
            Some(time) => Error::Other(Box::new(RateLimited::new(service, time))),
            None => Error::Timeout(Timeout::Global),
        };
        self.last.result.get_or_insert_with(|| Err(error()));
        self.fails(StopReason::DeadlineExceeded)
    }

    /// # Errors
    ///
    /// The deadline comes first. The error holds the time for which a gate stays shut, if the wait ends early for it.
    fn pass_all(&mut self, waited: &mut Duration) -> Result<(), Option<Duration>> {
        let key = match self.gate_key {
            Some(key) => key,
            None => self.find_gate(),
        };
        self.gate_key = Some(key);
        self.permits = HeldPermits::default();
        self.permits.main = Some(self.pass(key, waited)?);
        let line = self.session.request();
        let now = self.engine.clock.now();
        let narrower = line.map(|line| self.engine.gate.narrower(route_of(key, &line), now));
        for key in narrower.unwrap_or_default() {
            let permit = self.pass(key, waited)?;
            self.permits.narrower.push((key, permit));
        }
        Ok(())
    }

    /// Waits for the request's turn at one gate.
    fn pass(
        &mut self,
        key: GateKey,
        waited: &mut Duration,
    ) -> Result<HeldPermit<'e>, Option<Duration>> {
        let Engine { gate, clock, .. } = self.engine;
        let kind = match self.paid {
            Some(_) => CallKind::Retry,
            None => CallKind::Newcomer,
        };
        let left = self.session.gate_wait_left().unwrap_or_default();
        let ask = GateRequest {
            key,
            kind,
            began: self.session.started(),
            deadline: self.session.deadline(),
            ends_early: true,
            at_gate: left.saturating_sub(*waited),
            quotas_at_once: self.route.policy().obeys_quotas_at_once(),
        };
        let passed = block_on(gate.pass(ask, &**clock, || ()));
        // A turn that came at once is no wait, whatever the clock says.
        if passed.waited >= Duration::from_millis(1) {
            *waited = waited.saturating_add(passed.waited);
            self.recorder.waited_at_the_gate(passed.waited, clock.now());
        }
        passed.place.map(|permit| HeldPermit {
            engine: self.engine,
            permit,
        })
    }

    fn find_gate(&self) -> GateKey {
        let parts = &self.request.parts;
        let mut call = GatedCall::new(
            &self.authority,
            &parts.method,
            parts.uri.path(),
            &parts.headers,
        );
        call.extensions = Some(&parts.extensions);
        let gate = &self.engine.gate;
        let key = (gate.key(&call), &*self.authority);
        self.engine
            .gate_key(&self.route, key, || gate.key_text(&call))
    }

    /// Tells the service's gate of a refusal that the head of a response shows, before its body is read.
    pub(super) fn hold(&mut self, outcome: &Outcome<'_>, at: Moment) {
        let (Some(refusal), Some(mut main)) =
            (self.session.provisional_refusal(), self.permits.main.take())
        else {
            return;
        };
        let quota = self.route.quota(outcome, at);
        let Engine { gate, clock, .. } = self.engine;
        let permit = main.permit.take();
        let hold = permit.and_then(|permit| gate.hold(permit, refusal.asked, quota, &**clock));
        self.permits.held = Some(HeldRefusal {
            engine: self.engine,
            hold,
        });
    }

    /// Tells the gates what came of the attempt that they let through: a refusal only the gate of the limit that was
    /// met.
    pub(super) fn end_permits(&mut self, outcome: &Outcome<'_>, at: Moment) {
        let HeldPermits {
            main,
            held,
            mut narrower,
        } = std::mem::take(&mut self.permits);
        if main.is_none() && held.is_none() {
            return;
        }
        let refusal = self.session.refusal(outcome, at);
        let narrow = refusal.and_then(|_| self.narrowed(outcome, at));
        let end = match (refusal, narrow) {
            (Some(refusal), None) => CallEnd::Refused(refusal.asked),
            (None, _) if outcome.class() == Class::Success => CallEnd::Succeeded,
            _ => CallEnd::Other,
        };
        // That of a narrower limit says nothing about the service.
        let quota = self.route.quota(outcome, at);
        let quota = quota.filter(|_| narrow.is_none());
        if let Some(mut held) = held {
            held.ends(end, quota);
        }
        if let Some(mut main) = main {
            main.ends(end, quota);
        }
        if end == CallEnd::Succeeded {
            for (_, own) in &mut narrower {
                own.ends(CallEnd::Succeeded, None);
            }
        }
        let (Some(refusal), Some(key)) = (refusal, narrow) else {
            return;
        };
        let refused = CallEnd::Refused(refusal.asked);
        let own = narrower.iter_mut().find(|(of, _)| *of == key);
        if let Some((_, own)) = own {
            return own.ends(refused, None);
        }
        // A call that went before the gate was made takes its place there now.
        let entered = self.engine.gate.enter(key, at.now, false);
        let mut own = HeldPermit {
            engine: self.engine,
            permit: entered.ok().flatten(),
        };
        own.ends(refused, None);
    }

    /// Returns the gate of a limit that stops only some of the service's calls, if the response says that it is one.
    fn narrowed(&self, outcome: &Outcome<'_>, at: Moment) -> Option<GateKey> {
        let (scope, request) = (outcome.scope()?, self.session.request()?);
        let call = route_of(self.gate_key?, &request);
        self.engine.gate.narrowed(call, scope, at.now)
    }

    /// Frees the place of an attempt that was cut.
    pub(super) fn leave_gates(&mut self) {
        self.permits = HeldPermits::default();
    }
}

fn route_of(key: GateKey, request: &RequestLine) -> RouteOf<'_> {
    RouteOf {
        key,
        method: request.method(),
        path: request.path(),
    }
}
