//! Refusals that count until the bodies of their responses are judged.
//!
//! Until then they act as plain refusals do. One that is lifted is taken back: its vote, and its part in the cooldown.
//! A gate that closed because of it opens, and a release that followed ends.

use super::super::vote::{DEFAULT_COOLDOWN, RefusalRun};
use super::{CallNumber, Controller, MAX_COUNT, PROBE_INTERVAL, Quota, sum};

/// A refusal, and its effects.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CountedRefusal {
    at: u64,
    /// The number of the run that it is a part of; 0 for none.
    run: u64,
    /// The start of the round of the release that it counts in.
    round: Option<u64>,
    /// `true` if it is a vote among all processes.
    votes: bool,
    /// `true` if the gate closed with it.
    pub(super) closes: bool,
    /// The end of the cooldown that it asks for, and whether the cooldown lasts until then.
    until: u64,
    extends: bool,
}

/// The last closure by a vote of this process, and what it has changed.
#[derive(Debug, Default)]
pub(super) struct Closure {
    /// The number of the run that closed the gate; 0 if nothing of it can be taken back.
    run: u64,
    /// The refusals in that run when the gate opened.
    refusals: u64,
    patience: u64,
    doublings: u32,
    ok_since_closed: bool,
    interval: u64,
    /// The end of the cooldown by the refusals that count for good: by those that it lasts for, and by all of them.
    firm_until: u64,
    firm_asked: u64,
    /// `true` if the refusal that closed the gate was lifted. Another one of the run would have closed it then.
    without_closer: bool,
}

impl CountedRefusal {
    fn is_of(&self, run: u64) -> bool {
        self.run != 0 && self.run == run
    }
}

impl Closure {
    /// Records that the gate opens after its cooldown, and ends this run.
    pub(super) fn opens(&mut self, run: RefusalRun) {
        self.refusals = run.refusals();
    }

    /// Records that something else has opened the gate.
    pub(super) fn settle(&mut self) {
        self.run = 0;
    }

    fn make_firm(&mut self, refusal: &CountedRefusal) {
        if refusal.is_of(self.run) {
            self.firm_asked = self.firm_asked.max(refusal.until);
            if refusal.extends {
                self.firm_until = self.firm_until.max(refusal.until);
            }
        }
    }
}

impl Controller {
    /// Records a refusal. `delay` is the one that it asks for, if any; a delay header overrides the reset of the quota
    /// in the same response. `is_first` is `true` for the call's first attempt. Returns `true` if the refusal closes
    /// the gate.
    pub(crate) fn refused(
        &mut self,
        now: u64,
        permit: CallNumber,
        is_first: bool,
        delay: Option<u64>,
        quota: Option<Quota>,
    ) -> bool {
        let refusal = self.count_refusal(now, permit, is_first, delay_or_reset(delay, quota));
        let quota = quota.map(|quota| quota.within(delay));
        self.quota.record(now.min(MAX_COUNT), permit, quota);
        self.closure.make_firm(&refusal);
        refusal.closes
    }

    /// Records a refusal like [`refused`](Self::refused), until it is confirmed or lifted. The call is in flight until
    /// then, and its quota does not count yet.
    pub(crate) fn refused_for_now(
        &mut self,
        now: u64,
        permit: CallNumber,
        is_first: bool,
        delay: Option<u64>,
        quota: Option<Quota>,
    ) -> bool {
        let refusal = self.count_refusal(now, permit, is_first, delay_or_reset(delay, quota));
        let at = self.provisional_at(permit).unwrap_or_else(|at| at);
        self.provisional.insert(at, (permit.0, refusal));
        refusal.closes
    }

    /// Makes a refusal count for good. `delay` is the one that its body asks for, if any. Returns `None` if it is no
    /// vote among all processes, else `true` if the gate closed with it, and is closed still.
    #[inline(never)]
    pub(crate) fn confirm(
        &mut self,
        now: u64,
        permit: CallNumber,
        delay: Option<u64>,
        quota: Option<Quota>,
    ) -> Option<bool> {
        let quota = quota.map(|quota| quota.within(delay));
        self.quota.record(now.min(MAX_COUNT), permit, quota);
        let held = self.take_provisional(permit);
        let mut refusal = held.unwrap_or_default();
        let is_held = self.closed && refusal.is_of(self.closure.run);
        if is_held {
            let delay = delay_or_reset(delay, quota).unwrap_or_default();
            refusal.until = refusal.until.max(sum(refusal.at, delay));
            if refusal.extends {
                self.until = self.until.max(refusal.until);
            }
            self.closure.make_firm(&refusal);
        }
        refusal.votes.then_some(refusal.closes && is_held)
    }

    /// Takes a refusal back: the call has ended in another way.
    #[inline(never)]
    pub(crate) fn lift(&mut self, now: u64, permit: CallNumber, quota: Option<Quota>) {
        self.ended(now, permit, quota);
        let Some(lifted) = self.take_provisional(permit) else {
            return;
        };
        if let Some(release) = &mut self.release {
            release.lift(lifted.round);
        }
        if lifted.is_of(self.run_number) {
            self.run.lift();
        }
        if !lifted.is_of(self.closure.run) || self.closed_by_others.is_some() {
            return;
        }
        if !self.closed {
            // The cooldown is over. Without it there would be no release.
            self.closure.refusals = self.closure.refusals.saturating_sub(1);
            if self.closure.refusals < self.closure.patience {
                self.release = None;
                self.interval = self.closure.interval;
                self.undo_closure();
            }
        } else if self.run.reaches(self.closure.patience) {
            self.closure.without_closer |= lifted.closes;
            self.until = self.cooldown_without_lifted();
        } else {
            self.undo_closure();
        }
    }

    /// Records the state that a closure changes.
    pub(super) fn note_closure(&mut self) {
        self.closure = Closure {
            run: self.run_number,
            patience: self.patience,
            doublings: self.doublings,
            ok_since_closed: self.ok_since_closed,
            interval: self.interval,
            ..Closure::default()
        };
    }

    fn undo_closure(&mut self) {
        let closure = std::mem::take(&mut self.closure);
        self.closed = false;
        self.patience = closure.patience;
        self.doublings = closure.doublings;
        self.ok_since_closed |= closure.ok_since_closed;
    }

    fn cooldown_without_lifted(&self) -> u64 {
        let closure = &self.closure;
        let rest = self.provisional.iter().map(|(_, refusal)| refusal);
        let rest = rest.filter(|refusal| refusal.is_of(closure.run));
        let counted = rest.filter(|refusal| refusal.extends || closure.without_closer);
        let firm = if closure.without_closer {
            closure.firm_asked
        } else {
            closure.firm_until
        };
        counted.map(|refusal| refusal.until).fold(firm, u64::max)
    }

    fn take_provisional(&mut self, permit: CallNumber) -> Option<CountedRefusal> {
        let at = self.provisional_at(permit).ok()?;
        Some(self.provisional.remove(at).1)
    }

    /// Returns the position of a refusal.
    ///
    /// # Errors
    ///
    /// The position at which it belongs.
    fn provisional_at(&self, permit: CallNumber) -> Result<usize, usize> {
        let held = &self.provisional;
        held.binary_search_by_key(&permit.0, |(number, _)| *number)
    }

    fn count_refusal(
        &mut self,
        now: u64,
        permit: CallNumber,
        is_first: bool,
        delay: Option<u64>,
    ) -> CountedRefusal {
        let now = now.min(MAX_COUNT);
        self.was_refused = true;
        self.fade(now);
        if self.probe.take_if(|probe| *probe == permit).is_some() {
            self.probe_at = sum(now, PROBE_INTERVAL);
        }
        self.newcomers_succeed &= !is_first;
        let mut refusal = CountedRefusal {
            at: now,
            votes: self.votes(permit, is_first),
            ..CountedRefusal::default()
        };
        if self.meets_its_own_limit(is_first) {
            return refusal;
        }
        if self.closed {
            // Raises the number of successes that contradict the cooldown.
            self.run.refused(1);
            refusal.run = self.run_number;
            refusal.until = sum(now, delay.unwrap_or(DEFAULT_COOLDOWN));
            // Calls that were in flight when the gate closed met the same limit, and do not extend the cooldown.
            refusal.extends = permit.0 > self.closed_after;
            if refusal.extends {
                self.until = self.until.max(refusal.until);
            }
            return refusal;
        }
        refusal.round = self.release.as_mut().map(super::Release::refused);
        if refusal.votes {
            if self.run.is_empty() {
                self.begin_run(permit.0);
            }
            self.run.refused(1);
            refusal.run = self.run_number;
        }
        refusal.closes = self.run.reaches(self.patience);
        if refusal.closes {
            self.close(now, delay);
            (refusal.until, refusal.extends) = (self.until, true);
        }
        refusal
    }

    /// Begins a run of refusals, of which this call is the first.
    pub(super) fn begin_run(&mut self, first_refused: u64) {
        self.run_number = sum(self.run_number, 1);
        self.first_refused = first_refused;
    }
}

/// Returns the delay that a refusal asks for: that of a header, else the reset of a quota that is spent.
fn delay_or_reset(delay: Option<u64>, quota: Option<Quota>) -> Option<u64> {
    let delay = delay.map(|delay| delay.min(MAX_COUNT));
    delay.or(quota.and_then(Quota::spent_for))
}
