//! What all clones of a gate share, and the ways in and out of it.

use super::controller::Permit;
use super::counters::{Counters, Ended};
use super::key::{GateKey, Sharing};
use super::map::{GateMap, Place, Slot};
use super::micros;
use super::quota::Quota;
use super::room::{End, Heard, Room};
use crate::policy::Moment;

pub(super) struct Shared {
    pub(super) map: GateMap,
    pub(super) options: Options,
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
        }
    }

    /// Lets a call go at once where nothing is to be decided; nothing where the gate has no place for its key.
    #[inline]
    pub(super) fn enter(&self, key: GateKey, now: u64) -> Result<Option<Place>, NotIdle> {
        let Some((at, slot)) = self.map.find(key) else {
            return Ok(None);
        };
        let number = slot.counters.enter(now).ok_or(NotIdle)?;
        Ok(Some(Place::new(at, key, Permit(number))))
    }

    /// A call has succeeded; `tells` is whether its answer tells of a quota, and `read` what.
    #[inline]
    pub(super) fn succeeded(
        &self,
        place: Place,
        at_once: bool,
        tells: impl Fn() -> bool,
        read: impl FnOnce() -> (Moment, Option<Quota>),
    ) {
        let Some(slot) = self.map.of(place) else {
            return;
        };
        let told_at_once = at_once && tells();
        let ended = match told_at_once {
            true => None,
            false => Some(slot.counters.end(true)),
        };
        let counted = match ended {
            Some(Ended::Counted) => true,
            Some(Ended::CountedAfterRefusal) => at_once || !tells(),
            Some(Ended::Busy) | None => false,
        };
        if !counted {
            let (moment, quota) = read();
            let heard = Heard::new(End::Succeeded, quota, at_once);
            self.heard(slot, place, heard.after(ended), &moment);
        }
    }

    /// A call has come back.
    pub(super) fn hear(&self, place: Place, heard: Heard, moment: impl FnOnce() -> Moment) {
        let Some(slot) = self.map.of(place) else {
            return;
        };
        let ended = match heard.is_news() {
            true => None,
            false => Some(slot.counters.end(heard.end == End::Succeeded)),
        };
        let counted = match ended {
            Some(Ended::Counted) => true,
            Some(Ended::CountedAfterRefusal) => heard.quota.is_none(),
            Some(Ended::Busy) | None => false,
        };
        if !counted {
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
        let room = || Room::new(now, moment.random, self.options.head_start);
        slot.with(key, room, |room, counters| act(room, counters, now))
    }
}
