//! What became of the calls that were sent after the refused one: whether they contradict its pause.

use super::{Permit, product, sum};

/// So many successes for each refusal contradict a pause, while some calls are still to be heard.
const CONTRADICTED: u64 = 2;

/// The calls after the one whose refusal closed the gate, up to the last that was sent before it did.
#[derive(Debug, Default)]
pub(super) struct Witnesses {
    mark: u64,
    last: u64,
    /// How many are not heard yet.
    pub(super) later: u64,
    /// And what became of the others, and of the refused call.
    heard: Heard,
}

/// How many calls were let through, and how many were refused.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heard {
    pub(super) good: u64,
    pub(super) bad: u64,
}

impl Witnesses {
    pub(super) fn of(refused: Permit, sent: u64) -> Self {
        Self {
            mark: refused.0,
            last: sent,
            later: sent.saturating_sub(refused.0),
            heard: Heard { good: 0, bad: 1 },
        }
    }

    /// Hears one, if it is one; whether they contradict the pause now. They do so once.
    pub(super) fn hear(&mut self, permit: Permit, good: bool) -> bool {
        if !self.gone(permit) {
            return false;
        }
        self.heard.add(good);
        let Heard { good, bad } = self.heard;
        let clear = good >= product(bad, CONTRADICTED);
        let last = self.later == 0 && good >= bad;
        if clear || last {
            self.later = 0;
        }
        clear || last
    }

    /// One will not be heard any more, if it is one of them.
    pub(super) fn gone(&mut self, permit: Permit) -> bool {
        let among = self.later > 0 && permit.0 > self.mark && permit.0 <= self.last;
        self.later = self.later.saturating_sub(u64::from(among));
        among
    }
}

impl Heard {
    pub(super) fn add(&mut self, good: bool) {
        let number = if good { &mut self.good } else { &mut self.bad };
        *number = sum(*number, 1);
    }

    pub(super) fn count(self) -> u64 {
        sum(self.good, self.bad)
    }

    /// Old answers weigh less.
    pub(super) fn halve(&mut self) {
        self.good >>= 1;
        self.bad >>= 1;
    }
}
