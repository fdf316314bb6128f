//! The gates that a request passes, and what they are told of its attempts.

use super::engine::Engine;
use super::head::Head;
use super::progress::Progress;
use super::retry::Awaited;
use super::todo::Todo;
use crate::gate::GateKey;
use crate::gate::ext::GateExt;
use crate::gate::map::Permit;
use crate::gate::state::{CallEnd, CallKind, GateRequest, Passed};
use crate::policy::ext::PolicyExt;
use crate::policy::{Class, Outcome, Quota, StopReason};
use crate::route::{RequestHead, Route};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The right to send one attempt, and the gate to return it to. Dropping it reports to the gate that the attempt is over.
pub(crate) struct PermitGuard {
    pub(super) engine: Arc<Engine>,
    /// `None` if no gate applies or the gate has no slot for its key, and after the end was reported.
    pub(super) inner: Option<Permit>,
}

impl PermitGuard {
    #[inline]
    pub(crate) fn new(engine: Arc<Engine>, inner: Option<Permit>) -> Self {
        Self { engine, inner }
    }

    /// Returns `true` if the gate uses the quota in the headers of a success.
    #[inline]
    pub(super) fn reads_quotas(&self) -> bool {
        self.inner
            .as_ref()
            .is_some_and(|permit| permit.reads_quota_headers)
    }

    /// Reports the success of the attempt, without a quota.
    #[inline(always)]
    pub(super) fn succeeds(&mut self) {
        if let Some(permit) = &self.inner {
            let Engine { gate, runtime, .. } = &*self.engine;
            gate.succeeds(permit, &**runtime);
            // So that `drop` does not report the attempt a second time.
            self.inner = None;
        }
    }

    /// Reports the end of the attempt.
    #[inline(never)]
    pub(crate) fn end(&mut self, end: CallEnd, quota: Option<Quota>) {
        if let Some(permit) = self.inner.take() {
            let Engine { gate, runtime, .. } = &*self.engine;
            gate.end(&permit, end, quota, &**runtime);
        }
    }

    /// Records a refusal that counts until its response is judged. If the call is dropped before that, it counts for
    /// good, as the head of the response said.
    fn hold(&mut self, asked: Option<Duration>, quota: Option<Quota>) {
        if let Some(permit) = self.inner.take_if(|permit| !permit.is_held) {
            let Engine { gate, runtime, .. } = &*self.engine;
            self.inner = gate.hold(permit, asked, quota, &**runtime);
        }
    }
}

impl Drop for PermitGuard {
    fn drop(&mut self) {
        let is_held = self.inner.is_some_and(|permit| permit.is_held);
        let end = if is_held {
            CallEnd::Refused(None)
        } else {
            CallEnd::Other
        };
        self.end(end, None);
    }
}

impl Progress {
    /// Takes the request's turn at its gates, one after another.
    pub(super) fn admit(&mut self, now: Duration) -> Todo {
        self.leave_gates();
        self.ahead = None;
        self.waited = Duration::ZERO;
        self.pass(self.gate_key, now)
    }

    /// Waits at the gates, and counts the wait in the session.
    pub(super) fn poll_gate(&mut self, cx: &mut Context<'_>, can_end: bool) -> Poll<Todo> {
        let Awaited::Gate(key, wait) = &mut self.waiting else {
            return Poll::Ready(Todo::Send);
        };
        // Without an outcome to return, the call is sent late.
        wait.request.ends_early = can_end;
        let (key, passed) = (*key, ready!(wait.poll(cx)));
        self.waiting = Awaited::Nothing;
        let Passed { waited, place } = passed;
        // The clock may advance even if the gate was idle, so less than a millisecond is not reported as a wait.
        if waited >= Duration::from_millis(1) {
            self.waited = self.waited.saturating_add(waited);
            let now = self.engine.runtime.now();
            self.recorder.waited_at_the_gate(waited, now);
        }
        Poll::Ready(match place {
            Ok(place) => self.passed(key, place),
            Err(shut_for) if can_end => {
                self.shut_for = shut_for;
                self.fail(StopReason::DeadlineExceeded)
            }
            // There is nothing to return, so the attempt is sent although the deadline has passed.
            Err(_) => self.admitted(Duration::ZERO),
        })
    }

    fn pass(&mut self, key: GateKey, now: Duration) -> Todo {
        let Engine { gate, runtime, .. } = &*self.engine;
        let quotas_at_once = self.route.policy().obeys_quotas_at_once();
        let is_first = self.is_first_attempt();
        if let Ok(permit) = gate.enter(key, now, quotas_at_once) {
            let place = permit.map(|permit| permit.for_first(is_first));
            return self.passed(key, place);
        }
        let left = self.session.gate_wait_left().unwrap_or_default();
        let request = GateRequest {
            key,
            kind: if is_first {
                CallKind::Newcomer
            } else {
                CallKind::Retry
            },
            began: self.session.started(),
            deadline: self.session.deadline(),
            ends_early: false,
            at_gate: left.saturating_sub(self.waited),
            quotas_at_once,
        };
        self.waiting = Awaited::Gate(key, Box::new(gate.wait(request, runtime)));
        Todo::Wait
    }

    /// Returns `true` if nothing was sent yet: every retry holds its payment until it is sent.
    fn is_first_attempt(&self) -> bool {
        self.paid.is_none()
    }

    fn passed(&mut self, key: GateKey, place: Option<Permit>) -> Todo {
        let permit = PermitGuard::new(Arc::clone(&self.engine), place);
        let mut ahead = match self.ahead.take() {
            Some(ahead) => {
                self.narrower.push((key, permit));
                ahead
            }
            None => {
                self.permit = Some(permit);
                // Looked up after the wait at the service's gate: another call may have met a narrower limit meanwhile.
                let narrower = self.session.request().map(|request| {
                    let now = self.engine.runtime.now();
                    self.engine.gate.narrower(self.gate_key, &request, now)
                });
                narrower.unwrap_or_default().into_iter().rev().collect()
            }
        };
        let next = ahead.pop();
        self.ahead = Some(ahead);
        match next {
            Some(key) => self.pass(key, self.engine.runtime.now()),
            None => self.admitted(self.waited),
        }
    }

    fn admitted(&mut self, waited: Duration) -> Todo {
        self.session.has_waited_at_the_gate(waited);
        Todo::Send
    }

    /// Reports a refusal that the head of a response shows to the service's gate, which need not wait for the body.
    pub(super) fn hold_at_the_gate(&mut self, outcome: &Outcome<'_>) {
        let refusal = self.session.provisional_refusal();
        if let (Some(refusal), Some(permit)) = (refusal, &mut self.permit) {
            permit.hold(refusal.asked, self.route.quota(outcome, self.at));
            self.permit.take_if(|permit| permit.inner.is_none());
        }
    }

    /// Reports the end of an attempt to its gates. A refusal is reported only to the gate of the limit that was met.
    pub(super) fn end_permits(&mut self, outcome: &Outcome<'_>) {
        let mut narrower = std::mem::take(&mut self.narrower);
        let Some(mut permit) = self.permit.take() else {
            return;
        };
        let at = self.at;
        let refusal = self.session.refusal(outcome, at);
        let narrow = refusal.and_then(|_| self.narrow_gate(outcome));
        let end = match (refusal, narrow) {
            (Some(refusal), None) => CallEnd::Refused(refusal.asked),
            (None, _) if outcome.class() == Class::Success => CallEnd::Succeeded,
            _ => CallEnd::Other,
        };
        // That of a narrower limit says nothing about the service.
        let quota = self.route.quota(outcome, at);
        let quota = quota.filter(|_| narrow.is_none());
        permit.end(end, quota);
        if end == CallEnd::Succeeded {
            for (_, own) in &mut narrower {
                own.end(CallEnd::Succeeded, None);
            }
        }
        let (Some(refusal), Some(key)) = (refusal, narrow) else {
            return;
        };
        let own = narrower.iter().position(|(gate, _)| *gate == key);
        let own = own.map(|own| narrower.swap_remove(own).1);
        // This refusal may be the first to show the narrower limit. Then the call holds no permit of that gate yet.
        let enter = || {
            let permit = self.engine.gate.enter(key, at.now, false).ok()??;
            Some(PermitGuard::new(Arc::clone(&self.engine), Some(permit)))
        };
        if let Some(mut own) = own.or_else(enter) {
            own.end(CallEnd::Refused(refusal.asked), None);
        }
    }

    /// Frees the places of an attempt that is over.
    pub(super) fn leave_gates(&mut self) {
        self.permit = None;
        self.narrower.clear();
    }

    /// Returns the gate of the URI that the request is sent to now.
    pub(super) fn find_gate(&self, sent: &impl Head) -> Option<GateKey> {
        self.route.policy().gate_wait_limit()?;
        let head = self.head.as_ref()?;
        let request = RequestHead::new(&head.method, head.at.as_ref()?);
        let authority = request.authority()?;
        let (headers, extensions) = (sent.header_map(), sent.extensions());
        let gate = &self.engine.gate;
        let text = gate.key_text(&request, &headers, extensions);
        let key = (gate.key(authority, text.as_deref()), authority);
        Some(self.engine.gate_key_of(&self.route, key, || text))
    }

    /// Returns the gate of a limit on some of the service's calls, if the response names the scope of its limit.
    fn narrow_gate(&self, outcome: &Outcome<'_>) -> Option<GateKey> {
        let (scope, request) = (outcome.verdict().scope?, self.session.request()?);
        let gate = &self.engine.gate;
        gate.narrowed(self.gate_key, &request, scope, self.at.now)
    }
}

impl Engine {
    /// Returns the gate of an operation's service. A shared gate joins its fleet.
    pub(super) fn gate_key_of_operation(&self, route: &Route, service: &str) -> GateKey {
        let key = self.gate.key(service, None);
        // Operations without a service name have nothing in common with those of another process.
        if service.is_empty() || route.policy().gate_wait_limit().is_none() {
            return key;
        }
        self.gate_key_of(route, (key, service), || None)
    }

    /// Takes a place at a gate, if there is one, and at those of narrower limits of the request, if all of them admit a
    /// call at once, which is while nothing is refused. Returns `None` otherwise.
    pub(crate) fn enter_gates(
        self: &Arc<Self>,
        key: Option<GateKey>,
        request: &RequestHead<'_>,
        quotas_at_once: bool,
    ) -> Option<Vec<PermitGuard>> {
        let Some(key) = key else {
            return Some(Vec::new());
        };
        let (gate, now) = (&self.gate, self.runtime.now());
        let keys = std::iter::once(key).chain(gate.narrower(key, request, now));
        let permits = keys.map(|key| {
            let permit = gate.enter(key, now, quotas_at_once).ok()?;
            Some(PermitGuard::new(Arc::clone(self), permit))
        });
        permits.collect()
    }
}

/// Returns the gate of a call, if its policy has one. A shared gate joins its fleet.
#[cold]
pub(crate) fn joined_gate_key(
    engine: &Engine,
    route: &Route,
    authority: &str,
    head: &impl Head,
) -> Option<GateKey> {
    route.policy().gate_wait_limit()?;
    let key = gate_key(engine, authority, head);
    let text = || key_text(engine, head);
    Some(engine.gate_key_of(route, (key, authority), text))
}

#[inline(always)]
pub(super) fn gate_key(engine: &Engine, authority: &str, head: &impl Head) -> GateKey {
    // The default gate needs no header map, which a saved request would have to unpack.
    if engine.gate.is_per_host() {
        return engine.gate.key(authority, None);
    }
    let text = key_text(engine, head);
    engine.gate.key(authority, text.as_deref())
}

/// Returns the text that separates the gate of a call from others at its host, if there is any.
#[cold]
fn key_text(engine: &Engine, head: &impl Head) -> Option<String> {
    let (request, headers) = (head.request(), head.header_map());
    engine.gate.key_text(&request, &headers, head.extensions())
}
