//! A model of the store's step, in the same integers as its script `gate.lua`, so that tests and simulations can run
//! without a server.
//!
//! The vote and the cooldown are those of one process's controller, with the outcomes of all processes.

use super::message::{GateNotice, GateReply, GateReport, MAX_COOLDOWN, MAX_COUNT};
use http_retry_core::sharing::vote::{
    DEFAULT_COOLDOWN, FIRST_PATIENCE, MAX_PATIENCE, MIN_PATIENCE, RefusalRun, next_cooldown,
};
use std::time::Duration;

/// The largest step back of a clock, in microseconds, that does not count as setting it back.
const MAX_CLOCK_STEP_BACK: u64 = 1_000_000;

/// One gate in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredGate {
    /// The number of times that the gate was closed, or opened by a contradiction.
    change: u64,
    /// The end of the last cooldown; `standing` if no step has come after it.
    until: u64,
    standing: bool,
    /// The refusals in a row of all processes, and the number of them that closes the gate.
    run: RefusalRun,
    patience: u64,
    doublings: u32,
    /// `true` if a call has succeeded since the gate last closed.
    ok_since_closed: bool,
    /// The number of processes that may still send a probe.
    probes: u64,
}

/// Takes one step of a gate, or of one that is new to the store. Returns the reply, and the notice to all processes, if
/// there is one.
pub(crate) fn step(
    gate: &mut Option<StoredGate>,
    report: &GateReport,
    now: u64,
) -> (GateReply, Option<GateNotice>) {
    // No cooldown ends that late, so the store's clock was set back.
    gate.take_if(|gate| gate.until > sum(now, sum(MAX_COOLDOWN, MAX_CLOCK_STEP_BACK)));
    // A process knows a later change, so the store has lost its data.
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

    /// Handles a report. Returns `true` if all processes are to be notified.
    fn take(&mut self, report: &GateReport, now: u64) -> bool {
        // Nobody contradicted the cooldown: the next vote takes half as many refusals.
        if self.standing && now >= self.until {
            self.standing = false;
            self.patience = (self.patience / 2).max(MIN_PATIENCE);
            self.run = RefusalRun::default();
        }
        self.ok_since_closed |= report.successes > 0 || report.later > 0;
        // While the gate is closed, only calls sent after the refused one can contradict it.
        if !self.standing {
            self.run.succeeded(report.successes);
        }
        // Refusals and later successes from before the last change concern an earlier cooldown.
        if report.change < self.change {
            return false;
        }
        self.run.refused(report.refusals);
        let ends = report.later > 0 && self.run.succeeded(report.later);
        if self.standing && ends {
            self.standing = false;
            // The vote was wrong, so the next one takes twice as many refusals.
            self.patience = product(self.patience, 2).min(MAX_PATIENCE);
            self.change = sum(self.change, 1);
            return true;
        }
        report.refusals > 0 && self.refused(report, now)
    }

    fn refused(&mut self, report: &GateReport, now: u64) -> bool {
        let delay = report.delay.map(|delay| delay.min(MAX_COOLDOWN));
        if self.standing {
            // A cooldown is prolonged and never shortened, and all processes are notified only if it changed.
            let until = self.until.max(sum(now, delay.unwrap_or(DEFAULT_COOLDOWN)));
            return std::mem::replace(&mut self.until, until) != until;
        }
        if !self.run.reaches(self.patience) {
            return false;
        }
        let repeated = !std::mem::take(&mut self.ok_since_closed);
        self.until = sum(now, next_cooldown(delay, repeated, &mut self.doublings));
        self.standing = true;
        // At least one, unlike in a single process: a vote of some processes may not be a vote of the others.
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
