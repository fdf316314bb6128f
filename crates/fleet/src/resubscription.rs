//! The time when a fleet subscribes again after a subscription that failed or was lost.

use super::budget::Backoff;
use http_retry_core::report::LeaveReason;
use http_retry_core::runtime::Runtime;
use std::time::Duration;

/// The back-off of a fleet's subscriptions.
///
/// All gates subscribe on one connection, so they share one back-off: otherwise each of a thousand gates would open a
/// connection of its own that the store drops again. A grant does not end the back-off, and neither does the response to a
/// command: a store can grant both and then drop the connection. Only a subscription that has lasted does.
#[derive(Debug, Default)]
pub(super) struct Resubscription {
    retry_at: Duration,
    backoff: Backoff,
    /// The time when a failure was counted last, and its reason.
    counted_at: Duration,
    reason: Option<LeaveReason>,
}

/// A subscription that was lost after this time is renewed at once.
const MIN_LASTING: Duration = Duration::from_secs(5);

impl Resubscription {
    /// Returns why no gate may subscribe at this time, if none may.
    pub(super) fn held_back(&self, now: Duration) -> Option<LeaveReason> {
        self.reason.filter(|_| now < self.retry_at)
    }

    /// Returns when the next gate may subscribe.
    pub(super) fn retry_at(&self) -> Duration {
        self.retry_at
    }

    /// Counts a subscription that was asked for at `begun` and not granted.
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
