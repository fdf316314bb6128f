//! The remainder of a quota, as responses state it, and the number of calls in flight.

use super::{CallNumber, MAX_COUNT, SECOND, product, quotient, sum};
use crate::gate::micros;
use crate::policy::Quota;
use std::time::Duration;

/// The shortest time after which a quota is back that no response renews.
const MIN_WINDOW_MICROS: u64 = SECOND;
/// The time after which a spent quota is back whose reset is zero seconds away.
const MIN_RESET: Duration = Duration::from_secs(1);

/// The known state of a key's quota. A turn lasts from one reset to the next.
#[derive(Debug, Default)]
pub(super) struct QuotaState {
    pub(super) known: bool,
    /// `true` until the first response of this turn.
    fresh: bool,
    limit: u64,
    pub(super) left: u64,
    /// The calls of this turn that are in flight.
    pub(super) in_flight: u64,
    reset: u64,
    /// The time from the turn's first response to its reset.
    length: u64,
    /// The number of the last call sent before this turn.
    sent_before: u64,
    /// The number of processes that share it, and the rank of this one.
    pub(super) shared_by: (u64, u64),
}

/// A quota at a gate, which counts in microseconds.
impl Quota {
    /// Returns the quota with a reset that can be waited for, even if it is spent and its reset is zero seconds away.
    pub(crate) fn with_min_reset(self) -> Self {
        let at_once = self.remaining == 0 && self.reset.is_zero();
        Self {
            reset: if at_once { MIN_RESET } else { self.reset },
            ..self
        }
    }

    /// Limits the reset to the delay that the response asked for.
    pub(super) fn within(self, delay: Option<u64>) -> Self {
        let most = Duration::from_micros(delay.unwrap_or(MAX_COUNT));
        Self {
            reset: self.reset.min(most),
            ..self
        }
    }

    /// Returns the time for which the quota is spent, if it is.
    pub(in crate::gate) fn spent_for(self) -> Option<u64> {
        (self.remaining == 0).then(|| micros(self.reset).min(MAX_COUNT))
    }
}

impl QuotaState {
    /// Restores the full limit if the reset has passed.
    pub(super) fn turn_over(&mut self, now: u64, sent: u64) {
        if self.known && now >= self.reset {
            // The calls in flight across the reset are no longer followed: the turn's first response corrects the
            // count.
            self.sent_before = sent;
            self.left = self.limit;
            self.in_flight = 0;
            self.fresh = true;
            self.reset = sum(now, self.length.max(MIN_WINDOW_MICROS));
        }
    }

    /// Returns the time at which more calls may go than are in flight, without further news. Returns `None` if they may
    /// go now.
    pub(super) fn spent_until(&self) -> Option<u64> {
        let spent = self.known && self.share() <= self.in_flight;
        spent.then_some(self.reset)
    }

    /// Returns the time of the reset, if nothing is left and no call is in flight whose response could say otherwise.
    pub(super) fn used_up_until(&self) -> Option<u64> {
        let used_up = self.known && self.left == 0 && self.in_flight == 0;
        used_up.then_some(self.reset)
    }

    /// Returns the part of the remainder that this process may use. If it cannot be divided evenly, the lowest ranks
    /// get one more.
    fn share(&self) -> u64 {
        let (processes, rank) = self.shared_by;
        let processes = processes.max(1);
        let part = quotient(self.left, processes);
        let rest = self.left.saturating_sub(product(part, processes));
        let has_one_more = rank.checked_rem(processes).is_some_and(|rank| rank < rest);
        part.saturating_add(u64::from(has_one_more))
    }

    /// Records the quota in the response of a call of this turn; other calls are ignored. Returns `true` if the
    /// response of such a call states no quota.
    #[inline(never)]
    pub(super) fn record(&mut self, now: u64, permit: CallNumber, quota: Option<Quota>) -> bool {
        if permit.0 <= self.sent_before {
            return false;
        }
        self.in_flight = self.in_flight.saturating_sub(1);
        let Some(quota) = quota else { return true };
        let remaining = quota.remaining.min(MAX_COUNT);
        let reset = micros(quota.reset).min(MAX_COUNT);
        if !self.known || self.fresh {
            self.left = remaining;
            self.reset = sum(now, reset);
            self.length = reset;
        } else {
            // Responses arrive in any order; within a turn, the smallest remainder is the latest.
            self.left = self.left.min(remaining);
            self.reset = self.reset.min(sum(now, reset));
        }
        // Without a stated limit, the best guess is the largest remainder so far, with the call itself.
        let least = self.limit.max(sum(remaining, 1));
        self.limit = quota.limit.unwrap_or(least).clamp(1, MAX_COUNT);
        self.known = true;
        self.fresh = false;
        false
    }

    /// Records a success of this turn without a quota. After a reset this may mean that there is none any more.
    pub(super) fn record_without_quota(&mut self) {
        self.known &= !self.fresh;
        self.fresh = false;
    }

    /// Records a call of this turn that ended without a response. The server may have counted it. Until the turn's
    /// first response at least one call remains, so that its response can tell more.
    pub(super) fn record_lost(&mut self) {
        self.left = self.left.saturating_sub(1).max(u64::from(self.fresh));
    }
}
