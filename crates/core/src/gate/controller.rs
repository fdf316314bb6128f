//! The controller of one key: the effect of each outcome on all of its calls, and the time of the next call.
//!
//! It has five rules; the guide's page on the gate gives the reasons.
//!
//! 1. **Vote.** A run of several refusals closes the gate. The run ends once half as many of the calls sent after its
//!    first refused call have succeeded, or a quarter for a long run. While the gate is open and not in a release, only
//!    first attempts vote, so that a call that is refused repeatedly has one vote. It has none at all while newcomers
//!    succeed and no such call does: then it meets a limit of its own.
//! 2. **Cooldown.** A closed gate waits for as long as the refusal asked, and twice as long each time that nothing
//!    succeeded in between. A run that ends meanwhile contradicts the cooldown: the gate opens, and takes twice as many
//!    refusals to close from then on. While the cooldown may still be wrong, newcomers go as probes, also in the
//!    release that follows it.
//! 3. **Paced release.** After a cooldown calls go one after another, as fast as calls succeeded before, and twice as
//!    fast after each clean round. An occasional refusal leaves a round clean.
//! 4. **Search.** After a refused round the pace returns to the last clean one, and then moves half way to the refused
//!    one.
//! 5. **Quota.** If responses state the remainder of a quota, no more calls are in flight than that.
//!
//! It uses integers only, and no clock, lock or randomness of its own. Times are microseconds since an epoch of the
//! caller's choice; every number stays below 2^53, and sums saturate there.

mod provisional;
mod quota;
mod release;

/// The largest number. 64-bit floats hold every integer up to it exactly.
pub(crate) const MAX_COUNT: u64 = (1 << 53) - 1;

/// Returns a number below `whole`, in proportion to the random number.
#[inline]
pub(crate) fn part(random: u64, whole: u64) -> u64 {
    let part = u128::from(random).wrapping_mul(u128::from(whole)) >> 64;
    u64::try_from(part).unwrap_or_default()
}

pub(crate) fn sum(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(MAX_COUNT)
}

pub(crate) fn product(a: u64, b: u64) -> u64 {
    a.saturating_mul(b).min(MAX_COUNT)
}

pub(crate) fn quotient(a: u64, b: u64) -> u64 {
    a.checked_div(b).unwrap_or_default()
}

#[cfg(test)]
mod tests;

use super::vote::{FIRST_PATIENCE, MAX_PATIENCE, RefusalRun};
use crate::policy::Quota;
use provisional::{Closure, CountedRefusal};
use quota::QuotaState;
use release::Release;

pub(super) const MILLISECOND: u64 = 1_000;
pub(super) const SECOND: u64 = 1_000_000;

/// The time from the outcome of one probe to the next probe.
const PROBE_INTERVAL: u64 = 250 * MILLISECOND;

/// The right to send one call: its number among the calls of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallNumber(pub(crate) u64);

/// The next call that may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextTurn {
    /// The first waiter in the line.
    First,
    /// The first newcomer, as a probe.
    Probe,
    /// No call before this time, unless something happens.
    At(u64),
}

/// The counts of a gate while it was idle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdleCounts {
    pub(crate) in_flight: u64,
    /// The successes that count, and the time since which they do.
    pub(crate) ok: u64,
    pub(crate) since: u64,
}

/// The state of one key.
#[derive(Debug)]
pub(crate) struct Controller {
    /// The number of the last call that was admitted.
    sent: u64,
    closed: bool,
    /// Set if other processes closed it: a random number, so that they do not resume in step.
    closed_by_others: Option<u64>,
    closed_at: u64,
    /// The number of the last call sent before it closed.
    closed_after: u64,
    /// The time at which a closed gate opens, or an open one opened.
    until: u64,
    /// The number of times that the cooldown was doubled.
    doublings: u32,
    /// The current run of refusals, its number, its first refused call, and the number of refusals that close the gate.
    run: RefusalRun,
    run_number: u64,
    first_refused: u64,
    patience: u64,
    closure: Closure,
    /// The refusals whose bodies are being read, in the order of their calls' numbers.
    provisional: Vec<(u64, CountedRefusal)>,
    /// The probe in flight, the number of probes that may follow, and the time of the next one.
    probe: Option<CallNumber>,
    probes: u64,
    probe_at: u64,
    /// `true` if the last first attempt whose end is known succeeded.
    newcomers_succeed: bool,
    /// `true` if a repeated call has succeeded since the gate last closed.
    repeats_succeed: bool,
    /// The successes since the last opening, and the time since which they count.
    pub(crate) ok: u64,
    pub(crate) since: u64,
    /// `true` if a call succeeded since the gate last closed, or if it never closed.
    ok_since_closed: bool,
    /// The pace of the last release, in microseconds from one call to the next; 0 before the first.
    interval: u64,
    release: Option<Release>,
    quota: QuotaState,
    /// `true` once a call was refused.
    pub(crate) was_refused: bool,
}

impl Controller {
    /// Creates an open gate whose successes count from now on.
    pub(crate) fn new(now: u64) -> Self {
        Self {
            sent: 0,
            closed: false,
            closed_by_others: None,
            closed_at: 0,
            closed_after: 0,
            until: 0,
            doublings: 0,
            run: RefusalRun::default(),
            run_number: 0,
            first_refused: 0,
            patience: FIRST_PATIENCE,
            closure: Closure::default(),
            provisional: Vec::new(),
            probe: None,
            probes: 0,
            probe_at: 0,
            newcomers_succeed: false,
            repeats_succeed: false,
            ok: 0,
            since: now.min(MAX_COUNT),
            ok_since_closed: true,
            interval: 0,
            release: None,
            quota: QuotaState::default(),
            was_refused: false,
        }
    }

    /// Returns the next call that may go. `has_newcomers` is `true` if a call waits that was never sent.
    #[inline(never)]
    pub(crate) fn next(&mut self, now: u64, has_newcomers: bool) -> NextTurn {
        let now = now.min(MAX_COUNT);
        self.quota.turn_over(now, self.sent);
        if self.closed && now >= self.until {
            self.open(now);
        }
        if self.closed {
            return self.probe_or_wait(now, self.until, has_newcomers);
        }
        // Also while a quota is spent: this ends a release that is over.
        let paced = self.paced_until(now, true);
        match (self.quota.spent_until(), paced) {
            (Some(due), _) => NextTurn::At(due),
            // The calls that wait in the release may all meet limits of their own.
            (None, Some(due)) if !self.repeats_succeed => {
                self.probe_or_wait(now, due, has_newcomers)
            }
            (None, Some(due)) => NextTurn::At(due),
            (None, None) => NextTurn::First,
        }
    }

    /// Returns the turn of the next probe, or `due` if none may go before.
    fn probe_or_wait(&self, now: u64, due: u64, has_newcomers: bool) -> NextTurn {
        if !has_newcomers || self.probes == 0 || self.probe.is_some() {
            return NextTurn::At(due);
        }
        if self.probe_at <= now {
            NextTurn::Probe
        } else {
            NextTurn::At(self.probe_at.min(due))
        }
    }

    /// Admits a call with this number. `others_wait` is `true` if more calls are in the line.
    pub(crate) fn go(
        &mut self,
        now: u64,
        number: u64,
        as_probe: bool,
        others_wait: bool,
    ) -> CallNumber {
        self.note_sent(number);
        let permit = CallNumber(number);
        if as_probe {
            self.probe = Some(permit);
            self.probes = self.probes.saturating_sub(1);
        } else if let Some(release) = &mut self.release {
            release.sent(now.min(MAX_COUNT), others_wait);
        }
        permit
    }

    /// Records a success. `is_first` is `true` for the call's first attempt. Returns `true` if it contradicts a
    /// cooldown, which ends.
    pub(crate) fn succeeded(
        &mut self,
        now: u64,
        permit: CallNumber,
        is_first: bool,
        quota: Option<Quota>,
    ) -> bool {
        let now = now.min(MAX_COUNT);
        self.fade(now);
        self.newcomers_succeed |= is_first;
        self.repeats_succeed |= !is_first;
        self.ok = sum(self.ok, 1);
        self.ok_since_closed = true;
        if self.quota.record(now, permit, quota) {
            self.quota.record_without_quota();
        }
        if self.probe.take_if(|probe| *probe == permit).is_some() {
            self.probes = sum(self.probes, 1);
        }
        if let Some(release) = &mut self.release {
            release.succeeded();
        }
        if !self.is_later(permit) || !self.run.succeeded(1) {
            return false;
        }
        // A run may also end while the gate is open, and then contradicts nothing.
        let contradicted = std::mem::take(&mut self.closed);
        if contradicted {
            self.closure.settle();
            self.patience = product(self.patience, 2).min(MAX_PATIENCE);
            self.closed_by_others = None;
        }
        contradicted
    }

    /// Records a call that ended in another way, which is no evidence for or against a limit.
    pub(crate) fn ended(&mut self, now: u64, permit: CallNumber, quota: Option<Quota>) {
        if self.quota.record(now.min(MAX_COUNT), permit, quota) {
            self.quota.record_lost();
        }
        self.probe.take_if(|probe| *probe == permit);
    }

    /// Records that an admitted call was not sent.
    pub(crate) fn not_sent(&mut self, permit: CallNumber) {
        // Unlike a lost call it took nothing from the quota, so the result does not matter.
        self.quota.record(0, permit, None);
        self.probe.take_if(|probe| *probe == permit);
    }

    /// Records that no call waits any more.
    pub(crate) fn line_is_empty(&mut self, now: u64) {
        if !self.closed {
            self.paced_until(now.min(MAX_COUNT), false);
        }
    }

    /// Catches up with the counts of an idle gate, and returns the new successes.
    pub(crate) fn catch_up(&mut self, idle: IdleCounts) -> u64 {
        self.quota.in_flight = idle.in_flight;
        let successes = idle.ok.saturating_sub(self.ok);
        // With a run the gate is idle only if nothing was in flight, so all of these were sent after the run began.
        self.run.succeeded(successes);
        self.ok_since_closed |= successes > 0;
        (self.ok, self.since) = (idle.ok, idle.since);
        successes
    }

    /// Records that calls were sent up to this number.
    pub(crate) fn note_sent(&mut self, sent: u64) {
        let more = sent.saturating_sub(self.sent);
        self.quota.in_flight = sum(self.quota.in_flight, more);
        self.sent = sum(self.sent, more);
    }

    /// Returns `true` if the counters alone suffice to admit calls and to count successes. During a run it matters
    /// which of the calls in flight were sent before it.
    pub(crate) fn is_idle(&self) -> bool {
        let counts_run = self.has_run() && self.quota.in_flight > 0;
        !self.holds_back() && self.probe.is_none() && !counts_run
    }

    /// Returns `true` if calls are held back by a cooldown, a release or a quota.
    pub(crate) fn holds_back(&self) -> bool {
        self.closed || self.release.is_some() || self.quota.known
    }

    /// Returns the time before which no call goes: the end of the cooldown, or the reset of a quota that is spent. A
    /// newcomer may go before as a probe, so for it there is none while one may follow.
    pub(crate) fn shut_until(&self, is_newcomer: bool) -> Option<u64> {
        let may_probe = is_newcomer && (self.probes > 0 || self.probe.is_some());
        if self.closed {
            (!may_probe).then_some(self.until)
        } else {
            self.quota.used_up_until()
        }
    }

    /// Returns `true` if a refusal of this call is a vote. If other processes closed the gate, the calls sent since
    /// then vote; otherwise first attempts do, and during a release all calls. A call with a limit of its own never
    /// does.
    pub(crate) fn votes(&self, permit: CallNumber, is_first: bool) -> bool {
        if self.meets_its_own_limit(is_first) {
            false
        } else if self.closed_by_others.is_some() {
            permit.0 > self.closed_after
        } else {
            is_first || self.release.is_some()
        }
    }

    /// Returns `true` if a refusal of this call says nothing about others: it is not the call's first, newcomers
    /// succeed, and no repeated call does.
    fn meets_its_own_limit(&self, is_first: bool) -> bool {
        !is_first && self.newcomers_succeed && !self.repeats_succeed
    }

    pub(crate) fn has_run(&self) -> bool {
        !self.run.is_empty()
    }

    /// Returns `true` if a success of this call counts against a run of refusals: there is one, and the call was sent
    /// after it began.
    pub(crate) fn is_later(&self, permit: CallNumber) -> bool {
        self.has_run() && permit.0 > self.first_refused
    }
}

/// Changes made by other processes that share the gate.
impl Controller {
    /// Closes the gate at least until this time. Returns `true` if it was open. `probe` admits one newcomer as a probe.
    pub(in crate::gate) fn close_until(
        &mut self,
        now: u64,
        until: u64,
        probe: bool,
        random: u64,
    ) -> bool {
        let was_open = !std::mem::replace(&mut self.closed, true);
        if was_open {
            self.closed_at = now;
            self.until = now;
            self.probe = None;
            self.probes = 0;
            self.probe_at = now;
            self.repeats_succeed = false;
            // The run belongs to other processes, so a full one is assumed.
            if self.run.is_empty() {
                self.begin_run(self.sent);
                self.run.refused(self.patience);
            }
        }
        if self.closed_by_others.is_none() {
            self.closed_after = self.sent;
        }
        self.closed_by_others = Some(random);
        self.until = self.until.max(until);
        self.probes = sum(self.probes, u64::from(probe));
        was_open
    }

    /// Opens the gate, since successes of other processes contradict the cooldown.
    pub(in crate::gate) fn reopen(&mut self) {
        if self.closed_by_others.take().is_some() {
            self.closed = false;
            self.closure.settle();
            self.run = RefusalRun::default();
        }
    }

    /// Ends a cooldown that other processes began.
    pub(in crate::gate) fn end_cooldown(&mut self, now: u64) {
        if self.closed_by_others.is_some() && self.closed {
            self.until = self.until.min(now);
            self.open(now);
        }
    }

    /// Divides the quota among this number of processes; this process has the given rank.
    pub(in crate::gate) fn share_quota(&mut self, processes: u64, rank: u64) {
        self.quota.shared_by = (processes, rank);
    }
}

/// The time after which the successes of an open gate count half.
const MEMORY: u64 = 20 * SECOND;

/// Returns the successes of an open gate and the time since which they count, as of `now`: they halve after each
/// [`MEMORY`].
pub(super) fn faded(ok: u64, since: u64, now: u64) -> (u64, u64) {
    let age = now.saturating_sub(since);
    if age <= MEMORY {
        return (ok, since);
    }
    let halvings = u32::try_from(quotient(age, MEMORY)).unwrap_or(u32::MAX);
    let ok = ok.checked_shr(halvings).unwrap_or_default();
    // Half the successes in half the time: their rate stays as it was.
    (ok, now.saturating_sub(quotient(MEMORY, 2)))
}

/// Returns the time at which the successes that count since `since` will have faded.
pub(super) fn fades_at(since: u64) -> u64 {
    sum(since, sum(MEMORY, 1))
}
