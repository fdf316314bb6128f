//! What observers and reports tell of hedges.

use crate::server::{Answer, Server, get};
use http_retry::hedge::{Hedge, HedgeLayer};
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::runtime::TokioRuntime;
use http_retry::{RetryLayer, RetryPolicy, RetryReport};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt};

type Lines = Arc<Mutex<Vec<String>>>;

fn line(event: &RetryEvent<'_>) -> Option<String> {
    let millis = |after: Duration| after.as_millis() / 10 * 10;
    Some(match event.kind {
        RetryEventKind::AttemptStarted { number, .. } => format!("attempt {number}"),
        RetryEventKind::AttemptEnded(attempt) => format!("ended, {} copies", attempt.copies),
        RetryEventKind::HedgeSent {
            attempt,
            copy,
            after,
            ..
        } => {
            format!("sent {attempt}.{copy} after {}", millis(after))
        }
        RetryEventKind::HedgeWon {
            attempt,
            copy,
            after,
            ..
        } => {
            format!("won {attempt}.{copy} after {}", millis(after))
        }
        RetryEventKind::HedgeLost {
            attempt,
            copy,
            after,
            ..
        } => {
            format!("lost {attempt}.{copy} after {}", millis(after))
        }
        _ => return None,
    })
}

fn observe(lines: &Lines) -> impl Fn(&RetryEvent<'_>) + Send + Sync + 'static + use<> {
    let lines = Arc::clone(lines);
    move |event| {
        assert_eq!(event.service, "api.example");
        lines.lock().unwrap().extend(line(event));
    }
}

#[tokio::test(start_paused = true)]
async fn each_hedge_is_reported_between_the_events_of_its_attempt() {
    let hedge = Hedge::after(Duration::from_millis(50)).max(2);
    for (answers, wanted) in [
        (
            vec![Answer::ok(500), Answer::ok(200), Answer::ok(10)],
            vec![
                "attempt 1",
                "sent 1.2 after 50",
                "sent 1.3 after 100",
                "lost 1.2 after 110",
                "won 1.3 after 110",
                "ended, 3 copies",
            ],
        ),
        (
            vec![Answer::ok(80), Answer::ok(200)],
            vec![
                "attempt 1",
                "sent 1.2 after 50",
                "lost 1.2 after 80",
                "ended, 2 copies",
            ],
        ),
        (vec![Answer::ok(10)], vec!["attempt 1", "ended, 1 copies"]),
    ] {
        let (lines, alone) = (Lines::default(), Lines::default());
        let client = HedgeLayer::new(hedge)
            .unwrap()
            .layer(Server::script(&answers));
        let layer = RetryLayer::new(RetryPolicy::background()).observe(observe(&lines));
        layer.layer(client).oneshot(get()).await.unwrap();
        assert_eq!(*lines.lock().unwrap(), wanted);
        let layer = HedgeLayer::alone(hedge, RetryPolicy::background(), TokioRuntime).unwrap();
        let client = layer
            .observer(observe(&alone))
            .layer(Server::script(&answers));
        client.oneshot(get()).await.unwrap();
        let of_hedges = wanted.iter().filter(|line| line.contains('.'));
        assert!(alone.lock().unwrap().iter().eq(of_hedges));
    }
}

/// Nobody observes, so the attempt has no report until it ends.
#[tokio::test(start_paused = true)]
async fn a_hedged_success_has_a_report_and_a_plain_one_has_none() {
    for (millis, wanted) in [(200, Some(2)), (10, None)] {
        let hedge = Hedge::after(Duration::from_millis(50));
        let server = Server::script(&[Answer::ok(millis), Answer::ok(10)]);
        let client = HedgeLayer::new(hedge).unwrap().layer(server);
        let client = RetryLayer::new(RetryPolicy::background()).layer(client);
        let response = client.oneshot(get()).await.unwrap();
        let report = response.extensions().get::<RetryReport>();
        assert_eq!(report.map(|report| report.attempts[0].copies), wanted);
        if let Some(report) = report {
            let text = report.to_string();
            assert!(text.contains("attempt 1 of 2 copies: 200 after"), "{text}");
        }
    }
}
