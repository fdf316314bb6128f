//! A budget as it should be.

use super::Terms;
use std::time::Duration;

/// A budget as it should be, in millionths of a token, told of everything at once.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) terms: Terms,
    pub(super) tokens: u64,
    first: Option<Duration>,
    pub(super) latest: Duration,
    refilled: u64,
}

impl Model {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            tokens: u64::from(terms.initial) * 1_000,
            first: None,
            latest: Duration::ZERO,
            refilled: 0,
            terms,
        }
    }

    pub(super) fn add(&mut self, amount: u64) {
        self.tokens = (self.tokens + amount).min(u64::from(self.terms.capacity) * 1_000);
    }

    /// All that time has brought since the first use is one multiplication, however often it was looked at.
    pub(super) fn settle(&mut self, now: Duration) {
        let first = *self.first.get_or_insert(now);
        self.latest = self.latest.max(now);
        let elapsed = (self.latest - first).as_nanos();
        let earned = u128::from(self.terms.per_second) * 1_000 * elapsed / 1_000_000_000;
        let earned = u64::try_from(earned).unwrap();
        self.add(earned - self.refilled);
        self.refilled = earned;
    }

    pub(super) fn withdraw(&mut self, price: u64) -> bool {
        let granted = self.tokens >= price;
        self.tokens -= if granted { price } else { 0 };
        granted
    }
}
