//! What the lock of one key guards: its controller, its line, and the time that both go by.

#[cfg(feature = "redis")]
mod member;

use super::controller::{Controller, Permit, Quota, quotient};
use super::counters::Counters;
use super::fleet::Member;
use super::micros;
use super::wait_queue::{Kind, WaitQueue, WaiterId};
use crate::policy::splitmix64;
use std::task::Waker;
use std::time::Duration;

/// A clock that goes back by less was read by two at once.
const BACKSTEP: u64 = 1_000_000;
/// Those who have waited long enough go within a fifth of what was asked for, at most 10 s.
const OVERDUE_PART: u64 = 5;
const LONGEST_OVERDUE: u64 = 10 * 1_000_000;

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
    random: u64,
    /// The time, which only goes forward, and how much the clock outside is behind it.
    now: u64,
    ahead: u64,
    /// What is heard of the other processes, where the gate is shared.
    member: Option<Box<Member>>,
}

impl KeyState {
    pub(super) fn new(now: u64, random: u64, head_start: bool) -> Self {
        Self {
            controller: Controller::new(now, head_start),
            queue: WaitQueue::default(),
            random,
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
            if let Some(member) = &mut self.member {
                member.succeeded(idle.ok.saturating_sub(self.controller.ok));
            }
            self.controller.catch_up(idle);
        }
    }

    /// Lets calls count themselves again, if nothing is to be decided; gives those who are to be called.
    pub(super) fn leave_alone(&mut self, counters: &Counters) -> Vec<Waker> {
        let is_idle = self.controller.is_idle() && self.queue.is_unused();
        if is_idle && self.member.as_ref().is_none_or(|member| member.is_idle()) {
            counters.leave(&self.controller);
        }
        let mut calls = self.queue.take_calls();
        let (member, line) = (self.member.as_mut(), self.queue.len());
        calls.extend(member.and_then(|member| member.calls_driver(line)));
        calls
    }

    /// One comes that waits for so long at most; it looks at once.
    pub(super) fn join(&mut self, kind: Kind, patience: u64) -> WaiterId {
        let patient_until = self.now.saturating_add(patience);
        self.queue.join(kind, patient_until)
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
        permit: Permit,
        end: End,
        quota: Option<Quota>,
    ) {
        let now = self.now;
        let was_closed = self.controller.is_closed_by_itself();
        match end {
            End::Refused(asked) => {
                let asked = asked.map(micros);
                if self.controller.refused(now, permit, asked, quota) {
                    self.take_back(counters);
                }
            }
            End::Succeeded => self.controller.succeeded(now, permit, quota),
            End::Other => self.controller.ended(now, permit, quota),
        }
        let is_closed = self.controller.is_closed_by_itself();
        if let Some(member) = &mut self.member {
            member.told_of_quota(now, permit, quota, end == End::Succeeded);
            match end {
                End::Refused(asked) if is_closed => {
                    member.refused(now, permit, asked.map(micros), quota);
                }
                End::Succeeded => member.succeeded(1),
                _ => {}
            }
            if was_closed && !is_closed {
                member.contradicted();
            }
        }
        self.serve(counters);
    }

    /// Lets all go whose turn has come, as if somebody had looked at each turn.
    fn serve(&mut self, counters: &Counters) {
        while let Some(first) = self.queue.first() {
            let at = self.queue.turn.min(self.now);
            // One number for each opening, however often somebody looks.
            let random = splitmix64(self.random.wrapping_add(self.controller.opening));
            let next = self.next(at, random);
            let due = next.err().unwrap_or(at);
            let overdue = self.queue.overdue().filter(|(_, by)| *by < due);
            let turn = overdue.map_or(due, |(_, by)| by);
            self.queue.turn = turn;
            if turn > self.now {
                return;
            }
            let id = match overdue {
                Some((id, by)) => {
                    self.queue.overdue_goes(by, self.overdue_span());
                    id
                }
                None if turn > at => continue,
                None => first,
            };
            if let Some(member) = &mut self.member {
                member.goes(at);
            }
            let permit = self.controller.go(counters.send());
            self.queue.give(id, permit);
        }
        self.queue.turn = u64::MAX;
        self.controller.line_is_empty();
        if let Some(member) = &mut self.member {
            member.line_is_empty(self.controller.holds_back());
        }
    }

    /// Whether the first in the line may go; if not, when it may.
    fn next(&mut self, at: u64, random: u64) -> Result<(), u64> {
        let own = self.controller.next(at, random);
        let member = self.member.as_mut();
        member.and_then(|member| member.next(at)).unwrap_or(own)
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

    /// In what time all those go who have waited as long as they may.
    fn overdue_span(&self) -> u64 {
        quotient(self.controller.asked, OVERDUE_PART).min(LONGEST_OVERDUE)
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
