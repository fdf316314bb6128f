//! The paced release after a cooldown, and the search for the pace that the server accepts.

use super::{Controller, MILLISECOND, SECOND, part, product, quotient, sum};
use crate::gate::vote::{MAX_PATIENCE, MIN_PATIENCE, RefusalRun, next_cooldown};

/// The longest time since the last opening that counts when the pace is computed.
const MAX_CYCLE: u64 = 5 * SECOND;
/// The bounds of a round, which is as long as the cooldown before it.
const MIN_ROUND: u64 = SECOND;
const MAX_ROUND: u64 = 2_500 * MILLISECOND;
/// The slowest initial pace of a release.
const MAX_FIRST_INTERVAL: u64 = SECOND;
/// A refused pace and a clean one that differ by less than a tenth need no search between them.
const SEARCH_PART: u64 = 10;
/// A round counts as refused if its refusals exceed this part of its successes. Fewer may be unrelated to the pace, and
/// would occur at a slower one too.
const TOLERATED_PART: u64 = 16;

/// Calls that go one after another, at a pace that changes from round to round. Paces are intervals in microseconds.
#[derive(Debug)]
pub(super) struct Release {
    interval: u64,
    /// The fastest pace of a round without a refusal, and the slowest of a round with one.
    clean: u64,
    refused: Option<u64>,
    next: u64,
    round_start: u64,
    round: u64,
    good: u64,
    bad: u64,
    others_waited: bool,
}

impl Controller {
    /// Returns the time of the release's next call, if that is later than now. `waits` is `true` if a call waits for
    /// it. Removes a release that is over.
    pub(super) fn paced_until(&mut self, now: u64, waits: bool) -> Option<u64> {
        let release = self.release.as_mut()?;
        let due = release.due(now);
        release.others_waited |= waits && due.is_some_and(|due| due > now);
        if due.is_none() {
            self.interval = release.interval;
            self.release = None;
        }
        due.filter(|due| *due > now)
    }

    /// Closes the gate after a vote.
    pub(super) fn close(&mut self, now: u64, delay: Option<u64>) {
        self.note_closure();
        let repeated = !std::mem::take(&mut self.ok_since_closed);
        let cooldown = next_cooldown(delay, repeated, &mut self.doublings);
        self.closed = true;
        self.closed_at = now;
        self.closed_after = self.sent;
        self.until = sum(now, cooldown);
        self.probe = None;
        self.probe_at = now;
        // A gate that was right before, so that the calls that it held succeeded, needs no probes.
        let was_right = std::mem::take(&mut self.repeats_succeed) && self.patience <= MIN_PATIENCE;
        self.probes = if was_right {
            0
        } else {
            quotient(self.patience, 2)
        };
    }

    /// Opens the gate after a cooldown that nothing contradicted.
    pub(super) fn open(&mut self, now: u64) {
        let cooldown = self.until.saturating_sub(self.closed_at);
        // The cooldown is a part of the cycle: 500 calls per 10 s are 50 a second, even if all went in the first.
        let cycle = now.saturating_sub(self.since).clamp(1, MAX_CYCLE);
        let mut interval = cycle.checked_div(self.ok).unwrap_or(MAX_FIRST_INTERVAL);
        if let Some(release) = self.release.take() {
            // The release that the refusals have ended was too fast, so the next one begins no faster than a clean
            // round.
            interval = interval.max(release.clean);
            self.interval = release.interval;
        }
        // From one release to the next the pace at most halves. A cycle shorter than an interval is no evidence about
        // it.
        if self.interval > 0 {
            let times = if cycle < self.interval { 1 } else { 2 };
            interval = interval.min(product(self.interval, times));
        }
        self.interval = interval.clamp(1, MAX_FIRST_INTERVAL);
        // Processes that share the gate must not resume all at once.
        let offset = self
            .closed_by_others
            .take()
            .map_or(0, |random| part(random, self.interval));
        self.release = Some(Release {
            interval: self.interval,
            clean: self.interval,
            refused: None,
            next: sum(now, offset),
            round_start: now,
            round: cooldown.clamp(MIN_ROUND, MAX_ROUND),
            good: 0,
            bad: 0,
            others_waited: true,
        });
        self.closure.opens(self.run);
        self.patience = quotient(self.patience, 2).clamp(MIN_PATIENCE, MAX_PATIENCE);
        self.closed = false;
        self.run = RefusalRun::default();
        self.ok = 0;
        self.since = now;
    }

    /// Halves the old successes of an open gate.
    pub(super) fn fade(&mut self, now: u64) {
        if !self.closed && self.release.is_none() {
            (self.ok, self.since) = super::faded(self.ok, self.since, now);
        }
    }
}

impl Release {
    /// Returns the time of the next call. Returns `None` if the release is over.
    fn due(&mut self, now: u64) -> Option<u64> {
        while now >= sum(self.round_start, self.round) {
            // A round in which nobody waited and nothing was refused shows that the pace holds nobody back. The next
            // one begins without either, so at most one round ends here.
            if !self.others_waited && self.bad == 0 {
                return None;
            }
            self.round_start = sum(self.round_start, self.round);
            self.end_round();
        }
        // The next round may be faster.
        Some(self.next.min(sum(self.round_start, self.round)))
    }

    pub(super) fn sent(&mut self, now: u64, others_wait: bool) {
        self.next = sum(self.next.max(now), self.interval);
        self.others_waited |= others_wait;
    }

    pub(super) fn succeeded(&mut self) {
        self.good = sum(self.good, 1);
    }

    /// Counts a refusal, and returns the start of its round.
    pub(super) fn refused(&mut self) -> u64 {
        self.bad = sum(self.bad, 1);
        self.round_start
    }

    /// Takes back a refusal of the round that began then, if it is not over.
    pub(super) fn lift(&mut self, round: Option<u64>) {
        if round == Some(self.round_start) {
            self.bad = self.bad.saturating_sub(1);
        }
    }

    fn end_round(&mut self) {
        let (good, bad) = (self.good, self.bad);
        if product(bad, TOLERATED_PART) > good {
            self.slow_down(good);
        } else {
            self.speed_up();
        }
        (self.good, self.bad, self.others_waited) = (0, 0, false);
    }

    /// Returns to the last clean pace, but at most halves the pace; if there is none, uses the rate of the successes,
    /// within the same bound.
    fn slow_down(&mut self, good: u64) {
        self.refused = Some(self.interval);
        let twice = product(self.interval, 2);
        let safe = if self.clean > self.interval {
            self.clean.min(twice)
        } else {
            self.round.checked_div(good).unwrap_or(twice).min(twice)
        };
        self.clean = safe.max(self.interval);
        self.interval = self.clean;
    }

    /// Doubles the pace, or moves half way to a pace that was refused.
    fn speed_up(&mut self) {
        self.clean = self.clean.min(self.interval);
        let refused = self.refused.filter(|refused| *refused < self.interval);
        let far = |refused: &u64| {
            self.interval.saturating_sub(*refused) > quotient(*refused, SEARCH_PART)
        };
        match (refused, refused.filter(far)) {
            (_, Some(refused)) => self.interval = between(self.interval, refused),
            // The search is over: one more round at this pace, then faster again.
            (Some(_), None) => self.refused = None,
            (None, _) => self.interval = half(self.interval),
        }
    }
}

/// Returns the interval of the pace halfway between two others: the mean of the paces, not of the intervals.
fn between(one: u64, other: u64) -> u64 {
    quotient(product(product(one, other), 2), sum(one, other)).max(1)
}

fn half(interval: u64) -> u64 {
    quotient(interval, 2).max(1)
}
