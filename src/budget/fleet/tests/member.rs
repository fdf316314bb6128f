//! What a process does between those who ask and the store.

use super::super::member::{Asked, Due, Member};
use super::super::words::MOST;
use super::numbers::usual;
use super::*;
use crate::policy::Moment;
use std::task::{Poll, Waker};
use std::time::Duration;

const TOKEN: i64 = 1_000_000;
const PRICE: u64 = 1_000_000;
const WAIT: Duration = Duration::from_millis(50);
const MIDDLE: u64 = u64::MAX / 2;

/// A process with a clock in milliseconds and a count of successes.
struct Process {
    member: Member,
    now: Duration,
    successes: u64,
}

fn process() -> Process {
    Process {
        member: Member::new(usual(), 1, WAIT),
        now: Duration::from_secs(1),
        successes: 0,
    }
}

impl Process {
    fn settle(&mut self) -> Moment {
        self.member.settle(self.successes, self.now);
        Moment::new(self.now).with_random(MIDDLE)
    }

    fn after(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    fn ask(&mut self) -> Asked {
        let at = self.settle();
        self.member.ask(PRICE, at.now)
    }

    fn asks(&mut self, times: usize) -> Vec<u64> {
        let asked = (0..times).map(|_| match self.ask() {
            Asked::Waits(number) => number,
            asked => panic!("{asked:?}"),
        });
        asked.collect()
    }

    fn next(&mut self) -> Due {
        let at = self.settle();
        self.member.next(at)
    }

    fn command(&mut self) -> BudgetWords {
        match self.next() {
            Due::Command(words) => words,
            due => panic!("{due:?}"),
        }
    }

    fn waits_until(&mut self) -> Duration {
        match self.next() {
            Due::Wait(Some(until)) => until - self.now,
            due => panic!("{due:?}"),
        }
    }

    fn hears(&mut self, granted: i64, tokens: i64) -> Option<FleetChange> {
        self.hears_of(granted, tokens, 4)
    }

    fn hears_of(&mut self, granted: i64, tokens: i64, processes: i64) -> Option<FleetChange> {
        let answer = BudgetAnswer {
            granted,
            tokens,
            capacity: 20 * TOKEN,
            processes,
            now_ms: 0,
            flag: Flag::Settled,
        };
        let at = self.settle();
        self.member.answered(at, Ok(answer))
    }

    fn fails(&mut self) -> Option<FleetChange> {
        let at = self.settle();
        self.member.answered(at, Err(LeaveReason::Unreachable))
    }

    fn times_out(&mut self) -> Option<FleetChange> {
        let at = self.settle();
        self.member.timed_out(at.now)
    }

    fn poll(&mut self, number: u64) -> Poll<bool> {
        self.member.poll(number, Waker::noop())
    }

    /// How many retries are paid at once.
    fn paid(&mut self) -> usize {
        (0..100).take_while(|_| self.ask() == Asked::Paid).count()
    }
}

/// One that has joined, and has heard of this many tokens.
fn joined(tokens: i64) -> Process {
    let mut process = process();
    process.asks(1);
    process.command();
    process.hears(TOKEN, tokens);
    process
}

#[test]
fn five_hundred_who_ask_share_two_commands() {
    let mut process = process();
    let first = process.asks(1);
    assert_eq!(process.command().want, TOKEN);
    let others = process.asks(499);
    assert!(matches!(process.next(), Due::Wait(None)));
    process.hears(TOKEN, 500 * TOKEN);
    assert_eq!(process.poll(first[0]), Poll::Ready(true));
    assert_eq!(process.poll(others[0]), Poll::Pending);
    assert_eq!(process.command().want, 499 * TOKEN);
    process.hears(499 * TOKEN, TOKEN);
    assert!(
        others
            .into_iter()
            .all(|number| process.poll(number) == Poll::Ready(true))
    );
}

#[test]
fn an_answer_pays_in_order_and_refuses_the_rest() {
    let mut process = process();
    let asked = process.asks(3);
    process.command();
    let late = process.asks(1);
    process.hears(2 * TOKEN, 0);
    let answers: Vec<_> = asked
        .into_iter()
        .map(|number| process.poll(number))
        .collect();
    assert_eq!(answers, [true, true, false].map(Poll::Ready));
    assert_eq!(process.poll(late[0]), Poll::Ready(false));
    // For a while nobody is asked for again.
    assert_eq!(process.after(99).ask(), Asked::Refused);
    assert!(matches!(process.after(1).ask(), Asked::Waits(_)));
}

#[test]
fn a_large_fleet_is_refused_for_longer_and_flushes_less_often() {
    let mut process = joined(0);
    process.asks(1);
    process.command();
    process.hears_of(0, 0, 1_000);
    assert_eq!(process.after(999).ask(), Asked::Refused);
    assert!(matches!(process.after(1).ask(), Asked::Waits(_)));
    process.command();
    process.hears_of(TOKEN, 0, 1_000);
    process.successes += 1;
    let interval = process.waits_until();
    assert!(interval > Duration::from_millis(900), "{interval:?}");
}

#[test]
fn successes_are_told_with_the_next_flush_and_silence_is_not() {
    let mut process = joined(5 * TOKEN);
    assert!(matches!(process.after(300).next(), Due::Wait(Some(_))));
    process.successes += 7;
    let interval = process.waits_until();
    assert!(interval <= Duration::from_millis(300), "{interval:?}");
    process.now += interval;
    let words = process.command();
    assert_eq!(
        (words.successes, words.successes_acked, words.want),
        (7, 0, 0)
    );
    process.hears(0, 5 * TOKEN);
    process.after(10_000);
    assert!(matches!(process.next(), Due::Wait(Some(_))));
}

#[test]
fn totals_say_what_was_heard_of_and_what_was_not() {
    let mut process = joined(5 * TOKEN);
    process.successes = 3;
    process.asks(2);
    let lost = process.command();
    assert_eq!(
        (lost.taken, lost.taken_acked, lost.known),
        (TOKEN, TOKEN, Some(5 * TOKEN))
    );
    process.fails();
    process.successes = 5;
    let again = process.after(1_000).command();
    assert_eq!(
        (again.seq, again.successes, again.successes_acked),
        (lost.seq + 1, 5, 0)
    );
    // One of the two was paid alone; the fleet hears of it.
    assert_eq!((again.taken, again.taken_acked), (2 * TOKEN, TOKEN));
}

#[test]
fn without_an_answer_each_process_has_its_share() {
    let mut process = joined(12 * TOKEN);
    process.asks(1);
    process.command();
    let left = process.after(50).times_out();
    assert_eq!(
        left,
        Some(FleetChange::Left {
            reason: LeaveReason::Timeout
        })
    );
    assert_eq!(process.times_out(), None);
    // A fourth of twelve; one is spent by who has waited.
    assert_eq!(process.paid(), 2);
    process.successes += 20;
    assert_eq!(process.paid(), 2);
    process.successes += 1_000;
    assert_eq!(process.paid(), 5);
}

#[test]
fn who_knows_nothing_has_one_token() {
    let mut cold = process();
    cold.asks(1);
    cold.command();
    assert!(cold.fails().is_some());
    assert_eq!(cold.paid(), 0);

    let mut idle = joined(1_000 * TOKEN);
    idle.after(11_000).asks(2);
    idle.command();
    idle.fails();
    assert_eq!(idle.paid(), 0);
    let words = idle.after(400).command();
    assert_eq!(words.taken - words.taken_acked, TOKEN);

    let mut in_debt = joined(-5 * TOKEN);
    in_debt.asks(1);
    assert_eq!(in_debt.command().known, Some(0));
    in_debt.fails();
    assert_eq!(in_debt.paid(), 0);
}

#[test]
fn alone_it_tries_again_later_each_time() {
    let mut process = joined(0);
    process.asks(1);
    process.command();
    process.fails();
    for millis in [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000] {
        let wait = process.waits_until().as_millis();
        assert!(wait.abs_diff(u128::from(millis)) < 2, "{wait} {millis}");
        process.after(millis + 2).command();
        process.fails();
    }
}

#[test]
fn a_clock_that_steps_back_stops_nothing_for_long() {
    let hour = Duration::from_secs(3_600);
    let mut refused = process();
    refused.now += hour;
    refused.asks(1);
    refused.command();
    refused.hears(0, 0);
    refused.now -= hour;
    assert_eq!(refused.ask(), Asked::Refused);
    assert!(matches!(refused.after(6_000).ask(), Asked::Waits(_)));

    let mut flushes = joined(0);
    flushes.now += hour;
    assert!(matches!(flushes.next(), Due::Wait(_)));
    flushes.now -= hour;
    flushes.successes += 1;
    assert!(flushes.waits_until() <= Duration::from_secs(40));

    let mut alone = joined(0);
    alone.now += hour;
    alone.asks(1);
    alone.command();
    alone.fails();
    alone.now -= hour;
    assert!(alone.waits_until() <= Duration::from_secs(40));
}

#[test]
fn an_answer_in_time_joins_and_a_late_one_does_not() {
    let mut process = process();
    process.asks(1);
    process.command();
    process.after(50).times_out();
    process.after(150);
    assert_eq!(process.hears(TOKEN, 8 * TOKEN), None);
    // What came late serves the next retry. The new share is two, and one was spent alone meanwhile.
    assert_eq!(process.paid(), 2);
    let wait = process.waits_until();
    process.now += wait;
    process.command();
    process.after(20);
    let away = process.now - Duration::from_millis(1_050);
    assert_eq!(
        process.hears(0, 8 * TOKEN),
        Some(FleetChange::Joined { away })
    );
    assert!(matches!(process.ask(), Asked::Waits(_)));
}

#[test]
fn what_is_given_back_pays_the_next_retry() {
    let mut process = joined(0);
    process.member.refund(PRICE);
    assert_eq!(process.ask(), Asked::Paid);
    // What those count on who wait is not taken from them.
    let waiting = process.asks(1);
    process.member.refund(PRICE);
    assert_eq!(process.command().want, 0);
    assert!(matches!(process.ask(), Asked::Waits(_)));
    process.hears(0, 0);
    assert_eq!(process.poll(waiting[0]), Poll::Ready(true));
}

#[test]
fn two_repeated_answers_make_a_new_id_and_a_third_refuses() {
    let mut process = joined(0);
    let waiting = process.asks(1);
    let mut processes = Vec::new();
    for decided in [Poll::Pending, Poll::Pending, Poll::Ready(false)] {
        processes.push(process.command().process);
        let at = process.settle();
        let answer = BudgetAnswer {
            granted: 0,
            tokens: 0,
            capacity: 20 * TOKEN,
            processes: 1,
            now_ms: 0,
            flag: Flag::Repeated,
        };
        process.member.answered(at, Ok(answer));
        assert_eq!(process.poll(waiting[0]), decided);
    }
    assert_eq!(processes[0], processes[1]);
    assert_ne!(processes[1], processes[2]);
}

#[test]
fn totals_that_grow_too_large_begin_anew_under_a_new_id() {
    let mut process = joined(0);
    process.successes = 5_000_000_000_000_000;
    let mut told = 0;
    let (mut first, mut ids) = (None, 0);
    while told < 5_000_000_000_000_000 {
        process.after(1_000);
        let words = process.command();
        assert!(words.successes <= MOST && words.taken <= MOST);
        told += words.successes - words.successes_acked;
        ids += u32::from(first.replace(words.process) != Some(words.process));
        process.hears(0, 0);
    }
    assert_eq!(told, 5_000_000_000_000_000);
    assert!(ids > 10, "{ids}");
}
