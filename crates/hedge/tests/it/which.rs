//! Which requests are hedged, when, and what the caller gets.

use crate::server::{Answer, Server, get, request};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use http_retry::gate::Gate;
use http_retry::hedge::{Hedge, HedgeLayer, HedgeService};
use http_retry::runtime::TokioRuntime;
use http_retry::tower::Retry;
use http_retry::{Methods, RetryBudget, RetryLayer, RetryOverride, RetryPolicy};
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tower::{Layer, Service, ServiceExt};

/// A hedge after 50 ms.
fn hedge() -> Hedge {
    Hedge::after(Duration::from_millis(50))
}

fn below(layer: RetryLayer, server: &Server) -> Retry<HedgeService<Server>> {
    layer.layer(HedgeLayer::new(hedge()).unwrap().layer(server.clone()))
}

/// A budget that counts only what it pays.
fn purse(tokens: u32) -> RetryBudget {
    let budget = RetryBudget::builder().capacity(100).per_success(0);
    budget.initial(tokens).build().unwrap()
}

fn with(request: Request<Full<Bytes>>, own: RetryOverride) -> Request<Full<Bytes>> {
    let mut request = request;
    request.extensions_mut().insert(own);
    request
}

fn keyed() -> Request<Full<Bytes>> {
    let mut request = request(Method::POST);
    let key = http::HeaderValue::from_static("one");
    request.headers_mut().insert("idempotency-key", key);
    request
}

#[tokio::test(start_paused = true)]
async fn only_what_may_be_sent_twice_is_hedged() {
    let policy = RetryPolicy::background().to_builder();
    let all = policy.clone().methods(Methods::All).build().unwrap();
    let gets = policy
        .methods(Methods::only([Method::GET]))
        .build()
        .unwrap();
    let usual = RetryPolicy::background();
    let own = RetryOverride::new;
    for (name, policy, request, requests) in [
        ("get", &usual, get(), 2),
        ("put", &usual, request(Method::PUT), 2),
        ("post", &usual, request(Method::POST), 1),
        ("post with a key", &usual, keyed(), 2),
        ("post, all methods", &all, request(Method::POST), 2),
        ("put, only get", &gets, request(Method::PUT), 1),
        (
            "search",
            &usual,
            with(request(Method::POST), own().idempotent(true)),
            2,
        ),
        (
            "harmful get",
            &usual,
            with(get(), own().idempotent(false)),
            1,
        ),
        ("no hedge", &usual, with(get(), own().hedge(false)), 1),
        ("off", &usual, with(get(), RetryOverride::off()), 1),
        ("no retries", &usual, with(get(), own().max_retries(0)), 2),
        ("never", &RetryPolicy::never(), get(), 2),
    ] {
        let server = Server::script(&[Answer::ok(200)]);
        let client = below(RetryLayer::new(policy.clone()), &server);
        client.oneshot(request.clone()).await.unwrap();
        assert_eq!(server.count(), requests, "{name}");
        let server = Server::script(&[Answer::ok(200)]);
        let layer = HedgeLayer::alone(hedge(), policy.clone(), TokioRuntime).unwrap();
        layer.layer(server.clone()).oneshot(request).await.unwrap();
        assert_eq!(server.count(), requests, "alone: {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_retry_layer_and_a_budget_nothing_is_hedged() {
    let server = Server::script(&[Answer::ok(200)]);
    let client = HedgeLayer::new(hedge()).unwrap().layer(server.clone());
    client.oneshot(get()).await.unwrap();
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_policy_of_the_service_decides_before_the_layer() {
    for (own, requests) in [
        (hedge().max(0), 1),
        (hedge().max(3), 4),
        (hedge().max(2), 3),
    ] {
        let policy = RetryPolicy::background().to_builder().hedge(own).build();
        let server = Server::script(&[Answer::ok(1_000)]);
        let client = below(RetryLayer::new(policy.unwrap()), &server);
        client.oneshot(get()).await.unwrap();
        assert_eq!(server.count(), requests);
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_budget_sends_no_hedge_and_waits_for_nothing() {
    for (tokens, requests, millis) in [(0, 1, 200), (1, 2, 60)] {
        let server = Server::script(&[Answer::ok(200), Answer::ok(10)]);
        let budget = purse(tokens);
        let client = below(
            RetryLayer::new(RetryPolicy::background()).budget(budget.clone()),
            &server,
        );
        let began = Instant::now();
        client.oneshot(get()).await.unwrap();
        let took = began.elapsed().as_millis();
        assert!((millis..millis + 5).contains(&took), "{took} ms");
        assert_eq!(
            (server.count(), budget.tokens()),
            (requests, Some(0.into()))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_is_counted_once_whichever_copy_won() {
    for answers in [
        [Answer::ok(200), Answer::ok(10)],
        [Answer::ok(60), Answer::ok(200)],
    ] {
        let budget = || {
            RetryBudget::builder()
                .capacity(10)
                .initial(5)
                .per_success(1)
                .build()
                .unwrap()
        };
        let (of_retries, own) = (budget(), budget());
        let server = Server::script(&answers);
        let layer = RetryLayer::new(RetryPolicy::background()).budget(of_retries.clone());
        below(layer, &server).oneshot(get()).await.unwrap();
        let server = Server::script(&answers);
        let layer = HedgeLayer::alone(hedge(), RetryPolicy::background(), TokioRuntime).unwrap();
        let client = layer.budget(own.clone()).layer(server);
        client.oneshot(get()).await.unwrap();
        for budget in [of_retries, own] {
            assert_eq!(
                budget.tokens(),
                Some(5.into()),
                "one for the hedge, and one back"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_waits_for_the_other_copy() {
    let failed = Answer::status(503, 100);
    let reset = Answer {
        status: None,
        ..failed
    };
    for first in [failed, reset] {
        for answers in [[first, Answer::ok(300)], [Answer::ok(300), first]] {
            let server = Server::script(&answers);
            let client = below(RetryLayer::new(RetryPolicy::never()), &server);
            let response = client.oneshot(get()).await.unwrap();
            assert_eq!((response.status(), server.count()), (StatusCode::OK, 2));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_before_the_hedge_is_left_to_the_retry_layer() {
    let server = Server::script(&[Answer::status(503, 10), Answer::ok(10)]);
    let client = below(RetryLayer::new(RetryPolicy::never()), &server);
    let response = client.oneshot(get()).await.unwrap();
    assert_eq!((response.status().as_u16(), server.count()), (503, 1));
}

#[tokio::test(start_paused = true)]
async fn a_permanent_answer_waits_for_nothing() {
    let server = Server::script(&[Answer::ok(1_000), Answer::status(404, 10)]);
    let client = below(RetryLayer::new(RetryPolicy::background()), &server);
    let began = Instant::now();
    let response = client.oneshot(get()).await.unwrap();
    assert_eq!(response.status(), 404);
    assert!(began.elapsed() < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_hold_back_gets_no_more_copies() {
    let refused = |status| Answer {
        retry_after: Some(1),
        ..Answer::status(status, 10)
    };
    for refusal in [refused(429), refused(503), Answer::status(429, 10)] {
        let policy = RetryPolicy::never().to_builder();
        let policy = policy.hedge(hedge().max(3)).build().unwrap();
        // The first copy, a hedge that is refused, and nothing more.
        let server = Server::script(&[Answer::ok(500), refusal]);
        let client = below(RetryLayer::new(policy), &server);
        let response = client.oneshot(get()).await.unwrap();
        assert_eq!((response.status(), server.count()), (StatusCode::OK, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn the_gate_hears_of_a_refusal_that_no_caller_sees() {
    // All succeed after 300 ms but the first hedges, which are refused.
    let refused = Answer {
        retry_after: Some(30),
        ..Answer::status(429, 10)
    };
    let server = Server::new(move |n| match n {
        6..12 => refused,
        _ => Answer::ok(300),
    });
    let client = below(RetryLayer::new(RetryPolicy::rate_limited()), &server);
    let mut calls = JoinSet::new();
    (0..6).for_each(|_| drop(calls.spawn(client.clone().oneshot(get()))));
    for response in calls.join_all().await {
        assert_eq!(response.unwrap().status(), 200);
    }
    assert_eq!(server.count(), 12);
    // Closed but for a single probe, which is not hedged.
    drop(timeout(Duration::from_secs(5), client.oneshot(get())).await);
    assert!(server.count() <= 13, "{}", server.count());
}

/// A quota allows as many requests in flight as are left of it, so a place that is not given back would block the next.
#[tokio::test(start_paused = true)]
async fn each_copy_gives_its_place_at_the_gate_back() {
    let left = |millis, left| Answer {
        left: Some(left),
        ..Answer::ok(millis)
    };
    for answers in [[left(200, 1), left(10, 1)], [left(60, 1), left(200, 1)]] {
        let server = Server::script(&[answers[0], answers[1], left(10, 1)]);
        let client = below(RetryLayer::new(RetryPolicy::rate_limited()), &server);
        client.clone().oneshot(get()).await.unwrap();
        assert_eq!(server.count(), 2);
        let next = timeout(Duration::from_secs(1), client.oneshot(get())).await;
        assert!(next.is_ok(), "waits for the next minute");
    }
}

#[tokio::test(start_paused = true)]
async fn the_gate_of_a_lonely_layer_hears_of_refusals_too() {
    let gate = Gate::new();
    let server = Server::script(&[Answer {
        retry_after: Some(30),
        ..Answer::status(429, 60)
    }]);
    let layer = HedgeLayer::alone(hedge(), RetryPolicy::rate_limited(), TokioRuntime);
    let client = layer.unwrap().gate(gate).layer(server.clone());
    for _ in 0..8 {
        drop(client.clone().oneshot(get()).await);
    }
    // Both copies of each call are refused until the gate is no longer idle; then first copies only.
    assert!(server.count() < 16, "{}", server.count());
}

#[tokio::test(start_paused = true)]
async fn an_attempt_timeout_bounds_the_copies_of_each_attempt() {
    let policy = RetryPolicy::background().to_builder();
    let policy = policy
        .attempt_timeout(Duration::from_millis(100))
        .max_retries(1);
    let server = Server::script(&[Answer::ok(10_000)]);
    let client = below(RetryLayer::new(policy.build().unwrap()), &server);
    assert!(client.oneshot(get()).await.is_err());
    assert_eq!(server.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_sends_nothing_more() {
    for (millis, requests) in [(49, 1), (70, 2), (100, 2)] {
        let server = Server::script(&[Answer::ok(10_000)]);
        let budget = purse(10);
        let client = below(
            RetryLayer::new(RetryPolicy::background()).budget(budget.clone()),
            &server,
        );
        let call = client.oneshot(get());
        assert!(timeout(Duration::from_millis(millis), call).await.is_err());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(server.count(), requests, "{millis}");
        let paid = u64::try_from(requests).unwrap() - 1;
        assert_eq!(budget.available(Duration::MAX), 10 - paid);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hedge_that_waits_is_not_sent_after_a_failure() {
    for status in [503, 429, 200] {
        let server = Server::script(&[Answer::status(status, 200), Answer::ok(10)]);
        let one = tower::limit::ConcurrencyLimit::new(server.clone(), 1);
        let budget = purse(10);
        let client = HedgeLayer::new(hedge()).unwrap().layer(one);
        let layer = RetryLayer::new(RetryPolicy::never()).budget(budget.clone());
        let response = layer.layer(client).oneshot(get()).await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!((server.count(), budget.tokens()), (1, Some(10.into())));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_never_ready_for_a_hedge_costs_no_token() {
    // One request at a time, so that the hedge never gets its turn.
    let server = Server::script(&[Answer::ok(200)]);
    let one = tower::limit::ConcurrencyLimit::new(server.clone(), 1);
    let budget = purse(10);
    let client = HedgeLayer::new(hedge()).unwrap().layer(one);
    let client = RetryLayer::new(RetryPolicy::background())
        .budget(budget.clone())
        .layer(client);
    client.oneshot(get()).await.unwrap();
    assert_eq!((server.count(), budget.tokens()), (1, Some(10.into())));
}

/// A client that can send one request only.
#[derive(Clone)]
struct Once {
    server: Server,
    is_used: bool,
}

impl Service<Request<Full<Bytes>>> for Once {
    type Response = <Server as Service<Request<Full<Bytes>>>>::Response;
    type Error = io::Error;
    type Future = <Server as Service<Request<Full<Bytes>>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = || Err(io::ErrorKind::NotConnected.into());
        Poll::Ready(if self.is_used { closed() } else { Ok(()) })
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        self.is_used = true;
        self.server.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_cannot_send_a_hedge_costs_no_token() {
    for answer in [Answer::ok(200), Answer::status(503, 200)] {
        let server = Server::script(&[answer]);
        let once = Once {
            server: server.clone(),
            is_used: false,
        };
        let budget = purse(10);
        let client = HedgeLayer::new(hedge()).unwrap().layer(once);
        let layer = RetryLayer::new(RetryPolicy::never()).budget(budget.clone());
        let response = layer.layer(client).oneshot(get()).await.unwrap();
        assert_eq!(response.status().as_u16(), answer.status.unwrap());
        assert_eq!((server.count(), budget.tokens()), (1, Some(10.into())));
    }
}
