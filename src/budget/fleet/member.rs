//! What one process remembers of its fleet: a state machine, driven by those who ask and by whoever sends its commands.

mod asks;

pub(in crate::budget) use asks::Asked;

use super::change::{FleetChange, LeaveReason};
use super::pace::Pace;
use super::share::Share;
use super::totals::Totals;
use super::waiting::Waiting;
use super::words::{BudgetAnswer, BudgetWords, Flag, FleetTerms, MOST};
use crate::policy::Moment;
use std::task::Waker;
use std::time::Duration;

/// A process's part in a shared budget.
///
/// | state | is entered | a retry |
/// |---|---|---|
/// | cold | at the start | is asked for |
/// | joined | by an answer in time | is asked for |
/// | alone | by an error, or no answer in time | is paid from the process's share at once |
#[derive(Debug)]
pub(in crate::budget) struct Member {
    terms: FleetTerms,
    wait: Duration,
    state: State,
    /// The program's own count, as of now.
    successes: u64,
    totals: Totals,
    /// Granted, and not spent.
    stash: i64,
    heard: Option<BudgetAnswer>,
    share: Share,
    flight: Option<Flight>,
    waiting: Waiting,
    pace: Pace,
    /// Wakes whoever sends the commands.
    driver: Option<Waker>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// The store has never answered; since the first look.
    Cold(Option<Duration>),
    Joined,
    /// Since then.
    Alone(Duration),
}

/// A command that has no answer yet.
#[derive(Debug)]
struct Flight {
    words: BudgetWords,
    sent: Duration,
    /// Nobody waits for it any more.
    late: bool,
    /// Who has a lower number is part of it.
    included: u64,
    /// The part of the stash that those count on.
    promised: i64,
}

/// What is to be done next for a shared budget.
#[derive(Debug)]
pub(crate) enum Due {
    /// Send this, and give its answer to [`BudgetLink::answered`](super::BudgetLink::answered).
    Command(BudgetWords),
    /// Look again at this time of the runtime, or when woken. Nothing: when woken, or after the answer.
    Wait(Option<Duration>),
    /// Every handle of the budget is gone.
    Gone,
}

impl Member {
    pub(super) fn new(terms: FleetTerms, process: u64, wait: Duration) -> Self {
        Self {
            terms,
            wait,
            state: State::Cold(None),
            successes: 0,
            totals: Totals::new(process),
            stash: 0,
            heard: None,
            share: Share::unheard(&terms),
            flight: None,
            waiting: Waiting::default(),
            pace: Pace::default(),
            driver: None,
        }
    }

    /// Takes in the time and the count of successes; to be called before anything else.
    pub(in crate::budget) fn settle(&mut self, successes: u64, now: Duration) {
        self.count(successes);
        self.pace.settle(now);
        if !matches!(self.state, State::Alone(_)) {
            self.share.ages(&self.terms, now);
        }
    }

    /// Takes in the count of successes alone.
    pub(in crate::budget) fn count(&mut self, successes: u64) {
        self.successes = successes;
    }

    pub(super) fn watch(&mut self, waker: &Waker) {
        match &mut self.driver {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// The next command, or when to look again.
    pub(super) fn next(&mut self, at: Moment) -> Due {
        if self.flight.is_some() {
            return Due::Wait(None);
        }
        let until = match self.state {
            State::Alone(_) => self.pace.probe,
            State::Cold(_) | State::Joined if !self.waiting.is_empty() => Duration::ZERO,
            State::Cold(_) | State::Joined => match self.pace.flush {
                Some(due) if at.now < due || self.has_news() => due,
                _ => self.pace.flushes(self.processes(), at),
            },
        };
        if let State::Cold(since @ None) = &mut self.state {
            *since = Some(at.now);
        }
        match at.now >= until {
            true => Due::Command(self.command(at)),
            false => Due::Wait(Some(until)),
        }
    }

    pub(super) fn has_news(&self) -> bool {
        matches!(self.state, State::Cold(_)) || self.totals.are_news(self.successes)
    }

    fn command(&mut self, at: Moment) -> BudgetWords {
        self.pace.flushes(self.processes(), at);
        let wanted = self.waiting.price();
        let promised = wanted.min(self.stash);
        let words = BudgetWords {
            want: wanted.saturating_sub(promised).min(MOST),
            known: self.heard.map(|heard| heard.tokens.max(0)),
            ..self.totals.say(self.successes, self.terms)
        };
        self.flight = Some(Flight {
            words,
            sent: at.now,
            late: false,
            included: self.waiting.end(),
            promised,
        });
        words
    }

    /// Takes in what came of the command in flight, however late.
    pub(super) fn answered(
        &mut self,
        at: Moment,
        answer: Result<BudgetAnswer, LeaveReason>,
    ) -> Option<FleetChange> {
        let flight = self.flight.take()?;
        match answer {
            Ok(answer) => self.hears(at, &flight, &answer),
            Err(reason) => {
                self.pace.fails(at);
                self.goes_alone(at.now, reason)
            }
        }
    }

    fn hears(&mut self, at: Moment, flight: &Flight, answer: &BudgetAnswer) -> Option<FleetChange> {
        let asks_again = self.totals.asks_again(answer);
        let counted = self.totals.counted(&flight.words);
        let spent = self.totals.hear(&flight.words, answer, at.random);
        self.share = Share::of(answer, &self.terms, (counted, spent), at.now);
        self.heard = Some(*answer);
        if answer.flag != Flag::Repeated {
            self.stash = self.stash.saturating_add(answer.granted);
        }
        // A store that answers late stays a store that nobody waits for.
        if flight.late || at.now.saturating_sub(flight.sent) > self.wait {
            self.pace.lags(answer.processes, at);
            return self.goes_alone(at.now, LeaveReason::Timeout);
        }
        let included = if asks_again { 0 } else { flight.included };
        if self.pays(included) {
            self.pace.holds(answer.processes, at.now);
        }
        self.pace.recovers();
        self.joins(at.now)
    }

    /// Pays those who wait from the stash, in their order, and refuses who was part of the command and cannot be paid. Who
    /// came later is asked for again, unless somebody before was refused. Gives whether anybody was.
    fn pays(&mut self, included: u64) -> bool {
        let (stash, mut refused) = (&mut self.stash, false);
        self.waiting.answer(|number, price| {
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

    /// Nobody waits any longer for the command in flight, whose answer is late.
    pub(super) fn timed_out(&mut self, now: Duration) -> Option<FleetChange> {
        let flight = self.flight.as_mut()?;
        (flight.late, flight.promised) = (true, 0);
        self.goes_alone(now, LeaveReason::Timeout)
    }

    fn goes_alone(&mut self, now: Duration, reason: LeaveReason) -> Option<FleetChange> {
        let change = match self.state {
            State::Alone(_) => None,
            State::Cold(_) | State::Joined => {
                self.state = State::Alone(now);
                Some(FleetChange::Left { reason })
            }
        };
        self.serve_alone();
        change
    }

    fn joins(&mut self, now: Duration) -> Option<FleetChange> {
        let since = match std::mem::replace(&mut self.state, State::Joined) {
            State::Joined => return None,
            State::Cold(since) => since.unwrap_or(now),
            State::Alone(since) => since,
        };
        let away = now.saturating_sub(since);
        Some(FleetChange::Joined { away })
    }

    /// Makes the next flush due now.
    pub(super) fn flushes_at_once(&mut self) -> Option<Waker> {
        self.pace.at_once();
        self.driver.clone()
    }

    /// Nobody sends commands any more.
    pub(super) fn ends(&mut self) {
        (self.flight, self.driver) = (None, None);
        self.goes_alone(Duration::ZERO, LeaveReason::Unreachable);
    }

    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        self.waiting.take_wakers()
    }

    fn processes(&self) -> i64 {
        self.heard.map_or(1, |heard| heard.processes)
    }
}
