//! The totals of a process's reports.

use super::super::super::message::MAX_COUNT;
use super::*;

#[test]
fn successes_are_flushed_and_an_idle_process_sends_nothing() {
    let mut process = joined(5 * TOKEN);
    assert!(matches!(
        process.after(300).next(),
        NextAction::Wait(Some(_))
    ));
    process.successes += 7;
    let interval = process.waits_until();
    assert!(interval <= Duration::from_millis(300), "{interval:?}");
    process.now += interval;
    let report = process.command();
    assert_eq!(
        (report.successes, report.successes_acked, report.want),
        (7, 0, 0)
    );
    process.receives(0, 5 * TOKEN);
    process.after(10_000);
    assert!(matches!(process.next(), NextAction::Wait(Some(_))));
}

#[test]
fn a_report_has_totals_and_their_acknowledged_part() {
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
    let next = process.after(1_000).command();
    assert_eq!(
        (next.seq, next.successes, next.successes_acked),
        (lost.seq + 1, 5, 0)
    );
    // One of the two was paid alone; the fleet receives of it.
    assert_eq!((next.taken, next.taken_acked), (2 * TOKEN, TOKEN));
}

#[test]
fn two_repetitions_renew_the_id_and_a_third_refuses() {
    let mut process = joined(0);
    let waiting = process.asks(1);
    let mut processes = Vec::new();
    for decided in [Poll::Pending, Poll::Pending, Poll::Ready(false)] {
        processes.push(process.command().process);
        let at = process.settle();
        let answer = BudgetReply {
            granted: 0,
            tokens: 0,
            capacity: 20 * TOKEN,
            processes: 1,
            now_ms: 0,
            kind: ReplyKind::Repeated,
        };
        process.participant.replied(at, Ok(answer));
        assert_eq!(process.poll(waiting[0]), decided);
    }
    assert_eq!(processes[0], processes[1]);
    assert_ne!(processes[1], processes[2]);
}

#[test]
fn totals_too_large_for_the_store_restart_under_a_new_id() {
    let mut process = joined(0);
    process.successes = 5_000_000_000_000_000;
    let mut reported = 0;
    let (mut first, mut ids) = (None, 0);
    while reported < 5_000_000_000_000_000 {
        process.after(1_000);
        let report = process.command();
        assert!(report.successes <= MAX_COUNT && report.taken <= MAX_COUNT);
        reported += report.successes - report.successes_acked;
        ids += u32::from(first.replace(report.process) != Some(report.process));
        process.receives(0, 0);
    }
    assert_eq!(reported, 5_000_000_000_000_000);
    assert!(ids > 10, "{ids}");
}
