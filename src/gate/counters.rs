//! The numbers of one key that calls touch without a lock while nothing was refused.

use super::controller::{MOST, faded, fades_at};
use super::sync::{AtomicU64, Ordering};

/// The word of a gate that is not idle.
const NOT_IDLE: u64 = 0;
/// The word of a gate through which no call has gone.
const UNUSED: u64 = 1;
/// Set in the count of calls that have ended while the gate is not idle.
const BUSY: u64 = 1 << 63;
/// Set there once a call was refused.
const REFUSED: u64 = 1 << 62;
const FLAGS: u64 = BUSY | REFUSED;

/// While the word `idle` is set, a call costs one load and one addition, and its success one addition.
///
/// Who holds the lock of the key takes the word away, decides, and puts it back.
#[derive(Debug)]
pub(super) struct Counters {
    /// Not idle, or when the successes that are counted fade.
    idle: AtomicU64,
    /// The number of the last call that was sent.
    sent: AtomicU64,
    /// How many calls have ended.
    ended: AtomicU64,
    /// How many of those do not count as successes any more, or never did.
    uncounted: AtomicU64,
}

/// What is left to do where a call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Nothing: it is counted.
    Counted,
    /// It is counted, but what it tells of a quota must be heard, since calls were refused before.
    CountedAfterRefusal,
    /// Who holds the lock must hear of it.
    Busy,
}

/// What has happened while the gate was idle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) sent: u64,
    /// How many calls have ended since the gate has been there.
    pub(super) ended: u64,
    /// The successes that count, and since when; nothing where that has not changed.
    pub(super) ok: u64,
    pub(super) since: Option<u64>,
}

/// What the counters were when the gate became idle.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Left {
    pub(super) ended: u64,
    fades: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            idle: AtomicU64::new(UNUSED),
            sent: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            uncounted: AtomicU64::new(0),
        }
    }
}

impl Counters {
    /// The number of a call that goes at once, where nothing is to be decided.
    #[inline]
    pub(super) fn enter(&self, now: u64) -> Option<u64> {
        let idle = self.idle.load(Ordering::Acquire);
        if now >= idle {
            if idle == NOT_IDLE {
                return None;
            }
            self.fade(idle, now);
        }
        Some(self.send())
    }

    /// Counts a call that has ended. A success is one addition.
    #[inline]
    pub(super) fn end(&self, success: bool) -> Ended {
        let flags = self.ended.fetch_add(1, Ordering::AcqRel) & FLAGS;
        if flags & BUSY != 0 {
            return Ended::Busy;
        }
        if !success {
            self.uncounted.fetch_add(1, Ordering::AcqRel);
        }
        match flags {
            0 => Ended::Counted,
            _ => Ended::CountedAfterRefusal,
        }
    }

    /// From here on quotas count.
    pub(super) fn note_refusal(&self) {
        self.ended.fetch_or(REFUSED, Ordering::AcqRel);
    }

    /// The number of the next call.
    pub(super) fn send(&self) -> u64 {
        self.sent.fetch_add(1, Ordering::AcqRel).saturating_add(1)
    }

    /// The number of the last call that was sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    /// From here on every call comes to the one who holds the lock.
    pub(super) fn take(&self, left: Left) -> Seen {
        let fades = self.idle.swap(NOT_IDLE, Ordering::AcqRel);
        let ended = self.ended.fetch_or(BUSY, Ordering::AcqRel) & !FLAGS;
        let uncounted = self.uncounted.load(Ordering::Acquire);
        Seen {
            sent: self.sent(),
            ended,
            ok: ended.saturating_sub(uncounted),
            since: (fades != left.fades && fades != UNUSED).then(|| since(fades)),
        }
    }

    /// From here on calls count themselves, on top of these successes since then.
    pub(super) fn leave(&self, (ok, since): (u64, u64)) -> Left {
        let fades = fades_at(since);
        let ended = self.ended.fetch_and(!BUSY, Ordering::AcqRel) & !FLAGS;
        let uncounted = ended.saturating_sub(ok);
        self.uncounted.store(uncounted, Ordering::Release);
        self.idle.store(fades, Ordering::Release);
        Left { ended, fades }
    }

    /// Since when nobody has used an idle gate, as far as that shows, where no call is under way; the less, the longer.
    pub(super) fn unused_since(&self) -> Option<u64> {
        let idle = self.idle.load(Ordering::Acquire);
        let ended = self.ended.load(Ordering::Acquire) & !FLAGS;
        (idle != NOT_IDLE && ended == self.sent()).then_some(idle)
    }

    /// Begins anew, for another key; numbers go on.
    pub(super) fn renew(&self) {
        let ended = self.ended.fetch_and(!FLAGS, Ordering::AcqRel) & !FLAGS;
        self.uncounted.store(ended, Ordering::Release);
        self.idle.store(UNUSED, Ordering::Release);
    }

    /// Old successes weigh less. Of several who see that, one does it.
    #[cold]
    fn fade(&self, idle: u64, now: u64) {
        let uncounted = self.uncounted.load(Ordering::Acquire);
        let ended = self.ended.load(Ordering::Acquire) & !FLAGS;
        let ok = ended.saturating_sub(uncounted);
        let (ok, since) = match idle {
            UNUSED => (ok, now.min(MOST)),
            _ => faded(ok, since(idle), now.min(MOST)),
        };
        let fades = fades_at(since);
        let won = self
            .idle
            .compare_exchange(idle, fades, Ordering::AcqRel, Ordering::Acquire);
        if won.is_ok() {
            let less = ended.saturating_sub(ok);
            // Who has changed it meanwhile knows better.
            let _ = self.uncounted.compare_exchange(
                uncounted,
                less,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
        }
    }
}

/// Since when successes count that fade then.
fn since(fades: u64) -> u64 {
    fades.saturating_sub(fades_at(0))
}
