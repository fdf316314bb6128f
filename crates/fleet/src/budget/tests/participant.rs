//! A process between its retries and the store.

mod alone;
mod totals;

use super::super::participant::{Answer, BudgetParticipant};
use super::numbers::usual;
use super::*;
use http_retry_core::policy::Moment;
use std::task::{Poll, Waker};
use std::time::Duration;

const TOKEN: i64 = 1_000_000;
const PRICE: u64 = 1_000_000;
const WAIT: Duration = Duration::from_millis(50);
const MIDDLE: u64 = u64::MAX / 2;

/// A process with a clock in milliseconds and a count of successes.
struct Process {
    participant: BudgetParticipant,
    now: Duration,
    successes: u64,
}

fn process() -> Process {
    Process {
        participant: BudgetParticipant::new(usual(), 1, WAIT),
        now: Duration::from_secs(1),
        successes: 0,
    }
}

impl Process {
    fn settle(&mut self) -> Moment {
        self.participant.settle(self.successes, self.now);
        Moment::new(self.now).with_random(MIDDLE)
    }

    fn after(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    fn ask(&mut self) -> Answer {
        let at = self.settle();
        self.participant.ask(PRICE, at.now)
    }

    fn asks(&mut self, times: usize) -> Vec<u64> {
        let asked = (0..times).map(|_| match self.ask() {
            Answer::Pending(number) => number,
            asked => panic!("{asked:?}"),
        });
        asked.collect()
    }

    fn next(&mut self) -> NextAction<BudgetReport> {
        let at = self.settle();
        self.participant.next(at)
    }

    fn command(&mut self) -> BudgetReport {
        match self.next() {
            NextAction::Send(report) => report,
            due => panic!("{due:?}"),
        }
    }

    fn waits_until(&mut self) -> Duration {
        match self.next() {
            NextAction::Wait(Some(until)) => until - self.now,
            due => panic!("{due:?}"),
        }
    }

    fn receives(&mut self, granted: i64, tokens: i64) -> Option<FleetChange> {
        self.receives_from(granted, tokens, 4)
    }

    fn receives_from(&mut self, granted: i64, tokens: i64, processes: i64) -> Option<FleetChange> {
        let answer = BudgetReply {
            granted,
            tokens,
            capacity: 20 * TOKEN,
            processes,
            now_ms: 0,
            kind: ReplyKind::Settled,
        };
        let at = self.settle();
        self.participant.replied(at, Ok(answer))
    }

    fn fails(&mut self) -> Option<FleetChange> {
        let at = self.settle();
        self.participant.replied(at, Err(LeaveReason::Unreachable))
    }

    fn times_out(&mut self) -> Option<FleetChange> {
        let at = self.settle();
        self.participant.timed_out(at.now)
    }

    fn poll(&mut self, number: u64) -> Poll<bool> {
        self.participant.poll(number, Waker::noop())
    }

    /// Returns the number of retries that are paid at once.
    fn paid(&mut self) -> usize {
        (0..100).take_while(|_| self.ask() == Answer::Paid).count()
    }
}

/// A process that has joined and knows of this many tokens.
fn joined(tokens: i64) -> Process {
    let mut process = process();
    process.asks(1);
    process.command();
    process.receives(TOKEN, tokens);
    process
}

#[test]
fn five_hundred_retries_share_two_commands() {
    let mut process = process();
    let first = process.asks(1);
    assert_eq!(process.command().want, TOKEN);
    let others = process.asks(499);
    assert!(matches!(process.next(), NextAction::Wait(None)));
    process.receives(TOKEN, 500 * TOKEN);
    assert_eq!(process.poll(first[0]), Poll::Ready(true));
    assert_eq!(process.poll(others[0]), Poll::Pending);
    assert_eq!(process.command().want, 499 * TOKEN);
    process.receives(499 * TOKEN, TOKEN);
    assert!(
        others
            .into_iter()
            .all(|number| process.poll(number) == Poll::Ready(true))
    );
}

#[test]
fn a_reply_pays_in_order_and_refuses_the_rest() {
    let mut process = process();
    let asked = process.asks(3);
    process.command();
    let late = process.asks(1);
    process.receives(2 * TOKEN, 0);
    let answers: Vec<_> = asked
        .into_iter()
        .map(|number| process.poll(number))
        .collect();
    assert_eq!(answers, [true, true, false].map(Poll::Ready));
    assert_eq!(process.poll(late[0]), Poll::Ready(false));
    // For a while nobody is asked for again.
    assert_eq!(process.after(99).ask(), Answer::Refused);
    assert!(matches!(process.after(1).ask(), Answer::Pending(_)));
}

#[test]
fn a_large_fleet_is_refused_for_longer_and_flushes_less_often() {
    let mut process = joined(0);
    process.asks(1);
    process.command();
    process.receives_from(0, 0, 1_000);
    assert_eq!(process.after(999).ask(), Answer::Refused);
    assert!(matches!(process.after(1).ask(), Answer::Pending(_)));
    process.command();
    process.receives_from(TOKEN, 0, 1_000);
    process.successes += 1;
    let interval = process.waits_until();
    assert!(interval > Duration::from_millis(900), "{interval:?}");
}

#[test]
fn a_refund_pays_the_next_retry() {
    let mut process = joined(0);
    process.participant.refund(PRICE);
    assert_eq!(process.ask(), Answer::Paid);
    // The amount that waiting retries count on is not given to others.
    let waiting = process.asks(1);
    process.participant.refund(PRICE);
    assert_eq!(process.command().want, 0);
    assert!(matches!(process.ask(), Answer::Pending(_)));
    process.receives(0, 0);
    assert_eq!(process.poll(waiting[0]), Poll::Ready(true));
}

#[test]
fn a_dropped_retry_is_not_asked_for_and_its_grant_pays_the_next() {
    let mut process = joined(8 * TOKEN);
    let asked = process.asks(2);
    process.participant.cancel(asked[0], PRICE);
    assert_eq!(process.command().want, TOKEN);
    process.receives(TOKEN, 7 * TOKEN);
    // Granted, and dropped before it has read that.
    process.participant.cancel(asked[1], PRICE);
    assert_eq!(process.ask(), Answer::Paid);
    let refused = process.asks(1);
    process.command();
    process.receives(0, 0);
    process.participant.cancel(refused[0], PRICE);
    assert_eq!(process.ask(), Answer::Refused, "it was granted nothing");
}
