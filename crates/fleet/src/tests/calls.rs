//! The commands of calls through a layer, and their waits for the store.

use super::*;
use crate::memory::MemoryStore;
use futures_util::future::join_all;
use http_retry::tower::RetryLayer;
use http_retry_core::{Backoff, RetryOverride};
use http_retry_services::{Service, Services};
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
    let request = http::Request::get(format!("http://{host}/"));
    send(
        layer,
        request.body(String::new()).unwrap(),
        first,
        Duration::ZERO,
    )
    .await
}

/// Returns the time of a request that gets these statuses first, and then 200; each attempt takes this long. A 429 asks
/// for 10 s.
async fn send(
    layer: &RetryLayer,
    request: http::Request<String>,
    first: &[u16],
    takes: Duration,
) -> Duration {
    let statuses: Vec<u16> = first.iter().rev().copied().collect();
    let statuses = Arc::new(Mutex::new(statuses));
    let service = tower::service_fn(move |_: http::Request<String>| {
        let status = statuses.lock().unwrap().pop().unwrap_or(200);
        let mut response = http::Response::builder().status(status);
        if status == 429 {
            response = response.header("retry-after", "10");
        }
        async move {
            TokioClock.sleep(takes).await;
            Ok::<_, Infallible>(response.body(String::new()).unwrap())
        }
    });
    let begun = TokioClock.now();
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

#[tokio::test(start_paused = true)]
async fn a_gate_leaves_a_store_that_fails_and_returns_to_it() {
    let store = MemoryStore::new();
    let fleet = Fleet::in_memory(&store);
    let layer = RetryLayer::new(RetryPolicy::rate_limited());
    let layer = layer.budget(RetryBudget::unlimited()).fleet(&fleet);
    call(&layer, "a.example", &[]).await;
    pass(SECOND).await;
    assert!(fleet.status().joined);
    store.fail(LeaveReason::ReadOnly);
    assert!(call(&layer, "a.example", &[429]).await >= SECOND * 10);
    let status = fleet.status();
    assert_eq!(
        (status.joined, status.reason),
        (false, Some(LeaveReason::ReadOnly))
    );
    store.recover();
    pass(SECOND * 10).await;
    assert!(fleet.status().joined);
}

#[tokio::test(start_paused = true)]
async fn a_service_without_the_fleet_shares_its_gate_with_nobody() {
    let store = MemoryStore::new();
    let [one, other] = [(); 2].map(|()| {
        let alone = Service::new("alone", RetryPolicy::rate_limited()).without_fleet();
        let services = Services::builder(RetryPolicy::rate_limited()).service(alone);
        let services = services.fleet(&Fleet::in_memory(&store)).build().unwrap();
        RetryLayer::for_services(&services)
    });
    let calls = |layer: &RetryLayer, service: Option<&str>, first: &'static [u16]| {
        let calls: Vec<_> = (0..6)
            .map(|_| {
                let mut request = http::Request::get("http://a.example/").body(String::new());
                let own = service.map(|service| RetryOverride::new().service(service));
                let extensions = request.as_mut().unwrap().extensions_mut();
                own.map(|own| extensions.insert(own));
                let (layer, request) = (layer.clone(), request.unwrap());
                tokio::spawn(async move { send(&layer, request, first, SECOND).await })
            })
            .collect();
        async {
            join_all(calls)
                .await
                .into_iter()
                .map(Result::unwrap)
                .collect::<Vec<_>>()
        }
    };
    let at_once = [SECOND; 6];
    for layer in [&one, &other] {
        assert_eq!(calls(layer, None, &[]).await, at_once);
        assert_eq!(calls(layer, Some("alone"), &[]).await, at_once);
    }
    pass(SECOND).await;

    // Others of its host in the same process and in the other wait together, and it does not.
    let refused = calls(&one, None, &[429]);
    pass(SECOND * 2).await;
    for layer in [&one, &other] {
        assert_eq!(calls(layer, Some("alone"), &[]).await, at_once);
    }
    assert_ne!(calls(&other, None, &[]).await, at_once);
    refused.await;
    pass(SECOND * 60).await;

    // It is refused, and nobody else waits for that.
    let refused = calls(&one, Some("alone"), &[429]);
    pass(SECOND * 2).await;
    for layer in [&one, &other] {
        assert_eq!(calls(layer, None, &[]).await, at_once);
    }
    assert_eq!(calls(&other, Some("alone"), &[]).await, at_once);
    assert_ne!(calls(&one, Some("alone"), &[]).await, at_once);
    refused.await;
}
