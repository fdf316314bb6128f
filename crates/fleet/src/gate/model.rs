//! A model of the store's step, in the same integers as its script `gate.lua`: tests and simulations run it without a
//! server.
//!
//! The vote and the cooldown are those of one process's controller, with the outcomes of all.

use super::message::{GateNotice, GateReply, GateReport, MAX_COOLDOWN, MAX_COUNT};
use http_retry_core::gate::vote::{
    DEFAULT_COOLDOWN, FIRST_PATIENCE, MAX_PATIENCE, MIN_PATIENCE, RefusalRun, next_cooldown,
};
use std::time::Duration;

/// A clock that goes back by more than this many microseconds was set back.
const MAX_CLOCK_STEP_BACK: u64 = 1_000_000;

/// One gate in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredGate {
    /// The number of times that the gate was closed, or opened by a contradiction.
    change: u64,
    /// The end of the last cooldown, and whether no step has come after it.
    until: u64,
    standing: bool,
    /// The refusals in a row of all processes, and how many close the gate.
    run: RefusalRun,
    patience: u64,
    doublings: u32,
    /// A call succeeded since the gate closed last.
    ok_since_closed: bool,
    /// The number of processes that may still send a probe.
    probes: u64,
}

/// One step of a gate, or of one that the store knows nothing of; with the notice to all processes, if there is one.
pub(crate) fn step(
    gate: &mut Option<StoredGate>,
    report: &GateReport,
    now: u64,
) -> (GateReply, Option<GateNotice>) {
    gate.take_if(|gate| gate.until > sum(now, sum(MAX_COOLDOWN, MAX_CLOCK_STEP_BACK)));
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
            run: RefusalRun::default(),
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
            self.run = RefusalRun::default();
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
        let asked = report.asked.map(|asked| asked.min(MAX_COOLDOWN));
        if self.standing {
            let until = self.until.max(sum(now, asked.unwrap_or(DEFAULT_COOLDOWN)));
            return std::mem::replace(&mut self.until, until) != until;
        }
        if !self.run.reaches(self.patience) {
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

fn sum(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(MAX_COUNT)
}

fn product(a: u64, b: u64) -> u64 {
    a.saturating_mul(b).min(MAX_COUNT)
}
