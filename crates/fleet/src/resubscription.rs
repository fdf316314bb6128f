//! The time of the next subscription after one that failed or was lost.

use super::budget::Backoff;
use http_retry_core::report::LeaveReason;
use http_retry_core::runtime::Runtime;
use std::time::Duration;

/// The backoff of a fleet's subscriptions.
///
/// All gates subscribe on one connection, so they share one backoff: otherwise each of a thousand gates would open a
/// connection of its own that the store drops again. Neither a grant nor the reply to a command ends the backoff, since
/// a store can send both and then drop the connection. Only a subscription that has lasted does.
#[derive(Debug, Default)]
pub(super) struct Resubscription {
    retry_at: Duration,
    backoff: Backoff,
    /// The time when a failure was last counted, and its reason.
    counted_at: Duration,
    reason: Option<LeaveReason>,
}

/// The shortest lifetime of a subscription that is renewed at once when it is lost.
const MIN_LASTING: Duration = Duration::from_secs(5);

impl Resubscription {
    /// Returns the reason for which no gate may subscribe at this time, or `None` if gates may.
    pub(super) fn held_back(&self, now: Duration) -> Option<LeaveReason> {
        self.reason.filter(|_| now < self.retry_at)
    }

    /// Returns the time at which the next gate may subscribe.
    pub(super) fn retry_at(&self) -> Duration {
        self.retry_at
    }

    /// Counts a subscription that was requested at `begun` and not granted.
    pub(super) fn fail(&mut self, begun: Duration, reason: LeaveReason, runtime: &dyn Runtime) {
        // Gates that subscribed together fail together, which is one failure.
        if begun >= self.counted_at {
            let at = runtime.moment();
            self.counted_at = at.now;
            self.reason = Some(reason);
            self.retry_at = self.backoff.fail(at);
        }
    }

    /// Counts the loss of a subscription that was granted at `granted`.
    pub(super) fn record_loss(&mut self, granted: Duration, runtime: &dyn Runtime) {
        let now = runtime.now();
        if now.saturating_sub(granted) < MIN_LASTING {
            self.fail(granted, LeaveReason::Unreachable, runtime);
        } else if granted >= self.counted_at {
            self.counted_at = now;
            self.retry_at = now;
            self.backoff = Backoff::default();
        }
    }
}
