//! What is left of a quota, as answers tell it, and how many calls are in flight.

use super::{CallNumber, MAX_COUNT, SECOND, sum};
use super::{product, quotient};
use crate::gate::micros;
use crate::server_hints;
use std::time::Duration;

/// A quota that no answer renews comes back after this time at least.
const MIN_WINDOW_MICROS: u64 = SECOND;
/// A spent quota whose reset is nought seconds away comes back within the second.
const MIN_RESET_MICROS: u64 = SECOND;

/// What an answer says of a quota of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateQuota {
    pub(crate) limit: Option<u64>,
    pub(crate) remaining: u64,
    /// How long until it is whole again.
    pub(crate) reset: u64,
}

/// What is known of a key's quota. A turn lasts from one reset to the next.
#[derive(Debug, Default)]
pub(super) struct QuotaState {
    pub(super) known: bool,
    /// No answer of this turn has been heard yet.
    fresh: bool,
    limit: u64,
    pub(super) left: u64,
    /// The calls of this turn that are in flight.
    pub(super) flying: u64,
    reset: u64,
    /// How long it was until the reset when the turn's first answer came.
    len: u64,
    /// The last call that was sent before this turn.
    sent_before: u64,
    /// How many processes share it, and which of them this is.
    pub(super) shared_by: (u64, u64),
}

impl From<server_hints::Quota> for GateQuota {
    fn from(read: server_hints::Quota) -> Self {
        let at_once = read.remaining == 0 && read.reset.is_zero();
        Self {
            limit: read.limit,
            remaining: read.remaining,
            reset: if at_once {
                MIN_RESET_MICROS
            } else {
                micros(read.reset)
            },
        }
    }
}

impl GateQuota {
    /// How long until it is whole again.
    pub(crate) fn reset(&self) -> Duration {
        Duration::from_micros(self.reset)
    }

    /// The same, with a reset that is no later than what the answer asked for.
    pub(super) fn within(self, asked: Option<u64>) -> Self {
        Self {
            reset: self.reset.min(asked.unwrap_or(MAX_COUNT)),
            ..self
        }
    }

    /// How long it is spent, if it is.
    pub(in crate::gate) fn spent_for(self) -> Option<u64> {
        (self.remaining == 0).then_some(self.reset.min(MAX_COUNT))
    }
}

impl QuotaState {
    /// Past the reset, as much is left as the limit is.
    pub(super) fn turn_over(&mut self, now: u64, sent: u64) {
        if self.known && now >= self.reset {
            self.sent_before = sent;
            self.left = self.limit;
            self.flying = 0;
            self.fresh = true;
            self.reset = sum(now, self.len.max(MIN_WINDOW_MICROS));
        }
    }

    /// When more may go than are in flight, if nothing is heard before.
    pub(super) fn spent_until(&self) -> Option<u64> {
        let spent = self.known && self.share() <= self.flying;
        spent.then_some(self.reset)
    }

    /// How much of what is left this process may use: one of several takes a part, and some of them one more.
    fn share(&self) -> u64 {
        let (processes, rank) = self.shared_by;
        let processes = processes.max(1);
        let part = quotient(self.left, processes);
        let rest = self.left.saturating_sub(product(part, processes));
        let has_one_more = rank.checked_rem(processes).is_some_and(|rank| rank < rest);
        part.saturating_add(u64::from(has_one_more))
    }

    /// A call has come back, with what its answer says. Only calls of this turn count; tells whether it is one of those
    /// that say nothing.
    pub(super) fn record(
        &mut self,
        now: u64,
        permit: CallNumber,
        quota: Option<GateQuota>,
    ) -> bool {
        if permit.0 <= self.sent_before {
            return false;
        }
        self.flying = self.flying.saturating_sub(1);
        let Some(quota) = quota else { return true };
        let (remaining, reset) = (quota.remaining.min(MAX_COUNT), quota.reset.min(MAX_COUNT));
        if !self.known || self.fresh {
            self.left = remaining;
            self.reset = sum(now, reset);
            self.len = reset;
        } else {
            self.left = self.left.min(remaining);
            self.reset = self.reset.min(sum(now, reset));
        }
        let least = self.limit.max(sum(remaining, 1));
        self.limit = quota.limit.unwrap_or(least).clamp(1, MAX_COUNT);
        self.known = true;
        self.fresh = false;
        false
    }

    /// A success of this turn has told of no quota: after a reset there may be none any more.
    pub(super) fn record_without_quota(&mut self) {
        self.known &= !self.fresh;
        self.fresh = false;
    }

    /// A call of this turn has ended without an answer: the server may have counted it. While nothing was heard of the
    /// turn, one remains, so that its answer can tell more.
    pub(super) fn record_lost(&mut self) {
        self.left = self.left.saturating_sub(1).max(u64::from(self.fresh));
    }
}
