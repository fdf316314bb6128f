//! What the driver of a fleet tells a key, and asks it.

use super::{Counters, KeyState};
use crate::gate::fleet::{GateAnswer, GatePush, Heard, Member, NextWords};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

impl KeyState {
    /// Joins a fleet; gives what is there as long as it is in it, if that is new. `longest` is the longest cooldown that
    /// the call waits for which comes now.
    pub(in crate::gate) fn joins_fleet(&mut self, wait: u64, longest: u64) -> Option<Weak<()>> {
        let new = || Box::new(Member::new(wait));
        let is_new = self.member.is_none();
        let member = self.member.get_or_insert_with(new);
        member.longest = member.longest.max(longest);
        is_new.then(|| Arc::downgrade(&member.half))
    }

    /// Returns `true` if this is in the fleet for the same time.
    pub(in crate::gate) fn has(&self, half: &Weak<()>) -> bool {
        let known = self.member.as_ref().map(|member| Arc::as_ptr(&member.half));
        known == Some(half.as_ptr())
    }

    /// Returns what is to be reported now, or `None` if the gate is not shared.
    pub(in crate::gate) fn says_next(
        &mut self,
        waker: &Waker,
        (flush, processes): (u64, u64),
        random: u64,
    ) -> Option<NextWords> {
        let member = self.member.as_mut()?;
        self.controller.shares(processes, member.rank(random));
        member.watches(waker);
        member.flushes_each(flush);
        let next = member.says_next(self.now, random);
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

    /// The store has answered the last words, or failed. Returns `true` if this process is in the fleet.
    pub(in crate::gate) fn is_answered(
        &mut self,
        counters: &Counters,
        answer: Option<GateAnswer>,
        random: u64,
    ) -> bool {
        let now = self.now;
        let Some(member) = &mut self.member else {
            return false;
        };
        let Some(answer) = answer else {
            member.fails(now, random);
            return false;
        };
        let is_in_fleet = member.is_answered(now, random);
        let heard = member.hears(now, answer.push, false, random);
        self.follows(counters, heard, answer.probes, random);
        is_in_fleet
    }

    /// The store tells everybody.
    pub(in crate::gate) fn is_told(&mut self, counters: &Counters, push: GatePush, random: u64) {
        let now = self.now;
        if let Some(member) = &mut self.member {
            let heard = member.hears(now, push, true, random);
            self.follows(counters, heard, false, random);
        }
    }

    fn follows(&mut self, counters: &Counters, heard: Heard, probes: bool, random: u64) {
        let now = self.now;
        match heard {
            Heard::Nothing => {}
            Heard::ClosedUntil(until) => {
                if self.controller.is_told(now, until, probes, random) {
                    self.take_back(counters);
                }
            }
            Heard::Contradicted => self.controller.is_let_on(),
            Heard::IsOver => self.controller.is_over(now),
        }
        self.serve(counters);
    }

    /// The store tells this process of closed gates, or no longer.
    pub(in crate::gate) fn is_subscribed(&mut self, subscribed: bool) {
        if let Some(member) = &mut self.member {
            member.is_subscribed(subscribed);
        }
    }
}
