//! Exactly once: random schedules of requests, responses and drops, in which every request and every token is counted.
//!
//! `HTTP_RETRY_SCHEDULES=10000` plays more of them.

use crate::server::{Answer, Server, random, request};
use http::{HeaderValue, Method};
use http_retry::hedge::{Hedge, HedgeLayer};
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::{RetryBudget, RetryLayer, RetryPolicy};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt};

const TOKENS: u32 = 40;

/// The answer to the nth request of a schedule.
fn answer(seed: u64, n: u64) -> Answer {
    let random = random(seed, n);
    let millis = [0, 1, 9, 10, 11, 30, 100, 5_000][usize::try_from(random % 8).unwrap()];
    let status = [200, 200, 200, 200, 503, 429, 404, 0][usize::try_from(random / 8 % 8).unwrap()];
    Answer {
        after: Duration::from_millis(millis),
        status: Some(status).filter(|status| *status > 0),
        retry_after: (random / 64 % 4 == 0).then_some(1),
        left: None,
    }
}

/// What was sent beyond first attempts, and what it cost.
#[derive(Default)]
struct Counts {
    hedges: AtomicU64,
    retries: AtomicU64,
    firsts: AtomicU64,
}

impl Counts {
    fn count(&self, event: &RetryEvent<'_>) {
        match event.kind {
            RetryEventKind::HedgeSent { .. } => self.hedges.fetch_add(1, Relaxed),
            RetryEventKind::AttemptStarted { number: 1, .. } => self.firsts.fetch_add(1, Relaxed),
            RetryEventKind::AttemptStarted { .. } => self.retries.fetch_add(1, Relaxed),
            _ => return,
        };
    }
}

async fn play(seed: u64) -> (u64, u64) {
    let counts = Arc::new(Counts::default());
    let seen = Arc::clone(&counts);
    let server = Server::new(move |n| answer(seed, n));
    // Every retry and every hedge costs one token, and nothing comes back but what was not sent.
    let budget = RetryBudget::builder()
        .capacity(TOKENS)
        .initial(TOKENS)
        .per_success(0);
    let budget = budget.timeout_cost(1).gated_cost(1).build().unwrap();
    let policy = RetryPolicy::background().to_builder();
    let policy = policy.attempt_timeout(Duration::from_millis(200 + seed % 100));
    let most = u32::try_from(seed % 4).unwrap();
    let hedge = Hedge::after(Duration::from_millis(10)).max(most);
    let one_at_a_time =
        tower::limit::ConcurrencyLimit::new(server.clone(), usize::try_from(1 + seed % 5).unwrap());
    let client = HedgeLayer::new(hedge).unwrap().layer(one_at_a_time);
    let layer = RetryLayer::new(policy.build().unwrap()).budget(budget.clone());
    let layer = layer.attempt_header(http::HeaderName::from_static("attempt"));
    let layer = layer.observe(move |event: &RetryEvent<'_>| seen.count(event));
    let client = layer.layer(client);
    let calls = 1 + seed % 3;
    let mut tasks = tokio::task::JoinSet::new();
    for call in 0..calls {
        let random = random(!seed, call);
        let kind = random % 4;
        let method = [Method::GET, Method::PUT, Method::POST, Method::POST];
        let mut request = request(method[usize::try_from(kind).unwrap()].clone());
        request
            .headers_mut()
            .insert("call", HeaderValue::from(call));
        if kind == 3 {
            request
                .headers_mut()
                .insert("idempotency-key", HeaderValue::from(call));
        }
        // Dropped at any point, or never.
        let patience = [0, 1, 10, 11, 12, 20, 21, 50, 200, 300, 3_000, 100_000];
        let patience = patience[usize::try_from(random / 4 % 12).unwrap()];
        let call = client.clone().oneshot(request);
        tasks.spawn(async move {
            drop(timeout(Duration::from_millis(patience), call).await);
        });
    }
    tasks.join_all().await;
    sleep(Duration::from_secs(100)).await;
    check(seed, &server, u64::from(most));
    let (hedges, retries) = (counts.hedges.load(Relaxed), counts.retries.load(Relaxed));
    let sent = counts.firsts.load(Relaxed) + retries + hedges;
    assert_eq!(
        server.count(),
        usize::try_from(sent).unwrap(),
        "seed {seed}"
    );
    let left = u64::from(TOKENS) - hedges - retries;
    assert_eq!(
        budget.tokens(),
        Some(u32::try_from(left).unwrap().into()),
        "seed {seed}"
    );
    (hedges, u64::try_from(server.count()).unwrap())
}

/// Checks what arrived: whole bodies, and only copies of what may be sent twice.
fn check(seed: u64, server: &Server, most: u64) {
    let mut copies: HashMap<_, u64> = HashMap::new();
    for arrival in server.arrivals() {
        assert_eq!(arrival.body, "an order", "seed {seed}");
        let attempt = ["call", "attempt"].map(|name| arrival.headers[name].clone());
        let count = copies.entry(attempt).or_default();
        *count += 1;
        let is_safe =
            arrival.method != Method::POST || arrival.headers.contains_key("idempotency-key");
        let allowed = if is_safe { 1 + most } else { 1 };
        assert!(*count <= allowed, "seed {seed}: {arrival:?}");
    }
}

#[test]
fn each_copy_is_paid_for_and_may_be_sent() {
    let schedules = std::env::var("HTTP_RETRY_SCHEDULES").ok();
    let schedules = schedules.map_or(1_000, |number| number.parse().unwrap());
    let first = std::env::var("HTTP_RETRY_SEED").ok();
    let first = first.map_or(0, |seed| seed.parse().unwrap());
    let (mut hedges, mut requests) = (0, 0);
    for seed in first..first + schedules {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let played = runtime.block_on(play(seed));
        hedges += played.0;
        requests += played.1;
    }
    println!("{schedules} schedules, {requests} requests, {hedges} of them hedges");
    assert!(hedges > schedules / 4, "{hedges} hedges");
}
