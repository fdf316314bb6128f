//! The times of a process's reports and retries of the store, and of the next subscription after one that failed or was
//! lost.

use crate::clock::spread;
use http_retry_core::policy::Moment;
use http_retry_core::report::LeaveReason;
use std::time::Duration;

const MIN_FLUSH: Duration = Duration::from_millis(250);
/// Half the time for which the store remembers the last report of a process.
const MAX_FLUSH: Duration = Duration::from_secs(30);
const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
const MIN_HOLD: Duration = Duration::from_millis(100);
const MAX_HOLD: Duration = Duration::from_secs(5);

/// The times at which the next reports are due.
#[derive(Debug, Default)]
pub(super) struct FlushSchedule {
    /// `None` before the first check.
    pub(super) flush: Option<Duration>,
    /// The next try of a process that is alone.
    pub(super) probe: Duration,
    backoff: Backoff,
    /// Until then the fleet is known to have no tokens.
    pub(super) hold: Duration,
}

/// The delay after a failure, longer each time.
#[derive(Debug, Clone, Copy)]
struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST_BACKOFF)
    }
}

impl Backoff {
    /// Counts a failure, and returns the time of the next try.
    fn fail(&mut self, at: Moment) -> Duration {
        let retry_at = at.now.saturating_add(spread(self.0, at.random));
        self.0 = self.0.saturating_mul(2).min(MAX_BACKOFF);
        retry_at
    }
}

impl FlushSchedule {
    /// Updates the time. After a clock was set back, no time is later than it can have been planned.
    pub(super) fn settle(&mut self, now: Duration) {
        let latest = now.saturating_add(spread(MAX_FLUSH, u64::MAX));
        self.flush = self.flush.map(|flush| flush.min(latest));
        self.probe = self.probe.min(latest);
        self.hold = self.hold.min(now.saturating_add(MAX_HOLD));
    }

    /// Plans the next flush; the more processes there are, the later it is.
    pub(super) fn plan_flush(&mut self, processes: i64, at: Moment) -> Duration {
        let due = at
            .now
            .saturating_add(spread(flush_interval(processes), at.random));
        self.flush = Some(due);
        due
    }

    /// Plans the next try after a failure.
    pub(super) fn plan_retry(&mut self, at: Moment) {
        self.probe = self.backoff.fail(at);
    }

    /// Plans the next try after a late reply: the store is there, so it is asked at the usual interval.
    pub(super) fn lag(&mut self, processes: i64, at: Moment) {
        self.backoff = Backoff::default();
        self.probe = self.plan_flush(processes, at);
    }

    pub(super) fn recover(&mut self) {
        self.backoff = Backoff::default();
    }

    /// Lets retries be refused for a while without asking the store.
    pub(super) fn hold_back(&mut self, processes: i64, now: Duration) {
        let hold = millis(processes).clamp(MIN_HOLD, MAX_HOLD);
        self.hold = now.saturating_add(hold);
    }

    pub(super) fn flush_now(&mut self) {
        self.flush = Some(Duration::ZERO);
        // A process that is alone reports by this time.
        self.probe = Duration::ZERO;
    }
}

/// Returns the interval between the reports of one process, given the number of processes.
pub(super) fn flush_interval(processes: i64) -> Duration {
    millis(processes).clamp(MIN_FLUSH, MAX_FLUSH)
}

fn millis(processes: i64) -> Duration {
    // One millisecond for each process, so that all of them send a store about a thousand reports a second.
    Duration::from_millis(u64::try_from(processes).unwrap_or(0))
}

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
    pub(super) fn fail(&mut self, begun: Duration, reason: LeaveReason, at: Moment) {
        // Gates that subscribed together fail together, which is one failure.
        if begun >= self.counted_at {
            self.counted_at = at.now;
            self.reason = Some(reason);
            self.retry_at = self.backoff.fail(at);
        }
    }

    /// Counts the loss of a subscription that was granted at `granted`.
    pub(super) fn record_loss(&mut self, granted: Duration, at: Moment) {
        if at.now.saturating_sub(granted) < MIN_LASTING {
            self.fail(granted, LeaveReason::Unreachable, at);
        } else if granted >= self.counted_at {
            self.counted_at = at.now;
            self.retry_at = at.now;
            self.backoff = Backoff::default();
        }
    }
}
