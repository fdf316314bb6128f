//! The keys of a gate: a fixed number of places, found without a lock.

use super::controller::{CallNumber, Controller, IdleCounts, MAX_COUNT, faded, fades_at, part};
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
pub struct Permit {
    /// The number of its slot.
    pub(super) at: u32,
    pub(super) key: GateKey,
    pub(super) permit: CallNumber,
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
    pub(super) fn of(&self, place: &Permit) -> Option<&Slot> {
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
        let calls = state.release_if_idle(&slot.counters);
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
    pub(super) fn with_state(&self, key: GateKey, act: impl FnOnce(&mut KeyState, &Counters)) {
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

/// The word of a gate through which no call has gone.
const UNUSED: u64 = 0;
/// The word of a gate that is not idle.
const NOT_IDLE: u64 = REFUSED;
/// Set in the word of an idle gate once a call was refused. Above it stands when the successes that count fade.
const REFUSED: u64 = 1;
/// The lower half of `ended` counts the calls that have ended, and wraps; the upper half counts the successes among them
/// that have not faded.
const ENDED: u64 = (1 << 32) - 1;
const SUCCESS: u64 = (1 << 32) + 1;
const MAX_SUCCESSES: u64 = (1 << 31) - 1;
/// Set there while the gate is not idle.
const BUSY: u64 = 1 << 63;

/// While the word `idle` is set, a call costs one load and one addition, and its end one addition.
///
/// Who holds the lock of the key takes the word away, decides, and puts it back.
#[derive(Debug, Default)]
pub(super) struct Counters {
    idle: AtomicU64,
    /// The number of the last call that was sent.
    sent: AtomicU64,
    ended: AtomicU64,
}

impl Counters {
    /// The number of a call that goes at once, where nothing is to be decided, and whether one was refused before.
    #[inline]
    pub(super) fn enter(&self, now: u64) -> Option<(u64, bool)> {
        let mut idle = self.idle.load(Ordering::Acquire);
        if now >= idle >> 1 {
            if idle == NOT_IDLE {
                return None;
            }
            idle = self.fade(idle, now);
        }
        Some((self.send(), idle & REFUSED != 0))
    }

    /// The number of the next call.
    pub(super) fn send(&self) -> u64 {
        self.sent.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }

    /// Counts a call that has ended; whether the one who holds the lock must hear of it.
    #[inline]
    pub(super) fn end(&self, success: bool) -> bool {
        let one = if success { SUCCESS } else { 1 };
        self.ended.fetch_add(one, Ordering::AcqRel) & BUSY != 0
    }

    /// From here on every call comes to the one who holds the lock. Gives the number of the last call that was sent, and
    /// what the gate has come to if it was idle.
    pub(super) fn take(&self, now: u64) -> (u64, Option<IdleCounts>) {
        let idle = self.idle.swap(NOT_IDLE, Ordering::AcqRel);
        let ended = self.ended.fetch_or(BUSY, Ordering::AcqRel);
        let sent = self.sent.load(Ordering::Acquire);
        let taken = (idle != NOT_IDLE).then(|| IdleCounts {
            in_flight: in_flight(sent, ended),
            ok: successes(ended),
            since: since(idle).unwrap_or(now),
        });
        (sent, taken)
    }

    /// From here on calls count themselves, on top of the successes that the controller has come to.
    pub(super) fn release(&self, come_to: &Controller) {
        self.change_ended(|ended| Some(with_successes(ended, come_to.ok)));
        let idle = (fades_at(come_to.since) << 1) | u64::from(come_to.was_refused);
        self.idle.store(idle, Ordering::Release);
    }

    /// Returns `true` if calls go without a look. The slot of a shared key that has no peer yet is not idle.
    pub(super) fn is_idle(&self) -> bool {
        self.idle.load(Ordering::Acquire) != NOT_IDLE
    }

    /// Since when nobody has used an idle gate, as far as that shows, where no call is under way; the less, the longer.
    pub(super) fn unused_since(&self) -> Option<u64> {
        let idle = self.idle.load(Ordering::Acquire);
        let ended = self.ended.load(Ordering::Acquire);
        let sent = self.sent.load(Ordering::Acquire);
        (idle != NOT_IDLE && in_flight(sent, ended) == 0).then_some(idle)
    }

    /// Begins anew, for another key; numbers go on.
    pub(super) fn renew(&self) {
        self.change_ended(|ended| Some(with_successes(ended, 0)));
        self.idle.store(UNUSED, Ordering::Release);
    }

    /// Old successes weigh less. Of several who see that, one does it.
    #[cold]
    fn fade(&self, idle: u64, now: u64) -> u64 {
        let now = now.min(MAX_COUNT);
        let since = since(idle).unwrap_or(now);
        let (_, later) = faded(0, since, now);
        let next = (fades_at(later) << 1) | (idle & REFUSED);
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let won = self.idle.compare_exchange(idle, next, order.0, order.1);
        if won.is_ok() {
            self.change_ended(|ended| {
                let (ok, _) = faded(successes(ended), since, now);
                (ended & BUSY == 0).then(|| with_successes(ended, ok))
            });
        }
        next
    }

    fn change_ended(&self, change: impl FnMut(u64) -> Option<u64>) {
        let order = (Ordering::AcqRel, Ordering::Acquire);
        // Nothing is changed where there is nothing to change it to.
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

/// Since when successes count, by the word of an idle gate; nothing where there can be none.
fn since(idle: u64) -> Option<u64> {
    (idle != UNUSED).then(|| (idle >> 1).saturating_sub(fades_at(0)))
}
