//! One process's part in a shared gate: what it reports, when, and what the store's notices change.
//!
//! Nothing here asks for the time, sleeps or sends.

use super::message::{GateNotice, GateReport};
use crate::random::part;
use crate::task::NextAction;
use http_retry_core::gate::vote::DEFAULT_COOLDOWN;
use std::task::Waker;
use std::time::Duration;

/// Reports come at most this often, but for a gate that closes.
const INTERVAL: Duration = Duration::from_millis(10);
/// After a notice that the gate is closed each process asks the store once, within this time and within the first half of
/// the cooldown: for a probe, and whether it is true. A store that all ask at once keeps them waiting.
const SPREAD: Duration = Duration::from_millis(200);
/// A notice of a change that is further ahead is not believed: its number would stay.
const MAX_AHEAD: u64 = 1 << 32;
/// A store that fails is asked again after this time, which doubles up to the longest.
const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
const MAX_BACKOFF_DOUBLINGS: u32 = 5;
/// A clock that goes back by less was read by two threads at once.
const BACKSTEP: Duration = Duration::from_secs(1);

/// A process's part in a shared gate.
#[derive(Debug, Default)]
pub(super) struct GateParticipant {
    /// The longest that a reply may take.
    wait: Duration,
    /// The time, which only goes forward, and how much the runtime's clock is behind it.
    now: Duration,
    ahead: Duration,
    /// The store notifies this process of closed gates.
    is_subscribed: bool,
    /// The number of the last change that is known.
    change: u64,
    /// Calls of this process have contradicted a cooldown, and the store has not said since that it is over.
    disagrees: bool,
    /// The number of this process among those that share a quota, and how many there were last.
    rank: Option<u64>,
    processes: u64,
    /// The next report.
    report: GateReport,
    /// There is nothing to report, but something to ask: from this time on.
    look_at: Option<Duration>,
    /// The gate has closed here for longer than the interval of reports.
    has_closed: bool,
    /// The task, and the time of its next look.
    driver: Option<Waker>,
    driver_looks_at: Duration,
    /// The time when the report in flight was sent, and when the last one was.
    in_flight: Option<Duration>,
    last: Duration,
    /// The failures in a row; the store is not asked before this time.
    failures: u32,
    not_before: Duration,
    /// The time between reports of nothing but successes.
    flush_interval: Duration,
}

/// The meaning of a notice for the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GateChange {
    Nothing,
    Closed {
        cooldown: Duration,
        /// The store is to be asked about it.
        is_news: bool,
    },
    /// Successes of some processes contradicted the cooldown.
    Contradicted,
    /// The store knows of no cooldown.
    Over,
}

impl GateParticipant {
    pub(super) fn new(wait: Duration) -> Self {
        Self {
            wait,
            look_at: Some(Duration::ZERO),
            ..Self::default()
        }
    }

    /// Counts the time; to be called before everything that is done at a time.
    pub(super) fn settle(&mut self, now: Duration) {
        let now = now.saturating_add(self.ahead);
        let back = self.now.saturating_sub(now);
        if back >= BACKSTEP {
            self.ahead = self.ahead.saturating_add(back);
        }
        self.now = self.now.max(now);
    }
}

/// The side of the gate.
impl GateParticipant {
    /// A call was refused, and its refusal is a vote, by which the gate closes here or does not.
    pub(super) fn refused(&mut self, asked: Option<Duration>, closed: bool) {
        self.report.refusals = self.report.refusals.saturating_add(1);
        let micros = |asked: Duration| u64::try_from(asked.as_micros()).unwrap_or(u64::MAX);
        self.report.asked = asked.map(micros);
        // The other processes are to know of that soon. Short cooldowns would be reported without an interval.
        self.has_closed |=
            closed && asked.unwrap_or(Duration::from_micros(DEFAULT_COOLDOWN)) > INTERVAL;
    }

    /// Calls have succeeded; `since_refusal` is `true` if they count against a run of refusals here.
    pub(super) fn succeeded(&mut self, calls: u64, since_refusal: bool) {
        let counted = if since_refusal || self.disagrees {
            &mut self.report.later
        } else {
            &mut self.report.successes
        };
        *counted = counted.saturating_add(calls);
    }

    /// Calls of this process have contradicted the cooldown: for them it is over, whatever the store makes of it.
    pub(super) fn reopened(&mut self) {
        self.disagrees = true;
    }

    /// Returns the task if there is something to report before it looks.
    pub(super) fn take_due_driver(&mut self) -> Option<Waker> {
        let at = self.reports_at()?;
        if at >= self.driver_looks_at {
            return None;
        }
        self.driver.take()
    }
}

/// The side of the task that sends the reports.
impl GateParticipant {
    /// Wakes this task when there is something to report. It does not poll.
    pub(super) fn watch(&mut self, waker: &Waker) {
        self.driver = Some(waker.clone());
        self.driver_looks_at = Duration::MAX;
    }

    /// Returns the number of processes and of this one among them, if others share the gate's quota than before.
    pub(super) fn new_share(&mut self, processes: u64, random: u64) -> Option<(u64, u64)> {
        let rank = *self.rank.get_or_insert(random);
        let before = std::mem::replace(&mut self.processes, processes);
        (before != processes).then_some((processes, rank))
    }

    /// Returns the next report if it is due, else when to look again. At most one is in flight.
    pub(super) fn next(
        &mut self,
        random: u64,
        flush_interval: Duration,
        waker: &Waker,
    ) -> NextAction<GateReport> {
        self.driver = Some(waker.clone());
        self.flush_interval = flush_interval;
        let at = self.reports_at();
        if at.is_some_and(|at| at <= self.now) {
            return NextAction::Send(self.take_report());
        }
        let later = flush_interval.saturating_add(part(flush_interval / 4, random));
        let poll = self.now.saturating_add(later);
        self.driver_looks_at = at.map_or(poll, |at| at.min(poll));
        NextAction::Wait(Some(self.driver_looks_at.saturating_sub(self.ahead)))
    }

    /// Returns when the next report is due.
    fn reports_at(&self) -> Option<Duration> {
        if self.in_flight.is_some() {
            return None;
        }
        let at_once = self.has_closed.then_some(Duration::ZERO);
        let is_soon = self.report.refusals > 0 || self.report.later > 0;
        let soon = is_soon.then(|| self.last.saturating_add(INTERVAL));
        // Successes alone matter to a gate that closes now and then.
        let flushes = self.report.successes > 0 && self.change > 0;
        let flush = flushes.then(|| self.last.saturating_add(self.flush_interval));
        let first = [at_once, soon, self.look_at, flush];
        let first = first.into_iter().flatten().min()?;
        Some(first.max(self.not_before))
    }

    fn take_report(&mut self) -> GateReport {
        (self.look_at, self.in_flight, self.last) = (None, Some(self.now), self.now);
        self.driver_looks_at = Duration::MAX;
        self.has_closed = false;
        GateReport {
            change: self.change,
            ..std::mem::take(&mut self.report)
        }
    }

    /// The store has replied to the report in flight. Returns `true` if this process is in the fleet from here on: it is
    /// notified of closed gates, and the reply came in time.
    pub(super) fn replied(&mut self, random: u64) -> bool {
        let sent = self.in_flight.take();
        let in_time = sent.is_some_and(|sent| self.now.saturating_sub(sent) <= self.wait);
        if in_time {
            (self.failures, self.not_before) = (0, Duration::ZERO);
        } else {
            self.back_off(random);
        }
        in_time && self.is_subscribed
    }

    /// The store has failed, and may not have the report.
    pub(super) fn failed(&mut self, random: u64) {
        self.in_flight = None;
        self.back_off(random);
    }

    fn back_off(&mut self, random: u64) {
        let doublings = self.failures.min(MAX_BACKOFF_DOUBLINGS);
        let backoff = MIN_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF);
        self.failures = doublings.saturating_add(1);
        let backoff = backoff.saturating_add(part(backoff / 4, random));
        self.not_before = self.now.saturating_add(backoff);
        self.look_at = Some(Duration::ZERO);
    }

    /// Takes a notice: of a reply, or one that went to all processes, so that there may be a probe to ask for.
    pub(super) fn take_notice(&mut self, notice: GateNotice, is_broadcast: bool) -> GateChange {
        let is_new = notice.change > self.change;
        let is_believed = !is_broadcast || notice.change <= self.change.saturating_add(MAX_AHEAD);
        if notice.change < self.change || !is_believed {
            return GateChange::Nothing;
        }
        self.change = notice.change;
        let is_closed = !notice.closed.is_zero();
        self.disagrees &= !is_new && is_closed;
        if is_closed && self.disagrees {
            GateChange::Nothing
        } else if is_closed {
            GateChange::Closed {
                cooldown: notice.closed,
                is_news: is_new && is_broadcast,
            }
        } else if is_new {
            GateChange::Contradicted
        } else {
            GateChange::Over
        }
    }

    /// Plans to ask the store about a cooldown that has begun.
    pub(super) fn plan_look(&mut self, cooldown: Duration, random: u64) {
        let later = part((cooldown / 2).min(SPREAD), random);
        self.look_at = Some(self.now.saturating_add(later));
    }

    /// The store notifies this process of closed gates, or no longer. If it does again, something may have been missed.
    pub(super) fn set_subscribed(&mut self, is_subscribed: bool) {
        self.is_subscribed = is_subscribed;
        if is_subscribed {
            self.look_at = Some(Duration::ZERO);
            self.not_before = Duration::ZERO;
        }
    }
}
