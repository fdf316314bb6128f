//! The line of one key: first in, first out, by when each call began.

use super::controller::Permit;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

/// The others look so long after the turn of the first, in microseconds, in case that it is not polled.
const PATIENCE: u64 = 100_000;
/// So many, the first among them, look that soon.
const NEAR: usize = 8;
/// Those behind them look later by as much for each before them, and by no more than for so many.
const FAR: u64 = 50;

/// Whether a call was sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum Kind {
    /// It was.
    Retry,
    /// It was not.
    Newcomer,
}

/// A waiter: when its call began, in microseconds, and a number of its own. The line goes in the order of these.
pub(super) type WaiterId = (u64, u64);

/// The waiters of one key. Every operation costs the logarithm of their number.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    line: BTreeMap<WaiterId, Waiting>,
    /// The same, by when each has waited as long as it may.
    patience: BTreeSet<(u64, WaiterId)>,
    /// Those among them that were never sent.
    newcomers: BTreeSet<WaiterId>,
    /// Who may go, and has not heard of it yet.
    given: BTreeMap<WaiterId, (Waiting, Permit)>,
    last: u64,
    /// When the next may go, if nothing happens before.
    pub(super) turn: u64,
    /// Who is to be called once nobody looks at the line.
    calls: Vec<Waker>,
}

#[derive(Debug)]
struct Waiting {
    /// Nothing once it was called, until it looks again.
    waker: Option<Waker>,
    /// When it looks again by itself.
    looks_at: u64,
    patient_until: u64,
    kind: Kind,
}

impl WaitQueue {
    /// Whether nobody stands in the line or has a permit that is not used yet.
    pub(super) fn is_unused(&self) -> bool {
        self.line.is_empty() && self.given.is_empty()
    }

    /// How many stand in the line.
    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.line.len()).unwrap_or(u64::MAX)
    }

    /// Takes the place of a call that began at `began`; `patient_until` is when it has waited as long as it may.
    pub(super) fn join(&mut self, kind: Kind, began: u64, patient_until: u64) -> WaiterId {
        self.last = self.last.saturating_add(1);
        let id = (began, self.last);
        let waiting = Waiting {
            kind,
            waker: None,
            looks_at: 0,
            patient_until,
        };
        self.stand(id, waiting);
        id
    }

    /// Leaves the line; what was given to the waiter meanwhile comes back.
    pub(super) fn leave(&mut self, id: WaiterId) -> Option<Permit> {
        self.remove(id);
        self.take_given(id)
    }

    /// The permit of a waiter, where its turn has come.
    pub(super) fn take_given(&mut self, id: WaiterId) -> Option<Permit> {
        self.given.remove(&id).map(|(_, permit)| permit)
    }

    pub(super) fn first(&self) -> Option<WaiterId> {
        self.line.keys().next().copied()
    }

    pub(super) fn first_newcomer(&self) -> Option<WaiterId> {
        self.newcomers.first().copied()
    }

    /// Whose patience ends first, and when.
    pub(super) fn overdue(&self) -> Option<(WaiterId, u64)> {
        self.patience.first().map(|(until, id)| (*id, *until))
    }

    /// A waiter leaves the line with a permit, and is called.
    pub(super) fn give(&mut self, id: WaiterId, permit: Permit) {
        if let Some(mut waiting) = self.remove(id) {
            self.calls.extend(waiting.waker.take());
            self.given.insert(id, (waiting, permit));
        }
    }

    /// Those who have not used their permits stand in the line again, where they stood.
    pub(super) fn take_back(&mut self) -> Vec<Permit> {
        let given = std::mem::take(&mut self.given).into_iter();
        let back = given.map(|(id, (waiting, permit))| {
            self.stand(id, waiting);
            permit
        });
        back.collect()
    }

    /// A waiter looks, and need not be called.
    pub(super) fn is_called(&mut self, id: WaiterId) {
        if let Some(waiting) = self.line.get_mut(&id) {
            waiting.waker = None;
        }
    }

    /// A waiter has looked; when it looks again, if it is not called before: the first when its turn comes, the others
    /// later, so that the line moves on though those before them are not polled.
    pub(super) fn looks_again(&mut self, id: WaiterId, waker: &Waker) -> u64 {
        let place = self.line.keys().take(NEAR).position(|other| *other == id);
        let first = self.first().map_or(0, |(_, number)| number);
        let before = id.1.saturating_sub(first);
        let later = match place {
            Some(0) => 0,
            Some(_) => PATIENCE,
            None => before.clamp(1, FAR).saturating_mul(PATIENCE),
        };
        let at = self.turn.saturating_add(later);
        if let Some(waiting) = self.line.get_mut(&id) {
            waiting.looks_at = at;
            waiting.waker = Some(waker.clone());
        }
        at
    }

    /// Who is to be called: those who may go, and those of the first who would look too late.
    pub(super) fn take_calls(&mut self) -> Vec<Waker> {
        let mut by = self.turn;
        for waiting in self.line.values_mut().take(NEAR) {
            if waiting.looks_at > by {
                self.calls.extend(waiting.waker.take());
            }
            by = self.turn.saturating_add(PATIENCE);
        }
        std::mem::take(&mut self.calls)
    }

    fn stand(&mut self, id: WaiterId, waiting: Waiting) {
        self.patience.insert((waiting.patient_until, id));
        if waiting.kind == Kind::Newcomer {
            self.newcomers.insert(id);
        }
        self.line.insert(id, waiting);
    }

    fn remove(&mut self, id: WaiterId) -> Option<Waiting> {
        let left = self.line.remove(&id)?;
        self.patience.remove(&(left.patient_until, id));
        self.newcomers.remove(&id);
        Some(left)
    }
}
