//! The line of a key: its waiters, in the order in which they go.

use super::controller::CallNumber;
use super::state::CallKind;
use std::collections::BTreeMap;
use std::task::Waker;

/// The delay after the first waiter's turn at which the next ones poll, in microseconds, in case the first is not
/// polled.
const PATIENCE: u64 = 100_000;
/// The number of waiters, including the first, that poll that soon.
const PROMPT_WAITERS: usize = 8;
/// The most delays of a waiter behind them. It polls one delay later for each waiter before it, up to this number.
const MAX_POLL_STEPS: u64 = 50;

/// A waiter: the start of its call in microseconds, and a unique number. The line is sorted by these.
pub(super) type WaiterId = (u64, u64);

/// Waiters in the order of a number and of their own. The value is `None` where another order has the waiter. There is one
/// type for all orders, since a program has the code of a tree once for each type.
type Order = BTreeMap<(u64, WaiterId), Option<Box<Waiting>>>;

/// The waiters of one key. Every operation is logarithmic in their number.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    /// The two parts of the line: the waiters that were sent before, and those that were not.
    retries: Order,
    newcomers: Order,
    /// The same waiters, by the time at which their patience ends.
    patience: Order,
    /// The waiters that may go but have not polled since.
    granted: Order,
    last_number: u64,
    /// The time of the next waiter's turn, if nothing happens before.
    pub(super) turn: u64,
    /// The waiters to wake once the lock is released.
    wakers: Vec<Waker>,
}

#[derive(Debug)]
pub(super) struct Waiting {
    /// `None` from a wake-up until the next poll.
    pub(super) waker: Option<Waker>,
    /// The time at which it polls without being woken.
    pub(super) polls_at: u64,
    pub(super) patient_until: u64,
    /// It ends once it is known that the gate stays shut up to this time.
    pub(super) ends_by: u64,
    pub(super) kind: CallKind,
    /// `None` while it is in the line.
    pub(super) permit: Option<CallNumber>,
}

impl WaitQueue {
    /// Returns `true` if there is no waiter, and no permit that is not used yet.
    pub(super) fn is_unused(&self) -> bool {
        self.len() == 0 && self.granted.is_empty()
    }

    /// Returns the number of waiters in the line.
    pub(super) fn len(&self) -> u64 {
        let waiters = self.retries.len().saturating_add(self.newcomers.len());
        u64::try_from(waiters).unwrap_or(u64::MAX)
    }

    /// Returns a waiter in the line.
    pub(super) fn get(&self, id: WaiterId) -> Option<&Waiting> {
        let mut lines = [&self.retries, &self.newcomers].into_iter();
        lines.find_map(|line| line.get(&(0, id))?.as_deref())
    }

    #[inline(never)]
    fn get_mut(&mut self, id: WaiterId) -> Option<&mut Waiting> {
        let mut lines = [&mut self.retries, &mut self.newcomers].into_iter();
        lines.find_map(|line| line.get_mut(&(0, id))?.as_deref_mut())
    }

    /// Returns the first waiters of the line.
    #[inline(never)]
    fn front(&self) -> Vec<WaiterId> {
        let mut retries = self.retries.keys().map(|(_, id)| *id).peekable();
        let mut newcomers = self.newcomers.keys().map(|(_, id)| *id).peekable();
        let next = move || match (retries.peek(), newcomers.peek()) {
            (Some(retry), Some(newcomer)) if newcomer < retry => newcomers.next(),
            (None, _) => newcomers.next(),
            _ => retries.next(),
        };
        std::iter::from_fn(next).take(PROMPT_WAITERS).collect()
    }

    /// Adds a waiter for a call that began at `began`.
    pub(super) fn join(&mut self, began: u64, waiting: Waiting) -> WaiterId {
        self.last_number = self.last_number.saturating_add(1);
        let id = (began, self.last_number);
        self.insert(id, Box::new(waiting));
        id
    }

    /// Removes a waiter, and returns the permit that it was granted meanwhile.
    pub(super) fn leave(&mut self, id: WaiterId) -> Option<CallNumber> {
        self.remove(id);
        self.take_granted(id)
    }

    /// Returns the permit of a waiter, if its turn has come.
    pub(super) fn take_granted(&mut self, id: WaiterId) -> Option<CallNumber> {
        take(&mut self.granted, (0, id))?.permit
    }

    /// Wakes the waiters that are to end by this time if the gate is shut.
    #[inline(never)]
    pub(super) fn wake_those_that_end(&mut self, by: Option<u64>) {
        for line in [&mut self.retries, &mut self.newcomers] {
            for waiting in line.values_mut() {
                let ends = |waiting: &&mut Box<Waiting>| Some(waiting.ends_by) <= by;
                if let Some(waiting) = waiting.as_mut().filter(ends) {
                    self.wakers.extend(waiting.waker.take());
                }
            }
        }
    }

    pub(super) fn first(&self) -> Option<WaiterId> {
        let lines = [&self.retries, &self.newcomers].into_iter();
        lines.filter_map(first).map(|(_, id)| id).min()
    }

    pub(super) fn first_newcomer(&self) -> Option<WaiterId> {
        first(&self.newcomers).map(|(_, id)| id)
    }

    /// Returns the waiter whose patience ends first, and that time.
    pub(super) fn overdue(&self) -> Option<(WaiterId, u64)> {
        first(&self.patience).map(|(until, id)| (id, until))
    }

    /// Moves a waiter out of the line with a permit, and schedules its wake-up.
    pub(super) fn grant(&mut self, id: WaiterId, permit: CallNumber) {
        if let Some(mut waiting) = self.remove(id) {
            self.wakers.extend(waiting.waker.take());
            waiting.permit = Some(permit);
            put(&mut self.granted, (0, id), Some(waiting));
        }
    }

    /// Takes back the permits that are not used yet. Their waiters return to their positions in the line.
    #[inline(never)]
    pub(super) fn take_back(&mut self) -> Vec<CallNumber> {
        let mut back = Vec::new();
        while let Some((_, id)) = first(&self.granted) {
            if let Some(mut waiting) = take(&mut self.granted, (0, id)) {
                back.extend(waiting.permit.take());
                self.insert(id, waiting);
            }
        }
        back
    }

    /// Records that a waiter polls, and need not be woken.
    pub(super) fn mark_polled(&mut self, id: WaiterId) {
        if let Some(waiting) = self.get_mut(id) {
            waiting.waker = None;
        }
    }

    /// Returns the time of a waiter's next poll, if it is not woken before. The first waiter polls at its turn, the
    /// others later, so that the line moves even if those before them are not polled.
    #[inline(never)]
    pub(super) fn schedule_poll(&mut self, id: WaiterId, waker: &Waker) -> u64 {
        let position = self.front().into_iter().position(|other| other == id);
        let first = self.first().map_or(0, |(_, number)| number);
        // An estimate by the numbers: to count the waiters before it would take linear time.
        let before = id.1.saturating_sub(first);
        let later = match position {
            Some(0) => 0,
            Some(_) => PATIENCE,
            None => before.clamp(1, MAX_POLL_STEPS).saturating_mul(PATIENCE),
        };
        let at = self.turn.saturating_add(later);
        if let Some(waiting) = self.get_mut(id) {
            waiting.polls_at = at;
            waiting.waker = Some(waker.clone());
        }
        at
    }

    /// Returns the waiters to wake: those that may go, and those at the front that would poll too late.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        let mut by = self.turn;
        for id in self.front() {
            // It was scheduled when the turn was later, or when more waiters were before it.
            let late = self.get_mut(id).filter(|waiting| waiting.polls_at > by);
            let waker = late.and_then(|waiting| waiting.waker.take());
            self.wakers.extend(waker);
            by = self.turn.saturating_add(PATIENCE);
        }
        std::mem::take(&mut self.wakers)
    }

    fn insert(&mut self, id: WaiterId, waiting: Box<Waiting>) {
        put(&mut self.patience, (waiting.patient_until, id), None);
        let line = match waiting.kind {
            CallKind::Retry => &mut self.retries,
            CallKind::Newcomer => &mut self.newcomers,
        };
        put(line, (0, id), Some(waiting));
    }

    fn remove(&mut self, id: WaiterId) -> Option<Box<Waiting>> {
        let mut lines = [&mut self.retries, &mut self.newcomers].into_iter();
        let waiting = lines.find_map(|line| take(line, (0, id)))?;
        take(&mut self.patience, (waiting.patient_until, id));
        Some(waiting)
    }
}

fn first(order: &Order) -> Option<(u64, WaiterId)> {
    order.first_key_value().map(|(at, _)| *at)
}

#[inline(never)]
fn put(order: &mut Order, at: (u64, WaiterId), waiting: Option<Box<Waiting>>) {
    order.insert(at, waiting);
}

#[inline(never)]
fn take(order: &mut Order, at: (u64, WaiterId)) -> Option<Box<Waiting>> {
    order.remove(&at).flatten()
}
