//! A model of the store's step, in the same integers as its script `gate.lua`: tests and simulations run it without a
//! server.
//!
//! The vote and the cooldown are those of one process's controller, with the outcomes of all.

use super::message::{GateNotice, GateReply, GateReport, LONGEST_COOLDOWN, MOST};
use std::time::Duration;

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000_000;
/// The cooldown after a refusal that names no time.
const DEFAULT_COOLDOWN: u64 = 100 * MILLISECOND;
/// Doubling ends here, unless the server asked for more.
const MAX_DOUBLED: u64 = 20 * SECOND;
/// A cooldown doubles at most this often if the server named a time.
const MAX_DOUBLINGS: u32 = 1;
/// And this often if it named none.
const MAX_DOUBLINGS_UNNAMED: u32 = 11;
/// The number of refusals in a row that close the gate: to begin with, at least, and at most.
const FIRST_PATIENCE: u64 = 4;
const MIN_PATIENCE: u64 = 2;
const MAX_PATIENCE: u64 = 16;

/// A clock that goes back by more than this was set back.
const TREMBLES: u64 = SECOND;

/// One gate in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::fleet) struct StoredGate {
    /// The number of times that the gate was closed, or opened by a contradiction.
    change: u64,
    /// The end of the last cooldown, and whether no step has come after it.
    until: u64,
    standing: bool,
    /// The refusals in a row of all processes, and how many close the gate.
    run: Run,
    patience: u64,
    doublings: u32,
    /// A call succeeded since the gate closed last.
    ok_since_closed: bool,
    /// The number of processes that may still send a probe.
    probes: u64,
}

/// One step of a gate, or of one that the store knows nothing of; with the notice to all processes, if there is one.
pub(in crate::fleet) fn step(
    gate: &mut Option<StoredGate>,
    report: &GateReport,
    now: u64,
) -> (GateReply, Option<GateNotice>) {
    gate.take_if(|gate| gate.until > sum(now, sum(LONGEST_COOLDOWN, TREMBLES)));
    gate.take_if(|gate| gate.change < report.change);
    let gate = gate.get_or_insert_with(|| StoredGate::new(report.change));
    let changed = gate.take(report, now);
    let probe = gate.standing && gate.probes > 0;
    gate.probes = gate.probes.saturating_sub(u64::from(probe));
    let notice = gate.notice(now);
    (GateReply { notice, probe }, changed.then_some(notice))
}

impl StoredGate {
    fn new(change: u64) -> Self {
        Self {
            change,
            until: 0,
            standing: false,
            run: Run::default(),
            patience: FIRST_PATIENCE,
            doublings: 0,
            ok_since_closed: true,
            probes: 0,
        }
    }

    /// Takes a report. Returns `true` if all processes are notified.
    fn take(&mut self, report: &GateReport, now: u64) -> bool {
        if self.standing && now >= self.until {
            self.standing = false;
            self.patience = (self.patience / 2).max(MIN_PATIENCE);
            self.run = Run::default();
        }
        self.ok_since_closed |= report.successes > 0 || report.later > 0;
        if !self.standing {
            self.run.succeeded(report.successes);
        }
        if report.change < self.change {
            return false;
        }
        self.run.refused(report.refusals);
        let ends = report.later > 0 && self.run.succeeded(report.later);
        if self.standing && ends {
            self.standing = false;
            self.patience = product(self.patience, 2).min(MAX_PATIENCE);
            self.change = sum(self.change, 1);
            return true;
        }
        report.refusals > 0 && self.refused(report, now)
    }

    fn refused(&mut self, report: &GateReport, now: u64) -> bool {
        let asked = report.asked.map(|asked| asked.min(LONGEST_COOLDOWN));
        if self.standing {
            let until = self.until.max(sum(now, asked.unwrap_or(DEFAULT_COOLDOWN)));
            return std::mem::replace(&mut self.until, until) != until;
        }
        if self.run.refusals < self.patience {
            return false;
        }
        let again = !std::mem::take(&mut self.ok_since_closed);
        self.until = sum(now, next_cooldown(asked, again, &mut self.doublings));
        self.standing = true;
        // One at the least, unlike in one process: a vote of some processes may be none of the others'.
        self.probes = self.patience / 2;
        self.change = sum(self.change, 1);
        true
    }

    fn notice(&self, now: u64) -> GateNotice {
        let left = if self.standing {
            self.until.saturating_sub(now)
        } else {
            0
        };
        GateNotice {
            change: self.change,
            closed: Duration::from_micros(left),
        }
    }
}

/// Refusals, and the successes of calls that were sent after the first refused one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Run {
    refusals: u64,
    successes: u64,
}

impl Run {
    fn refused(&mut self, times: u64) {
        self.refusals = sum(self.refusals, times);
    }

    /// Returns `true` if the run ends: after half as many successes as refusals, of a long run a quarter.
    fn succeeded(&mut self, times: u64) -> bool {
        self.successes = sum(self.successes, times);
        let share = if self.refusals < MAX_PATIENCE { 2 } else { 4 };
        let ends = product(self.successes, share) >= self.refusals;
        if ends {
            *self = Self::default();
        }
        ends
    }
}

/// Returns the cooldown after a refusal that asked for this time. It doubles if the gate closes again and nothing
/// succeeded since; `doublings` counts how often it did so in a row.
fn next_cooldown(asked: Option<u64>, again: bool, doublings: &mut u32) -> u64 {
    let most = if asked.is_some() {
        MAX_DOUBLINGS
    } else {
        MAX_DOUBLINGS_UNNAMED
    };
    let more = doublings.saturating_add(1).min(most);
    *doublings = if again { more } else { 0 };
    let asked = asked.unwrap_or(DEFAULT_COOLDOWN);
    product(asked, 1 << *doublings).min(MAX_DOUBLED.max(asked))
}

fn sum(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(MOST)
}

fn product(a: u64, b: u64) -> u64 {
    a.saturating_mul(b).min(MOST)
}
