//! What hedging gains, and what it costs: a tail, an outage, and a server that is slow as a whole.

use crate::server::{Answer, Server, get, random};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use http_retry::hedge::{Hedge, HedgeLayer};
use http_retry::runtime::TokioRuntime;
use http_retry::{RetryBudget, RetryLayer, RetryPolicy};
use std::fmt::Debug;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tower::hedge::{Hedge as TowerHedge, Policy};
use tower::{Layer, Service, ServiceExt};

/// The latencies of all calls, in order of their start.
async fn latencies<S, R>(client: S, calls: u64, every: Duration) -> Vec<Duration>
where
    S: Service<Request<Full<Bytes>>, Response = R> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Debug + Send,
    R: Send + 'static,
{
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for n in 0..calls {
        let client = client.clone();
        tasks.spawn(async move {
            sleep_until(start + every * u32::try_from(n).unwrap()).await;
            let began = Instant::now();
            let _ = client.oneshot(get()).await;
            began.elapsed()
        });
    }
    tasks.join_all().await
}

/// The latency within which so many of 1,000 calls end.
fn quantile(latencies: &[Duration], per_mille: usize) -> Duration {
    let mut sorted = latencies.to_vec();
    sorted.sort();
    sorted[sorted.len() * per_mille / 1_000]
}

/// The share of requests per call, in hundredths.
fn load(server: &Server, calls: u64) -> u64 {
    u64::try_from(server.count()).unwrap() * 100 / calls
}

/// tower's hedging, of every request.
#[derive(Clone)]
struct All;

impl Policy<Request<Full<Bytes>>> for All {
    fn clone_request(&self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }

    fn can_retry(&self, _: &Request<Full<Bytes>>) -> bool {
        true
    }
}

fn tower_hedge(
    server: Server,
) -> impl Service<
    Request<Full<Bytes>>,
    Response = Response<Full<Bytes>>,
    Error = tower::BoxError,
    Future = impl Future<Output = Result<Response<Full<Bytes>>, tower::BoxError>> + Send,
> + Clone
+ Send {
    // `Hedge` is not `Clone`, so a buffer shares it.
    let hedge = TowerHedge::new(server, All, 100, 0.95, Duration::from_secs(10));
    tower::buffer::Buffer::new(hedge, 10_000)
}

const CALLS: u64 = 6_000;

/// A hundred calls a second.
const EVERY: Duration = Duration::from_millis(10);

/// 2 % of the requests take a second, the others 10 ms.
fn with_tail(seed: u64) -> Server {
    Server::new(move |n| Answer::ok(if random(seed, n) % 100 < 2 { 1_000 } else { 10 }))
}

#[tokio::test(start_paused = true)]
async fn a_tail_is_cut_for_at_most_six_percent_more_requests() {
    for seed in 0..3 {
        let bare = with_tail(seed);
        let without = latencies(bare.clone(), CALLS, EVERY).await;
        let below = with_tail(seed);
        let client = HedgeLayer::new(Hedge::default())
            .unwrap()
            .layer(below.clone());
        let client = RetryLayer::new(RetryPolicy::background()).layer(client);
        let hedged = latencies(client, CALLS, EVERY).await;
        let alone = with_tail(seed);
        let layer = HedgeLayer::alone(Hedge::default(), RetryPolicy::background(), TokioRuntime);
        let by_itself = latencies(layer.unwrap().layer(alone.clone()), CALLS, EVERY).await;
        println!(
            "p50 {:?} -> {:?}, p99 {:?} -> {:?}, alone {:?}; load {} and {}",
            quantile(&without, 500),
            quantile(&hedged, 500),
            quantile(&without, 990),
            quantile(&hedged, 990),
            quantile(&by_itself, 990),
            load(&below, CALLS),
            load(&alone, CALLS),
        );
        for (latencies, server) in [(hedged, below), (by_itself, alone)] {
            assert!(quantile(&latencies, 990) * 10 < quantile(&without, 990));
            assert!(load(&server, CALLS) <= 106);
        }
    }
}

/// From second 20 to 30 every request hangs for a second, and then fails.
fn with_outage() -> Server {
    let start = Instant::now();
    Server::new(move |_| match start.elapsed().as_secs() {
        20..30 => Answer::status(503, 1_000),
        _ => Answer::ok(10),
    })
}

/// The requests per call of second 20 to 30, in hundredths.
async fn in_the_outage<S, R>(client: S, server: &Server) -> u64
where
    S: Service<Request<Full<Bytes>>, Response = R> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Debug + Send,
    R: Send + 'static,
{
    latencies(client.clone(), 2_000, EVERY).await;
    let before = server.count();
    latencies(client, 1_000, EVERY).await;
    u64::try_from(server.count() - before).unwrap() / 10
}

#[tokio::test(start_paused = true)]
async fn in_an_outage_hedges_stop_with_the_budget() {
    let server = with_outage();
    let client = HedgeLayer::new(Hedge::default())
        .unwrap()
        .layer(server.clone());
    let client = RetryLayer::new(RetryPolicy::user_facing()).layer(client);
    let ours = in_the_outage(client, &server).await;
    let server = with_outage();
    let tower = in_the_outage(tower_hedge(server.clone()), &server).await;
    println!("requests per 100 calls in the outage: {ours}, tower::hedge {tower}");
    assert!(ours <= 110, "{ours}");
    assert!(tower >= 150, "{tower}: the peer has no budget");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_slow_gets_no_more_than_the_budget() {
    let start = Instant::now();
    let answers = move |_| {
        Answer::ok(if start.elapsed().as_secs() < 10 {
            10
        } else {
            2_000
        })
    };
    for percentile in [true, false] {
        let server = Server::new(answers);
        let hedge = if percentile {
            Hedge::default()
        } else {
            Hedge::after(Duration::from_millis(100))
        };
        let budget = RetryBudget::default();
        let client = HedgeLayer::new(hedge).unwrap().layer(server.clone());
        let layer = RetryLayer::new(RetryPolicy::background()).budget(budget.clone());
        let client = layer.layer(client);
        latencies(client.clone(), 1_000, EVERY).await;
        let (before, tokens) = (server.count(), budget.tokens().unwrap().micros());
        let calls = 6_000;
        latencies(client, calls, EVERY).await;
        let hedges = server.count() - before - usize::try_from(calls).unwrap();
        println!("{hedges} hedges of {calls} calls at a slow server");
        // The tokens at hand, and a tenth of one for each success.
        let most = tokens / 1_000_000 + calls / 10;
        assert!(u64::try_from(hedges).unwrap() <= most, "{hedges} <= {most}");
    }
}

/// From request 1,000 on a seventh of the responses is slow. The losers count as slow, so that they are not hedged for ever.
#[tokio::test(start_paused = true)]
async fn a_percentile_rises_although_slow_copies_lose() {
    let is_slow = |n| n > 1_000 && random(7, n) % 7 == 0;
    let server = Server::new(move |n| Answer::ok(if is_slow(n) { 1_000 } else { 10 }));
    let client = HedgeLayer::new(Hedge::default())
        .unwrap()
        .layer(server.clone());
    let layer = RetryLayer::new(RetryPolicy::background()).budget(RetryBudget::unlimited());
    latencies(layer.layer(client), CALLS, EVERY).await;
    println!(
        "load {} at a service of which a seventh is slow",
        load(&server, CALLS)
    );
    assert!(load(&server, CALLS) < 106);
}
