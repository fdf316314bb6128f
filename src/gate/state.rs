//! What the lock of one key guards: its controller, its line, and the time that both go by.

#[cfg(feature = "redis")]
mod member;

use super::controller::{Controller, Next, Permit, Quota};
use super::counters::Counters;
use super::fleet::Member;
use super::micros;
use super::wait_queue::{Kind, WaitQueue, WaiterId};
use std::task::Waker;
use std::time::Duration;

/// A clock that goes back by less was read by two at once.
const BACKSTEP: u64 = 1_000_000;

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It was refused, and asked to wait so long, if it was.
    Refused(Option<Duration>),
    Succeeded,
    Other,
}

/// The state of one key. Times are microseconds since an epoch of the caller's.
#[derive(Debug)]
pub(super) struct KeyState {
    controller: Controller,
    queue: WaitQueue,
    /// The time, which only goes forward, and how much the clock outside is behind it.
    now: u64,
    ahead: u64,
    /// What is heard of the other processes, where the gate is shared.
    member: Option<Box<Member>>,
}

impl KeyState {
    pub(super) fn new(now: u64) -> Self {
        Self {
            controller: Controller::new(now),
            queue: WaitQueue::default(),
            now,
            ahead: 0,
            member: None,
        }
    }

    /// Takes over from the counters what happened until now.
    pub(super) fn take_over(&mut self, counters: &Counters, now: u64) {
        self.pass_time(now);
        self.take_counts(counters);
    }

    fn take_counts(&mut self, counters: &Counters) {
        let (sent, idle) = counters.take(self.now);
        self.controller.note_sent(sent);
        if let Some(idle) = idle {
            let are_later = self.controller.has_run();
            let successes = self.controller.catch_up(idle);
            if let Some(member) = &mut self.member {
                member.succeeded(successes, are_later);
            }
        }
    }

    /// Lets calls count themselves again, if nothing is to be decided; gives those who are to be called.
    pub(super) fn leave_alone(&mut self, counters: &Counters) -> Vec<Waker> {
        let is_idle = self.controller.is_idle() && self.queue.is_unused();
        if is_idle && self.member.as_ref().is_none_or(|member| member.is_idle()) {
            counters.leave(&self.controller);
        }
        let mut calls = self.queue.take_calls();
        calls.extend(
            self.member
                .as_mut()
                .and_then(|member| member.calls_driver()),
        );
        calls
    }

    /// One comes that waits for so long at most; it looks at once.
    pub(super) fn join(&mut self, kind: Kind, began: u64, patience: u64) -> WaiterId {
        let patient_until = self.now.saturating_add(patience);
        self.queue.join(kind, began, patient_until)
    }

    /// One looks whether it may go.
    ///
    /// # Errors
    ///
    /// After how long it looks again, unless it is called before.
    pub(super) fn look(
        &mut self,
        counters: &Counters,
        id: WaiterId,
        waker: &Waker,
    ) -> Result<Permit, u64> {
        self.queue.is_called(id);
        self.serve(counters);
        self.queue.take_given(id).ok_or_else(|| {
            let at = self.queue.looks_again(id, waker);
            at.saturating_sub(self.now)
        })
    }

    /// A waiter gives up.
    pub(super) fn leave(&mut self, counters: &Counters, id: WaiterId) {
        if let Some(permit) = self.queue.leave(id) {
            self.drop_permit(counters, permit);
        }
        self.serve(counters);
    }

    /// A call has come to its end, which is counted.
    pub(super) fn hear(
        &mut self,
        counters: &Counters,
        (permit, is_first): (Permit, bool),
        end: End,
        quota: Option<Quota>,
    ) {
        let now = self.now;
        let votes = self.controller.votes(permit, is_first);
        match end {
            End::Refused(asked) => {
                let asked = asked.map(micros);
                let closes = self.controller.refused(now, permit, is_first, asked, quota);
                if closes {
                    self.take_back(counters);
                }
                if let Some(member) = self.member.as_mut().filter(|_| votes) {
                    member.refused(asked.or(quota.and_then(Quota::spent_for)), closes);
                }
            }
            End::Succeeded => {
                let is_later = self.controller.is_later(permit);
                let contradicts = self.controller.succeeded(now, permit, quota);
                if let Some(member) = &mut self.member {
                    member.succeeded(1, is_later);
                    if contradicts {
                        member.disagrees();
                    }
                }
            }
            End::Other => self.controller.ended(now, permit, quota),
        }
        self.serve(counters);
    }

    /// Lets all go whose turn has come, as if somebody had looked at each turn.
    fn serve(&mut self, counters: &Counters) {
        while let Some(first) = self.queue.first() {
            let at = self.queue.turn.min(self.now);
            let newcomer = self.queue.first_newcomer();
            let next = self.controller.next(at, newcomer.is_some());
            let (due, id, as_probe) = match (next, newcomer) {
                (Next::First, _) => (at, first, false),
                (Next::Probe, Some(newcomer)) => (at, newcomer, true),
                (Next::Probe, None) => (at, first, true),
                (Next::At(due), _) => match self.queue.overdue().filter(|(_, by)| *by <= due) {
                    Some((overdue, by)) => (by, overdue, false),
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
            self.queue.give(id, permit);
        }
        self.queue.turn = u64::MAX;
        self.controller.line_is_empty(self.now);
    }

    fn take_back(&mut self, counters: &Counters) {
        for unused in self.queue.take_back() {
            self.drop_permit(counters, unused);
        }
    }

    fn drop_permit(&mut self, counters: &Counters, permit: Permit) {
        counters.end(false);
        self.controller.not_sent(permit);
    }

    fn pass_time(&mut self, outside: u64) {
        let inside = outside.saturating_add(self.ahead);
        let back = self.now.saturating_sub(inside);
        if back >= BACKSTEP {
            self.ahead = self.ahead.saturating_add(back);
        }
        self.now = self.now.max(inside);
    }
}
