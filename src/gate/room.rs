//! What the lock of one key guards: its controller, its line, and the time that both go by.

use super::controller::{Allowance, Controller, Permit};
use super::counters::{Counters, Ended, Left};
use super::micros;
use super::quota::Quota;
use super::wait_queue::{Given, Kind, PATIENCE, Ticket, WaitQueue};
use crate::policy::splitmix64;
use std::task::Waker;

/// The longest time between two looks.
const LONGEST_LOOK: u64 = 60 * 60 * 1_000_000;
/// A clock that goes back by less was read by two at once.
const BACKSTEP: u64 = 1_000_000;
/// Those who have waited long enough go within a fifth of what was asked for, at most 10 s.
const OVERDUE_PART: u64 = 5;
const LONGEST_OVERDUE: u64 = 10 * 1_000_000;

/// The state of one key. Times are microseconds since an epoch of the caller's.
#[derive(Debug)]
pub(super) struct Room {
    controller: Controller,
    queue: WaitQueue,
    clock: Clock,
    random: u64,
    /// What the counters were when the gate became idle, if it is.
    left: Option<Left>,
}

/// Who looks whether it may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'a> {
    /// Its place, unless it comes now.
    pub(super) ticket: Option<Ticket>,
    pub(super) kind: Kind,
    pub(super) now: u64,
    /// When it has waited as long as it may.
    pub(super) patient_until: u64,
    pub(super) waker: &'a Waker,
}

/// What it hears.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Go(Permit),
    /// To look again after so many microseconds, or when called.
    Wait(Ticket, u64),
}

/// What a call brings back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    pub(super) end: End,
    /// What its answer says of a quota.
    pub(super) quota: Option<Allowance>,
    /// A quota counts from the first answer on, and not only after a refusal.
    pub(super) at_once: bool,
    /// How its end was counted, if it was.
    ended: Option<Ended>,
}

impl Heard {
    /// The call was dropped.
    pub(super) const NOTHING: Self = Self {
        end: End::Other,
        quota: None,
        at_once: false,
        ended: None,
    };

    pub(super) fn new(end: End, quota: Option<Quota>, at_once: bool) -> Self {
        Self {
            end,
            quota: quota.map(|quota| Allowance {
                limit: quota.limit,
                remaining: quota.remaining,
                reset: micros(quota.reset),
            }),
            at_once,
            ended: None,
        }
    }

    /// The same of a call whose end was counted already, or was not.
    pub(super) fn after(self, ended: Option<Ended>) -> Self {
        Self { ended, ..self }
    }

    /// Whether an idle gate must hear of it.
    pub(super) fn is_news(&self) -> bool {
        let refused = matches!(self.end, End::Refused(_));
        refused || (self.at_once && self.quota.is_some())
    }
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It was refused, and asked to wait so long, if it was.
    Refused(Option<u64>),
    Succeeded,
    Other,
}

impl Room {
    pub(super) fn new(now: u64, random: u64, head_start: bool) -> Self {
        Self {
            controller: Controller::new(now, head_start),
            queue: WaitQueue::default(),
            clock: Clock {
                latest: now,
                ahead: 0,
            },
            random,
            left: Some(Left::default()),
        }
    }

    /// Takes over from the counters what happened while the gate was idle.
    pub(super) fn take_over(&mut self, counters: &Counters) {
        let Some(left) = self.left.take() else {
            self.controller.note_sent(counters.sent());
            return;
        };
        let seen = counters.take(left);
        let back = seen.ended.saturating_sub(left.ended);
        let since = seen.since.unwrap_or(self.controller.successes().1);
        self.controller.catch_up(seen.sent, back, (seen.ok, since));
    }

    /// Lets calls count themselves again, if nothing is to be decided; gives those who are to be called.
    pub(super) fn leave_alone(&mut self, counters: &Counters) -> Vec<Waker> {
        if self.controller.is_idle() && self.queue.is_unused() {
            self.left = Some(counters.leave(self.controller.successes()));
        }
        self.queue.take_calls()
    }

    /// One looks whether it may go.
    pub(super) fn look(&mut self, counters: &Counters, look: Look<'_>) -> Entry {
        let now = self.clock.read(look.now);
        let entry = self.enter_or_look(counters, &look, now);
        self.serve(counters, now);
        entry
    }

    /// A waiter gives up.
    pub(super) fn leave(&mut self, counters: &Counters, ticket: Ticket, now: u64) {
        let now = self.clock.read(now);
        if let Some(given) = self.queue.leave(ticket) {
            self.drop_permit(counters, given, now);
        }
        if self.queue.is_empty() {
            self.controller.line_is_empty();
        }
        self.serve(counters, now);
    }

    /// A call has come to its end.
    pub(super) fn hear(&mut self, counters: &Counters, permit: Permit, heard: Heard, now: u64) {
        let now = self.clock.read(now);
        if heard.ended.is_none() {
            counters.end(heard.end == End::Succeeded);
        }
        let refused = matches!(heard.end, End::Refused(_)) || self.controller.was_refused();
        let quota = heard.quota.filter(|_| heard.at_once || refused);
        match heard.end {
            _ if heard.ended == Some(Ended::CountedAfterRefusal) => {
                self.controller.told(now, permit, quota);
            }
            End::Refused(asked) => {
                counters.note_refusal();
                self.controller.refused(now, permit, asked, quota);
            }
            End::Succeeded => self.controller.succeeded(now, permit, quota),
            End::Other => self.controller.ended(now, permit, quota),
        }
        self.serve(counters, now);
    }

    fn enter_or_look(&mut self, counters: &Counters, look: &Look<'_>, now: u64) -> Entry {
        let ticket = match look.ticket {
            Some(ticket) => ticket,
            None if self.queue.would_be_first(look.kind) && self.next(now).is_ok() => {
                return Entry::Go(self.go(counters));
            }
            None => self.queue.join(look.kind, look.patient_until, look.waker),
        };
        self.serve(counters, now);
        if let Some(given) = self.queue.take_given(ticket) {
            if !self.is_void(given) {
                return Entry::Go(given.permit);
            }
            self.drop_permit(counters, given, now);
            self.queue.stand(ticket, look.patient_until, look.waker);
        }
        self.wait_or_go(counters, ticket, now, look)
    }

    fn wait_or_go(
        &mut self,
        counters: &Counters,
        ticket: Ticket,
        now: u64,
        look: &Look<'_>,
    ) -> Entry {
        let mut at = match self.queue.first() == Some(ticket) {
            true => match self.next(now) {
                Ok(()) => return self.go_from(counters, ticket),
                Err(at) => at,
            },
            false => {
                let sooner = self.controller.may_go_sooner();
                self.queue.looks_at(ticket, now, sooner)
            }
        };
        if look.patient_until <= now {
            let goes_at = self.queue.goes_at(ticket, now, self.apart());
            if goes_at <= now {
                return self.go_from(counters, ticket);
            }
            at = at.min(goes_at);
        }
        let at = at.min(now.saturating_add(LONGEST_LOOK));
        self.queue.plan(ticket, at, look.waker);
        Entry::Wait(ticket, at.saturating_sub(now))
    }

    fn go_from(&mut self, counters: &Counters, ticket: Ticket) -> Entry {
        self.queue.leave(ticket);
        Entry::Go(self.go(counters))
    }

    fn go(&mut self, counters: &Counters) -> Permit {
        self.send(counters, !self.queue.is_empty())
    }

    fn send(&mut self, counters: &Counters, others_wait: bool) -> Permit {
        let number = counters.send();
        self.controller.note_sent(number.saturating_sub(1));
        self.controller.go(others_wait)
    }

    /// Does what those would have done who did not look at their time, gives their turns to those who do not come, and
    /// calls the first where its turn comes sooner than it knows.
    fn serve(&mut self, counters: &Counters, now: u64) {
        while let Some(first) = self.queue.first() {
            let at = self.queue.turn(now);
            let next = self.next(at);
            self.queue.turn_comes(next.err().unwrap_or(at));
            match next {
                Err(later) if later > now => break,
                Err(_) => {}
                Ok(()) if now < at.saturating_add(PATIENCE) => break,
                Ok(()) => self.give(counters, first),
            }
        }
        self.queue.call_first();
    }

    fn give(&mut self, counters: &Counters, first: Ticket) {
        let permit = self.send(counters, self.queue.len() > 1);
        let opening = self.controller.opening();
        let given = Given { permit, opening };
        self.queue.give(first, given);
    }

    fn is_void(&self, given: Given) -> bool {
        self.controller.is_closed() || given.opening != self.controller.opening()
    }

    fn drop_permit(&mut self, counters: &Counters, given: Given, now: u64) {
        counters.end(false);
        self.controller.ended(now, given.permit, None);
    }

    fn next(&mut self, now: u64) -> Result<(), u64> {
        // One number for each opening, however often somebody looks.
        let random = splitmix64(self.random.wrapping_add(self.controller.opening()));
        self.controller.next(now, random)
    }

    /// How far those are apart at least who have waited as long as they may.
    fn apart(&self) -> u64 {
        let span = self.controller.asked().checked_div(OVERDUE_PART);
        let span = span.unwrap_or_default().min(LONGEST_OVERDUE);
        span.checked_div(self.queue.len()).unwrap_or_default()
    }
}

/// Time that only goes forward, whatever the clock outside does.
#[derive(Debug)]
struct Clock {
    latest: u64,
    /// How much the clock outside is behind.
    ahead: u64,
}

impl Clock {
    fn read(&mut self, now: u64) -> u64 {
        let inside = now.saturating_add(self.ahead);
        let back = self.latest.saturating_sub(inside);
        if back >= BACKSTEP {
            self.ahead = self.ahead.saturating_add(back);
        }
        self.latest = self.latest.max(inside);
        self.latest
    }
}
