//! A call that wants to go, until it may.

use super::admission::{Admission, NotIdle, Place};
use super::controller::Permit;
use super::counters::Counters;
use super::map::Slot;
use super::state::KeyState;
use super::wait_queue::{Kind, WaiterId};
use super::{Gate, GateKey, micros};
use crate::runtime::{Runtime, Sleep};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A call that wants to go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) key: GateKey,
    pub(crate) kind: Kind,
    /// When it must not be sent any more.
    pub(crate) deadline: Option<Duration>,
    /// After so long it goes in spite of the gate.
    pub(crate) at_gate: Duration,
    /// A quota counts from the first answer on, and not only after a refusal.
    pub(crate) quotas_at_once: bool,
}

/// What came of a wait.
pub(crate) struct Passed {
    /// Nothing where the deadline came first.
    pub(crate) admission: Option<Admission>,
    pub(crate) waited: Duration,
}

impl Gate {
    /// Waits until a call may be sent; says by `on_wait` when it begins to.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it leaves its place in the line to the next.
    pub(crate) async fn pass(
        &self,
        ask: Ask,
        runtime: &Arc<dyn Runtime>,
        on_wait: impl FnOnce() + Send,
    ) -> Passed {
        let started = runtime.now();
        let slot = match self.enter(ask.key, started, ask.quotas_at_once) {
            Err(NotIdle(slot)) => slot,
            Ok(place) => {
                return Passed {
                    admission: Some(Admission::new(self, runtime, place)),
                    waited: Duration::ZERO,
                };
            }
        };
        let mut waiter = Waiter {
            gate: self,
            slot,
            runtime,
            ask: &ask,
            id: None,
            sleep: None,
            slept_until: Duration::ZERO,
        };
        let mut on_wait = Some(on_wait);
        let admission = poll_fn(|cx| {
            let admission = waiter.poll(cx);
            if let Some(on_wait) = on_wait.take_if(|_| admission.is_pending()) {
                on_wait();
            }
            admission
        });
        Passed {
            admission: admission.await,
            waited: waiter.now().saturating_sub(started),
        }
    }
}

/// A call in the line of its key; dropped, it gives its place up.
struct Waiter<'a> {
    gate: &'a Gate,
    slot: &'a Slot,
    runtime: &'a Arc<dyn Runtime>,
    ask: &'a Ask,
    id: Option<WaiterId>,
    /// The wait in progress and its end.
    sleep: Option<(Duration, Sleep)>,
    /// The end of the last wait that is over.
    slept_until: Duration,
}

impl Waiter<'_> {
    /// Nothing where the deadline comes first.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Admission>> {
        loop {
            let now = self.now();
            if self.ask.deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(None);
            }
            let time = match self.look(now, cx) {
                Some(Err(time)) => Duration::from_micros(time),
                Some(Ok(permit)) => return Poll::Ready(Some(self.admit(Some(permit)))),
                // The place has gone to another key before this call stood in line: there is no gate for it.
                None => return Poll::Ready(Some(self.admit(None))),
            };
            if self
                .sleep_until(now.saturating_add(time), now, cx)
                .is_pending()
            {
                return Poll::Pending;
            }
        }
    }

    fn look(&mut self, now: Duration, cx: &Context<'_>) -> Option<Result<Permit, u64>> {
        let mut moment = self.runtime.moment();
        moment.now = now;
        let ask = self.ask;
        self.gate
            .decide(self.slot, ask.key, moment, |state, counters| {
                let join = || state.join(ask.kind, micros(ask.at_gate));
                let id = *self.id.get_or_insert_with(join);
                state.look(counters, id, cx.waker())
            })
    }

    fn admit(&mut self, permit: Option<Permit>) -> Admission {
        self.id = None;
        let place = permit.map(|permit| Place {
            at: self.slot.at,
            key: self.ask.key,
            permit,
            // Something was decided here, so nothing is spared by not hearing.
            hears_quotas: true,
        });
        Admission::new(self.gate, self.runtime, place)
    }

    /// Waits until then, or until its deadline.
    fn sleep_until(&mut self, look_at: Duration, now: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let until = look_at.min(self.ask.deadline.unwrap_or(Duration::MAX));
        let begun = self.sleep.take().filter(|(end, _)| *end == until);
        let (_, sleep) = self.sleep.insert(begun.unwrap_or_else(|| {
            let length = until.saturating_sub(now);
            (until, self.runtime.sleep(length))
        }));
        if sleep.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.sleep = None;
        self.slept_until = until;
        Poll::Ready(())
    }

    /// A wait that is over has passed, also on a clock that stands still.
    fn now(&self) -> Duration {
        self.runtime.now().max(self.slept_until)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let moment = self.runtime.moment();
            let leave = |state: &mut KeyState, counters: &Counters| state.leave(counters, id);
            self.gate.decide(self.slot, self.ask.key, moment, leave);
        }
    }
}
