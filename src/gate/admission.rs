//! The right to send one call: how it is had at once, and what the gate hears of it.

use super::controller::{Permit, Quota};
use super::counters::Counters;
use super::key::GateKey;
use super::map::Slot;
use super::state::KeyState;
use super::{Gate, micros};
use crate::policy::Moment;
use crate::runtime::Runtime;
use std::sync::Arc;
use std::time::Duration;

/// What a call must know to come back: where it went through, and as which.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(super) at: usize,
    pub(super) key: GateKey,
    pub(super) permit: Permit,
    /// What its answer says of a quota counts.
    pub(crate) hears_quotas: bool,
}

/// There is something to wait for, or to decide.
pub(crate) struct NotIdle<'a>(pub(super) &'a Slot);

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It was refused, and asked to wait so long, if it was.
    Refused(Option<Duration>),
    Succeeded,
    Other,
}

/// The right to send one call; dropped, it tells the gate that the call is over.
pub(crate) struct Admission {
    gate: Gate,
    runtime: Arc<dyn Runtime>,
    /// Nothing for a call that the gate has no place for, and once the gate has heard of the call.
    place: Option<Place>,
}

impl Gate {
    /// Lets a call go at once where nothing is to be decided: one load and one addition. It must come back by
    /// [`Gate::end`] or an [`Admission`]; a call that the gate has no place for need not. `quotas_at_once` is whether a
    /// quota counts from the first answer on, and not only after a refusal.
    ///
    /// # Errors
    ///
    /// [`NotIdle`] where the call must go by [`Gate::pass`].
    #[inline]
    pub(crate) fn enter(
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
        Ok(Some(Place {
            at: slot.at,
            key,
            permit: Permit(number),
            hears_quotas: quotas_at_once || was_refused,
        }))
    }

    /// A call has come back: one addition, where nothing is to be decided.
    #[inline]
    pub(crate) fn end(
        &self,
        place: Place,
        end: End,
        quota: Option<Quota>,
        moment: impl FnOnce() -> Moment,
    ) {
        let Some(slot) = self.0.map.of(place) else {
            return;
        };
        let refused = matches!(end, End::Refused(_));
        let quota = quota.filter(|_| refused || place.hears_quotas);
        let is_news = refused || quota.is_some();
        if is_news || slot.counters.end(end == End::Succeeded) {
            self.decide(slot, place.key, moment(), |state, counters| {
                if is_news {
                    counters.end(end == End::Succeeded);
                }
                state.hear(counters, place.permit, end, quota);
            });
        }
    }

    /// Acts on what the lock of a key guards; nothing where the place is not this key's any more.
    #[cold]
    pub(super) fn decide<T>(
        &self,
        slot: &Slot,
        key: GateKey,
        moment: Moment,
        act: impl FnOnce(&mut KeyState, &Counters) -> T,
    ) -> Option<T> {
        let (now, head_start) = (micros(moment.now), self.0.options.head_start);
        let new = || KeyState::new(now, moment.random, head_start);
        slot.decide(key, now, new, act)
    }
}

impl Admission {
    /// For a call that may go, or has gone.
    pub(crate) fn new(gate: &Gate, runtime: &Arc<dyn Runtime>, place: Option<Place>) -> Self {
        Self {
            gate: gate.clone(),
            runtime: Arc::clone(runtime),
            place,
        }
    }

    /// The call was refused and asked to wait so long, if it was told.
    pub(crate) fn refused(mut self, asked: Option<Duration>, quota: Option<Quota>) {
        self.tell(End::Refused(asked), quota);
    }

    /// The call has succeeded.
    pub(crate) fn succeeded(mut self, quota: Option<Quota>) {
        self.tell(End::Succeeded, quota);
    }

    /// The call was answered in another way.
    pub(crate) fn answered(mut self, quota: Option<Quota>) {
        self.tell(End::Other, quota);
    }

    fn tell(&mut self, end: End, quota: Option<Quota>) {
        if let Some(place) = self.place.take() {
            self.gate.end(place, end, quota, || self.runtime.moment());
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.tell(End::Other, None);
    }
}
