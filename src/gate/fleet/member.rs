//! One process's half of one shared gate: what it has heard of the store, and what follows for the line.
//!
//! An open gate needs nothing. From a refusal, or from what the store tells, until the release is over each call that goes
//! takes a ticket, which belongs to the head of the line. An answer does not open the gate at once if it knows nothing of
//! the pause: the store may have lost its state. The pause then ends within a minute, or with the word that everybody took
//! their refusals back. A pause that no call of this process waits for is not kept at all.

use super::release::Release;
use super::{Accuses, QuotaWord};
use crate::gate::controller::numbers::{MOST, sum};
use crate::gate::controller::{MILLISECOND, Permit};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

/// A question for what comes back with the quota is asked so long after its reset.
const AFTER_RESET: u64 = 2 * MILLISECOND;

/// What a process remembers of a gate that it shares. Times are the process's.
#[derive(Debug, Default)]
pub(in crate::gate) struct Member {
    /// By which whoever drives it knows it.
    pub(in crate::gate) half: Arc<()>,
    /// How long a call waits for the store at most.
    pub(super) wait: u64,
    /// The longest pause that a call of this process waits for. One that is longer holds nobody here, as a refusal that
    /// asks for as much closes no gate.
    pub(in crate::gate) longest: u64,
    /// The store tells this process of pauses, and its last answer came in time.
    pub(super) subscribed: bool,
    pub(super) joined: bool,
    /// What the store's last answer says.
    pub(super) heard: Option<Heard>,
    /// Until when the gate is closed by what the store said, and by this process's own refusals; kept until an answer says
    /// that it is over.
    pub(super) heard_until: Option<u64>,
    pub(super) own_until: Option<u64>,
    /// Calls go by tickets.
    pub(super) needs_tickets: bool,
    /// The opening of which the pause is that was heard of last.
    pub(super) paused: u64,
    /// The store, which is in this opening, does not know of what tickets were needed for: the process's own gate decides,
    /// until the store knows of something again, or there is nothing left to keep to.
    pub(super) keeps_to_its_own: Option<u64>,
    /// The tickets in hand, and those of before the pause, as numbers from the first to before the last.
    pub(super) tickets: VecDeque<(u64, u64)>,
    pub(super) kept: VecDeque<(u64, u64)>,
    /// Since when the head of the line waits for an answer.
    pub(super) waits_since: Option<u64>,
    /// The last calls that were sent before the opening and the turn of the quota that are known.
    pub(super) opening_after: u64,
    pub(super) turn_after: u64,
    pub(super) says: Says,
}

/// What the store's last answer says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    /// One time on the store's clock and on the process's.
    pub(super) store: u64,
    pub(super) here: u64,
    pub(super) opening: u64,
    pub(super) closed: bool,
    /// On the store's clock: it may have begun before the process's clock did.
    pub(super) release: Release,
    pub(super) remaining: Option<u64>,
    /// On the process's.
    pub(super) reset: u64,
    pub(super) turn: u64,
}

/// What there is to say, and when it may be said.
#[derive(Debug, Default)]
pub(super) struct Says {
    /// The driver, and when it asks again by itself.
    pub(super) waker: Option<Waker>,
    pub(super) asks_at: u64,
    /// The next call is to wake it.
    pub(super) is_parked: bool,
    /// When the words in flight were said, and when the last ones were.
    pub(super) in_flight: Option<u64>,
    pub(super) last: u64,
    /// Before this no ticket is asked for, and no success is told of.
    pub(super) patient_until: u64,
    /// When the first word of a quota is said that nobody is known to have heard of.
    pub(super) first_of_quota: Option<u64>,
    /// The store failed so often; it is not spoken to before this time.
    pub(super) failures: u32,
    pub(super) not_before: u64,
    /// In the opening that they are about all have taken their refusals back since.
    pub(super) overtaken: Option<u64>,
    /// There is nothing to say but something to hear.
    pub(super) look: bool,
    /// Until when a refusal asks everybody to wait, and the opening that it is about.
    pub(super) refusal: Option<(u64, u64)>,
    pub(super) accuses: Accuses,
    pub(super) takes_back: Option<u64>,
    /// The opening in which this process accuses.
    pub(super) accused: Option<u64>,
    pub(super) successes: u64,
    /// How often they are told, while the gate is open.
    pub(super) flush: u64,
    /// What was heard of the quota, and when.
    pub(super) quota: Option<(QuotaWord, u64)>,
}

impl Member {
    pub(in crate::gate) fn new(wait: u64) -> Self {
        let says = Says {
            look: true,
            ..Says::default()
        };
        Self {
            wait,
            says,
            ..Self::default()
        }
    }

    /// Whether the fleet's gate decides, and not the process's own.
    pub(in crate::gate) fn decides(&self) -> bool {
        self.joined && self.subscribed
    }

    /// Whether calls may go without a look at this.
    pub(in crate::gate) fn is_idle(&self) -> bool {
        let is_open = !self.needs_tickets && self.closed_until().is_none();
        !self.says.is_parked && (!self.decides() || is_open)
    }

    /// Whether the head of the line may go; if not, when it may, unless something is heard before. Nothing where the
    /// process's own gate decides.
    pub(in crate::gate) fn next(&mut self, now: u64) -> Option<Result<(), u64>> {
        if !self.decides() || self.keeps_to_its_own.is_some() {
            return None;
        }
        match self.closed_until() {
            Some(until) if until > now => return Some(Err(until)),
            Some(_) => return self.awaits(now),
            None if !self.needs_tickets => return Some(Ok(())),
            None => {}
        }
        match (self.due(), self.spent_until()) {
            (Some(due), _) if due <= now => Some(Ok(())),
            (Some(due), _) => Some(Err(due)),
            (None, Some(whole)) if whole > now => Some(Err(whole)),
            (None, _) => self.awaits(now),
        }
    }

    /// A call goes, with the first ticket if that is due.
    pub(in crate::gate) fn goes(&mut self, now: u64) {
        self.waits_since = None;
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        if let Some((first, end)) = self.tickets.front_mut() {
            *first = sum(*first, 1);
            if *first >= *end {
                self.tickets.pop_front();
            }
        }
    }

    /// How many tickets are in hand.
    pub(super) fn in_hand(&self) -> u64 {
        let count = |(first, end): &(u64, u64)| end.saturating_sub(*first);
        self.tickets.iter().map(count).fold(0, sum)
    }

    /// When the next ticket of the release is due that anybody asks for.
    pub(super) fn over_at(&self) -> Option<u64> {
        let heard = self.heard.filter(|heard| heard.remaining.is_none())?;
        Some(heard.due(heard.release.gone))
    }

    /// Until when nothing remains of the quota.
    pub(super) fn spent_until(&self) -> Option<u64> {
        let heard = self.heard.filter(|heard| heard.remaining == Some(0))?;
        Some(sum(heard.reset, AFTER_RESET))
    }

    fn due(&self) -> Option<u64> {
        let (first, _) = self.tickets.front()?;
        Some(self.heard?.due(*first))
    }

    /// Waits for the store, as long as a call does at most; then the process's own gate decides.
    fn awaits(&mut self, now: u64) -> Option<Result<(), u64>> {
        let since = *self.waits_since.get_or_insert(now);
        let until = sum(since.max(self.says.may_ask_at()), self.wait);
        if now >= until {
            self.is_alone(now);
            return None;
        }
        Some(Err(until))
    }

    /// From here on the process's own gate decides, until the store answers in time.
    pub(in crate::gate) fn is_alone(&mut self, now: u64) {
        if std::mem::take(&mut self.joined) {
            self.says.look = true;
        }
        self.waits_since = None;
        self.says.not_before = self.says.not_before.max(now);
    }

    /// Whether the store tells this process of pauses. If it does again, something may have been missed.
    pub(in crate::gate) fn is_subscribed(&mut self, subscribed: bool) {
        self.subscribed = subscribed;
        self.waits_since = None;
        if subscribed {
            self.says.look = true;
            self.says.not_before = 0;
        }
    }

    /// Nobody waits any more; `held_back` if the process's own gate knows of something to keep to.
    pub(in crate::gate) fn line_is_empty(&mut self, held_back: bool) {
        self.keeps_to_its_own.take_if(|_| !held_back);
    }

    pub(in crate::gate) fn watches(&mut self, waker: &Waker) {
        self.says.waker = Some(waker.clone());
        self.says.is_parked = false;
    }

    pub(in crate::gate) fn flushes_each(&mut self, interval: u64) {
        self.says.flush = interval;
    }

    /// Nobody asks any more, until this one is woken.
    pub(in crate::gate) fn parks(&mut self, waker: &Waker, by_next_call: bool) {
        self.watches(waker);
        self.says.asks_at = MOST;
        self.says.is_parked = by_next_call;
    }

    /// The opening that a call was sent in; another one than is known, where it was sent before that.
    pub(super) fn opening_of(&self, permit: Permit) -> u64 {
        let opening = self.heard.map_or(0, |heard| heard.opening);
        opening.saturating_sub(u64::from(permit.0 <= self.opening_after))
    }

    /// The turn of the quota that a call was sent in, if it is the one that is known.
    pub(super) fn turn_of(&self, permit: Permit) -> Option<u64> {
        let turn = self.heard.map_or(0, |heard| heard.turn);
        (permit.0 > self.turn_after).then_some(turn)
    }
}

impl Heard {
    /// A time of the store's clock on the process's.
    pub(super) fn at(&self, time: u64) -> u64 {
        match time.checked_sub(self.store) {
            Some(later) => sum(self.here, later),
            None => self.here.saturating_sub(self.store.saturating_sub(time)),
        }
    }

    /// When a ticket is due.
    fn due(&self, ticket: u64) -> u64 {
        self.at(self.release.due(ticket))
    }
}
