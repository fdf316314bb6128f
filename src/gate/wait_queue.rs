//! Who waits at the gate of one key: retries before newcomers, each in the order in which they came.

use super::controller::Permit;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::task::Waker;

/// How long the others hold back where the first in the line could go and does not, in microseconds.
pub(super) const PATIENCE: u64 = 100_000;
/// So many, the first among them, look often enough that nobody waits longer than that for one who does not come.
const NEAR: usize = 8;
/// Further back, one in so many is called when it comes to these places, so that more who do not come in a row hold up the
/// line for a time that is in proportion.
const SENTINELS: [(u64, usize); 2] = [(8, 64), (64, 512)];

/// Whether a call has been sent before; retries go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Retry,
    Newcomer,
}

/// A waiter's place in the line, in whose order the line goes; it must be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    kind: Kind,
    number: u64,
}

/// The waiters of one key. Every operation costs the logarithm of their number.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    waiters: BTreeMap<Ticket, Waiting>,
    /// How many of them are retries.
    retries: u64,
    /// The last of each kind who was told when to go though the gate is closed.
    told: BTreeMap<Kind, u64>,
    /// Who did not come when its turn came, and may go when it does.
    given: BTreeMap<u64, Given>,
    last: u64,
    /// How many have left the line.
    gone: u64,
    /// When the turn of the first in the line comes, or came.
    turn: Option<u64>,
    /// When the next may go that has waited as long as it may.
    overdue: u64,
    /// Who is to be called once nobody looks at the line.
    calls: Vec<Waker>,
}

#[derive(Debug)]
struct Waiting {
    waker: Waker,
    /// When the waiter will look again.
    planned: u64,
    /// When it has waited as long as it may, and when it goes then.
    patient_until: u64,
    goes_at: Option<u64>,
    /// How many were before it when it came, and how many had left the line.
    before: u64,
    gone: u64,
}

/// A permit for one who did not come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    pub(super) permit: Permit,
    /// It counts until the next pause.
    pub(super) opening: u64,
}

impl WaitQueue {
    /// How many stand in the line.
    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.waiters.len()).unwrap_or(u64::MAX)
    }

    /// Whether nobody stands in the line.
    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// Whether nobody stands in the line or has a permit that is not used yet.
    pub(super) fn is_unused(&self) -> bool {
        self.is_empty() && self.given.is_empty()
    }

    /// Whether one who comes now would be the first.
    pub(super) fn would_be_first(&self, kind: Kind) -> bool {
        self.first().is_none_or(|first| kind < first.kind)
    }

    /// Takes a place at the end; `patient_until` is when the waiter has waited as long as it may.
    pub(super) fn join(&mut self, kind: Kind, patient_until: u64, waker: &Waker) -> Ticket {
        self.last = self.last.saturating_add(1);
        let ticket = Ticket {
            kind,
            number: self.last,
        };
        self.stand(ticket, patient_until, waker);
        ticket
    }

    /// Takes a place that was given up already: the first of its row.
    pub(super) fn stand(&mut self, ticket: Ticket, patient_until: u64, waker: &Waker) {
        if self.would_be_first(ticket.kind) {
            self.turn = None;
        }
        let before = match ticket.kind {
            Kind::Retry => self.retries,
            Kind::Newcomer => self.len(),
        };
        let waiting = Waiting {
            waker: waker.clone(),
            planned: u64::MAX,
            patient_until,
            goes_at: None,
            before,
            gone: self.gone,
        };
        self.waiters.insert(ticket, waiting);
        if ticket.kind == Kind::Retry {
            self.retries = self.retries.saturating_add(1);
        }
    }

    /// Leaves the line; what was given to the waiter meanwhile comes back.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Given> {
        if self.first() == Some(ticket) {
            self.turn = None;
        }
        if self.remove(ticket).is_some() {
            self.moves_on();
        }
        self.given.remove(&ticket.number)
    }

    /// The permit of one who did not come in time, and does now.
    pub(super) fn take_given(&mut self, ticket: Ticket) -> Option<Given> {
        self.given.remove(&ticket.number)
    }

    pub(super) fn first(&self) -> Option<Ticket> {
        self.waiters.keys().next().copied()
    }

    /// When the turn of the first came, or now: no longer ago than the others would have waited for all who stand here.
    pub(super) fn turn(&self, now: u64) -> u64 {
        let longest = self.len().saturating_mul(PATIENCE);
        let turn = self.turn.unwrap_or(now).max(now.saturating_sub(longest));
        turn.min(now)
    }

    /// Notes when the turn of the first comes, or came.
    pub(super) fn turn_comes(&mut self, at: u64) {
        self.turn = Some(at);
    }

    /// The first leaves the line with a permit; the turn of the next comes when the others ceased to wait for it.
    pub(super) fn give(&mut self, ticket: Ticket, given: Given) {
        let turn = self.turn.map(|turn| turn.saturating_add(PATIENCE));
        if let Some(left) = self.remove(ticket) {
            self.calls.push(left.waker);
            self.given.insert(ticket.number, given);
            self.moves_on();
        }
        self.turn = turn;
    }

    /// When one who is not the first looks again, so that the line moves on though those before it do not come. `sooner` is
    /// whether their turns may come before they are due.
    pub(super) fn looks_at(&self, ticket: Ticket, now: u64, sooner: bool) -> u64 {
        let turn = self.turn.filter(|turn| !sooner || *turn <= now);
        let turn = turn.unwrap_or(now);
        let mut near = self.waiters.keys().take(NEAR);
        let near = near.position(|other| *other == ticket);
        let before = match near.and_then(|near| u64::try_from(near).ok()) {
            // The first is called already.
            Some(near) if turn < now => near,
            Some(_) => 1,
            None => self.estimate(ticket),
        };
        let at = turn.saturating_add(before.max(1).saturating_mul(PATIENCE));
        at.max(now.saturating_add(1))
    }

    /// Notes when a waiter looks again, and whom to call.
    pub(super) fn plan(&mut self, ticket: Ticket, at: u64, waker: &Waker) {
        if let Some(waiting) = self.waiters.get_mut(&ticket) {
            waiting.planned = at;
            waiting.waker.clone_from(waker);
        }
    }

    /// Calls the first, where its turn comes before it will look.
    pub(super) fn call_first(&mut self) {
        let first = self.waiters.values_mut().next();
        let Some((turn, first)) = self.turn.zip(first) else {
            return;
        };
        if turn < first.planned {
            first.planned = turn;
            self.calls.push(first.waker.clone());
        }
    }

    /// Who is to be called.
    pub(super) fn take_calls(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.calls)
    }

    /// When one goes that has waited as long as it may: in order, `apart` from each other.
    pub(super) fn goes_at(&mut self, ticket: Ticket, now: u64, apart: u64) -> u64 {
        let mut next = self.overdue.max(now);
        let mut tell = |waiting: &mut Waiting| {
            *waiting.goes_at.get_or_insert_with(|| {
                let after = next.saturating_add(apart);
                std::mem::replace(&mut next, after)
            })
        };
        let kind = ticket.kind;
        let told = self.told.entry(kind).or_default();
        let last = Ticket {
            kind,
            number: *told,
        };
        let others = self.waiters.range_mut((Excluded(last), Unbounded));
        let overdue = |waiting: &Waiting| waiting.patient_until <= now;
        for (other, waiting) in others.take_while(|(other, it)| other.kind == kind && overdue(it)) {
            *told = other.number;
            tell(waiting);
        }
        let at = self.waiters.get_mut(&ticket).map_or(now, tell);
        self.overdue = next;
        at
    }

    /// One has left the line: calls those who have come near to its head by that.
    fn moves_on(&mut self) {
        self.gone = self.gone.saturating_add(1);
        let gone = self.gone;
        let due = |each: u64| gone.checked_rem(each) == Some(0);
        let places = SENTINELS.into_iter().filter(|(each, _)| due(*each));
        for place in places.map(|(_, place)| place).chain([NEAR]) {
            let at = self.waiters.values().nth(place.saturating_sub(1));
            self.calls.extend(at.map(|waiting| waiting.waker.clone()));
        }
    }

    /// About how many are before a waiter.
    fn estimate(&self, ticket: Ticket) -> u64 {
        let waiting = self.waiters.get(&ticket);
        waiting.map_or(0, |waiting| {
            let gone = self.gone.saturating_sub(waiting.gone);
            waiting.before.saturating_sub(gone)
        })
    }

    fn remove(&mut self, ticket: Ticket) -> Option<Waiting> {
        let left = self.waiters.remove(&ticket)?;
        if ticket.kind == Kind::Retry {
            self.retries = self.retries.saturating_sub(1);
        }
        Some(left)
    }
}
