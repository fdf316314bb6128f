//! One process's part in a shared gate: its reports and their times, and the effects of the store's notices.
//!
//! It performs no I/O: nothing here reads the clock, sleeps or sends.

use super::message::{GateNotice, GateReport};
use crate::clock::part;
use crate::task::NextAction;
use http_retry_core::sharing::vote::DEFAULT_COOLDOWN;
use std::task::Waker;
use std::time::Duration;

/// The shortest interval of reports, except for a gate that closes.
const INTERVAL: Duration = Duration::from_millis(10);
/// After a notice that the gate is closed, each process asks the store once, at a random time within this limit and
/// within the first half of the cooldown: for a probe, and for confirmation. If all asked at once, the store would be
/// slow to reply.
const SPREAD: Duration = Duration::from_millis(200);
/// The largest lead of a broadcast change that is believed, since a false number would stay.
const MAX_AHEAD: u64 = 1 << 32;
/// The delay after a failure of the store; it doubles up to the longest.
const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
const MAX_BACKOFF_DOUBLINGS: u32 = 5;
/// The shortest step back of a clock that counts as setting it back; shorter ones occur when two threads read it at
/// once.
const BACKSTEP: Duration = Duration::from_secs(1);

/// A process's part in a shared gate.
#[derive(Debug, Default)]
pub(super) struct GateParticipant {
    /// The longest time that a reply may take.
    wait: Duration,
    /// The monotonic time, and the lag of the runtime's clock behind it.
    now: Duration,
    ahead: Duration,
    /// `true` if the store notifies this process of closed gates.
    is_subscribed: bool,
    /// The number of the last known change.
    change: u64,
    /// `true` if calls of this process have contradicted a cooldown that the store has not ended since.
    disagrees: bool,
    /// The rank of this process among those that share a quota, and their last known number.
    rank: Option<u64>,
    processes: u64,
    /// The next report.
    report: GateReport,
    /// The time from which the store is asked even without anything to report.
    look_at: Option<Duration>,
    /// `true` if the gate has closed here for longer than the interval of reports.
    has_closed: bool,
    /// The task's waker, and the time at which the task checks without being woken.
    driver: Option<Waker>,
    driver_looks_at: Duration,
    /// The time when the report in flight was sent, and when the last one was.
    in_flight: Option<Duration>,
    last: Duration,
    /// The failures in a row; the store is not asked before `not_before`.
    failures: u32,
    not_before: Duration,
    /// The interval of reports that contain only successes.
    flush_interval: Duration,
}

/// The meaning of a notice for the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GateChange {
    Nothing,
    Closed {
        cooldown: Duration,
        /// `true` if the process has yet to ask the store about it.
        is_news: bool,
    },
    /// Successes of some processes contradicted the cooldown.
    Contradicted,
    /// The store has no cooldown.
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

    /// Updates the time; must be called before any other step at that time.
    pub(super) fn settle(&mut self, now: Duration) {
        let now = now.saturating_add(self.ahead);
        // Otherwise nothing would be due until the clock is back where it was.
        let back = self.now.saturating_sub(now);
        if back >= BACKSTEP {
            self.ahead = self.ahead.saturating_add(back);
        }
        self.now = self.now.max(now);
    }
}

/// The side of the gate.
impl GateParticipant {
    /// Records a refused call. Its refusal is a vote; `closed` if it closes the gate here.
    pub(super) fn refused(&mut self, delay: Option<Duration>, closed: bool) {
        self.report.refusals = self.report.refusals.saturating_add(1);
        let micros = |delay: Duration| u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        self.report.delay = delay.map(micros);
        // The other processes must learn of it soon. Short cooldowns would be reported without any interval.
        self.has_closed |=
            closed && delay.unwrap_or(Duration::from_micros(DEFAULT_COOLDOWN)) > INTERVAL;
    }

    /// Records successful calls; `since_refusal` is `true` if they count against a run of refusals here.
    pub(super) fn succeeded(&mut self, calls: u64, since_refusal: bool) {
        // While this process disagrees, each success is evidence against the cooldown of the others.
        let counted = if since_refusal || self.disagrees {
            &mut self.report.later
        } else {
            &mut self.report.successes
        };
        *counted = counted.saturating_add(calls);
    }

    /// Records that calls of this process have contradicted the cooldown: here it is over, whatever the store decides.
    pub(super) fn reopened(&mut self) {
        self.disagrees = true;
    }

    /// Returns the task's waker if there is something to report before its next check.
    pub(super) fn take_due_driver(&mut self) -> Option<Waker> {
        let at = self.reports_at()?;
        // The task's own check is early enough, and a wake for each call would be wasted.
        if at >= self.driver_looks_at {
            return None;
        }
        self.driver.take()
    }
}

/// The side of the task that sends the reports.
impl GateParticipant {
    /// Sets the waker to wake when there is something to report. Its task never checks without being woken.
    pub(super) fn watch(&mut self, waker: &Waker) {
        self.driver = Some(waker.clone());
        self.driver_looks_at = Duration::MAX;
    }

    /// Returns the number of processes that share the gate's quota and the rank of this one, or `None` if the number is
    /// unchanged.
    pub(super) fn new_share(&mut self, processes: u64, random: u64) -> Option<(u64, u64)> {
        let rank = *self.rank.get_or_insert(random);
        let before = std::mem::replace(&mut self.processes, processes);
        (before != processes).then_some((processes, rank))
    }

    /// Returns the next report if it is due, else the time of the next check. At most one report is in flight.
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

    /// Returns the time at which the next report is due.
    fn reports_at(&self) -> Option<Duration> {
        if self.in_flight.is_some() {
            return None;
        }
        let at_once = self.has_closed.then_some(Duration::ZERO);
        let is_soon = self.report.refusals > 0 || self.report.later > 0;
        let soon = is_soon.then(|| self.last.saturating_add(INTERVAL));
        // Successes alone matter only to a gate that has closed before.
        let flushes = self.report.successes > 0 && self.change > 0;
        let flush = flushes.then(|| self.last.saturating_add(self.flush_interval));
        let first = [at_once, soon, self.look_at, flush];
        let first = first.into_iter().flatten().min()?;
        // After a failure even a vote waits, or each refusal would try the store.
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

    /// Handles the reply to the report in flight. Returns `true` if this process is in the fleet from now on: it is
    /// notified of closed gates, and the reply was in time.
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

    /// Handles a failure of the store, which may not have the report.
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
        // Asked then even without a report: the store may have closed the gate meanwhile.
        self.look_at = Some(Duration::ZERO);
    }

    /// Handles a notice: that of a reply, or a broadcast to all processes, after which there may be a probe to ask for.
    pub(super) fn take_notice(&mut self, notice: GateNotice, is_broadcast: bool) -> GateChange {
        let is_new = notice.change > self.change;
        let is_believed = !is_broadcast || notice.change <= self.change.saturating_add(MAX_AHEAD);
        // Messages may overtake each other, and anyone with the right to publish can write them.
        if notice.change < self.change || !is_believed {
            return GateChange::Nothing;
        }
        self.change = notice.change;
        let is_closed = !notice.closed.is_zero();
        // A new change, or an open gate, ends the disagreement. Without the latter, a process that was refused while
        // the store was away would report its successes every ten milliseconds for good.
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

    /// Records that the store notifies this process of closed gates, or no longer does. A renewed subscription may have
    /// missed notices, so the store is asked at once.
    pub(super) fn set_subscribed(&mut self, is_subscribed: bool) {
        self.is_subscribed = is_subscribed;
        if is_subscribed {
            self.look_at = Some(Duration::ZERO);
            self.not_before = Duration::ZERO;
        }
    }
}
