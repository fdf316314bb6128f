//! The controller of one key: what each outcome means for all of its calls, and when the next of them may go.
//!
//! It decides by five rules; the guide's page on the gate gives the reasons.
//!
//! 1. **Vote.** A run of several refusals closes the gate. It ends once half as many calls have succeeded that were
//!    sent after its first refused call, of a long run a quarter. Of an open gate only first attempts vote, so that a
//!    call that is refused again and again has one voice.
//! 2. **Cooldown.** A closed gate waits for as long as the refusal asked, and twice as long each time that nothing
//!    succeeded in between. A run that ends meanwhile contradicts the cooldown: the gate opens, and takes twice as many
//!    refusals to close from then on. While it may still be wrong, newcomers go as probes.
//! 3. **Paced release.** After a cooldown calls go one after another, as fast as calls succeeded before, and twice as fast
//!    after each clean round. A refusal now and then leaves a round clean.
//! 4. **Search.** After a refused round the pace goes back to the last clean one, and from there half the way to the
//!    refused one.
//! 5. **Quota.** If responses tell what remains of a quota, no more calls are in flight than that.
//!
//! Integers only, without a clock, a lock or randomness of its own. Times are microseconds since an epoch of the caller's;
//! every number stays below 2^53, and sums saturate there.

pub(crate) mod quota;
mod release;
/// The largest number.
pub(crate) const MAX_COUNT: u64 = (1 << 53) - 1;

/// A part of `whole` below it, as large as the random number is.
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

pub(crate) use quota::GateQuota;

use super::vote::{DEFAULT_COOLDOWN, FIRST_PATIENCE, MAX_PATIENCE, RefusalRun};
use quota::QuotaState;
use release::Release;

pub(super) const MILLISECOND: u64 = 1_000;
pub(super) const SECOND: u64 = 1_000_000;

/// The time from the outcome of one probe to the next probe.
const PROBE_INTERVAL: u64 = 250 * MILLISECOND;

/// The right to send one call: its number among the calls of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallNumber(pub(crate) u64);

/// Who may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextTurn {
    /// The first in the line.
    First,
    /// The first newcomer, as a probe.
    Probe,
    /// Nobody before this time, unless something happens.
    At(u64),
}

/// What an idle gate has counted while nobody looked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdleCounts {
    pub(crate) in_flight: u64,
    /// The successes that count, and since when.
    pub(crate) ok: u64,
    pub(crate) since: u64,
}

/// The state of one key.
#[derive(Debug)]
pub(crate) struct Controller {
    /// The number of the last call that was let through.
    sent: u64,
    closed: bool,
    /// Other processes closed it; with a random number, so that they do not go on in step.
    closed_by_others: Option<u64>,
    closed_at: u64,
    /// The last call that was sent before it closed.
    closed_after: u64,
    /// When a closed gate opens, or an open one opened.
    until: u64,
    /// How often the cooldown was doubled.
    doublings: u32,
    /// The refusals in a row, the first refused call, and how many refusals close the gate.
    run: RefusalRun,
    first_refused: u64,
    patience: u64,
    /// The probe in flight, how many may follow, and when.
    probe: Option<CallNumber>,
    probes: u64,
    probe_at: u64,
    /// Successes since the last opening, and since when they count.
    pub(crate) ok: u64,
    pub(crate) since: u64,
    /// Whether a call succeeded since the gate closed last, or it never closed.
    ok_since_closed: bool,
    /// The pace of the last release, in microseconds from one call to the next; 0 before the first.
    interval: u64,
    release: Option<Release>,
    quota: QuotaState,
    /// Whether a call was ever refused.
    pub(crate) was_refused: bool,
}

impl Controller {
    /// An open gate whose successes count from now on.
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
            first_refused: 0,
            patience: FIRST_PATIENCE,
            probe: None,
            probes: 0,
            probe_at: 0,
            ok: 0,
            since: now.min(MAX_COUNT),
            ok_since_closed: true,
            interval: 0,
            release: None,
            quota: QuotaState::default(),
            was_refused: false,
        }
    }

    /// Who may go now. `has_newcomers` is whether a call waits that was never sent.
    pub(crate) fn next(&mut self, now: u64, has_newcomers: bool) -> NextTurn {
        let now = now.min(MAX_COUNT);
        self.quota.turn_over(now, self.sent);
        if self.closed && now >= self.until {
            self.open(now);
        }
        if self.closed {
            return self.next_of_closed(now, has_newcomers);
        }
        let paced = self.paced_until(now, true);
        match self.quota.spent_until().or(paced) {
            Some(due) => NextTurn::At(due),
            None => NextTurn::First,
        }
    }

    fn next_of_closed(&self, now: u64, has_newcomers: bool) -> NextTurn {
        if !has_newcomers || self.probes == 0 || self.probe.is_some() {
            return NextTurn::At(self.until);
        }
        if self.probe_at <= now {
            NextTurn::Probe
        } else {
            NextTurn::At(self.probe_at.min(self.until))
        }
    }

    /// A call goes with this number. `others_wait` is whether more calls stand in the line.
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

    /// A call was refused. It asked for `asked`, if for anything; a delay header goes before the reset of the quota in the
    /// same response. `is_first` is whether it was the call's first attempt. Returns `true` if the gate closes by that.
    pub(crate) fn refused(
        &mut self,
        now: u64,
        permit: CallNumber,
        is_first: bool,
        asked: Option<u64>,
        quota: Option<GateQuota>,
    ) -> bool {
        let now = now.min(MAX_COUNT);
        let asked = asked.map(|asked| asked.min(MAX_COUNT));
        let quota = quota.map(|quota| quota.within(asked));
        self.was_refused = true;
        self.fade(now);
        self.quota.record(now, permit, quota);
        let asked = asked.or(quota.and_then(GateQuota::spent_for));
        if self.probe.take_if(|probe| *probe == permit).is_some() {
            self.probe_at = sum(now, PROBE_INTERVAL);
        }
        if self.closed {
            self.run.refused(1);
            // Calls that were in flight when it closed add nothing: they met the same limit.
            if permit.0 > self.closed_after {
                self.until = self.until.max(sum(now, asked.unwrap_or(DEFAULT_COOLDOWN)));
            }
            return false;
        }
        if let Some(release) = &mut self.release {
            release.refused();
        }
        if self.votes(permit, is_first) {
            if self.run.is_empty() {
                self.first_refused = permit.0;
            }
            self.run.refused(1);
        }
        let closes = self.run.reaches(self.patience);
        if closes {
            self.close(now, asked);
        }
        closes
    }

    /// A call succeeded. Returns `true` if that contradicts a cooldown, which ends.
    pub(crate) fn succeeded(
        &mut self,
        now: u64,
        permit: CallNumber,
        quota: Option<GateQuota>,
    ) -> bool {
        let now = now.min(MAX_COUNT);
        self.fade(now);
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
        let contradicted = std::mem::take(&mut self.closed);
        if contradicted {
            self.patience = product(self.patience, 2).min(MAX_PATIENCE);
            self.closed_by_others = None;
        }
        contradicted
    }

    /// A call ended in another way: it speaks neither for nor against a limit.
    pub(crate) fn ended(&mut self, now: u64, permit: CallNumber, quota: Option<GateQuota>) {
        if self.quota.record(now.min(MAX_COUNT), permit, quota) {
            self.quota.record_lost();
        }
        self.probe.take_if(|probe| *probe == permit);
    }

    /// A call that was let through was not sent.
    pub(crate) fn not_sent(&mut self, permit: CallNumber) {
        self.quota.record(0, permit, None);
        self.probe.take_if(|probe| *probe == permit);
    }

    /// Nobody waits any more.
    pub(crate) fn line_is_empty(&mut self, now: u64) {
        if !self.closed {
            self.paced_until(now.min(MAX_COUNT), false);
        }
    }

    /// Takes over what happened while the gate was idle and nobody looked. Returns the successes.
    pub(crate) fn catch_up(&mut self, idle: IdleCounts) -> u64 {
        self.quota.flying = idle.in_flight;
        let successes = idle.ok.saturating_sub(self.ok);
        self.run.succeeded(successes);
        self.ok_since_closed |= successes > 0;
        (self.ok, self.since) = (idle.ok, idle.since);
        successes
    }

    /// Calls were sent up to this number.
    pub(crate) fn note_sent(&mut self, sent: u64) {
        let more = sent.saturating_sub(self.sent);
        self.quota.flying = sum(self.quota.flying, more);
        self.sent = sum(self.sent, more);
    }

    /// Returns `true` if a call may go, and a success be counted, without a look at the rest of the state. During a run it
    /// matters which of the calls in flight were sent before it.
    pub(crate) fn is_idle(&self) -> bool {
        let counts_run = self.has_run() && self.quota.flying > 0;
        !self.holds_back() && self.probe.is_none() && !counts_run
    }

    /// Whether there is a cooldown, a release or a quota that calls keep to.
    pub(crate) fn holds_back(&self) -> bool {
        self.closed || self.release.is_some() || self.quota.known
    }

    /// Returns `true` if a refusal of this call is a vote: while the gate is open only a first attempt's, and of a closed
    /// gate only that of a call that was sent since.
    pub(crate) fn votes(&self, permit: CallNumber, is_first: bool) -> bool {
        if self.closed_by_others.is_some() {
            permit.0 > self.closed_after
        } else {
            is_first || self.release.is_some()
        }
    }

    pub(crate) fn has_run(&self) -> bool {
        !self.run.is_empty()
    }

    /// Returns `true` if a success of this call counts against a run of refusals: there is one, and it was sent since.
    pub(crate) fn is_later(&self, permit: CallNumber) -> bool {
        self.has_run() && permit.0 > self.first_refused
    }
}

/// Changes by other processes that share the gate.
impl Controller {
    /// Closes the gate until this time at least. Returns `true` if it was open. `probe` lets one newcomer go as a probe.
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
            // The run is that of other processes.
            if self.run.is_empty() {
                self.run.refused(self.patience);
                self.first_refused = self.sent;
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

    /// Opens the gate: successes of other processes contradict the cooldown.
    pub(in crate::gate) fn reopen(&mut self) {
        if self.closed_by_others.take().is_some() {
            self.closed = false;
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

    /// Shares the quota among this number of processes, of which this one has that rank.
    pub(in crate::gate) fn share_quota(&mut self, processes: u64, rank: u64) {
        self.quota.shared_by = (processes, rank);
    }
}

/// After this time the successes of an open gate count half.
const MEMORY: u64 = 20 * SECOND;

/// Successes of an open gate and since when they count, seen at `now`: after [`MEMORY`] half of them, and so on.
pub(super) fn faded(ok: u64, since: u64, now: u64) -> (u64, u64) {
    let age = now.saturating_sub(since);
    if age <= MEMORY {
        return (ok, since);
    }
    let halvings = u32::try_from(quotient(age, MEMORY)).unwrap_or(u32::MAX);
    let ok = ok.checked_shr(halvings).unwrap_or_default();
    (ok, now.saturating_sub(quotient(MEMORY, 2)))
}

/// When the successes that count since then will have faded.
pub(super) fn fades_at(since: u64) -> u64 {
    sum(since, sum(MEMORY, 1))
}
