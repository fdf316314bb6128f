//! The state that the lock of a key guards: its controller, its line, and their clock.

use super::controller::{CallNumber, Controller, NextTurn, sum};
use super::key::GateKey;
use super::map::{Counters, Permit};
use super::micros;
use super::queue::{WaitQueue, WaiterId, Waiting};
use crate::policy::Quota;
use crate::sharing::Peer;
use std::fmt;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

/// A clock that goes back by less than this, in microseconds, was read by two threads at once.
const BACKSTEP: u64 = 1_000_000;

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum CallEnd {
    /// It was refused, and asked for this delay, if any.
    Refused(Option<Duration>),
    /// It succeeded.
    Succeeded,
    /// It ended in another way, or was dropped.
    Other,
}

/// The gate is not idle: the call has to wait, or the state has to be updated.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotIdle;

/// A call that asks to be sent.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct GateRequest {
    /// The key of its gate.
    pub key: GateKey,
    /// The line in which it waits.
    pub kind: CallKind,
    /// The time at which the call began, which decides its position in the line.
    pub began: Duration,
    /// The time from which it must not be sent.
    pub deadline: Option<Duration>,
    /// The time after which it goes in spite of the gate.
    pub at_gate: Duration,
    /// `true` if it ends as soon as it is known that it cannot pass before its deadline.
    pub ends_early: bool,
    /// `true` if a quota counts from the first response on, and not only after a refusal. The gate's own setting takes
    /// precedence.
    pub quotas_at_once: bool,
}

/// The line of a call: new calls, or retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum CallKind {
    /// The call was sent before.
    Retry,
    /// The call was never sent.
    Newcomer,
}

/// The result of a wait.
#[derive(Debug)]
#[non_exhaustive]
pub struct Passed {
    /// The time spent waiting.
    pub waited: Duration,
    /// The right to send the call, or `None` if the gate has no slot for it. If its deadline comes first, the error
    /// holds the time until the gate opens, if the call ended early for it.
    pub place: Result<Option<Permit>, Option<Duration>>,
}

/// The state of one key. Times are microseconds since an epoch of the caller's choice.
#[derive(Debug)]
pub(super) struct KeyState {
    controller: Controller,
    queue: WaitQueue,
    /// The time, which never goes back, and its lead over the outer clock.
    now: u64,
    lead: u64,
    /// The time before which no call goes, as of the last event: of those that were sent before, and of newcomers.
    shut: [Option<u64>; 2],
    /// `None` if the key is not shared with other processes.
    sharing: Option<Box<Sharing>>,
}

/// The part of a key's state that concerns other processes.
#[derive(Default)]
struct Sharing {
    /// Dropped when the key loses its slot.
    tenure: Arc<()>,
    /// The longest cooldown for which a call of this process waits. A longer one delays no call here, just as a refusal
    /// that asks for as much closes no gate.
    longest: u64,
    /// `None` while it is being created.
    peer: Option<Arc<dyn Peer>>,
}

impl KeyState {
    pub(super) fn new(now: u64) -> Self {
        Self {
            controller: Controller::new(now),
            queue: WaitQueue::default(),
            now,
            lead: 0,
            shut: [None; 2],
            sharing: None,
        }
    }

    /// Catches up with the counters and the clock.
    pub(super) fn take_over(&mut self, counters: &Counters, now: u64) {
        self.pass_time(now);
        self.take_counts(counters);
    }

    pub(super) fn take_counts(&mut self, counters: &Counters) {
        let (sent, idle) = counters.take(self.now);
        self.controller.note_sent(sent);
        if let Some(idle) = idle {
            // Read first: the successes may end the run.
            let are_later = self.controller.has_run();
            let successes = self.controller.catch_up(idle);
            if let Some(peer) = self.peer().filter(|_| successes > 0) {
                peer.succeeded(successes, are_later);
            }
        }
    }

    /// Lets calls use the counters alone again if nothing is left to decide. Returns the waiters to wake.
    pub(super) fn release_if_idle(&mut self, counters: &Counters) -> Vec<Waker> {
        let is_idle = self.controller.is_idle() && self.queue.is_unused();
        if is_idle {
            counters.release(&self.controller);
        }
        self.queue.take_wakers()
    }

    /// Adds a waiter that waits for at most `patience`, and ends if the gate is shut for this time, if any. It polls at
    /// once.
    pub(super) fn join(
        &mut self,
        kind: CallKind,
        began: u64,
        patience: u64,
        time_left: Option<u64>,
    ) -> WaiterId {
        let waiting = Waiting {
            kind,
            waker: None,
            polls_at: 0,
            patient_until: self.now.saturating_add(patience),
            ends_by: time_left.map_or(u64::MAX, |left| self.now.saturating_add(left)),
            permit: None,
        };
        self.queue.join(began, waiting)
    }

    /// Polls a waiter for its permit.
    ///
    /// # Errors
    ///
    /// Returns the time until its next poll, unless it is woken before.
    pub(super) fn poll(
        &mut self,
        counters: &Counters,
        id: WaiterId,
        waker: &Waker,
    ) -> Result<CallNumber, u64> {
        // Before `serve`, which would wake this waiter too.
        self.queue.mark_polled(id);
        self.serve(counters);
        self.queue.take_granted(id).ok_or_else(|| {
            let at = self.queue.schedule_poll(id, waker);
            at.saturating_sub(self.now)
        })
    }

    /// Returns the time until the gate opens, if the waiter is to end before. One that loses its patience first goes in
    /// spite of the gate.
    pub(super) fn shut_for(&self, id: WaiterId) -> Option<u64> {
        let waiting = self.queue.get(id)?;
        let until = self
            .controller
            .shut_until(waiting.kind == CallKind::Newcomer)?;
        let ends = waiting.ends_by <= until.min(waiting.patient_until);
        ends.then(|| until.saturating_sub(self.now))
    }

    /// Removes a waiter that gave up.
    pub(super) fn leave(&mut self, counters: &Counters, id: WaiterId) {
        if let Some(permit) = self.queue.leave(id) {
            self.drop_permit(counters, permit);
        }
        // Its turn, or the permit that it has not used, goes to the next waiter.
        self.serve(counters);
    }

    /// Records the end of a call that the counters include.
    pub(super) fn record_end(
        &mut self,
        counters: &Counters,
        (permit, is_first): (CallNumber, bool),
        end: CallEnd,
        quota: Option<Quota>,
    ) {
        let now = self.now;
        let votes = self.controller.votes(permit, is_first);
        match end {
            CallEnd::Refused(delay) => {
                let delay = delay.map(micros);
                let closes = self.controller.refused(now, permit, is_first, delay, quota);
                if closes {
                    // Those that were admitted but have not been sent wait for the cooldown too.
                    self.take_back(counters);
                }
                if let Some(peer) = self.peer().filter(|_| votes) {
                    let delay = delay.or(quota.and_then(Quota::spent_for));
                    peer.refused(delay.map(Duration::from_micros), closes);
                }
            }
            CallEnd::Succeeded => {
                // Read before `succeeded`, which may end the run.
                let is_later = self.controller.is_later(permit);
                let contradicts = self.controller.succeeded(now, permit, is_first, quota);
                if let Some(peer) = self.peer() {
                    peer.succeeded(1, is_later);
                    if contradicts {
                        peer.reopened();
                    }
                }
            }
            CallEnd::Other => self.controller.ended(now, permit, quota),
        }
        self.serve(counters);
    }

    /// Records the refusal of a call that is in flight, until it is confirmed or lifted.
    pub(super) fn hold(
        &mut self,
        counters: &Counters,
        (permit, is_first): (CallNumber, bool),
        delay: Option<Duration>,
        quota: Option<Quota>,
    ) {
        let (now, delay) = (self.now, delay.map(micros));
        if self
            .controller
            .refused_for_now(now, permit, is_first, delay, quota)
        {
            self.take_back(counters);
        }
        self.serve(counters);
    }

    /// Makes a refusal count for good, in other processes too. The counters include the call.
    pub(super) fn confirm(
        &mut self,
        counters: &Counters,
        permit: CallNumber,
        delay: Option<Duration>,
        quota: Option<Quota>,
    ) {
        let delay = delay.map(micros);
        let vote = self.controller.confirm(self.now, permit, delay, quota);
        if let (Some(peer), Some(closes)) = (self.peer(), vote) {
            let delay = delay.or(quota.and_then(Quota::spent_for));
            peer.refused(delay.map(Duration::from_micros), closes);
        }
        self.serve(counters);
    }

    /// Takes a refusal back. The counters include the call.
    pub(super) fn lift(&mut self, counters: &Counters, permit: CallNumber, quota: Option<Quota>) {
        self.controller.lift(self.now, permit, quota);
        self.serve(counters);
    }

    /// Admits all waiters whose turn has come, as if each turn had been polled on time, and wakes those that will have
    /// none.
    fn serve(&mut self, counters: &Counters) {
        self.admit(counters);
        let shut = [false, true].map(|is_newcomer| self.controller.shut_until(is_newcomer));
        if std::mem::replace(&mut self.shut, shut) < shut {
            self.queue.wake_those_that_end(shut[0]);
        }
    }

    fn admit(&mut self, counters: &Counters) {
        while let Some(first) = self.queue.first() {
            // A turn that is polled late is granted at the time at which it was due, so that the pace does not slow
            // down.
            let at = self.queue.turn.min(self.now);
            let newcomer = self.queue.first_newcomer();
            let next = self.controller.next(at, newcomer.is_some());
            let (due, id, as_probe) = match (next, newcomer) {
                (NextTurn::First, _) => (at, first, false),
                (NextTurn::Probe, Some(newcomer)) => (at, newcomer, true),
                (NextTurn::Probe, None) => (at, first, true),
                (NextTurn::At(due), _) => match self.queue.overdue().filter(|(_, by)| *by <= due) {
                    // A waiter whose patience ends first goes in spite of the gate.
                    Some((overdue, by)) => (by, overdue, false),
                    // The gate opens at `due`, or its quota is renewed, so the controller must decide again.
                    None if due <= self.now => {
                        self.queue.turn = due;
                        continue;
                    }
                    None => (due, first, false),
                },
            };
            self.queue.turn = due;
            if due > self.now {
                return;
            }
            let others_wait = self.queue.len() > 1;
            let permit = self
                .controller
                .go(at, counters.send(), as_probe, others_wait);
            self.queue.grant(id, permit);
        }
        self.queue.turn = u64::MAX;
        self.controller.line_is_empty(self.now);
    }

    fn take_back(&mut self, counters: &Counters) {
        for unused in self.queue.take_back() {
            self.drop_permit(counters, unused);
        }
    }

    fn drop_permit(&mut self, counters: &Counters, permit: CallNumber) {
        counters.end(false);
        self.controller.not_sent(permit);
    }

    fn pass_time(&mut self, outside: u64) {
        let inside = outside.saturating_add(self.lead);
        let back = self.now.saturating_sub(inside);
        // The outer clock was set back: without a lead, time would stand still here until it has caught up.
        if back >= BACKSTEP {
            self.lead = self.lead.saturating_add(back);
        }
        self.now = self.now.max(inside);
    }
}

/// Sharing with other processes.
impl KeyState {
    pub(super) fn peer(&self) -> Option<&Arc<dyn Peer>> {
        self.sharing.as_ref()?.peer.as_ref()
    }

    /// Starts to share the key, and returns its tenure if that is new. `longest` is the longest cooldown for which the
    /// current call waits.
    pub(super) fn share(&mut self, longest: u64) -> Option<Weak<()>> {
        let is_new = self.sharing.is_none();
        let sharing = self.sharing.get_or_insert_with(Box::default);
        sharing.longest = sharing.longest.max(longest);
        is_new.then(|| Arc::downgrade(&sharing.tenure))
    }

    pub(super) fn set_peer(&mut self, peer: Arc<dyn Peer>) {
        if let Some(sharing) = &mut self.sharing {
            sharing.peer = Some(peer);
        }
    }

    /// Returns `true` if this is the key's current tenure.
    pub(super) fn is_tenure(&self, tenure: &Weak<()>) -> bool {
        let sharing = self.sharing.as_ref();
        sharing.map(|sharing| Arc::as_ptr(&sharing.tenure)) == Some(tenure.as_ptr())
    }

    /// Closes the gate for this cooldown. Returns `false` if no call of this process waits for that long.
    pub(super) fn close_for(
        &mut self,
        counters: &Counters,
        cooldown: u64,
        probe: bool,
        random: u64,
    ) -> bool {
        let longest = self.sharing.as_ref().map(|sharing| sharing.longest);
        if longest.is_none_or(|longest| cooldown > longest) {
            return false;
        }
        let until = sum(self.now, cooldown);
        if self.controller.close_until(self.now, until, probe, random) {
            self.take_back(counters);
        }
        self.serve(counters);
        true
    }

    pub(super) fn reopen(&mut self, counters: &Counters) {
        self.controller.reopen();
        self.serve(counters);
    }

    pub(super) fn end_pause(&mut self, counters: &Counters) {
        self.controller.end_cooldown(self.now);
        self.serve(counters);
    }

    pub(super) fn share_quota(&mut self, processes: u64, rank: u64) {
        self.controller.share_quota(processes, rank);
    }
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharing").finish_non_exhaustive()
    }
}
