//! The side of those who ask for retries.

use super::super::words::bounded;
use super::{Member, State};
use std::task::{Poll, Waker};
use std::time::Duration;

/// What comes of asking for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::budget) enum Asked {
    Paid,
    Refused,
    /// The store decides; the number of the one who waits.
    Waits(u64),
}

impl Member {
    /// Asks for a retry of this price.
    pub(in crate::budget) fn ask(&mut self, price: u64, now: Duration) -> Asked {
        let price = bounded(price);
        if self.pay_from_stash(price) {
            return Asked::Paid;
        }
        match self.state {
            State::Alone(_) => match self.pay_alone(price) {
                true => Asked::Paid,
                false => Asked::Refused,
            },
            State::Cold(_) | State::Joined if now < self.pace.hold => Asked::Refused,
            State::Cold(_) | State::Joined => Asked::Waits(self.waiting.push(price)),
        }
    }

    /// Pays at once, whatever the state: from the stash, or from the share of what the fleet had when last heard of.
    pub(in crate::budget) fn pay(&mut self, price: u64) -> bool {
        let price = bounded(price);
        self.pay_from_stash(price) || self.pay_alone(price)
    }

    /// What those count on who are part of the command in flight stays.
    fn pay_from_stash(&mut self, price: i64) -> bool {
        let promised = self.flight.as_ref().map_or(0, |flight| flight.promised);
        let paid = self.stash.saturating_sub(promised) >= price;
        if paid {
            self.stash = self.stash.saturating_sub(price);
        }
        paid
    }

    fn pay_alone(&mut self, price: i64) -> bool {
        self.share.earns(&self.terms, self.successes);
        let paid = self.share.spends(price);
        if paid {
            self.totals.spend(price);
        }
        paid
    }

    /// Pays or refuses at once whoever waits.
    pub(super) fn serve_alone(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.answer(|_, price| Some(self.pay_from_stash(price) || self.pay_alone(price)));
        self.waiting = waiting;
    }

    /// Takes back a price that was paid and not spent, for this process's next retry.
    pub(in crate::budget) fn refund(&mut self, price: u64) {
        self.stash = self.stash.saturating_add(bounded(price));
    }

    /// The answer to one who waits.
    pub(in crate::budget) fn poll(&mut self, number: u64, waker: &Waker) -> Poll<bool> {
        self.waiting.poll(number, waker)
    }

    /// One who waits does so no longer; whether the price was paid, if there is an answer.
    pub(in crate::budget) fn leave(&mut self, number: u64) -> Option<bool> {
        self.waiting.leave(number)
    }

    /// Whom to wake, if there is a command to send now for somebody who asks.
    pub(in crate::budget) fn driver(&self, now: Duration) -> Option<Waker> {
        let due = match self.state {
            State::Alone(_) => now >= self.pace.probe,
            State::Cold(_) | State::Joined => !self.waiting.is_empty(),
        };
        let due = due && self.flight.is_none();
        self.driver.as_ref().filter(|_| due).cloned()
    }

    /// What the fleet had when last heard of; alone, what this process has.
    pub(in crate::budget) fn tokens(&self) -> u64 {
        let tokens = match (self.state, &self.heard) {
            (State::Joined, Some(heard)) => heard.tokens,
            _ => self.share.tokens().saturating_add(self.stash),
        };
        u64::try_from(tokens).unwrap_or(0)
    }

    /// The most that [`Member::tokens`] can be.
    pub(in crate::budget) fn capacity(&self) -> u64 {
        let capacity = match (self.state, &self.heard) {
            (State::Joined, Some(heard)) => heard.capacity,
            _ => self.share.capacity(),
        };
        u64::try_from(capacity).unwrap_or(0)
    }
}
