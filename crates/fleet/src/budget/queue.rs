//! The retries that wait for the store's reply, in the order of their arrival.

use std::collections::BTreeMap;
use std::task::{Poll, Waker};

/// Retries that wait to be paid for.
#[derive(Debug, Default)]
pub(super) struct PaymentQueue {
    /// The number of the next retry.
    next: u64,
    waiting: BTreeMap<u64, Waiter>,
    /// The answers that have not been read yet; `true` if paid.
    answered: BTreeMap<u64, bool>,
    wakers: Vec<Waker>,
}

#[derive(Debug)]
struct Waiter {
    price: i64,
    waker: Option<Waker>,
}

impl PaymentQueue {
    pub(super) fn push(&mut self, price: i64) -> u64 {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        let waker = None;
        self.waiting.insert(number, Waiter { price, waker });
        number
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the number of the next retry; all that wait now have lower ones.
    pub(super) fn end(&self) -> u64 {
        self.next
    }

    /// Returns the total price of all waiting retries.
    pub(super) fn price(&self) -> i64 {
        let prices = self.waiting.values().map(|waiter| waiter.price);
        prices.fold(0, i64::saturating_add)
    }

    /// Answers those for whom `answer` returns `Some`, in their order; it is called with their numbers and prices.
    pub(super) fn answer(&mut self, mut answer: impl FnMut(u64, i64) -> Option<bool>) {
        let Self {
            waiting,
            answered,
            wakers,
            ..
        } = self;
        waiting.retain(|number, waiter| {
            let Some(paid) = answer(*number, waiter.price) else {
                return true;
            };
            answered.insert(*number, paid);
            wakers.extend(waiter.waker.take());
            false
        });
    }

    /// Returns the answer to one of them, once.
    pub(super) fn poll(&mut self, number: u64, waker: &Waker) -> Poll<bool> {
        if let Some(waiter) = self.waiting.get_mut(&number) {
            match &mut waiter.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
            return Poll::Pending;
        }
        // Its answer was read before, and a future is not polled after that.
        Poll::Ready(self.answered.remove(&number).unwrap_or(false))
    }

    /// Removes one of them, and returns its answer if it has not been read.
    pub(super) fn remove(&mut self, number: u64) -> Option<bool> {
        self.waiting.remove(&number);
        self.answered.remove(&number)
    }

    /// Returns the wakers to wake, without a lock.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.wakers)
    }
}
