//! A call that wants to go, until it may.

use super::controller::Permit;
use super::counters::Counters;
use super::map::{Place, Slot};
use super::room::{Entry, Look, Room};
use super::wait_queue::{Kind, Ticket};
use super::{Admission, Gate, GateKey, NotIdle, micros};
use crate::policy::Moment;
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
#[derive(Debug)]
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
        let admit = |place| Some(Admission::new(self, runtime, place, ask.quotas_at_once));
        let at_once = |place| Passed {
            admission: admit(place),
            waited: Duration::ZERO,
        };
        let (at, slot) = match self.enter(ask.key, started) {
            Ok(place) => return at_once(place),
            Err(NotIdle) => match self.0.map.find(ask.key) {
                Some(found) => found,
                None => return at_once(None),
            },
        };
        let mut waiter = Waiter {
            gate: self,
            slot,
            runtime,
            ask: &ask,
            patient_until: started.saturating_add(ask.at_gate),
            ticket: None,
            sleep: None,
            slept_until: Duration::ZERO,
        };
        let mut on_wait = Some(on_wait);
        let permit = poll_fn(|cx| {
            let permit = waiter.poll(cx);
            if let Some(on_wait) = on_wait.take_if(|_| permit.is_pending()) {
                on_wait();
            }
            permit
        })
        .await;
        Passed {
            admission: permit.and_then(|permit| admit(Some(Place::new(at, ask.key, permit)))),
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
    /// When it has waited as long as it may.
    patient_until: Duration,
    ticket: Option<Ticket>,
    /// The wait in progress and its end.
    sleep: Option<(Duration, Sleep)>,
    /// The end of the last wait that is over.
    slept_until: Duration,
}

impl Waiter<'_> {
    /// Nothing where the deadline comes first.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Permit>> {
        loop {
            let now = self.now();
            if self.ask.deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(None);
            }
            let (ticket, time) = match self.look(now, cx) {
                Entry::Wait(ticket, time) => (ticket, time),
                Entry::Go(permit) => {
                    self.ticket = None;
                    return Poll::Ready(Some(permit));
                }
            };
            self.ticket = Some(ticket);
            let look_at = now.saturating_add(Duration::from_micros(time));
            if self.sleep_until(look_at, now, cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn look(&self, now: Duration, cx: &Context<'_>) -> Entry {
        let mut moment = self.runtime.moment();
        moment.now = now;
        let entry = self.decide(&moment, |room, counters, now| {
            let look = Look {
                ticket: self.ticket,
                kind: self.ask.kind,
                now,
                patient_until: micros(self.patient_until),
                waker: cx.waker(),
            };
            room.look(counters, look)
        });
        // The place may have gone to another key before this one stood in line: then nobody waits at it.
        entry.unwrap_or(Entry::Go(Permit(0)))
    }

    fn decide<T>(
        &self,
        moment: &Moment,
        act: impl FnOnce(&mut Room, &Counters, u64) -> T,
    ) -> Option<T> {
        self.gate.decide(self.slot, self.ask.key, moment, act)
    }

    /// Waits until then, or until its deadline or its patience ends.
    fn sleep_until(&mut self, look_at: Duration, now: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let patient_until = Some(self.patient_until).filter(|until| *until > now);
        let ends = [patient_until, self.ask.deadline].into_iter().flatten();
        let until = ends.fold(look_at, Duration::min);
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
        if let Some(ticket) = self.ticket.take() {
            self.decide(&self.runtime.moment(), |room, counters, now| {
                room.leave(counters, ticket, now);
            });
        }
    }
}
