//! What all clones of a gate share, and the ways in and out of it.

use super::controller::Permit;
use super::counters::{Counters, Ended};
use super::key::{GateKey, Sharing};
use super::map::{GateMap, Place, Slot};
use super::narrow::Narrow;
use super::quota::Quota;
use super::room::{End, Heard, Room};
use super::{Gate, micros};
use crate::policy::Moment;
use std::time::Duration;

pub(super) struct Shared {
    pub(super) map: GateMap,
    pub(super) options: Options,
    pub(super) narrow: Narrow,
}

#[derive(Clone)]
pub(super) struct Options {
    pub(super) head_start: bool,
    pub(super) max_services: usize,
    pub(super) sharing: Sharing,
    /// Whether a quota counts from the first answer on, if not as the policy has it.
    pub(super) quotas_at_once: Option<bool>,
}

/// There is something to wait for, or to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotIdle;

impl Shared {
    pub(super) fn new(options: Options) -> Self {
        Self {
            map: GateMap::new(options.max_services),
            options,
            narrow: Narrow::default(),
        }
    }
}

impl Gate {
    /// Lets a call go at once where nothing is to be decided: one load and one addition. It must come back by
    /// [`Gate::succeeded`], [`Gate::hear`] or an [`Admission`](super::Admission); a call that the gate has no place for
    /// need not.
    ///
    /// # Errors
    ///
    /// [`NotIdle`] where the call must go by [`Gate::pass`].
    #[inline]
    pub(crate) fn enter(&self, key: GateKey, now: Duration) -> Result<Option<Place>, NotIdle> {
        let Some((at, slot)) = self.0.map.find(key) else {
            return Ok(None);
        };
        let number = slot.counters.enter(micros(now)).ok_or(NotIdle)?;
        Ok(Some(Place::new(at, key, Permit(number))))
    }

    /// A call that went at once has succeeded: one addition, where nothing is to be decided. `at_once` is whether a quota
    /// counts from the first answer on, `tells` whether the answer tells of one, and `read` what it tells.
    #[inline]
    #[cfg_attr(
        not(any(feature = "tower", feature = "reqwest")),
        expect(dead_code, reason = "adapters alone take the short way")
    )]
    pub(crate) fn succeeded(
        &self,
        place: Place,
        at_once: bool,
        tells: impl Fn() -> bool,
        read: impl FnOnce() -> (Moment, Option<Quota>),
    ) {
        let Some(slot) = self.0.map.of(place) else {
            return;
        };
        let told_at_once = at_once && tells();
        if let Err(ended) = ends(slot, told_at_once, true, || at_once || !tells()) {
            let (moment, quota) = read();
            let heard = Heard::new(End::Succeeded, quota, at_once);
            self.heard(slot, place, heard.after(ended), &moment);
        }
    }

    /// A call that went at once was dropped.
    pub(crate) fn dropped(&self, place: Place, moment: impl FnOnce() -> Moment) {
        self.hear(place, Heard::NOTHING, moment);
    }

    /// A call has come back.
    pub(super) fn hear(&self, place: Place, heard: Heard, moment: impl FnOnce() -> Moment) {
        let Some(slot) = self.0.map.of(place) else {
            return;
        };
        let success = heard.end == End::Succeeded;
        if let Err(ended) = ends(slot, heard.is_news(), success, || heard.quota.is_none()) {
            self.heard(slot, place, heard.after(ended), &moment());
        }
    }

    #[cold]
    fn heard(&self, slot: &Slot, place: Place, heard: Heard, moment: &Moment) {
        self.decide(slot, place.key, moment, |room, counters, now| {
            room.hear(counters, place.permit, heard, now);
        });
    }

    /// Acts on what the lock of a key guards; nothing where the place is not this key's any more.
    pub(super) fn decide<T>(
        &self,
        slot: &Slot,
        key: GateKey,
        moment: &Moment,
        act: impl FnOnce(&mut Room, &Counters, u64) -> T,
    ) -> Option<T> {
        let now = micros(moment.now);
        let room = || Room::new(now, moment.random, self.0.options.head_start);
        slot.with(key, room, |room, counters| act(room, counters, now))
    }
}

/// Counts the end of a call, unless it is news.
///
/// # Errors
///
/// How it was counted, if it was, where the one who holds the lock must hear of it.
#[inline]
fn ends(
    slot: &Slot,
    is_news: bool,
    success: bool,
    tells_nothing: impl FnOnce() -> bool,
) -> Result<(), Option<Ended>> {
    if is_news {
        return Err(None);
    }
    match slot.counters.end(success) {
        Ended::Counted => Ok(()),
        Ended::CountedAfterRefusal if tells_nothing() => Ok(()),
        ended => Err(Some(ended)),
    }
}
