//! The gate as its callers see it.

mod clock;
mod held;
#[cfg(not(http_retry_loom))]
pub(super) mod locks;
#[cfg(http_retry_loom)]
mod loom_model;
mod narrower;
mod parked;
mod peers;
mod shell;
mod tokio_clock;

use super::Gate;
use super::map::Permit;
use super::state::{CallEnd, CallKind, GateRequest, Passed};
use crate::gate::ext::GateExt;
use crate::policy::Quota;
use crate::runtime::Runtime;
use clock::Clock;
use futures_util::FutureExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);

/// A gate on a clock that only the test moves.
struct Scene {
    gate: Gate,
    clock: Clock,
    runtime: Arc<dyn Runtime>,
}

/// The state of a quota of ten in a response.
fn quota(remaining: u64, reset: Duration) -> Option<Quota> {
    Some(Quota {
        limit: Some(10),
        remaining,
        reset,
        window: None,
    })
}

/// The right to send one call, as a caller holds it.
struct Admission {
    gate: Gate,
    runtime: Arc<dyn Runtime>,
    place: Option<Permit>,
}

impl Admission {
    /// A success without a quota is recorded the short way, as an exchange does.
    fn succeeded(mut self, quota: Option<Quota>) {
        if quota.is_some() {
            return self.ends(CallEnd::Succeeded, quota);
        }
        if let Some(place) = self.place.take() {
            self.gate.succeeds(&place, &*self.runtime);
        }
    }

    fn refused(mut self, asked: Option<Duration>, quota: Option<Quota>) {
        self.ends(CallEnd::Refused(asked), quota);
    }

    fn answered(mut self, quota: Option<Quota>) {
        self.ends(CallEnd::Other, quota);
    }

    /// Refuses the call until it is judged.
    fn held(mut self, asked: Option<Duration>) -> Permit {
        let place = self.place.take().unwrap();
        let hold = self.gate.hold(place, asked, None, &*self.runtime);
        hold.expect("its slot is its own")
    }

    fn ends(&mut self, end: CallEnd, quota: Option<Quota>) {
        if let Some(place) = self.place.take() {
            self.gate.end(&place, end, quota, &*self.runtime);
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.ends(CallEnd::Other, None);
    }
}

/// The result of a wait.
struct Waited {
    waited: Duration,
    shut_for: Option<Duration>,
    /// `None` if the deadline came first.
    admission: Option<Admission>,
}

type Wait<'a> = Pin<Box<dyn Future<Output = Waited> + Send + 'a>>;

fn wait<'a>(gate: &'a Gate, request: GateRequest, runtime: &'a Arc<dyn Runtime>) -> Wait<'a> {
    Box::pin(async move {
        let Passed { waited, place } = gate.pass(request, runtime, || ()).await;
        let admission = |place| Admission {
            gate: gate.clone(),
            runtime: Arc::clone(runtime),
            place,
        };
        Waited {
            waited,
            shut_for: place.err().flatten(),
            admission: place.ok().map(admission),
        }
    })
}

fn ask(gate: &Gate, name: &str, kind: CallKind) -> GateRequest {
    GateRequest {
        key: gate.key(name, None),
        kind,
        began: Duration::ZERO,
        deadline: None,
        at_gate: SECOND * 86_400,
        ends_early: false,
        quotas_at_once: true,
    }
}

impl Scene {
    fn new() -> Self {
        Self::of(Gate::new())
    }

    fn of(gate: Gate) -> Self {
        let clock = Clock::paused();
        Self {
            gate,
            runtime: Arc::new(clock.clone()),
            clock,
        }
    }

    fn ask(&self, name: &str, kind: CallKind) -> GateRequest {
        ask(&self.gate, name, kind)
    }

    fn wait(&self, ask: GateRequest) -> Wait<'_> {
        wait(&self.gate, ask, &self.runtime)
    }

    /// Returns the wait of a call that was sent before, so that it is no probe.
    fn waiter(&self) -> Wait<'_> {
        self.wait(self.ask("a", CallKind::Retry))
    }

    /// Sends a call that need not wait.
    fn go(&self, name: &str) -> Admission {
        let passed = self.wait(self.ask(name, CallKind::Newcomer)).now_or_never();
        passed.expect("the gate is open").admission.unwrap()
    }

    fn lift(&self, hold: &Permit) {
        self.gate.end(hold, CallEnd::Other, None, &*self.runtime);
    }

    fn is_open(&self, name: &str) -> bool {
        let passed = self.wait(self.ask(name, CallKind::Retry)).now_or_never();
        passed.is_some()
    }

    /// Refuses four calls in a row.
    fn refuse(&self, name: &str, asked: Duration) {
        self.refuse_all(name, Some(asked));
    }

    fn refuse_all(&self, name: &str, asked: Option<Duration>) {
        let calls = [(); 4].map(|()| self.go(name));
        calls.into_iter().for_each(|call| call.refused(asked, None));
    }

    /// Advances the clock in steps and polls all waiters at each, until all have gone or the time is over. Returns the
    /// time at which each went.
    fn play(&self, waits: &mut [Option<Wait<'_>>], time: Duration) -> Vec<Option<Duration>> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut went = vec![None; waits.len()];
        let end = self.clock.now() + time;
        loop {
            for (wait, went) in waits.iter_mut().zip(&mut went) {
                let Some(waiting) = wait else { continue };
                if let Poll::Ready(passed) = waiting.as_mut().poll(&mut cx) {
                    passed.admission.unwrap().succeeded(None);
                    *went = Some(self.clock.now());
                    *wait = None;
                }
            }
            if self.clock.now() >= end || waits.iter().all(Option::is_none) {
                return went;
            }
            self.clock.advance(MILLI);
        }
    }
}
