//! What a process makes of what the store says of a shared gate.

use super::member::{Heard, Member};
use super::{GateAnswer, GatePush};
use crate::gate::controller::numbers::sum;
use crate::gate::controller::{Controller, SECOND};
use crate::gate::micros;

/// How long a pause holds that the store does not know of. A store that lost its state sends no herd by that, and a pause
/// that it never had stops nobody for long.
const LONGEST_UNCONFIRMED: u64 = 60 * SECOND;

impl Member {
    /// The store has answered. `sent` is the number of the last call that was sent.
    pub(in crate::gate) fn hear(
        &mut self,
        now: u64,
        answer: &GateAnswer,
        sent: u64,
        controller: &mut Controller,
    ) {
        let overtaken = self.says.overtaken.take();
        if answer.closed && overtaken == Some(answer.opening) {
            // The store was told of it after this answer. The next one comes soon.
            return;
        }
        let heard = heard(answer, now);
        let is_too_long = heard.longest_wait(answer) > self.longest;
        let keeps_to_its_own = is_too_long || self.knows_more(now, answer);
        self.keeps_to_its_own = keeps_to_its_own.then_some(answer.opening);
        self.change_round(answer.opening, answer.closed, sent);
        if self.heard.is_none_or(|heard| heard.turn != answer.turn) {
            self.turn_after = sent;
        }
        self.takes_tickets(answer);
        self.heard = Some(heard);
        if !is_too_long {
            self.forgets(now, answer, controller);
        }
        if answer.closed && !is_too_long {
            self.closes(now, heard.at(answer.until), answer.opening, controller);
        } else {
            self.heard_until = self.heard_until.filter(|until| *until > now);
            self.own_until = self.own_until.filter(|until| *until > now);
        }
        let over = is_too_long || self.over_at().is_some_and(|over| over <= now);
        self.needs_tickets = self.closed_until().is_some() || !over;
        if !self.needs_tickets {
            self.drops_tickets();
        }
        self.waits_since = None;
    }

    /// Takes the tickets that an answer gives, where calls go by them.
    fn takes_tickets(&mut self, answer: &GateAnswer) {
        let next = self.heard.map_or(0, |heard| heard.release.gone);
        if answer.ticket < next {
            // The store has begun to count anew.
            self.tickets.clear();
        }
        if self.keeps_to_its_own.is_some() {
            self.drops_tickets();
        } else if answer.granted > 0 {
            let given = (answer.ticket, answer.release.gone);
            self.tickets.push_back(given);
        }
    }

    /// Forgets of a pause that was heard of before what the store no longer knows. If the command was sent before that
    /// pause, the next answer tells of it again.
    fn forgets(&mut self, now: u64, answer: &GateAnswer, controller: &mut Controller) {
        let is_over = !answer.closed && answer.opening > self.paused;
        let latest = sum(now, LONGEST_UNCONFIRMED);
        let latest = if is_over { now } else { latest };
        if self.heard_until > Some(latest) {
            self.heard_until = Some(latest);
            controller.is_told_less(latest);
        }
    }

    fn drops_tickets(&mut self) {
        self.tickets.clear();
        self.kept.clear();
    }

    /// The store tells everybody. Returns `true` if the gate is closed by it.
    pub(in crate::gate) fn told(
        &mut self,
        now: u64,
        push: GatePush,
        (sent, random): (u64, u64),
        controller: &mut Controller,
    ) -> bool {
        let closed = !push.closed.is_zero();
        if micros(push.closed) > self.longest {
            return false;
        }
        if closed && self.closed_until().is_none() {
            self.says.spreads(now, micros(push.closed), random);
        }
        self.change_round(push.opening, closed, sent);
        if let Some(heard) = &mut self.heard {
            (heard.opening, heard.closed) = (push.opening, closed);
        }
        self.says.overtaken = self.says.in_flight.and((!closed).then_some(push.opening));
        if closed {
            let until = sum(now, micros(push.closed));
            self.closes(now, until, push.opening, controller);
        } else {
            self.heard_until = None;
            self.says.look = true;
            self.says.patient_until = 0;
            // A refusal that nobody has heard of yet stands.
            if self.says.refusal.is_none() {
                self.own_until = None;
                self.says.accused = None;
                controller.is_let_on();
            }
        }
        closed
    }

    /// Whether the store does not know of a pause, a release or a quota that this process keeps to: it has lost its state,
    /// or got an old one back, or was never told.
    fn knows_more(&self, now: u64, answer: &GateAnswer) -> bool {
        if answer.closed || answer.remaining.is_some() {
            return false;
        }
        let is_over = self.closed_until().is_some_and(|until| until <= now);
        let is_older = self
            .heard
            .is_some_and(|heard| answer.opening < heard.opening)
            || is_over && answer.opening <= self.paused;
        let knows_less = answer.knows_of_no_release() || is_older;
        self.keeps_to_its_own == Some(answer.opening) || self.needs_tickets && knows_less
    }

    /// In this opening the gate is closed until then at least.
    fn closes(&mut self, now: u64, until: u64, opening: u64, controller: &mut Controller) {
        self.heard_until = self.heard_until.max(Some(until));
        self.paused = opening;
        self.needs_tickets = true;
        self.keeps_to_its_own = None;
        if until > now {
            controller.is_told(now, until);
        }
    }

    /// This process's own refusal closes the gate until then; nothing where it does so no longer.
    pub(super) fn closes_itself(&mut self, until: Option<u64>) {
        self.own_until = until.and(self.own_until.max(until));
        if until.is_some() {
            self.paused = self.heard.map_or(0, |heard| heard.opening);
        }
        self.needs_tickets |= until.is_some();
    }

    /// Until when the gate is closed, by whatever was heard.
    pub(in crate::gate) fn closed_until(&self) -> Option<u64> {
        self.heard_until.max(self.own_until)
    }

    /// Tickets hold for a pause and the release that follows it. What a pause found stays for the case that all take their
    /// refusals back.
    fn change_round(&mut self, opening: u64, closed: bool, sent: u64) {
        let was = self.heard.map(|heard| (heard.opening, heard.closed));
        if was == Some((opening, closed)) {
            return;
        }
        match was {
            Some((before, false)) if closed && before == opening => {
                self.kept = std::mem::take(&mut self.tickets);
            }
            Some((before, true)) if !closed && before == opening => {
                self.tickets = std::mem::take(&mut self.kept);
            }
            Some((before, true)) if !closed && sum(before, 1) == opening => self.kept.clear(),
            _ => self.drops_tickets(),
        }
        if let Some(heard) = &mut self.heard {
            heard.release.gone = self.tickets.back().map_or(0, |(_, end)| *end);
        }
        if was.is_none_or(|(before, _)| before != opening) {
            self.opening_after = sent;
            self.says.accused = None;
        }
    }
}

/// What an answer says that has come now.
fn heard(answer: &GateAnswer, now: u64) -> Heard {
    let heard = Heard {
        store: answer.now,
        here: now,
        opening: answer.opening,
        closed: answer.closed,
        release: answer.release,
        remaining: answer.remaining,
        reset: 0,
        turn: answer.turn,
    };
    Heard {
        reset: heard.at(answer.reset),
        ..heard
    }
}

impl Heard {
    /// Returns how long calls would wait for the end of the pause or for the reset of a spent quota.
    fn longest_wait(&self, answer: &GateAnswer) -> u64 {
        let pause = answer.closed.then(|| self.at(answer.until));
        let quota = (answer.remaining == Some(0)).then_some(self.reset);
        let until = pause.max(quota).unwrap_or_default();
        until.saturating_sub(self.here)
    }
}
