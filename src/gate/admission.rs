//! How a call is let through at once, and what the gate hears of it.

use super::controller::{Permit, Quota};
use super::key::GateKey;
use super::map::{Place, Slot};
use super::state::End;
use super::{Gate, micros};
use crate::runtime::Runtime;
use std::time::Duration;

/// There is something to wait for, or to decide.
pub(crate) struct NotIdle<'a>(pub(super) &'a Slot);

impl Gate {
    /// Lets a call go at once where nothing is to be decided: one load and one addition. Nothing where the gate has no
    /// place for it. `quotas_at_once` is whether a quota counts from the first answer on, and not only after a refusal, if
    /// the gate does not say.
    ///
    /// # Errors
    ///
    /// [`NotIdle`] where the call must go by [`Gate::pass`].
    #[inline(always)]
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
        let at_once = self.0.options.quotas_at_once.unwrap_or(quotas_at_once);
        Ok(Some(slot.place(
            key,
            Permit(number),
            at_once || was_refused,
        )))
    }

    /// A call has come back: one addition, where nothing is to be decided.
    #[inline]
    pub(crate) fn end(&self, place: &Place, end: End, quota: Option<Quota>, runtime: &dyn Runtime) {
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
                state.hear(counters, place.attempt(), end, quota);
            });
        } else if slot.counters.end(end == End::Succeeded) {
            self.hear(slot, place, end, runtime);
        }
    }

    /// The same of a call that has succeeded, and whose answer says nothing of a quota.
    #[inline(always)]
    pub(crate) fn succeeds(&self, place: &Place, runtime: &dyn Runtime) {
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
            state.hear(counters, place.attempt(), end, None);
        });
    }
}
