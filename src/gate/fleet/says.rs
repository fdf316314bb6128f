//! What a process has to say of a shared gate, and when.

use super::member::{Member, Says};
use super::release::LARGEST_GROUP;
use super::{Accuses, GateWords, NextWords, QuotaWord};
use crate::gate::controller::numbers::{MOST, part, sum};
use crate::gate::controller::{MILLISECOND, NO_WISH, Permit, Quota, SECOND};
use std::task::Waker;
use std::time::Duration;

/// Tickets are asked for at most this often.
const BETWEEN: u64 = 10 * MILLISECOND;
/// What a process says when it hears of a pause comes within this time, and within the first half of the pause.
const SPREAD: u64 = 200 * MILLISECOND;
/// What is no news to anybody else is said so often during a release or under a quota.
const SOON: u64 = 100 * MILLISECOND;
/// A store that fails is spoken to again after this time, which doubles up to the longest.
const LEAST_BACKOFF: u64 = 250 * MILLISECOND;
const MOST_BACKOFF: u64 = 5 * SECOND;

impl Says {
    /// When tickets may be asked for.
    pub(super) fn may_ask_at(&self) -> u64 {
        let next = sum(self.last, BETWEEN);
        next.max(self.patient_until).max(self.not_before)
    }

    /// A quota is new. What all processes have sent before they heard of it is in no ticket: each says what it has heard
    /// when its first calls are back, and asks for tickets when the others have said so too.
    fn settles(&mut self, now: u64) {
        self.first_of_quota = Some(sum(now, BETWEEN));
        self.patient_until = sum(now, 2 * BETWEEN);
    }

    /// The gate is closed for so long. Each process speaks at a time of its own in the first half of that: a store that
    /// all speak to at once keeps them waiting.
    pub(super) fn spreads(&mut self, now: u64, closed: u64, random: u64) {
        let most = (closed / 2).min(SPREAD);
        self.patient_until = sum(now, part(random, most));
    }

    /// Adds the refusal that is to be said, if its pause is not over before anybody could be told.
    fn refuse(&mut self, now: u64, words: GateWords) -> GateWords {
        let Some((until, opening)) = self.refusal.take() else {
            return words;
        };
        let accuses = std::mem::take(&mut self.accuses);
        if sum(until, BETWEEN) < now {
            self.accused.take_if(|_| accuses == Accuses::Begins);
            return words;
        }
        GateWords {
            opening,
            asked: Some(until.saturating_sub(now)),
            accuses,
            ..words
        }
    }

    /// What is to be said of the quota, whose reset has come nearer since it was heard.
    fn take_quota(&mut self, now: u64) -> Option<QuotaWord> {
        let (mut word, heard_at) = self.quota.take()?;
        if let Some(told) = &mut word.told {
            told.reset = told.reset.saturating_sub(now.saturating_sub(heard_at));
        }
        Some(word)
    }
}

impl Member {
    /// A call was refused, and by that the gate of this process is closed.
    pub(in crate::gate) fn refused(
        &mut self,
        now: u64,
        permit: Permit,
        asked: Option<u64>,
        quota: Option<Quota>,
    ) {
        let asked = asked.or(quota.and_then(Quota::spent_for));
        let until = sum(now, asked.unwrap_or(NO_WISH));
        let opening = self.opening_of(permit);
        let accuses = self.says.accused.is_none();
        if !accuses && self.closed_until().is_some_and(|heard| until <= heard) {
            return;
        }
        if accuses {
            self.says.accused = Some(opening);
            self.says.accuses = Accuses::Begins;
        }
        let (latest, about) = self.says.refusal.unwrap_or((until, opening));
        self.says.refusal = Some((latest.max(until), about.max(opening)));
        self.closes_itself(Some(until));
    }

    /// Calls that were sent after the refused one have shown that its pause is not for everybody.
    pub(in crate::gate) fn contradicted(&mut self) {
        let Some(opening) = self.says.accused.take() else {
            return;
        };
        if self.says.accuses == Accuses::Begins {
            // Nobody has heard of it yet.
            self.says.refusal = None;
            self.says.accuses = Accuses::Same;
            self.says.look = true;
        } else {
            self.says.takes_back = Some(opening);
        }
        self.closes_itself(None);
    }

    /// So many calls have succeeded.
    pub(in crate::gate) fn succeeded(&mut self, successes: u64) {
        self.says.successes = sum(self.says.successes, successes);
    }

    /// A call has come back, with what its answer says of the quota.
    pub(in crate::gate) fn told_of_quota(
        &mut self,
        now: u64,
        permit: Permit,
        quota: Option<Quota>,
        success: bool,
    ) {
        let knows = self.heard.is_some_and(|heard| heard.remaining.is_some());
        let Some(turn) = self
            .turn_of(permit)
            .filter(|_| quota.is_some() || success && knows)
        else {
            return;
        };
        if quota.is_some() && !knows && !self.needs_tickets {
            self.says.settles(now);
        }
        // Nobody else knows of it yet; from here on tickets keep to it.
        self.needs_tickets |= quota.is_some();
        let mut told = quota.map(Quota::bounded);
        let before = self.says.quota.filter(|(word, _)| word.turn == turn);
        let before = before.and_then(|(word, _)| word.told);
        if let (Some(told), Some(before)) = (&mut told, before) {
            told.remaining = told.remaining.min(before.remaining);
        } else if before.is_some() {
            return;
        }
        self.says.quota = Some((QuotaWord { turn, told }, now));
    }

    /// What is to be said now, of a line of so many; `random` is uniform over 64 bits.
    pub(in crate::gate) fn says_next(&mut self, now: u64, line: u64, random: u64) -> NextWords {
        match self.speaks_at(line) {
            Some(at) if at <= now => NextWords::Command(self.speak(now, line, random)),
            at => {
                let flush = self.says.flush;
                let poll = sum(now, sum(flush, part(random, flush / 4)));
                self.says.asks_at = at.map_or(poll, |at| at.min(poll));
                NextWords::Wait(Some(Duration::from_micros(self.says.asks_at)))
            }
        }
    }

    /// Whether the driver must be called, because there is something to say before it asks.
    pub(in crate::gate) fn calls_driver(&mut self, line: u64) -> Option<Waker> {
        let at = self.speaks_at(line)?;
        if at >= self.says.asks_at {
            return None;
        }
        self.says.waker.take()
    }

    /// When there is something to say next.
    fn speaks_at(&self, line: u64) -> Option<u64> {
        let says = &self.says;
        if says.in_flight.is_some() {
            return None;
        }
        let at_once = says.look || says.refusal.is_some() || says.takes_back.is_some();
        if at_once {
            return Some(says.not_before);
        }
        // The store may see the end later than this process does.
        let pause_ends = self
            .closed_until()
            .map(|until| until.max(sum(says.last, BETWEEN)));
        let tickets = (self.wants(line) > 0).then(|| {
            let whole = self.spent_until().filter(|_| pause_ends.is_none());
            says.may_ask_at().max(whole.unwrap_or_default())
        });
        let in_release = self.needs_tickets && pause_ends.is_none();
        let over = self.over_at().filter(|_| in_release && line == 0);
        let over = over.map(|over| over.max(sum(says.last, SOON)));
        let news = says.successes > 0 || says.quota.is_some();
        let flush = if self.needs_tickets || says.quota.is_some() {
            SOON
        } else {
            says.flush
        };
        let news = news.then(|| sum(says.last, flush).max(says.patient_until));
        let first = [pause_ends, tickets, over, news, says.first_of_quota]
            .into_iter()
            .flatten()
            .min();
        first.map(|first| first.max(says.not_before))
    }

    /// How many tickets are missing: whole groups, where the line has as many.
    fn wants(&self, line: u64) -> u64 {
        if !self.needs_tickets || !self.decides() || self.keeps_to_its_own.is_some() {
            return 0;
        }
        let missing = line.saturating_sub(self.in_hand());
        let group = self
            .heard
            .map_or(LARGEST_GROUP, |heard| heard.release.group);
        let rest = missing.checked_rem(group).unwrap_or_default();
        if missing > group {
            missing.saturating_sub(rest)
        } else {
            missing
        }
    }

    fn speak(&mut self, now: u64, line: u64, random: u64) -> GateWords {
        let spent = self.spent_until().is_some_and(|whole| whole > now);
        let tickets = match spent || now < self.says.patient_until {
            true => 0,
            false => self.wants(line),
        };
        let opening = self.heard.map_or(0, |heard| heard.opening);
        let says = &mut self.says;
        (says.look, says.in_flight, says.last) = (false, Some(now), now);
        says.first_of_quota = None;
        says.asks_at = MOST;
        let words = GateWords {
            opening,
            successes: std::mem::take(&mut says.successes),
            tickets,
            quota: says.take_quota(now),
            random: part(random, 1_000_000),
            ..GateWords::default()
        };
        // A refusal that came after what is taken back now is said by itself.
        match says.takes_back.take() {
            Some(opening) => GateWords {
                opening,
                accuses: Accuses::Ends,
                ..words
            },
            None => says.refuse(now, words),
        }
    }

    /// The store has answered the words in flight. Within the time that a call waits, the fleet's gate decides from here on;
    /// later, it does so no longer, or a slow store would be left and joined all the time.
    pub(in crate::gate) fn is_answered(&mut self, now: u64, random: u64) {
        let sent = self.says.in_flight.take();
        self.joined = sent.is_some_and(|sent| now.saturating_sub(sent) <= self.wait);
        if self.joined {
            (self.says.failures, self.says.not_before) = (0, 0);
        } else {
            self.backs_off(now, random);
        }
    }

    /// The store has failed.
    pub(in crate::gate) fn fails(&mut self, now: u64, random: u64) {
        self.says.in_flight = None;
        self.says.overtaken = None;
        self.is_alone(now);
        self.says.accused = None;
        self.backs_off(now, random);
    }

    fn backs_off(&mut self, now: u64, random: u64) {
        let doublings = self.says.failures.min(5);
        let backoff = (LEAST_BACKOFF << doublings).min(MOST_BACKOFF);
        self.says.failures = doublings.saturating_add(1);
        self.says.not_before = sum(now, sum(backoff, part(random, backoff / 4)));
        self.says.look = true;
    }
}
