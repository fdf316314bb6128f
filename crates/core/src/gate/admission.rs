//! How a call is let through the gate, at once or after a wait in the line of its key, and how it comes back.

use super::controller::{Permit, Quota};
use super::counters::Counters;
use super::map::{Place, Slot};
use super::state::{End, KeyState};
use super::wait_queue::{Kind, WaiterId};
use super::{Gate, GateKey, micros};
use crate::runtime::{Runtime, Sleep};
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// There is something to wait for, or to decide.
#[derive(Debug)]
pub struct NotIdle<'a>(pub(super) &'a Slot);

/// A call that wants to go.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct Ask {
    /// The gate that it comes to.
    pub key: GateKey,
    /// The line that it stands in.
    pub kind: Kind,
    /// When the call began, which decides its place in the line.
    pub began: Duration,
    /// When it must not be sent any more.
    pub deadline: Option<Duration>,
    /// After so long it goes in spite of the gate.
    pub at_gate: Duration,
    /// A quota counts from the first answer on, and not only after a refusal, if the gate does not say.
    pub quotas_at_once: bool,
}

/// What came of a wait.
#[derive(Debug)]
#[non_exhaustive]
pub struct Passed {
    /// The time that it has waited.
    pub waited: Duration,
    /// Whether the call may be sent; if not, its deadline came first.
    pub in_time: bool,
    /// Nothing where the gate has no place for the call.
    pub place: Option<Place>,
}

impl Gate {
    /// Lets a call go at once where nothing is to be decided: one load and one addition. Nothing where the gate has no
    /// place for it. `quotas_at_once` is whether a quota counts from the first answer on, and not only after a refusal, if
    /// the gate does not say.
    ///
    /// # Errors
    ///
    /// [`NotIdle`] where the call must go by [`Gate::pass`].
    #[inline(always)]
    pub fn enter(
        &self,
        key: GateKey,
        now: Duration,
        quotas_at_once: bool,
    ) -> Result<Option<Place>, NotIdle<'_>> {
        let Some(slot) = self.0.map.find(key) else {
            return Ok(None);
        };
        let entered = slot.counters.enter(micros(now));
        let (number, was_refused) = entered.ok_or(NotIdle(slot))?;
        let at_once = self.0.options.quotas_at_once.unwrap_or(quotas_at_once);
        Ok(Some(Place {
            at: slot.at,
            key,
            permit: Permit(number),
            is_first: true,
            hears_quotas: at_once || was_refused,
        }))
    }

    /// Waits until a call may be sent; says by `on_wait` when it begins to.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it leaves its place in the line to the next.
    pub async fn pass(&self, ask: Ask, runtime: &dyn Runtime, on_wait: impl FnOnce()) -> Passed {
        let started = runtime.now();
        let is_first = ask.kind == Kind::Newcomer;
        let slot = match self.enter(ask.key, started, ask.quotas_at_once) {
            Err(NotIdle(slot)) => slot,
            Ok(place) => {
                return Passed {
                    waited: Duration::ZERO,
                    in_time: true,
                    place: place.map(|place| Place { is_first, ..place }),
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
        let turn = poll_fn(|cx| {
            let turn = waiter.poll(cx);
            if let Some(on_wait) = on_wait.take_if(|_| turn.is_pending()) {
                on_wait();
            }
            turn
        })
        .await;
        // Something was decided here, so nothing is spared by not hearing of quotas.
        let place = |permit| Place {
            at: slot.at,
            key: ask.key,
            permit,
            is_first,
            hears_quotas: true,
        };
        Passed {
            waited: waiter.now().saturating_sub(started),
            in_time: turn.is_some(),
            place: turn.flatten().map(place),
        }
    }

    /// A call has come back: one addition, where nothing is to be decided.
    #[inline]
    pub fn end(&self, place: &Place, end: End, quota: Option<Quota>, runtime: &dyn Runtime) {
        let Some(slot) = self.0.map.of(place) else {
            return;
        };
        let refused = matches!(end, End::Refused(_));
        let quota = quota.filter(|_| refused || place.hears_quotas);
        let is_news = refused || quota.is_some();
        if is_news {
            let (map, moment) = (&self.0.map, runtime.moment());
            map.decide(slot, place.key, moment, |state, counters| {
                counters.end(end == End::Succeeded);
                state.hear(counters, (place.permit, place.is_first), end, quota);
            });
        } else if slot.counters.end(end == End::Succeeded) {
            self.hear(slot, place, end, runtime);
        }
    }

    /// The same of a call that has succeeded, and whose answer says nothing of a quota.
    #[inline(always)]
    pub fn succeeds(&self, place: &Place, runtime: &dyn Runtime) {
        if let Some(slot) = self.0.map.of(place) {
            if slot.counters.end(true) {
                self.hear(slot, place, End::Succeeded, runtime);
            }
        }
    }

    /// Who holds the lock hears of a call that is counted.
    #[cold]
    #[inline(never)]
    fn hear(&self, slot: &Slot, place: &Place, end: End, runtime: &dyn Runtime) {
        let (map, moment) = (&self.0.map, runtime.moment());
        map.decide(slot, place.key, moment, |state, counters| {
            state.hear(counters, (place.permit, place.is_first), end, None);
        });
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
