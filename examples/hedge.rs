//! A service of which 2 % of the responses are slow, without hedging and with it: the median and the 99th percentile.
//!
//! Time is simulated: a minute of calls takes a moment.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program that plays callers and server, and prints"
)]

use http::{Request, Response};
use http_retry::hedge::{Hedge, HedgeLayer};
use http_retry::{RetryBudget, RetryLayer, RetryPolicy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, ServiceExt, service_fn};

type Client = BoxCloneSyncService<Request<String>, Response<String>, BoxError>;

const CALLS: u32 = 6_000;

/// Calls per second.
const RATE: u32 = 100;

/// A service that takes a second for every 50th request that reaches it, and 10 ms for the others.
fn service(requests: &Arc<AtomicU32>) -> Client {
    let requests = Arc::clone(requests);
    BoxCloneSyncService::new(service_fn(move |_: Request<String>| {
        let is_slow = requests.fetch_add(1, Relaxed) % 50 == 49;
        async move {
            sleep(Duration::from_millis(if is_slow { 1_000 } else { 10 })).await;
            Ok(Response::new(String::new()))
        }
    }))
}

/// The latencies of all calls, the shortest first.
async fn latencies(client: Client) -> Result<Vec<Duration>, BoxError> {
    let start = Instant::now();
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let client = client.clone();
        calls.spawn(async move {
            sleep_until(start + Duration::from_secs(1) * number / RATE).await;
            let request = Request::get("http://api.example/orders").body(String::new())?;
            let began = Instant::now();
            client.oneshot(request).await?;
            Ok::<_, BoxError>(began.elapsed())
        });
    }
    let mut all = Vec::new();
    while let Some(call) = calls.join_next().await {
        all.push(call??);
    }
    all.sort();
    Ok(all)
}

/// Prints the figures of one client. Returns its 99th percentile, and the requests per call.
async fn measure(
    name: &str,
    client: Client,
    requests: &AtomicU32,
) -> Result<(Duration, f64), BoxError> {
    let all = latencies(client).await?;
    let percentile = |percent: usize| {
        all.get(all.len() * percent / 100)
            .copied()
            .unwrap_or_default()
    };
    let load = f64::from(requests.load(Relaxed)) / f64::from(CALLS);
    let (median, slow) = (percentile(50), percentile(99));
    println!("{name:>7}: p50 {median:>5.0?}, p99 {slow:>5.0?}, {load:.2} requests per call");
    Ok((slow, load))
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), BoxError> {
    let requests = Arc::default();
    let retries = || RetryLayer::new(RetryPolicy::user_facing());
    let client = retries().layer(service(&requests));
    let client =
        BoxCloneSyncService::new(client.map_response(|response| response.map(|_| String::new())));
    let (without, _) = measure("without", client, &requests).await?;

    let (requests, budget) = (Arc::default(), RetryBudget::default());
    let client = HedgeLayer::new(Hedge::default())?.layer(service(&requests));
    let client = retries().budget(budget.clone()).layer(client);
    let client =
        BoxCloneSyncService::new(client.map_response(|response| response.map(|_| String::new())));
    let (hedged, load) = measure("hedged", client, &requests).await?;
    println!("{budget:?}");

    assert!(hedged * 10 < without && load < 1.06);
    Ok(())
}
