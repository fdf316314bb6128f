//! The keys of a gate, each with its queue behind a short lock.

use super::line::{Kind, Ticket};
use super::queue::{Entry, Look, Queue};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// So many keys that still matter are passed over when one must go.
const SPARED: usize = 8;

/// A queue for each key, at most so many.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    by_key: HashMap<Arc<str>, Kept>,
    by_use: BTreeMap<u64, Arc<str>>,
    uses: u64,
}

#[derive(Debug)]
struct Kept {
    room: Arc<Room>,
    last_use: u64,
}

/// One key's queue, and who can be called.
#[derive(Debug, Default)]
pub(super) struct Room(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    queue: Queue,
    wakers: HashMap<u64, Waker>,
}

impl Rooms {
    pub(super) fn get(
        &mut self,
        key: &str,
        most: usize,
        head_start: bool,
        now: Duration,
    ) -> Arc<Room> {
        if let Some(kept) = self.by_key.get(key) {
            let room = Arc::clone(&kept.room);
            self.touch(key);
            return room;
        }
        self.make_room(most.max(1), now);
        let room = Arc::new(Room(Mutex::new(Inner {
            queue: Queue::default().with_head_start(head_start),
            wakers: HashMap::new(),
        })));
        let kept = Kept {
            room: Arc::clone(&room),
            last_use: 0,
        };
        self.by_key.insert(key.into(), kept);
        self.touch(key);
        room
    }

    fn touch(&mut self, key: &str) {
        self.uses = self.uses.wrapping_add(1);
        let Some((key, _)) = self.by_key.get_key_value(key) else {
            return;
        };
        let key = Arc::clone(key);
        if let Some(kept) = self.by_key.get_mut(&key) {
            self.by_use.remove(&kept.last_use);
            kept.last_use = self.uses;
        }
        self.by_use.insert(self.uses, key);
    }

    fn make_room(&mut self, most: usize, now: Duration) {
        let mut spared = 0;
        while self.by_key.len() >= most {
            let Some((_, oldest)) = self.by_use.first_key_value() else {
                return;
            };
            let oldest = Arc::clone(oldest);
            let room = self.by_key.get(&oldest).map(|kept| &kept.room);
            let matters = room.is_some_and(|room| !room.lock().queue.is_forgettable(now));
            if matters && spared < SPARED {
                spared = spared.saturating_add(1);
                self.touch(&oldest);
            } else {
                self.by_use.pop_first();
                self.by_key.remove(&oldest);
            }
        }
    }
}

impl Room {
    pub(super) fn in_flight(&self) -> u64 {
        self.lock().queue.in_flight()
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.lock().queue.waiting()
    }

    /// Looks whether one may go that has this ticket, or none yet.
    pub(super) fn look(
        &self,
        ticket: Option<Ticket>,
        kind: Kind,
        look: Look,
        waker: &Waker,
    ) -> Entry {
        let mut inner = self.lock();
        let entry = match ticket {
            Some(ticket) => inner.queue.look(ticket, look),
            None => inner.queue.enter(kind, look),
        };
        match &entry {
            Entry::Wait { ticket, .. } => {
                let kept = inner.wakers.entry(ticket.number());
                kept.or_insert_with(|| waker.clone()).clone_from(waker);
            }
            Entry::Go(_) => {
                if let Some(ticket) = ticket {
                    inner.wakers.remove(&ticket.number());
                }
                call(inner, look.now);
            }
        }
        entry
    }

    pub(super) fn leave(&self, ticket: Ticket, now: Duration) {
        let mut inner = self.lock();
        inner.wakers.remove(&ticket.number());
        inner.queue.leave(ticket);
        call(inner, now);
    }

    pub(super) fn change(&self, now: Duration, change: impl FnOnce(&mut Queue)) {
        let mut inner = self.lock();
        change(&mut inner.queue);
        call(inner, now);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the one whose turn has come sooner than it knows, after the lock is let go.
fn call(mut inner: MutexGuard<'_, Inner>, now: Duration) {
    let called = inner.queue.called(now);
    let waker = called.and_then(|ticket| inner.wakers.get(&ticket.number()).cloned());
    drop(inner);
    if let Some(waker) = waker {
        waker.wake();
    }
}
