//! The times of a process's reports and retries of the store.

use crate::random::spread;
use http_retry_core::policy::Moment;
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
pub(crate) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST_BACKOFF)
    }
}

impl Backoff {
    /// Counts a failure, and returns the time of the next try.
    pub(crate) fn fail(&mut self, at: Moment) -> Duration {
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
pub(crate) fn flush_interval(processes: i64) -> Duration {
    millis(processes).clamp(MIN_FLUSH, MAX_FLUSH)
}

fn millis(processes: i64) -> Duration {
    // One millisecond for each process, so that all of them send a store about a thousand reports a second.
    Duration::from_millis(u64::try_from(processes).unwrap_or(0))
}
