//! A process without the store.

use super::*;

#[test]
fn without_a_reply_a_process_spends_its_share() {
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
fn a_process_that_knows_nothing_has_one_token() {
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
    let report = idle.after(400).command();
    assert_eq!(report.taken - report.taken_acked, TOKEN);

    let mut in_debt = joined(-5 * TOKEN);
    in_debt.asks(1);
    assert_eq!(in_debt.command().known, Some(0));
    in_debt.fails();
    assert_eq!(in_debt.paid(), 0);
}

#[test]
fn a_process_keeps_the_share_with_which_it_left() {
    let mut process = joined(12 * TOKEN);
    process.asks(1);
    process.command();
    process.fails();
    // Not even an hour later, since nobody else counts on it.
    process.after(3_600_000);
    assert_eq!(process.paid(), 2, "one of three went to the first");
}

#[test]
fn a_failing_store_is_tried_less_and_less_often() {
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
fn a_clock_that_steps_back_delays_nothing_for_long() {
    let hour = Duration::from_secs(3_600);
    let mut refused = process();
    refused.now += hour;
    refused.asks(1);
    refused.command();
    refused.receives(0, 0);
    refused.now -= hour;
    assert_eq!(refused.ask(), Answer::Refused);
    assert!(matches!(refused.after(6_000).ask(), Answer::Pending(_)));

    let mut flushes = joined(0);
    flushes.now += hour;
    assert!(matches!(flushes.next(), NextAction::Wait(_)));
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
fn a_reply_in_time_joins_and_a_late_one_does_not() {
    let mut process = process();
    process.asks(1);
    process.command();
    process.after(50).times_out();
    process.after(150);
    assert_eq!(process.receives(TOKEN, 8 * TOKEN), None);
    // The late grant pays the next retry. The new share is two, of which one was spent alone meanwhile.
    assert_eq!(process.paid(), 2);
    let wait = process.waits_until();
    process.now += wait;
    process.command();
    process.after(20);
    let away = process.now - Duration::from_millis(1_050);
    assert_eq!(
        process.receives(0, 8 * TOKEN),
        Some(FleetChange::Joined { away })
    );
    assert!(matches!(process.ask(), Answer::Pending(_)));
}

#[test]
fn only_what_was_spent_since_a_report_is_taken_from_its_share() {
    let mut process = joined(8 * TOKEN);
    process.asks(1);
    process.command();
    // The retry that waited spends one of the share alone.
    process.after(50).times_out();
    process.after(150);
    process.receives(TOKEN, 8 * TOKEN);
    // The late grant, and the rest of a share of two.
    assert_eq!(process.paid(), 2);
}

#[test]
fn a_reply_is_late_by_the_clock_or_once_its_wait_has_ended() {
    let mut process = joined(8 * TOKEN);
    process.asks(1);
    process.command();
    // Its task was too busy to see the end of the wait.
    process.after(51);
    let left = FleetChange::Left {
        reason: LeaveReason::Timeout,
    };
    assert_eq!(process.receives(TOKEN, 8 * TOKEN), Some(left));

    let mut process = joined(8 * TOKEN);
    process.asks(1);
    process.command();
    assert_eq!(process.after(50).times_out(), Some(left));
    assert_eq!(process.receives(TOKEN, 8 * TOKEN), None);
}

#[test]
fn a_share_is_known_for_ten_seconds() {
    // The retry that waited has spent one of its two, or the only one of a process that knows nothing.
    for (seconds, left) in [(10, 1), (11, 0)] {
        let mut process = joined(8 * TOKEN);
        process.after(seconds * 1_000);
        process.asks(1);
        process.command();
        process.fails();
        assert_eq!(process.paid(), left, "after {seconds} s");
    }
}

#[test]
fn a_retry_alone_wakes_the_task_once_the_store_may_be_tried() {
    let mut process = joined(0);
    process.participant.watch(Waker::noop());
    process.asks(1);
    process.command();
    process.fails();
    let wait = process.waits_until();
    assert!(process.participant.driver_due(process.now).is_none());
    process.now += wait;
    assert!(process.participant.driver_due(process.now).is_some());
    process.command();
    assert!(process.participant.driver_due(process.now).is_none());
}
