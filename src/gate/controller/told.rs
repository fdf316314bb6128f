//! What other processes make of a gate that they share.

use super::Controller;

impl Controller {
    /// The gate is closed until then at least, for a refusal of another process.
    pub(in crate::gate) fn is_told(&mut self, now: u64, until: u64) {
        if !self.closed {
            self.closed = true;
            self.told = true;
            self.closed_at = now;
            self.until = now;
            self.asked = 0;
        }
        self.until = self.until.max(until);
        self.asked = self.asked.max(until.saturating_sub(now));
    }

    /// All take their refusals back.
    pub(in crate::gate) fn is_let_on(&mut self, now: u64) {
        self.told = false;
        self.open_again(now);
    }

    /// The pause has ended for all.
    pub(in crate::gate) fn is_over(&mut self, now: u64, random: u64) {
        if self.closed {
            self.open(now, random);
        }
    }

    /// The number of the last call that was sent.
    pub(in crate::gate) fn last_sent(&self) -> u64 {
        self.sent
    }
}
