//! What the driver of a fleet tells a key, and asks it.

use super::{Counters, KeyState};
use crate::gate::fleet::{GateAnswer, GatePush, Member, NextWords};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

impl KeyState {
    /// Joins a fleet; gives what is there as long as it is in it, if that is new. `longest` is the longest pause that the
    /// call waits for which comes now.
    pub(in crate::gate) fn joins_fleet(&mut self, wait: u64, longest: u64) -> Option<Weak<()>> {
        let new = || Box::new(Member::new(wait));
        let is_new = self.member.is_none();
        if is_new {
            self.controller.is_shared();
        }
        let member = self.member.get_or_insert_with(new);
        member.longest = member.longest.max(longest);
        is_new.then(|| Arc::downgrade(&member.half))
    }

    /// Whether this is in the fleet for the same time.
    pub(in crate::gate) fn has(&self, half: &Weak<()>) -> bool {
        let known = self.member.as_ref().map(|member| Arc::as_ptr(&member.half));
        known == Some(half.as_ptr())
    }

    /// What is to be said now; nothing where the gate is not shared.
    pub(in crate::gate) fn says_next(
        &mut self,
        waker: &Waker,
        flush: u64,
        random: u64,
    ) -> Option<NextWords> {
        let member = self.member.as_mut()?;
        member.watches(waker);
        member.flushes_each(flush);
        let next = member.says_next(self.now, self.queue.len(), random);
        Some(match next {
            NextWords::Wait(Some(until)) => {
                let ahead = Duration::from_micros(self.ahead);
                NextWords::Wait(Some(until.saturating_sub(ahead)))
            }
            next => next,
        })
    }

    /// Nobody drives it from here on, until this one is woken; by the next call, if somebody did until now.
    pub(in crate::gate) fn parks(&mut self, counters: &Counters, waker: &Waker, has_run: bool) {
        if has_run {
            self.take_counts(counters);
        }
        if let Some(member) = &mut self.member {
            member.parks(waker, has_run);
        }
    }

    /// The store has answered the last words, or failed; gives whether the fleet's gate decides.
    pub(in crate::gate) fn is_answered(
        &mut self,
        counters: &Counters,
        answer: Option<GateAnswer>,
        random: u64,
    ) -> bool {
        let (now, sent) = (self.now, self.controller.last_sent());
        let Some(member) = &mut self.member else {
            return false;
        };
        let was_open = member.closed_until().is_none();
        match answer {
            Some(_) => member.is_answered(now, random),
            None => member.fails(now, random),
        }
        if let Some(answer) = answer {
            member.hear(now, &answer, sent, &mut self.controller);
        }
        let (decides, closed) = (member.decides(), member.closed_until().is_some());
        if was_open && closed {
            self.take_back(counters);
        } else if decides && !was_open && !closed {
            self.controller.is_over(now);
        }
        self.serve(counters);
        decides
    }

    /// Nobody waits for the store any longer.
    pub(in crate::gate) fn is_timed_out(&mut self, counters: &Counters) {
        let now = self.now;
        if let Some(member) = &mut self.member {
            member.is_alone(now);
        }
        self.serve(counters);
    }

    /// The store tells everybody.
    pub(in crate::gate) fn is_told(&mut self, counters: &Counters, push: GatePush, random: u64) {
        let (now, sent) = (self.now, self.controller.last_sent());
        if let Some(member) = &mut self.member {
            if member.told(now, push, (sent, random), &mut self.controller) {
                self.take_back(counters);
            }
        }
        self.serve(counters);
    }

    /// Whether the store tells this process of pauses.
    pub(in crate::gate) fn is_subscribed(&mut self, counters: &Counters, subscribed: bool) {
        if let Some(member) = &mut self.member {
            member.is_subscribed(subscribed);
        }
        self.serve(counters);
    }
}
