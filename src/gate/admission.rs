//! How a call is let through at once, and what the gate hears of it.

use super::controller::{Permit, Quota};
use super::key::GateKey;
use super::map::Slot;
use super::place::{End, Place};
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
    #[inline(always)]
    pub(crate) fn end(&self, place: &Place, end: End, quota: Option<Quota>, runtime: &dyn Runtime) {
        let Some(slot) = self.0.map.of(place) else {
            return;
        };
        let refused = matches!(end, End::Refused(_));
        let quota = quota.filter(|_| refused || place.hears_quotas);
        let is_news = refused || quota.is_some();
        if is_news || slot.counters.end(end == End::Succeeded) {
            let moment = runtime.moment();
            self.0
                .map
                .decide(slot, place.key, moment, |state, counters| {
                    if is_news {
                        counters.end(end == End::Succeeded);
                    }
                    state.hear(counters, place.permit, end, quota);
                });
        }
    }
}
