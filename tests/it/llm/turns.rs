//! Whose turn it is: last attempts, other services, permits, and pauses that nobody would sit out.

#![expect(
    clippy::disallowed_methods,
    reason = "its servers and its callers live on tokio's paused clock"
)]

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::config::{Document, RetryConfig};
use http_retry::llm::LlmPreset;
use http_retry::tower::RetryLayer;
use http_retry::{RetryPolicy, RetryReport, StopReason};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tower::limit::ConcurrencyLimit;
use tower::{Layer, Service, ServiceExt};

/// A status and its headers.
type Said = (u16, &'static [(&'static str, &'static str)]);

/// Says one thing after the other, at last 200, and keeps who was asked and when.
#[derive(Debug, Clone)]
struct Server {
    start: Instant,
    script: Arc<Mutex<VecDeque<Said>>>,
    asked: Arc<Mutex<Vec<(String, Duration)>>>,
}

impl Server {
    fn new(script: impl IntoIterator<Item = Said>) -> Self {
        Self {
            start: Instant::now(),
            script: Arc::new(Mutex::new(script.into_iter().collect())),
            asked: Arc::default(),
        }
    }

    /// The hosts that were asked, and in which second.
    fn asked(&self) -> Vec<(String, u64)> {
        let asked = self.asked.lock().unwrap();
        let asked = asked.iter().map(|(host, at)| (host.clone(), at.as_secs()));
        asked.collect()
    }
}

impl Service<Request<String>> for Server {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let host = request.uri().host().unwrap_or_default().to_owned();
        self.asked
            .lock()
            .unwrap()
            .push((host, self.start.elapsed()));
        let (status, headers) = self
            .script
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or((200, &[]));
        Box::pin(async move {
            sleep(Duration::from_millis(10)).await;
            let mut answer = Response::builder().status(status);
            for (name, value) in headers {
                answer = answer.header(*name, *value);
            }
            Ok(answer.body(Full::default()).unwrap())
        })
    }
}

const ASKS_FOR_5_S: Said = (429, &[("retry-after", "5")]);
const ASKS_FOR_60_S: Said = (429, &[("retry-after", "60")]);

fn call(host: &str) -> Request<String> {
    let request = Request::post(format!("http://{host}/v1"));
    request.body("{}".to_owned()).unwrap()
}

fn layer(document: Value) -> RetryLayer {
    let document: Document = serde_json::from_value(document).unwrap();
    RetryLayer::from_config(&RetryConfig::load(&document).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_the_last_retry_waits_at_the_gate_too() {
    let server = Server::new([(503, &[][..]), (503, &[]), ASKS_FOR_5_S]);
    let client = RetryLayer::new(RetryPolicy::llm()).layer(server.clone());
    let answer = client.oneshot(call("a")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let report = answer.extensions().get::<RetryReport>().unwrap();
    assert_eq!(report.stop, StopReason::Succeeded);
    assert_eq!(server.asked().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn another_service_is_asked_at_once_and_its_gate_is_another() {
    let layer = layer(json!({
        "version": 1,
        "services": {
            "first": {
                "match": {"host": "a"}, "gate": "on",
                "retry": {"methods": "all"},
                "rules": [{"when": {"status": 429}, "failover": "second"}],
            },
            "second": {"base_url": "http://b", "gate": "on", "retry": {"methods": "all"}},
        },
    }));
    let server = Server::new([ASKS_FOR_60_S, ASKS_FOR_5_S]);
    let client = layer.layer(server.clone());
    let answer = client.clone().oneshot(call("a")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let asked = server.asked();
    let hosts: Vec<_> = asked.iter().map(|(host, _)| host.as_str()).collect();
    assert_eq!(hosts, ["a", "b", "b"]);
    assert_eq!(asked[1].1, 0, "{asked:?}");
    assert!((5..=6).contains(&asked[2].1), "{asked:?}");
    // One refusal closes no gate.
    client.oneshot(call("a")).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked[3].0, "a");
    // In the next second if the last one was over just then.
    assert!(asked[3].1 - asked[2].1 <= 1, "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_with_a_gated_preset_waits_without_a_gate() {
    let layer = layer(json!({
        "version": 1,
        "gate": "off",
        "rules": [{"when": {"status": 429}, "retry": {"use": "rate_limited"}}],
    }));
    let server = Server::new([ASKS_FOR_5_S, ASKS_FOR_5_S]);
    layer
        .layer(server.clone())
        .oneshot(call("a"))
        .await
        .unwrap();
    let asked = server.asked();
    assert!(
        (5..=6).contains(&asked[1].1) && (10..=12).contains(&asked[2].1),
        "{asked:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_nobody_would_sit_out_closes_no_gate() {
    let spent_for_a_day: Said = (
        200,
        &[
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "24h"),
        ],
    );
    let spent_for_5_s: Said = (
        200,
        &[
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "5s"),
        ],
    );
    let server = Server::new([spent_for_a_day, spent_for_5_s]);
    let client = RetryLayer::new(RetryPolicy::llm()).layer(server.clone());
    for _ in 0..3 {
        client.clone().oneshot(call("a")).await.unwrap();
    }
    let seconds: Vec<_> = server.asked().iter().map(|(_, second)| *second).collect();
    assert_eq!(seconds[..2], [0, 0]);
    assert!((5..=6).contains(&seconds[2]), "{seconds:?}");
}

#[tokio::test(start_paused = true)]
async fn nobody_who_waits_at_the_gate_holds_a_place_of_the_client() {
    let server = Server::new([ASKS_FOR_60_S; 6]);
    let inner = ConcurrencyLimit::new(server.clone(), 1);
    let client = RetryLayer::new(RetryPolicy::llm()).layer(inner.clone());
    // Four close the gate, two go as probes, and two wait there.
    let mut calls = Vec::new();
    for _ in 0..8 {
        calls.push(tokio::spawn(client.clone().oneshot(call("a"))));
        sleep(Duration::from_secs(1)).await;
    }
    let by_another_way = timeout(Duration::from_secs(1), inner.oneshot(call("b"))).await;
    assert_eq!(by_another_way.unwrap().unwrap().status(), StatusCode::OK);
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().status(), StatusCode::OK);
    }
    let hosts: Vec<_> = server.asked().into_iter().map(|(host, _)| host).collect();
    assert_eq!(hosts.iter().position(|host| host == "b"), Some(6));
    assert_eq!(hosts.len(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_quota_whose_reset_is_too_far_closes_no_gate() {
    const fn left(left: &'static str) -> [(&'static str, &'static str); 2] {
        [
            ("x-ratelimit-remaining-requests", left),
            ("x-ratelimit-reset-requests", "24h"),
        ]
    }
    const TWO: &[(&str, &str)] = &left("2");
    const ONE: &[(&str, &str)] = &left("1");
    const NONE: &[(&str, &str)] = &left("0");
    let tomorrow: Said = (429, &[("retry-after", "86400")]);
    let server = Server::new([(200, TWO), (200, ONE), (200, NONE), tomorrow, tomorrow]);
    let client = RetryLayer::new(RetryPolicy::llm()).layer(server.clone());
    for status in [200, 200, 200, 429, 429] {
        let answer = client.clone().oneshot(call("a")).await.unwrap();
        assert_eq!(answer.status(), status);
    }
    assert!(server.asked().iter().all(|(_, second)| *second == 0));
}

#[tokio::test(start_paused = true)]
async fn newcomers_behind_a_client_limit_wait_for_their_turn() {
    let server = Server::new([ASKS_FOR_5_S; 6]);
    let inner = ConcurrencyLimit::new(server.clone(), 2);
    let client = RetryLayer::new(RetryPolicy::llm()).layer(inner);
    let calls = (0..50).map(|_| tokio::spawn(client.clone().oneshot(call("a"))));
    for call in join_all(calls).await {
        assert_eq!(call.unwrap().unwrap().status(), StatusCode::OK);
    }
    let before = server
        .asked()
        .iter()
        .filter(|(_, second)| *second < 5)
        .count();
    assert!(before <= 6, "{before} were sent before the pause was over");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_heard_makes_nobody_wait_at_the_gate() {
    let layer = layer(json!({"version": 1, "retry": {"use": "llm", "retry_after": "ignore"}}));
    let server = Server::new([ASKS_FOR_60_S]);
    layer
        .layer(server.clone())
        .oneshot(call("a"))
        .await
        .unwrap();
    assert!(server.asked()[1].1 <= 1);
}
