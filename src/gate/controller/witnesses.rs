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
    good: u64,
    bad: u64,
}

impl Witnesses {
    pub(super) fn of(refused: Permit, sent: u64) -> Self {
        Self {
            mark: refused.0,
            last: sent,
            // A call without a number says nothing of the order in which the others were sent.
            later: match refused.0 {
                0 => 0,
                mark => sent.saturating_sub(mark),
            },
            good: 0,
            bad: 1,
        }
    }

    /// Whether some are still to be heard.
    pub(super) fn are_awaited(&self) -> bool {
        self.later > 0
    }

    /// Hears one, if it is one; whether they contradict the pause now. They do so once.
    pub(super) fn hear(&mut self, permit: Permit, good: bool) -> bool {
        if !self.gone(permit) {
            return false;
        }
        match good {
            true => self.good = sum(self.good, 1),
            false => self.bad = sum(self.bad, 1),
        }
        let clear = self.good >= product(self.bad, CONTRADICTED);
        let last = self.later == 0 && self.good >= self.bad;
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
