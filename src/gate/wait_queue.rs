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

/// Whether a call has been sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Retry,
    Newcomer,
}

/// A waiter's place in the line; it must be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    kind: Kind,
    number: u64,
}

/// The waiters of one key. Every operation costs the logarithm of their number.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    retries: Row,
    newcomers: Row,
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

#[derive(Debug, Default)]
struct Row {
    waiters: BTreeMap<u64, Waiting>,
    /// The last who was told when to go though the gate is closed.
    told: u64,
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
        let (retries, newcomers) = (self.retries.waiters.len(), self.newcomers.waiters.len());
        u64::try_from(retries.saturating_add(newcomers)).unwrap_or(u64::MAX)
    }

    /// Whether nobody stands in the line.
    pub(super) fn is_empty(&self) -> bool {
        self.retries.waiters.is_empty() && self.newcomers.waiters.is_empty()
    }

    /// Whether nobody stands in the line or has a permit that is not used yet.
    pub(super) fn is_unused(&self) -> bool {
        self.is_empty() && self.given.is_empty()
    }

    /// Whether one who comes now would be the first.
    pub(super) fn would_be_first(&self, kind: Kind) -> bool {
        self.retries.waiters.is_empty()
            && (kind == Kind::Retry || self.newcomers.waiters.is_empty())
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
        let waiting = Waiting {
            waker: waker.clone(),
            planned: u64::MAX,
            patient_until,
            goes_at: None,
            before: match ticket.kind {
                Kind::Retry => self.retries.len(),
                Kind::Newcomer => self.len(),
            },
            gone: self.gone,
        };
        let row = self.row(ticket.kind);
        row.waiters.insert(ticket.number, waiting);
    }

    /// Leaves the line; what was given to the waiter meanwhile comes back.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Given> {
        if self.first() == Some(ticket) {
            self.turn = None;
        }
        if self
            .row(ticket.kind)
            .waiters
            .remove(&ticket.number)
            .is_some()
        {
            self.moves_on();
        }
        self.given.remove(&ticket.number)
    }

    /// The permit of one who did not come in time, and does now.
    pub(super) fn take_given(&mut self, ticket: Ticket) -> Option<Given> {
        self.given.remove(&ticket.number)
    }

    pub(super) fn first(&self) -> Option<Ticket> {
        self.tickets().next()
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
        if let Some(left) = self.row(ticket.kind).waiters.remove(&ticket.number) {
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
        let near = self.tickets().take(NEAR).position(|other| other == ticket);
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
        if let Some(waiting) = self.waiting(ticket) {
            waiting.planned = at;
            waiting.waker.clone_from(waker);
        }
    }

    /// Calls the first, where its turn comes before it will look.
    pub(super) fn call_first(&mut self) {
        let Some((turn, first)) = self.turn.zip(self.first()) else {
            return;
        };
        let Some(waiting) = self.waiting(first) else {
            return;
        };
        if turn < waiting.planned {
            waiting.planned = turn;
            let waker = waiting.waker.clone();
            self.calls.push(waker);
        }
    }

    /// Who is to be called.
    pub(super) fn take_calls(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.calls)
    }

    /// When one goes that has waited as long as it may: in order, `apart` from each other.
    pub(super) fn goes_at(&mut self, ticket: Ticket, now: u64, apart: u64) -> u64 {
        let mut next = self.overdue.max(now);
        let row = self.row(ticket.kind);
        let told = row.told;
        let others = row.waiters.range_mut((Excluded(told), Unbounded));
        for (number, waiting) in others.take_while(|(_, waiting)| waiting.patient_until <= now) {
            row.told = *number;
            waiting.goes_at.get_or_insert_with(|| {
                let at = next;
                next = next.saturating_add(apart);
                at
            });
        }
        let own = row.waiters.get_mut(&ticket.number);
        let at = own.map_or(now, |own| {
            *own.goes_at.get_or_insert_with(|| {
                let at = next;
                next = next.saturating_add(apart);
                at
            })
        });
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
            let at = self.tickets().nth(place.saturating_sub(1));
            if let Some(waiting) = at.and_then(|ticket| self.waiting(ticket)) {
                let waker = waiting.waker.clone();
                self.calls.push(waker);
            }
        }
    }

    /// About how many are before a waiter.
    fn estimate(&self, ticket: Ticket) -> u64 {
        let waiting = match ticket.kind {
            Kind::Retry => self.retries.waiters.get(&ticket.number),
            Kind::Newcomer => self.newcomers.waiters.get(&ticket.number),
        };
        waiting.map_or(0, |waiting| {
            let gone = self.gone.saturating_sub(waiting.gone);
            waiting.before.saturating_sub(gone)
        })
    }

    /// Everybody in the line, in order.
    fn tickets(&self) -> impl Iterator<Item = Ticket> {
        let retries = self.retries.tickets(Kind::Retry);
        retries.chain(self.newcomers.tickets(Kind::Newcomer))
    }

    fn waiting(&mut self, ticket: Ticket) -> Option<&mut Waiting> {
        self.row(ticket.kind).waiters.get_mut(&ticket.number)
    }

    fn row(&mut self, kind: Kind) -> &mut Row {
        match kind {
            Kind::Retry => &mut self.retries,
            Kind::Newcomer => &mut self.newcomers,
        }
    }
}

impl Row {
    fn tickets(&self, kind: Kind) -> impl Iterator<Item = Ticket> {
        let numbers = self.waiters.keys().copied();
        numbers.map(move |number| Ticket { kind, number })
    }

    fn len(&self) -> u64 {
        u64::try_from(self.waiters.len()).unwrap_or(u64::MAX)
    }
}
