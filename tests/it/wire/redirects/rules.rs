//! A redirected request that a rule retries by a policy of its own: whether it may be sent twice is that policy's to say,
//! and what the redirect hides nobody's.

use super::super::server::{Act, Answer, FaultServer};
use super::client::{ADAPTERS, Adapter, Log, State, listener, order, plain};
use crate::in_time::in_time;
use http::Method;
use http_retry::StopReason;
use http_retry::config::RetryConfig;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use reqwest_middleware::ClientBuilder;
use serde_json::{Value, json};
use tower::{Layer, ServiceExt};

/// A document in which a rule, or what holds where no rule does, retries by a policy of its own.
fn documents(around: &str, own: &str) -> [Value; 2] {
    let base = json!({"version": 1, "retry": {"max_retries": 3, "base": "1ms", "methods": around}});
    let own = json!({"retry": {"methods": own}});
    let (mut ruled, mut otherwise) = (base.clone(), base);
    ruled["rules"] = json!([{"when": 429, "retry": own["retry"]}]);
    otherwise["otherwise"] = own;
    [ruled, otherwise]
}

/// Sends a POST, and gives why there was no further attempt and how many requests came to the server.
async fn sent(
    (adapter, state): (Adapter, State),
    document: &Value,
    (path, acts): (&str, Vec<Act>),
) -> (StopReason, usize) {
    let config: RetryConfig = serde_json::from_value(document.clone()).unwrap();
    let server = FaultServer::start(acts).await;
    let request = order(Method::POST, &server.url(path));
    let log = Log::default();
    let answer = async {
        match adapter {
            Adapter::Middleware => {
                let retries = RetryMiddleware::from_config(&config).runtime(ManualRuntime::new());
                let retries = match state {
                    State::Off => retries.redirects_off(),
                    State::Watched => retries.redirects_watched(),
                    State::Unknown => retries,
                };
                let retries = retries.observe(listener(&log));
                let client = ClientBuilder::new(plain(state)).with(retries).build();
                client.execute(request).await.map(drop).ok()
            }
            Adapter::Layer => {
                let retries = RetryLayer::from_config(&config).runtime(ManualRuntime::new());
                let retries = match state {
                    State::Off => retries.redirects_off(),
                    State::Watched => retries.redirects_watched(),
                    State::Unknown => retries,
                };
                let service = retries.observe(listener(&log)).layer(plain(state));
                service.oneshot(request).await.map(drop).ok()
            }
        }
    };
    assert!(in_time(answer).await.is_some());
    let report = log.lock().unwrap().take().unwrap();
    (report.stop, server.received().len())
}

/// An order that is redirected back to its own URL, where a busy page answers the first time.
fn redirected_to_a_busy_page() -> Vec<Act> {
    let away = Act::Answer(Answer::new(303).header("location", "/ruled"));
    vec![away, Act::status(429)]
}

#[tokio::test]
async fn a_redirected_post_is_sent_once_by_an_idempotent_rule() {
    for document in documents("all", "idempotent") {
        for (state, stop) in [
            (State::Watched, StopReason::NotIdempotent),
            (State::Unknown, StopReason::RedirectsUnknown),
        ] {
            for adapter in ADAPTERS {
                let acts = ("/ruled", redirected_to_a_busy_page());
                let seen = sent((adapter, state), &document, acts).await;
                assert_eq!(seen, (stop, 2), "{adapter:?} {state:?} {document}");
            }
        }
    }
}

#[tokio::test]
async fn a_redirected_post_is_repeated_where_twice_is_fine() {
    for document in documents("idempotent", "all") {
        for state in [State::Watched, State::Unknown] {
            for adapter in ADAPTERS {
                let acts = ("/ruled", redirected_to_a_busy_page());
                let seen = sent((adapter, state), &document, acts).await;
                let again = (StopReason::Succeeded, 3);
                assert_eq!(seen, again, "{adapter:?} {state:?} {document}");
            }
        }
    }
}

#[tokio::test]
async fn a_post_known_not_redirected_is_repeated_by_a_rule() {
    for document in documents("all", "idempotent") {
        for (state, wanted) in [
            (State::Off, (StopReason::Succeeded, 2)),
            (State::Watched, (StopReason::Succeeded, 2)),
            (State::Unknown, (StopReason::RedirectsUnknown, 1)),
        ] {
            for adapter in ADAPTERS {
                let acts = ("/unruled", vec![Act::status(429)]);
                let seen = sent((adapter, state), &document, acts).await;
                assert_eq!(seen, wanted, "{adapter:?} {state:?} {document}");
            }
        }
    }
}
