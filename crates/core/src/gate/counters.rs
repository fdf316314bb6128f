//! The numbers of one key that calls touch without a lock while nothing is to be decided.

use super::controller::{Controller, Idle, MOST, faded, fades_at};
use super::sync::{AtomicU64, Ordering};

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
const MOST_SUCCESSES: u64 = (1 << 31) - 1;
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
        self.sent.fetch_add(1, Ordering::AcqRel).saturating_add(1)
    }

    /// Counts a call that has ended; whether the one who holds the lock must hear of it.
    #[inline]
    pub(super) fn end(&self, success: bool) -> bool {
        let one = if success { SUCCESS } else { 1 };
        self.ended.fetch_add(one, Ordering::AcqRel) & BUSY != 0
    }

    /// From here on every call comes to the one who holds the lock. Gives the number of the last call that was sent, and
    /// what the gate has come to if it was idle.
    pub(super) fn take(&self, now: u64) -> (u64, Option<Idle>) {
        let idle = self.idle.swap(NOT_IDLE, Ordering::AcqRel);
        let ended = self.ended.fetch_or(BUSY, Ordering::AcqRel);
        let sent = self.sent.load(Ordering::Acquire);
        let taken = (idle != NOT_IDLE).then(|| Idle {
            in_flight: in_flight(sent, ended),
            ok: successes(ended),
            since: since(idle).unwrap_or(now),
        });
        (sent, taken)
    }

    /// From here on calls count themselves, on top of the successes that the controller has come to.
    pub(super) fn leave(&self, come_to: &Controller) {
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
        let now = now.min(MOST);
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
    (ended & ENDED) | (ok.min(MOST_SUCCESSES) << 32)
}

/// Since when successes count, by the word of an idle gate; nothing where there can be none.
fn since(idle: u64) -> Option<u64> {
    (idle != UNUSED).then(|| (idle >> 1).saturating_sub(fades_at(0)))
}
