//! What the store does with the words of a process: the arithmetic of its script, in the same integers.
//!
//! One pause, one release and one quota for all processes. A pause is as long as the controller of one process would make
//! it, and a release as fast, with the successes of all. The gate opens early once each process that accused by a refusal
//! has taken that back.

use super::release::{LARGEST_GROUP, Release, SLOWEST};
use super::words::LONGEST_PAUSE;
use super::{Accuses, GateAnswer, GatePush, GateWords, QuotaWord};
use crate::gate::controller::numbers::{product, quotient, sum};
use crate::gate::controller::{MILLISECOND, SECOND, faded};
use std::time::Duration;

/// A release looks this many pauses ahead, within these bounds.
const REACH: u64 = 4;
const SHORTEST_REACH: u64 = SECOND;
const LONGEST_REACH: u64 = 5 * SECOND;
/// A group is a quarter of what was let through of late, within these bounds: one speaks for the others.
const GROUP_PART: u64 = 4;
const SMALLEST_GROUP: u64 = 2;
/// What is doubled at least, and how far doubling goes.
const LEAST_DOUBLED: u64 = 10 * MILLISECOND;
const MOST_DOUBLED: u64 = 20 * SECOND;
/// From so many doublings on, even the least that is doubled exceeds the most.
const DOUBLINGS: u32 = 11;
/// A refusal doubles the pause where the one before it was over for less than this.
const SOON: u64 = 60 * SECOND;
/// After a turn of the quota the calls go within this part of it...
const TURN_PART: u64 = 5;
/// ...and within so long.
const LONGEST_TURN_ROUND: u64 = 5 * SECOND;
/// A quota whose reset no answer renews comes back after this time at least.
const LEAST_WINDOW: u64 = SECOND;
/// A clock that goes back by more than this was set back.
const TREMBLES: u64 = SECOND;
/// A random number of a process is below this.
const RANDOM: u64 = 1_000_000;

/// What the store keeps of one gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SharedGate {
    opening: u64,
    closed: bool,
    closed_at: u64,
    until: u64,
    asked: u64,
    /// The processes whose refusals keep the gate closed.
    accusers: u64,
    doublings: u32,
    ok: u64,
    since: u64,
    lately: u64,
    each: u64,
    /// When tickets are due, and the next one.
    release: Release,
    /// What the next ticket was before the pause.
    kept: u64,
    quota: SharedQuota,
}

/// What the store keeps of a quota.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SharedQuota {
    known: bool,
    /// What remains after all tickets that were given.
    remaining: u64,
    limit: u64,
    reset: u64,
    turn: u64,
    /// No answer of this turn has been heard yet.
    fresh: bool,
    len: u64,
}

/// One step of a gate, or of one that the store knows nothing of; and what all processes are told.
pub(crate) fn step(
    gate: &mut Option<SharedGate>,
    words: &GateWords,
    now: u64,
) -> (GateAnswer, Option<GatePush>) {
    gate.take_if(|gate| gate.is_ahead_of(now));
    let gate = gate.get_or_insert_with(|| SharedGate::new(words.opening, now));
    gate.turn_over(now);
    gate.fade(now);
    gate.ok = sum(gate.ok, words.successes);
    if let Some(word) = words.quota {
        gate.hear_of_quota(word, now);
    }
    let mut changed = words
        .asked
        .is_some_and(|asked| gate.refused(asked, words, now));
    if words.accuses == Accuses::Ends && words.opening == gate.opening {
        changed |= gate.contradicted(now);
    }
    let contradicted = changed && !gate.closed;
    if gate.closed && now >= gate.until {
        gate.open(words.random, now);
    }
    let ticket = gate.release.gone;
    let granted = gate.give(words.tickets);
    let tell = changed && (gate.closed || contradicted);
    (
        gate.answer(ticket, granted, now),
        tell.then(|| gate.push(now)),
    )
}

impl SharedGate {
    fn new(opening: u64, now: u64) -> Self {
        Self {
            opening,
            since: now,
            each: SLOWEST,
            release: Release {
                group: SMALLEST_GROUP,
                ..Release::default()
            },
            ..Self::default()
        }
    }

    /// Whether it speaks of times to come as of the past: the clock was set back since, and the gate begins anew.
    fn is_ahead_of(&self, now: u64) -> bool {
        let latest = sum(now, TREMBLES);
        let whole = sum(latest, self.quota.len.max(LEAST_WINDOW));
        let past = self.closed_at.max(self.since);
        let is_planned =
            self.until <= sum(latest, LONGEST_PAUSE) && self.release.from <= sum(latest, SLOWEST);
        past > latest || !is_planned || self.quota.known && self.quota.reset > whole
    }

    /// Past the reset the quota is whole, and those who wait go within a part of its length.
    fn turn_over(&mut self, now: u64) {
        // Tickets that were given during a pause are used in this turn.
        let given = self.given_in_pause();
        let quota = &mut self.quota;
        if !quota.known || now < quota.reset {
            return;
        }
        quota.remaining = quota.limit.saturating_sub(given);
        quota.turn = sum(quota.turn, 1);
        quota.fresh = true;
        quota.reset = sum(now, quota.len.max(LEAST_WINDOW));
        if !self.closed {
            self.opening = sum(self.opening, 1);
            self.until = now;
            self.kept = 0;
            self.release = Release {
                from: now,
                round: quotient(quota.len, TURN_PART).min(LONGEST_TURN_ROUND),
                first: quota.limit,
                group: group_of(quota.limit),
                ..Release::default()
            };
        }
    }

    /// While the gate is open and no release is on, successes weigh less the older they are.
    fn fade(&mut self, now: u64) {
        if !self.closed && self.release.due(self.release.gone) <= now {
            (self.ok, self.since) = faded(self.ok, self.since, now);
        }
    }

    fn hear_of_quota(&mut self, word: QuotaWord, now: u64) {
        let given = self.given_in_pause();
        let quota = &mut self.quota;
        if word.turn != quota.turn {
            return;
        }
        let Some(told) = word.told else {
            // After a reset there may be no quota any more.
            quota.known &= !quota.fresh;
            return;
        };
        if !quota.known {
            quota.remaining = told.remaining.saturating_sub(given);
        }
        quota.remaining = quota.remaining.min(told.remaining);
        if !quota.known || quota.fresh {
            quota.len = told.reset.min(LONGEST_PAUSE);
            quota.reset = sum(now, quota.len);
        }
        let least = quota.limit.max(sum(told.remaining, 1));
        quota.limit = told.limit.unwrap_or(least);
        quota.known = true;
        quota.fresh = false;
    }

    /// A refusal closes the gate or prolongs the pause; gives whether it does.
    fn refused(&mut self, asked: u64, words: &GateWords, now: u64) -> bool {
        let asked = asked.min(LONGEST_PAUSE);
        if self.closed {
            if words.accuses == Accuses::Begins {
                self.accusers = sum(self.accusers, 1);
            }
            self.asked = self.asked.max(asked);
            let until = self.until.max(sum(now, asked));
            return std::mem::replace(&mut self.until, until) != until;
        }
        let mut pause = asked;
        if words.opening == self.opening {
            let soon = now.saturating_sub(self.until) < SOON;
            let again = self.opening > 0 && self.ok == 0 && soon;
            let doublings = self.doublings.saturating_add(1).min(DOUBLINGS);
            self.doublings = if again { doublings } else { 0 };
            pause = doubled(asked, self.doublings);
        }
        self.closed = true;
        self.closed_at = now;
        self.until = sum(now, pause);
        self.asked = asked;
        self.accusers = 1;
        self.kept = std::mem::take(&mut self.release.gone);
        true
    }

    /// A process takes back what it accused; gives whether nobody is left, and the gate opens for that.
    fn contradicted(&mut self, now: u64) -> bool {
        self.accusers = self.accusers.saturating_sub(1);
        let opens = self.closed && self.accusers == 0;
        if opens {
            self.closed = false;
            self.release.from = sum(self.release.from, now.saturating_sub(self.closed_at));
            self.release.gone = std::mem::take(&mut self.kept);
        }
        opens
    }

    /// The pause has ended by itself: plans who goes when, as the controller of one process does.
    fn open(&mut self, random: u64, now: u64) {
        let pause = self.until.saturating_sub(self.closed_at);
        let reach = product(pause, REACH).clamp(SHORTEST_REACH, LONGEST_REACH);
        let cycle = now.saturating_sub(self.since).min(reach).max(1);
        let slowest = product(self.each, 2).min(SLOWEST);
        self.each = quotient(cycle, self.ok.max(1)).clamp(1, slowest);
        self.lately = self.ok.max(quotient(self.lately, 2));
        let round = reach.max(self.each);
        self.release = Release {
            from: sum(now, quotient(product(random, self.each), RANDOM)),
            round,
            first: quotient(round, self.each),
            group: group_of(self.lately),
            ..self.release
        };
        let quota = &self.quota;
        if quota.known && quota.fresh && product(self.lately, 2) >= quota.limit {
            // The quota alone says how many may go.
            (self.release.from, self.release.round) = (now, 0);
        }
        (self.ok, self.since) = (0, now);
        self.closed = false;
        self.opening = sum(self.opening, 1);
        (self.accusers, self.kept) = (0, 0);
    }

    /// Gives so many tickets, and no more than remain.
    fn give(&mut self, wanted: u64) -> u64 {
        let quota = &mut self.quota;
        let granted = if quota.known {
            wanted.min(quota.remaining)
        } else {
            wanted
        };
        quota.remaining = quota.remaining.saturating_sub(granted);
        self.release.gone = sum(self.release.gone, granted);
        granted
    }

    /// How many tickets were given since the gate was closed, if it is.
    fn given_in_pause(&self) -> u64 {
        if self.closed { self.release.gone } else { 0 }
    }

    fn answer(&self, ticket: u64, granted: u64, now: u64) -> GateAnswer {
        GateAnswer {
            opening: self.opening,
            closed: self.closed,
            until: self.until,
            ticket,
            granted,
            release: self.release,
            remaining: self.quota.known.then_some(self.quota.remaining),
            reset: self.quota.reset,
            turn: self.quota.turn,
            now,
        }
    }

    fn push(&self, now: u64) -> GatePush {
        let left = if self.closed {
            self.until.saturating_sub(now)
        } else {
            0
        };
        GatePush {
            opening: self.opening,
            closed: Duration::from_millis(left.div_ceil(1_000)),
        }
    }
}

fn group_of(calls: u64) -> u64 {
    quotient(calls, GROUP_PART).clamp(SMALLEST_GROUP, LARGEST_GROUP)
}

fn doubled(asked: u64, times: u32) -> u64 {
    if times == 0 {
        return asked;
    }
    let most = MOST_DOUBLED.max(asked);
    product(asked.max(LEAST_DOUBLED), 1 << times).min(most)
}
