//! A call that wants to go, until it may.

use super::admission::NotIdle;
use super::controller::Permit;
use super::counters::Counters;
use super::map::{Place, Slot};
use super::state::KeyState;
use super::wait_queue::{Kind, WaiterId};
use super::{Gate, GateKey, micros};
use crate::runtime::{Runtime, Sleep};
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A call that wants to go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) key: GateKey,
    pub(crate) kind: Kind,
    /// When the call began, which decides its place in the line.
    pub(crate) began: Duration,
    /// When it must not be sent any more.
    pub(crate) deadline: Option<Duration>,
    /// After so long it goes in spite of the gate.
    pub(crate) at_gate: Duration,
    /// A quota counts from the first answer on, and not only after a refusal, if the gate does not say.
    pub(crate) quotas_at_once: bool,
}

/// What came of a wait.
pub(crate) struct Passed {
    pub(crate) waited: Duration,
    /// Whether the call may be sent; if not, its deadline came first.
    pub(crate) in_time: bool,
    /// Nothing where the gate has no place for the call.
    pub(crate) place: Option<Place>,
}

impl Passed {
    fn at_once(place: Option<Place>) -> Self {
        Self {
            waited: Duration::ZERO,
            in_time: true,
            place,
        }
    }
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
        runtime: &dyn Runtime,
        on_wait: impl FnOnce(),
    ) -> Passed {
        let started = runtime.now();
        let slot = match self.enter(ask.key, started, ask.quotas_at_once) {
            Err(NotIdle(slot)) => slot,
            Ok(place) => return Passed::at_once(place.map(|place| place.of(ask.kind))),
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
        let turn = poll_fn(|cx| {
            let turn = waiter.poll(cx);
            if let Some(on_wait) = on_wait.take_if(|_| turn.is_pending()) {
                on_wait();
            }
            turn
        })
        .await;
        // Something was decided here, so nothing is spared by not hearing of quotas.
        let place = |permit| slot.place(ask.key, permit, true).of(ask.kind);
        Passed {
            waited: waiter.now().saturating_sub(started),
            in_time: turn.is_some(),
            place: turn.flatten().map(place),
        }
    }
}

/// A call in the line of its key; dropped, it gives its place up.
struct Waiter<'a> {
    gate: &'a Gate,
    slot: &'a Slot,
    runtime: &'a dyn Runtime,
    ask: &'a Ask,
    id: Option<WaiterId>,
    /// The wait in progress and its end.
    sleep: Option<(Duration, Sleep)>,
    /// The end of the last wait that is over, which has passed, also on a clock that stands still.
    slept_until: Duration,
}

impl Waiter<'_> {
    /// Nothing where the deadline comes first; no permit where the place went to another key before this call stood in
    /// line, and there is no gate for it.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Option<Permit>>> {
        let deadline = self.ask.deadline.unwrap_or(Duration::MAX);
        loop {
            let now = self.now();
            if deadline <= now {
                return Poll::Ready(None);
            }
            let time = match self.look(now, cx).transpose() {
                Err(time) => Duration::from_micros(time),
                Ok(permit) => {
                    self.id = None;
                    return Poll::Ready(Some(permit));
                }
            };
            let until = now.saturating_add(time).min(deadline);
            let begun = self.sleep.take().filter(|(end, _)| *end == until);
            let sleep = || (until, self.runtime.sleep(until.saturating_sub(now)));
            let (_, sleep) = self.sleep.insert(begun.unwrap_or_else(sleep));
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
            self.slept_until = until;
        }
    }

    fn look(&mut self, now: Duration, cx: &Context<'_>) -> Option<Result<Permit, u64>> {
        let mut moment = self.runtime.moment();
        moment.now = now;
        let (map, ask) = (&self.gate.0.map, self.ask);
        map.decide(self.slot, ask.key, moment, |state, counters| {
            let join = || state.join(ask.kind, micros(ask.began), micros(ask.at_gate));
            let id = *self.id.get_or_insert_with(join);
            state.look(counters, id, cx.waker())
        })
    }

    fn now(&self) -> Duration {
        self.runtime.now().max(self.slept_until)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let (map, moment) = (&self.gate.0.map, self.runtime.moment());
            let leave = |state: &mut KeyState, counters: &Counters| state.leave(counters, id);
            map.decide(self.slot, self.ask.key, moment, leave);
        }
    }
}
