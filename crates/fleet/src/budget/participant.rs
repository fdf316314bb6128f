//! One process's part in a shared budget: a state machine, driven by the retries that need tokens and by the task that
//! sends its reports.
//!
//! It performs no I/O: nothing here reads the clock, sleeps or sends.

use super::ledger::{Allowance, Ledger};
use super::message::{BudgetReply, BudgetReport, MAX_COUNT, ReplyKind, StoreTerms, bounded};
use super::queue::PaymentQueue;
use crate::schedule::FlushSchedule;
use crate::status::FleetChange;
use crate::task::NextAction;
use http_retry_core::policy::Moment;
use http_retry_core::report::LeaveReason;
use std::task::{Poll, Waker};
use std::time::Duration;

/// A process's part in a shared budget.
///
/// | state | is entered | a retry |
/// |---|---|---|
/// | cold | at the start | waits for the store |
/// | joined | by a reply in time | waits for the store |
/// | alone | by an error, or no reply in time | is paid from the process's allowance at once |
#[derive(Debug)]
pub(super) struct BudgetParticipant {
    terms: StoreTerms,
    /// The longest time that a reply may take.
    wait: Duration,
    state: ParticipantState,
    /// The program's count of successes so far.
    successes: u64,
    ledger: Ledger,
    /// The amount granted and not spent.
    stash: i64,
    last_reply: Option<BudgetReply>,
    allowance: Allowance,
    in_flight: Option<InFlight>,
    queue: PaymentQueue,
    schedule: FlushSchedule,
    /// Wakes the task that sends the reports.
    driver: Option<Waker>,
}

#[derive(Debug, Clone, Copy)]
enum ParticipantState {
    /// The store has never replied; with the time of the first check.
    Cold(Option<Duration>),
    Joined,
    /// The process is on its own, since this time.
    Alone(Duration),
}

/// A report that has no reply yet.
#[derive(Debug)]
struct InFlight {
    report: BudgetReport,
    sent: Duration,
    /// `true` if retries no longer wait for the reply.
    late: bool,
    /// Retries with lower numbers are part of the report.
    included: u64,
    /// The part of the stash that is reserved for them.
    promised: i64,
}

/// The answer to a retry that asks for tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Paid,
    Refused,
    /// The store decides; the retry asks for the result with this number.
    Pending(u64),
}

impl BudgetParticipant {
    pub(super) fn new(terms: StoreTerms, process: u64, wait: Duration) -> Self {
        Self {
            terms,
            wait,
            state: ParticipantState::Cold(None),
            successes: 0,
            ledger: Ledger::new(process),
            stash: 0,
            last_reply: None,
            allowance: Allowance::unknown(&terms),
            in_flight: None,
            queue: PaymentQueue::default(),
            schedule: FlushSchedule::default(),
            driver: None,
        }
    }

    /// Updates the time and the successes; must be called before anything else.
    pub(super) fn settle(&mut self, successes: u64, now: Duration) {
        self.successes = successes;
        self.schedule.settle(now);
        // A process that is alone keeps the allowance that it left with, and what it earns.
        if !matches!(self.state, ParticipantState::Alone(_)) {
            self.allowance.age(&self.terms, now);
        }
    }
}

/// The side of the retries.
impl BudgetParticipant {
    /// Asks for a retry of this price.
    pub(super) fn ask(&mut self, price: u64, now: Duration) -> Answer {
        let price = bounded(price);
        if self.pay_from_stash(price) {
            return Answer::Paid;
        }
        // Alone, a retry is answered at once: waiting for a store that does not reply would delay each of them.
        let is_alone = matches!(self.state, ParticipantState::Alone(_));
        if is_alone && self.pay_from_allowance(price) {
            Answer::Paid
        } else if is_alone || now < self.schedule.hold {
            Answer::Refused
        } else {
            Answer::Pending(self.queue.push(price))
        }
    }

    /// Pays at once, whatever the state: from the stash, or from the allowance.
    pub(super) fn pay(&mut self, price: u64) -> bool {
        let price = bounded(price);
        self.pay_from_stash(price) || self.pay_from_allowance(price)
    }

    /// Pays from the stash, except for the part that is reserved for the report in flight.
    fn pay_from_stash(&mut self, price: i64) -> bool {
        let in_flight = self.in_flight.as_ref();
        let promised = in_flight.map_or(0, |in_flight| in_flight.promised);
        let paid = self.stash.saturating_sub(promised) >= price;
        if paid {
            self.stash = self.stash.saturating_sub(price);
        }
        paid
    }

    fn pay_from_allowance(&mut self, price: i64) -> bool {
        self.allowance.earn(&self.terms, self.successes);
        let paid = self.allowance.spend(price);
        if paid {
            self.ledger.spend(price);
        }
        paid
    }

    /// Returns a price that was paid and not spent, for this process's next retry.
    pub(super) fn refund(&mut self, price: u64) {
        self.stash = self.stash.saturating_add(bounded(price));
    }

    /// Returns `true` once the retry with this number is paid for, `false` if it is refused.
    pub(super) fn poll(&mut self, number: u64, waker: &Waker) -> Poll<bool> {
        self.queue.poll(number, waker)
    }

    /// Stops asking for the retry with this number; an amount that was granted for it serves the next one.
    pub(super) fn cancel(&mut self, number: u64, price: u64) {
        if self.queue.remove(number) == Some(true) {
            self.refund(price);
        }
    }

    /// Returns the task's waker if a retry needs a report now.
    pub(super) fn driver_due(&self, now: Duration) -> Option<Waker> {
        let due = match self.state {
            ParticipantState::Alone(_) => now >= self.schedule.probe,
            ParticipantState::Cold(_) | ParticipantState::Joined => !self.queue.is_empty(),
        };
        let due = due && self.in_flight.is_none();
        self.driver.as_ref().filter(|_| due).cloned()
    }

    /// Returns the fleet's tokens at its last reply; alone, those of this process.
    pub(super) fn tokens(&self) -> u64 {
        let tokens = match (self.state, &self.last_reply) {
            (ParticipantState::Joined, Some(reply)) => reply.tokens,
            _ => self.allowance.tokens().saturating_add(self.stash),
        };
        u64::try_from(tokens).unwrap_or(0)
    }

    /// Returns the largest value of [`BudgetParticipant::tokens`].
    pub(super) fn capacity(&self) -> u64 {
        let capacity = match (self.state, &self.last_reply) {
            (ParticipantState::Joined, Some(reply)) => reply.capacity,
            _ => self.allowance.capacity(),
        };
        u64::try_from(capacity).unwrap_or(0)
    }
}

/// The side of the task that sends the reports.
impl BudgetParticipant {
    /// Sets the waker to wake as soon as a retry needs a report, in place of any other.
    pub(super) fn watch(&mut self, waker: &Waker) {
        match &mut self.driver {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Returns the next report, or the time of the next check. At most one report is in flight.
    pub(super) fn next(&mut self, at: Moment) -> NextAction<BudgetReport> {
        if self.in_flight.is_some() {
            return NextAction::Wait(None);
        }
        let until = match self.state {
            ParticipantState::Alone(_) => self.schedule.probe,
            ParticipantState::Cold(_) | ParticipantState::Joined if !self.queue.is_empty() => {
                Duration::ZERO
            }
            ParticipantState::Cold(_) | ParticipantState::Joined => match self.schedule.flush {
                Some(due) if at.now < due || self.has_unreported() => due,
                // An idle process sends nothing.
                _ => self.schedule.plan_flush(self.processes(), at),
            },
        };
        // The first check knows the time, which construction does not.
        if let ParticipantState::Cold(since @ None) = &mut self.state {
            *since = Some(at.now);
        }
        if at.now >= until {
            NextAction::Send(self.report(at))
        } else {
            NextAction::Wait(Some(until))
        }
    }

    /// Returns `true` if the store does not have everything yet.
    pub(super) fn has_unreported(&self) -> bool {
        matches!(self.state, ParticipantState::Cold(_))
            || self.ledger.has_unreported(self.successes)
    }

    fn report(&mut self, at: Moment) -> BudgetReport {
        self.schedule.plan_flush(self.processes(), at);
        // The stash pays for as much as it can, and the store is asked for the rest.
        let wanted = self.queue.price();
        let promised = wanted.min(self.stash);
        let report = BudgetReport {
            want: wanted.saturating_sub(promised).min(MAX_COUNT),
            // A debt counts as 0, since -1 stands for a process that never had a reply.
            known: self.last_reply.map(|reply| reply.tokens.max(0)),
            ..self.ledger.report(self.successes, self.terms)
        };
        self.in_flight = Some(InFlight {
            report,
            sent: at.now,
            late: false,
            included: self.queue.end(),
            promised,
        });
        report
    }

    /// Handles the reply to the report in flight, however late.
    pub(super) fn replied(
        &mut self,
        at: Moment,
        reply: Result<BudgetReply, LeaveReason>,
    ) -> Option<FleetChange> {
        let in_flight = self.in_flight.take()?;
        match reply {
            Ok(reply) => self.take_reply(at, &in_flight, &reply),
            Err(reason) => {
                self.schedule.plan_retry(at);
                self.leave(at.now, reason)
            }
        }
    }

    fn take_reply(
        &mut self,
        at: Moment,
        in_flight: &InFlight,
        reply: &BudgetReply,
    ) -> Option<FleetChange> {
        // Both before the settlement, which counts repetitions and may take a new ID.
        let asks_again = self.ledger.needs_retry(reply);
        let counted = self.ledger.counted(&in_flight.report);
        let spent = self.ledger.settle(&in_flight.report, reply, at.random);
        self.allowance = Allowance::of(reply, &self.terms, counted, spent, at.now);
        self.last_reply = Some(*reply);
        if reply.kind != ReplyKind::Repeated {
            self.stash = self.stash.saturating_add(reply.granted);
        }
        // While a store replies late, no retry waits for it. With a store 200 ms away, joining by a late reply only to
        // leave with the next retry let 4,090 retries through instead of 217.
        if in_flight.late || at.now.saturating_sub(in_flight.sent) > self.wait {
            self.schedule.lag(reply.processes, at);
            return self.leave(at.now, LeaveReason::Timeout);
        }
        let included = if asks_again { 0 } else { in_flight.included };
        if self.pay_queue(included) {
            self.schedule.hold_back(reply.processes, at.now);
        }
        self.schedule.recover();
        self.join(at.now)
    }

    /// Pays waiting retries from the stash, in their order, and refuses those that were part of the report and cannot
    /// be paid. Later ones are asked for again, unless an earlier one was refused. Returns `true` if any was refused.
    fn pay_queue(&mut self, included: u64) -> bool {
        let (stash, mut refused) = (&mut self.stash, false);
        self.queue.answer(|number, price| {
            let paid = *stash >= price;
            if paid {
                *stash = stash.saturating_sub(price);
            } else if number >= included && !refused {
                return None;
            } else {
                refused = true;
            }
            Some(paid)
        });
        refused
    }

    /// Stops waiting for the reply to the report in flight.
    pub(super) fn timed_out(&mut self, now: Duration) -> Option<FleetChange> {
        let in_flight = self.in_flight.as_mut()?;
        // The stash now pays whoever asks first, as the retries that it was reserved for no longer wait.
        (in_flight.late, in_flight.promised) = (true, 0);
        self.leave(now, LeaveReason::Timeout)
    }

    fn leave(&mut self, now: Duration, reason: LeaveReason) -> Option<FleetChange> {
        let change = match self.state {
            ParticipantState::Alone(_) => None,
            ParticipantState::Cold(_) | ParticipantState::Joined => {
                self.state = ParticipantState::Alone(now);
                Some(FleetChange::Left { reason })
            }
        };
        self.pay_queue_alone();
        change
    }

    fn pay_queue_alone(&mut self) {
        // Taken out, since paying changes the rest of the participant.
        let mut queue = std::mem::take(&mut self.queue);
        queue.answer(|_, price| Some(self.pay_from_stash(price) || self.pay_from_allowance(price)));
        self.queue = queue;
    }

    fn join(&mut self, now: Duration) -> Option<FleetChange> {
        let since = match std::mem::replace(&mut self.state, ParticipantState::Joined) {
            ParticipantState::Joined => return None,
            ParticipantState::Cold(since) => since.unwrap_or(now),
            ParticipantState::Alone(since) => since,
        };
        let away = now.saturating_sub(since);
        Some(FleetChange::Joined { away })
    }

    /// Makes the next flush due now.
    pub(super) fn flush_now(&mut self) -> Option<Waker> {
        self.schedule.flush_now();
        self.driver.clone()
    }

    /// Leaves for ever: no more reports are sent.
    pub(super) fn end(&mut self) {
        (self.in_flight, self.driver) = (None, None);
        // Answers the retries that still wait; the time does not matter, since it never joins again.
        self.leave(Duration::ZERO, LeaveReason::Unreachable);
    }

    /// Returns the wakers of answered retries, to wake without the lock.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        self.queue.take_wakers()
    }

    fn processes(&self) -> i64 {
        self.last_reply.map_or(1, |reply| reply.processes)
    }
}
