//! The keys of a gate: a fixed number of places, found without a lock.

use super::controller::{Permit, part};
use super::counters::Counters;
use super::key::GateKey;
use super::micros;
use super::state::KeyState;
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use crate::policy::Moment;
use std::sync::{OnceLock, PoisonError};
use std::task::Waker;

/// So many keys share so many places.
const WAYS: usize = 8;

/// The places of keys. A key takes one with its first call and keeps it; where none is free, it takes the one that is not
/// used for longest, of those that nobody waits at and no call is under way at.
#[derive(Debug)]
pub(super) struct GateMap {
    /// Each key may have the places of one of these.
    sets: Box<[OnceLock<Box<Set>>]>,
    /// How many places of a set are in use.
    ways: usize,
    takes: Mutex<()>,
    /// The first call of each key is looked at, because its gate is shared.
    shared: bool,
}

type Set = [Slot; WAYS];

/// The right to send one call: where it went through, and as which. It must come back by [`Gate::end`](super::Gate::end).
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The number of its slot.
    pub(super) at: u32,
    pub(super) key: GateKey,
    pub(super) permit: Permit,
    /// Whether it is the call's first attempt.
    pub(super) is_first: bool,
    /// What its answer says of a quota counts.
    pub hears_quotas: bool,
}

/// One key's place.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Slot {
    /// Which of all places it is.
    pub(super) at: u32,
    /// 0 while nobody has it.
    key: AtomicU64,
    pub(super) counters: Counters,
    /// Nothing as long as there is nothing to decide.
    state: Mutex<Option<Box<KeyState>>>,
}

impl GateMap {
    /// Places for at most so many keys; 0 counts as 1.
    pub(super) fn new(most: usize, shared: bool) -> Self {
        let sets = most.div_ceil(WAYS).max(1);
        Self {
            sets: (0..sets).map(|_| OnceLock::new()).collect(),
            ways: most.checked_div(sets).unwrap_or_default().max(1),
            takes: Mutex::new(()),
            shared,
        }
    }

    /// The place of a key; nothing where all that it could have are in use.
    #[inline]
    pub(super) fn find(&self, key: GateKey) -> Option<&Slot> {
        let set = self.sets.get(self.set_of(key)).and_then(OnceLock::get);
        let found = set.and_then(|set| set.iter().find(|slot| slot.is_of(key)));
        found.or_else(|| self.take(key))
    }

    /// The place that a call went through. It may be another key's by now, and then only the count of its calls matters.
    #[inline]
    pub(super) fn of(&self, place: &Place) -> Option<&Slot> {
        let slot = self.at(place.at)?;
        if slot.is_of(place.key) {
            return Some(slot);
        }
        slot.counters.end(false);
        None
    }

    /// The place with this number.
    #[inline]
    pub(super) fn at(&self, at: u32) -> Option<&Slot> {
        let at = usize::try_from(at).ok()?;
        let set = self.sets.get(at / WAYS)?.get()?;
        set.get(at % WAYS)
    }

    /// Which set the places of a key are in: as far up as its hash is.
    #[inline]
    fn set_of(&self, key: GateKey) -> usize {
        let sets = u64::try_from(self.sets.len()).unwrap_or_default();
        usize::try_from(part(key.0, sets)).unwrap_or_default()
    }

    /// Acts on what the lock of a slot guards, if that is still this key's, and calls whom that concerns.
    #[cold]
    #[inline(never)]
    pub(super) fn decide<T>(
        &self,
        slot: &Slot,
        key: GateKey,
        moment: Moment,
        act: impl FnOnce(&mut KeyState, &Counters) -> T,
    ) -> Option<T> {
        let mut guard = slot.lock();
        if !slot.is_of(key) {
            return None;
        }
        let now = micros(moment.now);
        let new = || Box::new(KeyState::new(now));
        let state = guard.get_or_insert_with(new);
        state.take_over(&slot.counters, now);
        let acted = act(state, &slot.counters);
        let calls = state.leave_alone(&slot.counters);
        let peer = state.peer().cloned();
        drop(guard);
        calls.into_iter().for_each(Waker::wake);
        if let Some(peer) = peer {
            peer.wake();
        }
        Some(acted)
    }

    /// The first place that is free, in the order in which everybody looks, so that no key gets two; else that of a key that
    /// nobody uses.
    #[cold]
    #[inline(never)]
    fn take<'a>(&'a self, key: GateKey) -> Option<&'a Slot> {
        let set = self.set_of(key);
        let at = |way| u32::try_from(set.saturating_mul(WAYS).saturating_add(way));
        let slot = |way| Slot {
            at: at(way).unwrap_or(u32::MAX),
            ..Slot::default()
        };
        let made = || Box::new(std::array::from_fn(slot));
        let set = self.sets.get(set)?.get_or_init(made);
        let set = set.get(..self.ways)?;
        if let Some(slot) = set.iter().find(|slot| slot.is_or_becomes(key)) {
            return Some(self.taken(slot));
        }
        let _one_at_a_time = self.takes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = set.iter().find(|slot| slot.is_of(key)) {
            return Some(slot);
        }
        let unused = |slot: &'a Slot| Some((slot.counters.unused_since()?, slot));
        let (_, slot) = set
            .iter()
            .filter_map(unused)
            .min_by_key(|(since, _)| *since)?;
        slot.renew(key).then(|| self.taken(slot))
    }

    fn taken<'a>(&self, slot: &'a Slot) -> &'a Slot {
        if self.shared {
            slot.counters.take(0);
        }
        slot
    }
}

impl Slot {
    #[inline]
    fn is_of(&self, key: GateKey) -> bool {
        self.key.load(Ordering::Acquire) == key.0
    }

    /// Whether the place is this key's, or was free and is so now.
    fn is_or_becomes(&self, key: GateKey) -> bool {
        let (order, otherwise) = (Ordering::AcqRel, Ordering::Acquire);
        let before = self.key.compare_exchange(0, key.0, order, otherwise);
        before.is_ok() || before == Err(key.0)
    }

    /// Begins anew for another key, unless somebody uses it after all.
    fn renew(&self, key: GateKey) -> bool {
        let mut guard = self.lock();
        let unused = self.counters.unused_since().is_some();
        if unused {
            self.key.store(key.0, Ordering::Release);
            *guard = None;
            self.counters.renew();
        }
        unused
    }

    /// Acts on what the lock guards, if that is this key's, without a look at the time.
    pub(super) fn touch(&self, key: GateKey, act: impl FnOnce(&mut KeyState, &Counters)) {
        let mut guard = self.lock();
        if let Some(state) = guard.as_mut().filter(|_| self.is_of(key)) {
            act(state, &self.counters);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<KeyState>>> {
        // A panic cannot leave the state half changed: its arithmetic does not panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
