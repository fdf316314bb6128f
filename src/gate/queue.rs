//! One key's gate: when it opens, who goes next, and how many at once. No clock, no lock, no randomness of its own.

#[cfg(test)]
mod tests;

use super::line::{Kind, Line, Ticket};
use super::pace::{Pace, Sent};
use super::quota::Quota;
use super::rate::Rate;
use super::release::{HEAD_START, Release, span};
use std::time::Duration;

/// A pause that is doubled may become this long, if not longer by what was asked for.
const MAX_DOUBLED: Duration = Duration::from_secs(60);
/// What is doubled where the server asked for less.
const LEAST_DOUBLED: Duration = Duration::from_millis(10);
/// How long the others hold back where the first in the line could go and does not.
const PATIENCE: Duration = HEAD_START;
/// The longest time between two looks.
const LONGEST_LOOK: Duration = Duration::from_secs(60 * 60);
/// A clock that goes back by less was read by two at once.
const BACKSTEP: Duration = Duration::from_secs(1);

/// The state of one key. Times are since an epoch of the caller's; random numbers are uniform.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    clock: Clock,
    line: Line,
    pace: Pace,
    rate: Rate,
    head_start: bool,
    closed: bool,
    /// When a closed gate opens, or an open one has opened.
    until: Duration,
    /// What was asked for when the gate was last closed.
    asked: Duration,
    /// How often calls succeeded before the gate was closed.
    before: Rate,
    /// How long it took until calls succeeded again; half as much is remembered from one time to the next.
    proven: Duration,
    /// How long no call had succeeded when the gate opened.
    pause: Duration,
    openings: u64,
    /// A call that was sent since the gate opened has succeeded.
    success: bool,
    /// How often the gate was closed again without a success.
    doublings: u32,
    release: Option<Release>,
    overdue: Option<Release>,
    /// Since when the first in the line could go.
    called: Option<Duration>,
}

/// A call that may be sent now, and must be given back in the end.
#[derive(Debug)]
#[must_use = "what is not given back is in flight for ever"]
pub(crate) struct Permit {
    opening: u64,
    sent: Sent,
}

/// What somebody hears who wants to go.
#[derive(Debug)]
pub(crate) enum Entry {
    Go(Permit),
    /// To look again then, or when called; until then the ticket must be kept or given back.
    Wait {
        ticket: Ticket,
        look_at: Duration,
    },
}

/// One who looks: when, with what luck, and whether it has waited as long as it may.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) now: Duration,
    pub(crate) random: u64,
    pub(crate) overdue: bool,
}

impl Queue {
    /// After each pause one goes, and the others a little later if it was not refused.
    pub(crate) fn with_head_start(self, head_start: bool) -> Self {
        Self { head_start, ..self }
    }

    /// Somebody new wants to go.
    pub(crate) fn enter(&mut self, kind: Kind, look: Look) -> Entry {
        let now = self.clock.read(look.now);
        self.open(now, look.random);
        if self.turn(self.line.rank_of_next(kind), now).is_ok() {
            return Entry::Go(self.go(None));
        }
        let ticket = self.line.join(kind);
        self.look(ticket, look)
    }

    /// A waiter looks again.
    pub(crate) fn look(&mut self, ticket: Ticket, look: Look) -> Entry {
        let now = self.clock.read(look.now);
        self.open(now, look.random);
        let turn = self.turn(self.line.rank(ticket), now);
        let turn = match turn {
            Err(_) if look.overdue => self.turn_of_overdue(ticket, now, look.random),
            turn => turn,
        };
        match turn {
            Ok(()) => Entry::Go(self.go(Some(ticket))),
            Err(due) => {
                let due = due.min(now.saturating_add(LONGEST_LOOK));
                if let Some(waiter) = self.line.waiter(ticket) {
                    waiter.planned = due;
                }
                let look_at = self.clock.outside(due);
                Entry::Wait { ticket, look_at }
            }
        }
    }

    /// A waiter has given up.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        self.line.leave(ticket);
        self.end_release();
    }

    /// The waiter who should look now although it did not plan to, if there is one; to be asked after every change.
    pub(crate) fn called(&mut self, now: Duration) -> Option<Ticket> {
        let now = self.clock.read(now);
        let head = self.line.head()?;
        if self.closed {
            return None;
        }
        let due = match self.turn(0, now) {
            Ok(()) => now,
            Err(due) => due,
        };
        let waiter = self.line.waiter(head)?;
        let earlier = due < waiter.planned;
        waiter.planned = waiter.planned.min(due);
        earlier.then_some(head)
    }

    /// The server has refused a call and asked for a pause; the gate is closed until then.
    pub(crate) fn refused(
        &mut self,
        now: Duration,
        permit: &Permit,
        asked: Duration,
        quota: Option<Quota>,
    ) {
        let now = self.clock.read(now);
        self.answered(now, permit, quota);
        let current = permit.opening == self.openings;
        if current && !self.closed {
            let again =
                self.openings > 0 && !self.success && now.saturating_sub(self.until) < MAX_DOUBLED;
            self.doublings = if again {
                self.doublings.saturating_add(1)
            } else {
                0
            };
        }
        let pause = match current {
            true => doubled(asked, self.doublings),
            false => asked,
        };
        self.close(now, now.saturating_add(pause), asked);
    }

    /// A call has succeeded.
    pub(crate) fn succeeded(&mut self, now: Duration, permit: &Permit, quota: Option<Quota>) {
        let now = self.clock.read(now);
        self.rate.add(now);
        if permit.opening == self.openings && !self.success {
            self.success = true;
            self.proven = self
                .pause
                .max(self.proven.checked_div(2).unwrap_or_default());
        }
        if quota.is_none() {
            self.pace.silent(now, &permit.sent);
        }
        self.answered(now, permit, quota);
    }

    /// A call has ended in some other way, if with an answer then with what that said of the quota.
    pub(crate) fn ended(&mut self, now: Duration, permit: &Permit, quota: Option<Quota>) {
        let now = self.clock.read(now);
        if quota.is_none() {
            self.pace.lost(now, &permit.sent);
        }
        self.answered(now, permit, quota);
    }

    /// Whether nothing would be lost with this key.
    pub(crate) fn is_forgettable(&self, now: Duration) -> bool {
        let idle = self.line.is_empty() && self.pace.in_flight() == 0;
        idle && (!self.closed || self.until <= self.clock.inside(now))
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.line.len()
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.pace.in_flight()
    }

    fn answered(&mut self, now: Duration, permit: &Permit, quota: Option<Quota>) {
        self.pace.back(&permit.sent);
        let spent = quota.and_then(|quota| self.pace.hear(now, &permit.sent, quota));
        if let Some(reset) = spent {
            self.close(now, now.saturating_add(reset), reset);
        }
    }

    /// Never sooner than before.
    fn close(&mut self, now: Duration, until: Duration, asked: Duration) {
        if self.success || self.openings == 0 {
            self.before = self.rate.faded(now);
        }
        if !self.closed {
            self.asked = Duration::ZERO;
            self.until = now;
        }
        self.closed = true;
        self.release = None;
        self.called = None;
        self.until = self.until.max(until);
        self.asked = self.asked.max(asked);
    }

    /// Opens a gate whose pause is over, and plans who goes when.
    fn open(&mut self, now: Duration, random: u64) {
        if !self.closed || now < self.until {
            return;
        }
        self.closed = false;
        self.openings = self.openings.wrapping_add(1);
        self.success = false;
        self.pause = self.before.pause(now);
        let waiters = self.line.len();
        if waiters > 0 {
            let each = self.before.each(self.pause.max(self.proven));
            let span = span(self.asked, waiters, each);
            let release = Release::new(now, span, waiters, random);
            let release = release.with_head_start(self.head_start);
            // Where answers tell what is left of the quota, no rate can be too fast.
            let bounded = self.pace.free(now).is_some();
            self.release = Some(release.at_any_rate(bounded));
        }
    }

    /// Whether one with so many before it may go; if not, when it may, unless something happens before.
    fn turn(&mut self, rank: usize, now: Duration) -> Result<(), Duration> {
        if self.closed {
            return Err(self.until);
        }
        let due = self.release.as_ref().map(|release| release.due(rank));
        if let Some(due) = due.filter(|due| *due > now) {
            return Err(due);
        }
        let Some(free) = self
            .pace
            .free(now)
            .map(|free| usize::try_from(free).unwrap_or(usize::MAX))
        else {
            return Ok(());
        };
        if free == 0 {
            self.called = None;
            return Err(self.pace.alarm(now));
        }
        let since = *self.called.get_or_insert(now);
        let late = since.saturating_add(PATIENCE);
        match rank < free || late <= now {
            true => Ok(()),
            false => Err(late),
        }
    }

    /// When one goes that has waited long enough: those that go so at one time are spread out as well.
    fn turn_of_overdue(
        &mut self,
        ticket: Ticket,
        now: Duration,
        random: u64,
    ) -> Result<(), Duration> {
        let waiters = self.line.len();
        let waiter = self.line.waiter(ticket).ok_or(now)?;
        let due = match waiter.overdue {
            Some(due) => due,
            None => {
                let begun = self.overdue.take().filter(|release| release.due(0) >= now);
                let span = span(self.asked, waiters, None);
                let mut release = begun.unwrap_or_else(|| Release::new(now, span, waiters, random));
                let due = release.due(0);
                release.one_goes();
                self.overdue = Some(release);
                *waiter.overdue.insert(due)
            }
        };
        if due <= now { Ok(()) } else { Err(due) }
    }

    fn go(&mut self, ticket: Option<Ticket>) -> Permit {
        if let Some(ticket) = ticket {
            self.line.leave(ticket);
        }
        if let Some(release) = &mut self.release {
            release.one_goes();
        }
        self.called = None;
        self.end_release();
        Permit {
            opening: self.openings,
            sent: self.pace.send(),
        }
    }

    fn end_release(&mut self) {
        if self.line.is_empty() {
            self.release = None;
            self.overdue = None;
        }
    }
}

fn doubled(asked: Duration, times: u32) -> Duration {
    if times == 0 {
        return asked;
    }
    let factor = 1_u32.checked_shl(times).unwrap_or(u32::MAX);
    let doubled = asked.max(LEAST_DOUBLED).saturating_mul(factor);
    doubled.min(MAX_DOUBLED).max(asked)
}

/// Time that only goes forward, whatever the clock outside does.
#[derive(Debug, Default)]
struct Clock {
    latest: Duration,
    /// How much the clock outside is behind.
    ahead: Duration,
}

impl Clock {
    fn read(&mut self, now: Duration) -> Duration {
        let inside = self.inside(now);
        let back = self.latest.saturating_sub(inside);
        if back >= BACKSTEP {
            self.ahead = self.ahead.saturating_add(back);
        }
        self.latest = self.latest.max(inside);
        self.latest
    }

    fn inside(&self, now: Duration) -> Duration {
        now.saturating_add(self.ahead)
    }

    fn outside(&self, inside: Duration) -> Duration {
        inside.saturating_sub(self.ahead)
    }
}
