//! What a resume costs, and when it costs nothing.

use super::script::{Piece, Scripted, Turn, budget, bytes, download, get, layer, policy};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use http_retry::RetryBudget;
use http_retry::StopReason;
use http_retry::resume::ResumeFailure;
use http_retry::testing::ManualRuntime;
use std::time::Duration;
use tower::{Layer, ServiceExt};

const KIB: usize = 1024;

fn left(budget: &RetryBudget) -> String {
    budget.tokens_at(Duration::ZERO).unwrap().to_string()
}

fn rest(from: usize, to: usize, total: usize) -> Turn {
    let begin = from.saturating_sub(KIB);
    Turn::rest(begin, total).sends(begin..to).then(Piece::Reset)
}

#[tokio::test]
async fn what_goes_on_costs_nothing() {
    let (step, cuts) = (120 * KIB, 60);
    let total = step * (cuts + 1);
    let first = Turn::file(total).sends(0..step).then(Piece::Reset);
    let others = (1..=cuts).map(|n| rest(n * step, (n + 1) * step, total));
    let client = Scripted::new([first].into_iter().chain(others));
    let budget = budget(3);
    let layer = layer(policy())
        .runtime(ManualRuntime::new())
        .budget(budget.clone());
    let ended = download(layer.resume_downloads(), &client, get()).await;
    assert!(ended.read == bytes(0..total) && ended.error.is_none());
    assert_eq!(left(&budget), "3");
}

#[tokio::test]
async fn what_stands_still_is_paid() {
    let stuck = || Turn::rest(0, 100).sends(0..5).then(Piece::Reset);
    let client = Scripted::new([Turn::file(100).sends(0..5), stuck(), stuck(), stuck()]);
    let budget = budget(3);
    let policy = policy().max_retries(10);
    let layer = layer(policy)
        .runtime(ManualRuntime::new())
        .budget(budget.clone());
    let ended = download(layer.resume_downloads(), &client, get()).await;
    let stopped = ResumeFailure::Stopped(StopReason::BudgetExhausted);
    assert_eq!(ended.interrupted(), Some((5, 100, stopped)));
    assert_eq!((client.ranges().len(), left(&budget).as_str()), (3, "0"));
}

#[tokio::test]
async fn less_than_64_kib_is_paid_unless_it_is_the_end() {
    for (to, paid) in [(64 * KIB - 1, "2"), (64 * KIB, "3")] {
        let total = 200 * KIB;
        let client = Scripted::new([
            Turn::file(total).sends(0..KIB).then(Piece::Reset),
            rest(KIB, KIB + to, total),
            Turn::of(404),
        ]);
        let budget = budget(3);
        let layer = layer(policy())
            .runtime(ManualRuntime::new())
            .budget(budget.clone());
        let service = layer.resume_downloads().layer(client);
        let mut body = service.oneshot(get()).await.unwrap().into_body();
        let mut read = 0;
        while read < KIB + to {
            let data = body.frame().await.unwrap().unwrap().into_data();
            read += data.unwrap().len();
        }
        assert_eq!(left(&budget) == "3", paid == "3", "{to}");
        // The break that follows decides.
        assert!(body.frame().await.unwrap().is_err());
        let after = match paid {
            "2" => "1",
            _ => "2",
        };
        assert_eq!(left(&budget), after, "{to}");
    }
}

/// Drops a download while it waits, while it asks and while it reads.
#[tokio::test]
async fn a_download_that_is_dropped_gives_its_token_back() {
    let runtime = ManualRuntime::paused();
    let budget = budget(3);
    for steps in 0..3 {
        let client = Scripted::new([
            Turn::file(100).sends(0..5).then(Piece::Reset),
            Turn::rest(0, 100).sends(0..10).then(Piece::Stall),
        ]);
        let layer = layer(policy())
            .runtime(runtime.clone())
            .budget(budget.clone());
        let service = layer.resume_downloads().layer(client.clone());
        let mut body = service.oneshot(get()).await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
        assert!(body.frame().now_or_never().is_none());
        assert_eq!(left(&budget), "2");
        if steps > 0 {
            runtime.advance(Duration::from_secs(1));
            let more = body.frame().now_or_never().unwrap().unwrap().unwrap();
            assert_eq!(more.into_data().unwrap(), bytes(5..10));
        }
        if steps > 1 {
            assert!(body.frame().now_or_never().is_none());
        }
        assert_eq!(
            (left(&budget).as_str(), client.ranges().len()),
            ("2", steps.min(1))
        );
        drop(body);
        assert_eq!(left(&budget), "3", "{steps}");
    }
}
