//! When a process speaks by itself.

use crate::policy::{Moment, nanos, uniform};
use std::time::Duration;

const SHORTEST_FLUSH: Duration = Duration::from_millis(250);
/// Half the time for which the store remembers what a process said last.
const LONGEST_FLUSH: Duration = Duration::from_secs(30);
const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);
const SHORTEST_HOLD: Duration = Duration::from_millis(100);
const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// The times at which the next commands are due.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Nothing before the first look.
    pub(super) flush: Option<Duration>,
    /// When a process that is alone tries again.
    pub(super) probe: Duration,
    backoff: Backoff,
    /// Up to then the fleet is known to have nothing.
    pub(super) hold: Duration,
}

/// How much later one tries again who has failed, each time more so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST_BACKOFF)
    }
}

impl Backoff {
    /// When to try again.
    pub(crate) fn fails(&mut self, at: Moment) -> Duration {
        let again = at.now.saturating_add(spread(self.0, at.random));
        self.0 = self.0.saturating_mul(2).min(LONGEST_BACKOFF);
        again
    }
}

impl Pace {
    /// Takes in the time: after a clock was set back, nothing is further off than it can have been planned.
    pub(super) fn settle(&mut self, now: Duration) {
        let latest = now.saturating_add(spread(LONGEST_FLUSH, u64::MAX));
        self.flush = self.flush.map(|flush| flush.min(latest));
        self.probe = self.probe.min(latest);
        self.hold = self.hold.min(now.saturating_add(LONGEST_HOLD));
    }

    /// Plans the next flush, the later the more processes there are.
    pub(super) fn flushes(&mut self, processes: i64, at: Moment) -> Duration {
        let due = at.now.saturating_add(spread(flush(processes), at.random));
        self.flush = Some(due);
        due
    }

    /// After a failure: the next try, each later than the one before.
    pub(super) fn fails(&mut self, at: Moment) {
        self.probe = self.backoff.fails(at);
    }

    /// After an answer that came too late: the store is there, and is asked on as often as by others.
    pub(super) fn lags(&mut self, processes: i64, at: Moment) {
        self.backoff = Backoff::default();
        self.probe = self.flushes(processes, at);
    }

    pub(super) fn recovers(&mut self) {
        self.backoff = Backoff::default();
    }

    /// Refuses without a question for a while.
    pub(super) fn holds(&mut self, processes: i64, now: Duration) {
        let hold = millis(processes).clamp(SHORTEST_HOLD, LONGEST_HOLD);
        self.hold = now.saturating_add(hold);
    }

    pub(super) fn at_once(&mut self) {
        self.flush = Some(Duration::ZERO);
        self.probe = Duration::ZERO;
    }
}

/// How often one of so many processes says by itself what it has to say.
pub(crate) fn flush(processes: i64) -> Duration {
    millis(processes).clamp(SHORTEST_FLUSH, LONGEST_FLUSH)
}

fn millis(processes: i64) -> Duration {
    Duration::from_millis(u64::try_from(processes).unwrap_or(0))
}

/// A fifth more or less, so that processes that failed together do not come back together.
fn spread(interval: Duration, random: u64) -> Duration {
    let fifth = interval.as_nanos() / 5;
    let more = uniform(random, fifth.saturating_mul(2));
    nanos(fifth.saturating_mul(4).saturating_add(more))
}
