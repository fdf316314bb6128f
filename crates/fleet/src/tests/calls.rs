//! The commands of calls through a layer, and their waits for the store.

use super::*;
use http_retry::tower::RetryLayer;
use http_retry_core::policy::Backoff;
use std::convert::Infallible;
use tower::{Layer, ServiceExt};

/// A layer without a gate in the fleet, whose retries go at once.
fn layer(fleet: &Fleet) -> RetryLayer {
    let policy = RetryPolicy::background().to_builder().max_gate_wait(None);
    let policy = policy.backoff(Backoff::none()).build().unwrap();
    RetryLayer::new(policy).fleet(fleet)
}

/// Returns the time of a call that gets these statuses first, and then 200.
async fn call(layer: &RetryLayer, host: &str, first: &[u16]) -> Duration {
    let statuses: Vec<u16> = first.iter().rev().copied().collect();
    let statuses = Arc::new(Mutex::new(statuses));
    let service = tower::service_fn(move |_: http::Request<String>| {
        let status = statuses.lock().unwrap().pop().unwrap_or(200);
        let response = http::Response::builder().status(status);
        std::future::ready(Ok::<_, Infallible>(response.body(String::new()).unwrap()))
    });
    let request = http::Request::get(format!("http://{host}/"));
    let begun = TokioClock.now();
    let request = request.body(String::new()).unwrap();
    let response = layer.layer(service).oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    TokioClock.now() - begun
}

#[tokio::test(start_paused = true)]
async fn only_retries_wait_for_the_store() {
    let store = Memory::default();
    let fleet = store.fleet();
    let layer = layer(&fleet);
    store.with(|state| state.takes = WAIT / 2);
    for _ in 0..3 {
        assert_eq!(call(&layer, "a.example", &[]).await, Duration::ZERO);
    }
    // The first look of the process is under way, or over.
    pass(SECOND).await;
    assert!(fleet.status().joined);
    assert_eq!(call(&layer, "a.example", &[503]).await, WAIT / 2);
    let asked = store.with(|state| state.commands.last().copied().unwrap());
    assert_eq!((asked.want, asked.successes), (1_000_000, 3));
}

#[tokio::test(start_paused = true)]
async fn each_host_has_its_own_budget() {
    let store = Memory::default();
    let layer = layer(&store.fleet());
    for host in ["a.example", "b.example:81", "a.example"] {
        call(&layer, host, &[]).await;
    }
    pass(SECOND).await;
    let mut earned: Vec<_> = store.with(|state| {
        let commands = state.commands.iter();
        commands.map(|report| report.successes).collect()
    });
    earned.sort_unstable();
    earned.dedup();
    let names = store.with(|state| state.buckets.len());
    assert_eq!((names, earned.last()), (2, Some(&2)), "{earned:?}");
}

#[tokio::test(start_paused = true)]
async fn a_budget_has_the_name_of_its_service() {
    let fleet = Memory::default().fleet();
    let orders = fleet.budget("orders", RetryBudget::builder()).unwrap();
    let of_a_host = fleet.budgets().get("a.example");
    let names = [orders.name(), of_a_host.name()];
    assert_eq!(names, [Some("orders"), Some("a.example")]);
}
