//! The keys of a gate: a fixed number of places, found without a lock.

use super::controller::Permit;
use super::counters::Counters;
use super::key::GateKey;
use super::room::Room;
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use std::sync::{OnceLock, PoisonError};

/// So many keys need no allocation.
const FEW: usize = 8;
/// So many places are looked at for a key beyond the few.
const WINDOW: usize = 8;

/// The places of keys. A key takes one with its first call and keeps it; where none is free, it takes the one that is not
/// used for longest, of those that nobody waits at and no call is under way at.
#[derive(Debug)]
pub(super) struct GateMap {
    few: [Slot; FEW],
    more: OnceLock<Box<[Slot]>>,
    most: usize,
    takes: Mutex<()>,
}

/// One key's place.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Slot {
    /// 0 while nobody has it.
    key: AtomicU64,
    pub(super) counters: Counters,
    /// Nothing as long as there is nothing to decide.
    room: Mutex<Option<Box<Room>>>,
}

/// What a call must know to come back: where it went through, and as which.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    slot: usize,
    pub(super) key: GateKey,
    pub(super) permit: Permit,
}

impl Place {
    pub(super) fn new(slot: usize, key: GateKey, permit: Permit) -> Self {
        Self { slot, key, permit }
    }
}

impl GateMap {
    /// Places for at most so many keys; 0 counts as 1.
    pub(super) fn new(most: usize) -> Self {
        Self {
            few: std::array::from_fn(|_| Slot::default()),
            more: OnceLock::new(),
            most: most.max(1),
            takes: Mutex::new(()),
        }
    }

    /// The place of a key; nothing where all that it could have are in use.
    #[inline]
    pub(super) fn find(&self, key: GateKey) -> Option<(usize, &Slot)> {
        let mut few = self.few.iter().take(self.most).enumerate();
        few.find(|(_, slot)| slot.is_of(key.0))
            .or_else(|| self.find_or_take(key.0))
    }

    /// The place that a call went through. It may be another key's by now, and then only the count of its calls matters.
    pub(super) fn of(&self, place: Place) -> Option<&Slot> {
        let slot = match place.slot.checked_sub(FEW) {
            None => self.few.get(place.slot)?,
            Some(beyond) => self.more.get()?.get(beyond)?,
        };
        if slot.is_of(place.key.0) {
            return Some(slot);
        }
        slot.counters.end(false);
        None
    }

    /// The first place that is the key's or free, in the order in which everybody looks, so that no key gets two: a place
    /// that was taken is never free again.
    #[cold]
    fn find_or_take(&self, key: u64) -> Option<(usize, &Slot)> {
        loop {
            let are_all_there = self.more.get().is_some();
            if let Some(found) = self.places(key).find(|(_, slot)| slot.is_or_becomes(key)) {
                return Some(found);
            }
            if are_all_there {
                return self.take_over(key);
            }
            self.make_more();
        }
    }

    /// Takes the place of a key that nobody uses.
    fn take_over(&self, key: u64) -> Option<(usize, &Slot)> {
        let _one_at_a_time = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.places(key).find(|(_, slot)| slot.is_of(key)) {
            return Some(found);
        }
        let unused = self.places(key).filter_map(|(at, slot)| {
            let since = slot.counters.unused_since()?;
            Some((since, at, slot))
        });
        let (_, at, slot) = unused.min_by_key(|(since, ..)| *since)?;
        slot.renew(key).then_some((at, slot))
    }

    /// Every place that a key may have.
    fn places(&self, key: u64) -> impl Iterator<Item = (usize, &Slot)> {
        let more = self.more.get().map_or::<&[Slot], _>(&[], |more| more);
        let start = usize::try_from(key >> 32).unwrap_or_default();
        let start = start.checked_rem(more.len()).unwrap_or_default();
        let beyond = (FEW..).zip(more);
        let window = beyond
            .clone()
            .skip(start)
            .chain(beyond)
            .take(WINDOW.min(more.len()));
        self.few.iter().take(self.most).enumerate().chain(window)
    }

    /// Makes the places beyond the few, if they are not there yet.
    fn make_more(&self) {
        let beyond = self.most.saturating_sub(FEW);
        let make = || (0..beyond).map(|_| Slot::default()).collect();
        self.more.get_or_init(make);
    }
}

impl Slot {
    /// Acts on what the lock guards, if the place is still this key's, and calls whom that concerns.
    pub(super) fn with<T>(
        &self,
        key: GateKey,
        new: impl FnOnce() -> Room,
        act: impl FnOnce(&mut Room, &Counters) -> T,
    ) -> Option<T> {
        let mut guard = self.lock();
        if !self.is_of(key.0) {
            return None;
        }
        let room = guard.get_or_insert_with(|| Box::new(new()));
        room.take_over(&self.counters);
        let acted = act(room, &self.counters);
        let calls = room.leave_alone(&self.counters);
        drop(guard);
        for call in calls {
            call.wake();
        }
        Some(acted)
    }

    fn is_of(&self, key: u64) -> bool {
        self.key.load(Ordering::Acquire) == key
    }

    /// Whether the place is this key's, or was free and is so now.
    fn is_or_becomes(&self, key: u64) -> bool {
        let (order, otherwise) = (Ordering::AcqRel, Ordering::Acquire);
        match self.key.load(Ordering::Acquire) {
            0 => match self.key.compare_exchange(0, key, order, otherwise) {
                Ok(_) => true,
                Err(quicker) => quicker == key,
            },
            taken => taken == key,
        }
    }

    /// Begins anew for another key, unless somebody uses it after all.
    fn renew(&self, key: u64) -> bool {
        let mut guard = self.lock();
        let before = self.key.load(Ordering::Acquire);
        if self.counters.unused_since().is_none() {
            return false;
        }
        let (order, otherwise) = (Ordering::AcqRel, Ordering::Acquire);
        let taken = self.key.compare_exchange(before, key, order, otherwise);
        if taken.is_ok() {
            *guard = None;
            self.counters.renew();
        }
        taken.is_ok()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Room>>> {
        // A panic cannot leave a room half changed: its arithmetic does not panic.
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
