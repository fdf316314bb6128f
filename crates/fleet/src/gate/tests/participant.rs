//! The times at which one process reports to the store.

use super::super::participant::GateParticipant;
use super::*;
use std::task::Waker;

const MILLI: Duration = Duration::from_millis(1);
const WAIT: Duration = Duration::from_millis(50);

/// A process, its clock, and the interval of its reports of successes.
struct Process {
    participant: GateParticipant,
    now: Duration,
    flush_interval: Duration,
}

impl Process {
    /// A process that has asked the store once.
    fn new() -> Self {
        let mut process = Self {
            participant: GateParticipant::new(WAIT),
            now: Duration::from_secs(1),
            flush_interval: MILLI * 250,
        };
        process.participant.set_subscribed(true);
        assert!(process.sends());
        process.participant.replied(0);
        process
    }

    fn next(&mut self) -> NextAction<GateReport> {
        self.participant.settle(self.now);
        let interval = self.flush_interval;
        self.participant.next(0, interval, Waker::noop())
    }

    fn sends(&mut self) -> bool {
        matches!(self.next(), NextAction::Send(_))
    }

    /// Waits until the next report is due, and sends it. Returns the time that this takes.
    fn sent_after(&mut self) -> Duration {
        let begun = self.now;
        while !self.sends() {
            self.now += MILLI;
            assert!(self.now < begun + Duration::from_secs(60));
        }
        self.now - begun
    }
}

#[test]
fn a_failing_store_is_asked_less_and_less_often() {
    let mut process = Process::new();
    process.participant.failed(0);
    for millis in [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000] {
        assert_eq!(process.sent_after(), MILLI * millis);
        process.participant.failed(0);
    }
    // A reply that is late counts as a failure, and one in time ends them.
    process.sent_after();
    process.now += WAIT + MILLI;
    process.participant.settle(process.now);
    assert!(!process.participant.replied(0));
    assert_eq!(process.sent_after(), MILLI * 5_000);
    assert!(process.participant.replied(0));
    process.participant.failed(0);
    assert_eq!(process.sent_after(), MILLI * 250);
}

#[test]
fn successes_alone_are_reported_at_the_fleets_interval() {
    let mut process = Process::new();
    process.participant.succeeded(1, false);
    assert!(!process.sends());
    process.now += Duration::from_secs(60);
    assert!(!process.sends(), "the gate never closed");

    let notice = GateNotice {
        change: 1,
        closed: MILLI,
    };
    process.participant.take_notice(notice, false);
    process.sent_after();
    process.participant.replied(0);
    for millis in [250, 4_000] {
        process.flush_interval = MILLI * millis;
        process.participant.succeeded(1, false);
        assert_eq!(process.sent_after(), MILLI * millis);
        process.participant.replied(0);
    }
}
