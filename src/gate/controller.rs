//! The controller of one key: what each answer means for all of its calls, and when the next of them may go.
//!
//! A refusal closes the gate for everybody, until a call that was sent later and succeeds shows that the refusal was not
//! meant for everybody. After a pause the calls go on in order, first as fast as they succeeded before it, then at twice
//! that rate in each round. Where answers tell what is left of a quota, no more calls are in flight than that.
//!
//! Integers only, without a clock, a lock or randomness of its own. Times are microseconds since an epoch of the caller's.
//! Every number and every intermediate result is below 2^53, and sums saturate there, so that a script whose only numbers
//! are floats of 64 bits can take the same steps.

mod chance;
mod fading;
pub(super) mod numbers;
mod quota;
pub(super) mod release;
mod tempo;
#[cfg(test)]
mod tests;
#[cfg(feature = "redis")]
mod told;
mod witnesses;

pub(super) use fading::{faded, fades_at};
pub(super) use numbers::{MOST, part, quotient};
pub(crate) use quota::Quota;

use chance::Chance;
use numbers::{product, sum};
use quota::QuotaState;
use release::{Release, SLOWEST};
use tempo::Tempo;
use witnesses::Witnesses;

pub(super) const MILLISECOND: u64 = 1_000;
pub(super) const SECOND: u64 = 1_000_000;

/// The pause after a refusal that asks for none.
pub(super) const NO_WISH: u64 = 100 * MILLISECOND;
/// What is doubled at least, and how far doubling goes.
const LEAST_DOUBLED: u64 = 10 * MILLISECOND;
const MOST_DOUBLED: u64 = 20 * SECOND;
/// A refusal doubles the pause where the one before it was over for less than this.
pub(super) const SOON: u64 = 60 * SECOND;
/// From so many doublings on, even the least that is doubled exceeds the most.
pub(super) const DOUBLINGS: u32 = 11;
/// What a refusal takes from the credit, what a contradiction makes of it, and the most that successes make of it.
const PRICE: u64 = 2;
const CREDIT: u64 = 12;
const FULL_CREDIT: u64 = 32;
/// The right to send one call: its number among the calls of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Permit(pub(crate) u64);

/// What an idle gate has come to while nobody looked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    pub(crate) in_flight: u64,
    /// The successes that count, and since when.
    pub(crate) ok: u64,
    pub(crate) since: u64,
}

/// The state of one key.
#[derive(Debug, Default)]
pub(crate) struct Controller {
    head_start: bool,
    /// The number of the last call that was let through.
    sent: u64,
    /// The pauses that ended by themselves, and the last call that was sent before the last of them did.
    pub(crate) opening: u64,
    sent_before: u64,
    closed: bool,
    /// It is so for a refusal of another process.
    told: bool,
    closed_at: u64,
    /// When a closed gate opens, or an open one has opened.
    until: u64,
    /// The longest wish of the last pause.
    pub(crate) asked: u64,
    /// How often the gate was closed again without a success.
    doublings: u32,
    /// Successes since the last opening, and since when they count.
    pub(crate) ok: u64,
    pub(crate) since: u64,
    /// The most successes of late.
    lately: u64,
    /// The time from one call to the next that was found last.
    each: u64,
    tempo: Tempo,
    witnesses: Witnesses,
    chance: Chance,
    /// Refusals that need not close the gate, at [`PRICE`] each.
    credit: u64,
    pub(super) release: Option<Release>,
    quota: QuotaState,
    /// A call was refused at some time.
    pub(crate) was_refused: bool,
}

impl Controller {
    /// An open gate whose successes count from now on.
    pub(crate) fn new(now: u64, head_start: bool) -> Self {
        Self {
            head_start,
            since: now.min(MOST),
            each: SLOWEST,
            ..Self::default()
        }
    }

    /// Whether the first in the line may go; if not, when it may, unless something happens before.
    ///
    /// `random` is uniform over 64 bits, and used where a pause ends.
    pub(crate) fn next(&mut self, now: u64, random: u64) -> Result<(), u64> {
        let now = now.min(MOST);
        self.quota.turn_over(now, self.sent);
        if self.closed && now >= self.until {
            self.open(now, random);
        }
        let due = self.release.map(|release| release.due(release.gone));
        let closed = self.closed.then_some(self.until);
        let spent = || self.quota.spent_until();
        let later = || due.filter(|due| *due > now);
        closed.or_else(spent).or_else(later).map_or(Ok(()), Err)
    }

    /// The first in the line goes, with this number.
    pub(crate) fn go(&mut self, number: u64) -> Permit {
        self.note_sent(number);
        if let Some(release) = &mut self.release {
            if release.gone == 0 {
                self.chance.first = Some(Permit(number));
            }
            release.gone = sum(release.gone, 1);
        }
        Permit(number)
    }

    /// Nobody waits any more: who comes next goes at once.
    pub(crate) fn line_is_empty(&mut self) {
        self.release = None;
    }

    /// A call was refused. It asked for `asked`, if for anything; where that is from a header that names a delay, it goes
    /// before the reset of the quota in the same answer. Gives whether a pause begins by that.
    pub(crate) fn refused(
        &mut self,
        now: u64,
        permit: Permit,
        asked: Option<u64>,
        quota: Option<Quota>,
    ) -> bool {
        let now = now.min(MOST);
        let asked = asked.map(|asked| asked.min(MOST));
        let quota = quota.map(|quota| quota.within(asked));
        self.was_refused = true;
        self.fade(now);
        self.quota.hear(now, permit, quota);
        let asked = asked.or(quota.and_then(Quota::spent_for));
        let asked = asked.unwrap_or(NO_WISH);
        let was_closed = self.closed && !self.told;
        self.judge(now, permit, false);
        if was_closed {
            self.until = self.until.max(sum(now, asked));
            self.asked = self.asked.max(asked);
        } else if self.chance.takes_over() {
            self.give_up_pauses(now);
        } else if let Some(left) = self.credit.checked_sub(PRICE) {
            self.credit = left;
        } else if !self.chance.reigns {
            self.close(now, permit, asked);
        }
        self.closed && !was_closed
    }

    /// A call has succeeded.
    pub(crate) fn succeeded(&mut self, now: u64, permit: Permit, quota: Option<Quota>) {
        let now = now.min(MOST);
        self.fade(now);
        self.ok = sum(self.ok, 1);
        if self.quota.hear(now, permit, quota) {
            self.quota.untold();
        }
        if self.credit > 0 {
            self.credit = sum(self.credit, 1).min(FULL_CREDIT);
        }
        self.judge(now, permit, true);
    }

    /// A call has ended in another way, or was dropped: it speaks neither for nor against the pause.
    pub(crate) fn ended(&mut self, now: u64, permit: Permit, quota: Option<Quota>) {
        if self.quota.hear(now.min(MOST), permit, quota) {
            self.quota.lost();
        }
        self.witnesses.gone(permit);
        self.chance.gone(permit);
    }

    /// A call that was let through was not sent.
    pub(crate) fn not_sent(&mut self, permit: Permit) {
        self.quota.hear(0, permit, None);
        self.witnesses.gone(permit);
        self.chance.gone(permit);
    }

    /// Takes over what happened while the gate was idle and nobody looked.
    pub(crate) fn catch_up(&mut self, idle: Idle) {
        self.quota.flying = idle.in_flight;
        self.chance.unheard(idle.ok.saturating_sub(self.ok));
        (self.ok, self.since) = (idle.ok, idle.since);
    }

    /// Calls were sent up to this number.
    pub(crate) fn note_sent(&mut self, sent: u64) {
        let more = sent.saturating_sub(self.sent);
        self.quota.flying = sum(self.quota.flying, more);
        self.sent = sum(self.sent, more);
    }

    /// Whether a call may go, and a success be counted, without a look at the rest of the state.
    pub(crate) fn is_idle(&self) -> bool {
        let quiet = !self.holds_back() && self.credit == 0;
        quiet && self.witnesses.later == 0 && self.chance.first.is_none()
    }

    /// Whether there is a pause, a release or a quota that calls keep to.
    pub(crate) fn holds_back(&self) -> bool {
        self.closed || self.release.is_some() || self.quota.known
    }

    /// Whether the gate is closed for a refusal of this process.
    pub(crate) fn is_closed_by_itself(&self) -> bool {
        self.closed && !self.told
    }

    fn close(&mut self, now: u64, permit: Permit, asked: u64) {
        self.credit = 0;
        let mut pause = asked;
        if permit.0 > self.sent_before {
            let soon = now.saturating_sub(self.until) < SOON;
            let again = self.opening > 0 && self.ok == 0 && soon;
            let doublings = self.doublings.saturating_add(1).min(DOUBLINGS);
            self.doublings = if again { doublings } else { 0 };
            pause = doubled(asked, self.doublings);
        }
        let told = std::mem::take(&mut self.told);
        let least = if told { self.until } else { 0 };
        self.closed = true;
        self.closed_at = now;
        self.until = sum(now, pause).max(least);
        self.asked = asked;
        self.witnesses = Witnesses::of(permit, self.sent);
    }

    /// The successes of an open gate weigh less the older they are.
    fn fade(&mut self, now: u64) {
        if !self.closed && self.release.is_none() {
            (self.ok, self.since) = faded(self.ok, self.since, now);
        }
    }

    /// A call has come back that may have been sent after the refused one. Where such calls are let through, the pause is
    /// not for everybody.
    fn judge(&mut self, now: u64, permit: Permit, good: bool) {
        if permit.0 > self.sent_before {
            self.chance.hear(permit, good);
        } else {
            self.chance.gone(permit);
        }
        if !self.witnesses.hear(permit, good) {
            return;
        }
        self.credit = self.credit.max(CREDIT);
        if !self.told {
            self.open_again(now);
        }
    }

    /// The pause was for nothing: whoever waits goes on as before it.
    fn open_again(&mut self, now: u64) {
        if std::mem::take(&mut self.closed) {
            if let Some(release) = &mut self.release {
                release.from = sum(release.from, now.saturating_sub(self.closed_at));
            }
        }
    }
}

pub(super) fn doubled(asked: u64, times: u32) -> u64 {
    if times == 0 {
        return asked;
    }
    let most = MOST_DOUBLED.max(asked);
    product(asked.max(LEAST_DOUBLED), 1 << times).min(most)
}
