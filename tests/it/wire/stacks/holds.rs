//! Streams that are held back and stop after an event that says nothing.

use super::super::server::{Act, Answer, FaultServer};
use super::clients::{Client, SECOND, STACKS, Setup, Stack, Told, drive, fixed, get};
use crate::in_time::in_time;
use http_retry::llm::HoldStreams;
use http_retry::policy::Reason;
use http_retry::{RetryBudget, RetryPolicyBuilder, StopReason};
use std::time::Duration;

const QUIET: &str = "event: message_start\ndata: {\"type\": \"message_start\"}\n\n";
const OUTPUT: &str = "data: {\"choices\": [{\"delta\": {\"content\": \"Hi\"}}]}\n\n";

/// A stream that stops after its first event until it may go on.
fn stopped() -> Act {
    let answer = Answer::new(200).header("content-type", "text/event-stream");
    Act::Pause(answer.body([QUIET, OUTPUT].concat()), QUIET.len())
}

/// A call whose first answer stops, after this wait has been begun so often and is over; the server goes on afterwards.
async fn held(stack: Stack, setup: &Setup, wait: Duration, begun: usize) -> (Told, usize) {
    let server = FaultServer::start([stopped()]).await;
    let mut call = Client::new(stack, setup).call(get(server.url("/")));
    let waits = || {
        let waits = setup.clock.begun();
        waits.iter().filter(|begun| **begun == wait).count()
    };
    drive(&mut call, || waits() == begun).await;
    setup.clock.advance(wait);
    server.go_on();
    let told = in_time(call).await.unwrap();
    (told, server.received().len())
}

#[tokio::test]
async fn a_held_stream_that_stops_is_sent_again_by_every_bound() {
    let unbounded = || HoldStreams::new().first_event_timeout(None);
    let holding = |hold| fixed(1, Duration::ZERO).hold_streams(hold);
    let by_event = HoldStreams::new().first_event_timeout(SECOND * 5);
    let bounds: [(RetryPolicyBuilder, Duration, usize); 4] = [
        (holding(HoldStreams::new()), SECOND * 600, 1),
        (holding(by_event), SECOND * 5, 1),
        (
            holding(by_event).attempt_timeout(SECOND * 30),
            SECOND * 5,
            1,
        ),
        // The attempt is timed up to its head, and then for what is left.
        (
            holding(unbounded()).attempt_timeout(SECOND * 7),
            SECOND * 7,
            2,
        ),
    ];
    for (policy, wait, begun) in bounds {
        for stack in STACKS {
            let setup = Setup::new(policy.clone());
            let (told, sent) = held(stack, &setup, wait, begun).await;
            let report = told.report.unwrap();
            assert_eq!((&told.body[..], sent), (&b"answer"[..], 2), "{stack:?}");
            assert_eq!(report.stop, StopReason::Succeeded, "{stack:?} {wait:?}");
            let first = &report.attempts[0];
            assert_eq!(first.reason, Some(Reason::Timeout), "{stack:?} {wait:?}");
            // A timeout costs two tokens.
            assert_eq!(setup.tokens(), 18, "{stack:?} {wait:?}");
        }
    }
}

#[tokio::test]
async fn a_held_stream_that_no_retry_may_follow_is_the_callers_whole() {
    let hold = HoldStreams::new().first_event_timeout(SECOND * 5);
    let policy = || fixed(1, Duration::ZERO).hold_streams(hold);
    let late = Setup::new(policy().deadline(SECOND * 4));
    let poor = Setup {
        budget: RetryBudget::builder().initial(0).build().unwrap(),
        ..Setup::new(policy())
    };
    for (setup, wait, begun, why) in [
        (late, SECOND * 4, 2, StopReason::DeadlineExceeded),
        (poor, SECOND * 5, 1, StopReason::BudgetExhausted),
    ] {
        for stack in STACKS {
            let clock = super::clock::Clock::new();
            let setup = Setup {
                clock,
                ..setup.clone()
            };
            let (told, sent) = held(stack, &setup, wait, begun).await;
            let report = told.report.unwrap();
            assert_eq!((report.stop, sent), (why, 1), "{stack:?}");
            assert_eq!(told.body, [QUIET, OUTPUT].concat(), "{stack:?} {why:?}");
            assert_eq!(report.attempts[0].reason, Some(Reason::Timeout));
        }
    }
}
