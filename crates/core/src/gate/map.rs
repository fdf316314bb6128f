//! The keys of a gate: a fixed number of slots, found without a lock.

use super::controller::{CallNumber, Controller, IdleCounts, MAX_COUNT, faded, fades_at, part};
use super::key::GateKey;
use super::micros;
use super::state::KeyState;
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use crate::policy::Moment;
use std::sync::{OnceLock, PoisonError};
use std::task::Waker;

/// The number of slots in a set.
const WAYS: usize = 8;

/// The slots of keys. A key takes a slot at its first call and keeps it. If none is free, it takes the least recently
/// used slot that has no waiters and no calls in flight.
#[derive(Debug)]
pub(super) struct GateMap {
    /// The sets of slots. A key belongs to one of them.
    sets: Box<[OnceLock<Box<Set>>]>,
    /// The number of slots of a set that are used.
    ways: usize,
    /// Held while a key takes over the slot of another.
    eviction: Mutex<()>,
    /// `true` if the gate is shared, so that the first call of each key must take the lock.
    shared: bool,
}

type Set = [Slot; WAYS];

/// The right to send one call: the slot and key that admitted it, and its number. It must be returned with
/// [`GateExt::end`](crate::sharing::GateExt::end).
#[derive(Debug, Clone, Copy)]
pub struct Permit {
    /// The index of its slot.
    pub(super) at: u32,
    pub(super) key: GateKey,
    pub(super) number: CallNumber,
    /// `true` for the call's first attempt.
    pub(super) is_first: bool,
    /// `true` once the call was refused, which counts until its response is judged.
    pub(crate) is_held: bool,
    /// `true` if the quota in its response counts.
    pub reads_quota_headers: bool,
}

impl Permit {
    /// Returns the key of the gate that admitted the call.
    pub(crate) fn key(&self) -> GateKey {
        self.key
    }

    /// Returns it for a first attempt, or for a later one.
    pub(crate) fn for_first(self, is_first: bool) -> Self {
        Self { is_first, ..self }
    }
}

/// The slot of one key.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Slot {
    /// Its index among all slots.
    pub(super) at: u32,
    /// 0 while the slot is free.
    key: AtomicU64,
    pub(super) counters: Counters,
    /// `None` as long as the gate was always idle.
    state: Mutex<Option<Box<KeyState>>>,
}

impl GateMap {
    /// Creates slots for at most this number of keys; 0 counts as 1.
    pub(super) fn new(most: usize, shared: bool) -> Self {
        let sets = most.div_ceil(WAYS).max(1);
        Self {
            sets: (0..sets).map(|_| OnceLock::new()).collect(),
            // Rounded down, since `most` is a bound.
            ways: most.checked_div(sets).unwrap_or_default().max(1),
            eviction: Mutex::new(()),
            shared,
        }
    }

    /// Returns the slot of a key. Returns `None` if all slots that it could have are in use.
    #[inline]
    pub(super) fn find(&self, key: GateKey) -> Option<&Slot> {
        let set = self.sets.get(self.set_of(key)).and_then(OnceLock::get);
        let found = set.and_then(|set| set.iter().find(|slot| slot.has_key(key)));
        found.or_else(|| self.take_slot(key))
    }

    /// Returns the slot that admitted a call. If it belongs to another key, only the count of its calls is updated.
    #[inline]
    pub(super) fn slot_of(&self, permit: &Permit) -> Option<&Slot> {
        let slot = self.at(permit.at)?;
        if slot.has_key(permit.key) {
            return Some(slot);
        }
        // Another key took the slot between `find` and `enter`, so its counters include this call.
        slot.counters.end(false);
        None
    }

    /// Returns the slot with this index.
    #[inline]
    pub(super) fn at(&self, at: u32) -> Option<&Slot> {
        let at = usize::try_from(at).ok()?;
        let set = self.sets.get(at / WAYS)?.get()?;
        set.get(at % WAYS)
    }

    /// Returns the set of a key, chosen by the upper bits of its hash.
    #[inline]
    fn set_of(&self, key: GateKey) -> usize {
        let sets = u64::try_from(self.sets.len()).unwrap_or_default();
        usize::try_from(part(key.0, sets)).unwrap_or_default()
    }

    /// Runs `act` on the locked state of a slot if the slot still belongs to this key, and wakes the waiters concerned.
    pub(super) fn decide<T>(
        &self,
        slot: &Slot,
        key: GateKey,
        moment: Moment,
        act: impl FnOnce(&mut KeyState, &Counters) -> T,
    ) -> Option<T> {
        let (mut act, mut result) = (Some(act), None);
        slot.decide(key, moment, &mut |state, counters| {
            result = act.take().map(|act| act(state, counters));
        });
        result
    }

    /// Takes the first free slot, in the same order for every thread, so that no key gets two; otherwise the slot of an
    /// unused key.
    #[cold]
    #[inline(never)]
    fn take_slot<'a>(&'a self, key: GateKey) -> Option<&'a Slot> {
        let set = self.set_of(key);
        let at = |way| u32::try_from(set.saturating_mul(WAYS).saturating_add(way));
        let slot = |way| Slot {
            at: at(way).unwrap_or(u32::MAX),
            ..Slot::default()
        };
        let new_set = || Box::new(std::array::from_fn(slot));
        let set = self.sets.get(set)?.get_or_init(new_set);
        let set = set.get(..self.ways)?;
        if let Some(slot) = set.iter().find(|slot| slot.claim(key)) {
            return Some(self.mark_if_shared(slot));
        }
        // One thread at a time, and only after another look, or two threads could give one key two slots.
        let one_at_a_time = self.eviction.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = set.iter().find(|slot| slot.has_key(key)) {
            return Some(slot);
        }
        let unused = |slot: &'a Slot| Some((slot.counters.unused_since()?, slot));
        let (_, slot) = set
            .iter()
            .filter_map(unused)
            .min_by_key(|(since, _)| *since)?;
        let mut evicted = None;
        let reassigned = slot.reassign(key, &mut evicted);
        let found = reassigned.then(|| self.mark_if_shared(slot));
        // The state is dropped without a lock, and with it the peer, which may be the user's own.
        drop(one_at_a_time);
        drop(evicted);
        found
    }

    fn mark_if_shared<'a>(&self, slot: &'a Slot) -> &'a Slot {
        if self.shared {
            // Not idle, so that the key's first call takes the lock, and creates the peer.
            slot.counters.take(0);
        }
        slot
    }
}

impl Slot {
    #[inline]
    fn has_key(&self, key: GateKey) -> bool {
        self.key.load(Ordering::Acquire) == key.0
    }

    /// Returns `true` if the slot belongs to this key, or was free and now does.
    fn claim(&self, key: GateKey) -> bool {
        let (order, otherwise) = (Ordering::AcqRel, Ordering::Acquire);
        let before = self.key.compare_exchange(0, key.0, order, otherwise);
        before.is_ok() || before == Err(key.0)
    }

    /// Reuses the slot for another key, and moves the state of the old one to `evicted`. Returns `false` if the slot is
    /// in use after all.
    fn reassign(&self, key: GateKey, evicted: &mut Option<Box<KeyState>>) -> bool {
        let mut guard = self.lock();
        // A call may have entered since the slot was chosen.
        let unused = self.counters.unused_since().is_some();
        if unused {
            self.key.store(key.0, Ordering::Release);
            *evicted = guard.take();
            self.counters.reset();
        }
        unused
    }

    /// See [`GateMap::decide`]. Not generic, so that a program has it once.
    #[cold]
    #[inline(never)]
    fn decide(&self, key: GateKey, moment: Moment, act: &mut dyn FnMut(&mut KeyState, &Counters)) {
        let mut guard = self.lock();
        // The slot may have been given to another key since it was found.
        if !self.has_key(key) {
            return;
        }
        let now = micros(moment.now);
        let new = || Box::new(KeyState::new(now));
        let state = guard.get_or_insert_with(new);
        state.take_over(&self.counters, now);
        act(state, &self.counters);
        let wakers = state.release_if_idle(&self.counters);
        let peer = state.peer().cloned();
        drop(guard);
        // Woken only now, without the lock: a waiter or the peer may take it at once.
        wakers.into_iter().for_each(Waker::wake);
        if let Some(peer) = peer {
            peer.wake();
        }
    }

    /// Runs `act` on the locked state if the slot belongs to this key, without advancing the clock.
    pub(super) fn with_state(&self, key: GateKey, act: impl FnOnce(&mut KeyState, &Counters)) {
        let mut guard = self.lock();
        if let Some(state) = guard.as_mut().filter(|_| self.has_key(key)) {
            act(state, &self.counters);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<KeyState>>> {
        // A panic cannot leave the state inconsistent: its arithmetic does not panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The word of a gate that has admitted no call.
const UNUSED: u64 = 0;
/// The word of a gate that is not idle.
const NOT_IDLE: u64 = REFUSED;
/// Set in the word of an idle gate once a call was refused. The bits above it hold the time at which the successes
/// fade.
const REFUSED: u64 = 1;
/// The lower half of `ended` counts the calls that have ended, and wraps. The upper half counts the successes among
/// them that have not faded.
const ENDED: u64 = (1 << 32) - 1;
const SUCCESS: u64 = (1 << 32) + 1;
/// The most successes below [`BUSY`]. Since they halve every 20 s, only 50 million calls a second could reach it.
const MAX_SUCCESSES: u64 = (1 << 31) - 1;
/// Set in `ended` while the gate is not idle.
const BUSY: u64 = 1 << 63;

/// The counters of a gate. While the word `idle` is set, a call costs one load and one addition, and its end one
/// addition.
///
/// The thread that holds the key's lock removes the word, updates the state, and restores the word.
#[derive(Debug, Default)]
pub(super) struct Counters {
    idle: AtomicU64,
    /// The number of the last call that was sent.
    sent: AtomicU64,
    ended: AtomicU64,
}

impl Counters {
    /// Returns the number of a call that may go at once, and whether any was refused before. Returns `None` if the gate
    /// is not idle.
    #[inline]
    pub(super) fn enter(&self, now: u64) -> Option<(u64, bool)> {
        // If another thread takes the word after this load, the call still goes: it counts as sent before.
        let mut idle = self.idle.load(Ordering::Acquire);
        // `UNUSED` and `NOT_IDLE` hold the time 0, so one comparison finds all that need a closer look.
        if now >= idle >> 1 {
            if idle == NOT_IDLE {
                return None;
            }
            idle = self.fade(idle, now);
        }
        Some((self.send(), idle & REFUSED != 0))
    }

    /// Returns the number of the next call.
    pub(super) fn send(&self) -> u64 {
        self.sent.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }

    /// Counts a call that has ended. Returns `true` if the end must also be recorded under the lock.
    #[inline]
    pub(super) fn end(&self, success: bool) -> bool {
        let one = if success { SUCCESS } else { 1 };
        self.ended.fetch_add(one, Ordering::AcqRel) & BUSY != 0
    }

    /// Makes every call take the lock from now on. Returns the number of the last call that was sent, and the counts of
    /// the gate if it was idle.
    pub(super) fn take(&self, now: u64) -> (u64, Option<IdleCounts>) {
        // A call that ends between the two steps is in `ended`; later ones find `BUSY`, and take the lock.
        let idle = self.idle.swap(NOT_IDLE, Ordering::AcqRel);
        let ended = self.ended.fetch_or(BUSY, Ordering::AcqRel);
        // Read after `ended`: every call in that count was sent before, so the difference is not negative.
        let sent = self.sent.load(Ordering::Acquire);
        let taken = (idle != NOT_IDLE).then(|| IdleCounts {
            in_flight: in_flight(sent, ended),
            ok: successes(ended),
            since: since(idle).unwrap_or(now),
        });
        (sent, taken)
    }

    /// Lets calls use the counters alone from now on, starting from the controller's successes.
    pub(super) fn release(&self, controller: &Controller) {
        self.change_ended(|ended| Some(with_successes(ended, controller.ok)));
        let idle = (fades_at(controller.since) << 1) | u64::from(controller.was_refused);
        self.idle.store(idle, Ordering::Release);
    }

    /// Returns `true` if calls go without the lock. The slot of a shared key that has no peer yet is not idle.
    pub(super) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Acquire) != NOT_IDLE
    }

    /// Returns the age of an idle gate without calls in flight: the smaller the number, the longer the gate was unused.
    /// Returns `None` for other gates.
    pub(super) fn unused_since(&self) -> Option<u64> {
        let idle = self.idle.load(Ordering::Acquire);
        let ended = self.ended.load(Ordering::Acquire);
        // Read last, as in `take`: a call that enters meanwhile counts as in flight.
        let sent = self.sent.load(Ordering::Acquire);
        (idle != NOT_IDLE && in_flight(sent, ended) == 0).then_some(idle)
    }

    /// Resets the counters for another key. Call numbers continue.
    pub(super) fn reset(&self) {
        self.change_ended(|ended| Some(with_successes(ended, 0)));
        self.idle.store(UNUSED, Ordering::Release);
    }

    /// Lets old successes fade. If several threads see that they are due, one of them does it.
    #[cold]
    fn fade(&self, idle: u64, now: u64) -> u64 {
        let now = now.min(MAX_COUNT);
        let since = since(idle).unwrap_or(now);
        let (_, later) = faded(0, since, now);
        let next = (fades_at(later) << 1) | (idle & REFUSED);
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let won = self.idle.compare_exchange(idle, next, order.0, order.1);
        if won.is_ok() {
            // If a thread with the lock was faster, the controller fades the successes.
            self.change_ended(|ended| {
                let (ok, _) = faded(successes(ended), since, now);
                (ended & BUSY == 0).then(|| with_successes(ended, ok))
            });
        }
        next
    }

    fn change_ended(&self, change: impl FnMut(u64) -> Option<u64>) {
        let order = (Ordering::AcqRel, Ordering::Acquire);
        // If `change` returns `None`, the value stays.
        let _ = self.ended.fetch_update(order.0, order.1, change);
    }
}

fn in_flight(sent: u64, ended: u64) -> u64 {
    sent.wrapping_sub(ended) & ENDED
}

fn successes(ended: u64) -> u64 {
    (ended & !BUSY) >> 32
}

fn with_successes(ended: u64, ok: u64) -> u64 {
    (ended & ENDED) | (ok.min(MAX_SUCCESSES) << 32)
}

/// Returns the time since which successes count, from the word of an idle gate. Returns `None` if there are none.
fn since(idle: u64) -> Option<u64> {
    (idle != UNUSED).then(|| (idle >> 1).saturating_sub(fades_at(0)))
}
