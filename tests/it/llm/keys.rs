//! Idempotency keys of requests that are cut: a key stands for the body that was sent with it.

use super::post;
use futures_util::FutureExt;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Request};
use http_retry::dialect::Dialect;
use http_retry::llm::LlmPreset;
use http_retry::llm::Truncation;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Methods, RetryPolicy};
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::sync::{Arc, Mutex};
use tower::{Layer, ServiceExt, service_fn};

const PROMPT: &str = r#"{"messages":[{"role":"user","content":"a long, long question"}]}"#;

/// Answers that the prompt is too long, then that something went wrong, then as it should.
fn api() -> Script {
    Script::new()
        .status(400)
        .body(r#"{"error":{"code":"context_length_exceeded"}}"#)
        .status(500)
        .status(200)
}

fn policy() -> RetryPolicy {
    let builder = RetryPolicy::llm().to_builder();
    let builder = builder.methods(Methods::Idempotent).max_gate_wait(None);
    builder.rewrite(Truncation::keep_head()).build().unwrap()
}

/// The keys of the attempts that were sent.
#[derive(Clone, Default)]
struct Keys(Arc<Mutex<Vec<Option<String>>>>);

impl Keys {
    fn note(&self, headers: &HeaderMap) {
        let key = headers.get("idempotency-key");
        let key = key.map(|key| key.to_str().unwrap().to_owned());
        self.0.lock().unwrap().push(key);
    }
}

#[async_trait::async_trait]
impl Middleware for Keys {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        self.note(request.headers());
        next.run(request, extensions).await
    }
}

fn by_layer(layer: &RetryLayer, key: Option<&'static str>) -> Vec<Option<String>> {
    let (keys, api) = (Keys::default(), api());
    let seen = keys.clone();
    let client = service_fn(move |request: Request<String>| {
        seen.note(request.headers());
        api.clone().oneshot(request)
    });
    let (mut request, _) = post(PROMPT.to_owned());
    if let Some(key) = key {
        let key = HeaderValue::from_static(key);
        request.headers_mut().insert("idempotency-key", key);
    }
    let ended = layer.layer(client).oneshot(request).now_or_never();
    ended.unwrap().unwrap();
    keys.0.lock().unwrap().clone()
}

fn by_middleware(retries: RetryMiddleware, key: Option<&'static str>) -> Vec<Option<String>> {
    let keys = Keys::default();
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(retries)
        .with(keys.clone())
        .with(api())
        .build();
    let mut request = client.post("http://api.example/v1/chat").body(PROMPT);
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    request.send().now_or_never().unwrap().unwrap();
    keys.0.lock().unwrap().clone()
}

#[test]
fn a_cut_request_without_its_key_is_not_sent_after_doubt() {
    let layer = RetryLayer::new(policy()).runtime(ManualRuntime::new());
    let retries = RetryMiddleware::new(policy()).runtime(ManualRuntime::new());
    let first_and_cut = [Some("mine".to_owned()), None];
    assert_eq!(by_layer(&layer, Some("mine")), first_and_cut);
    assert_eq!(by_middleware(retries, Some("mine")), first_and_cut);
}

#[test]
fn a_cut_request_gets_a_key_of_its_own_where_requests_get_keys() {
    let layer = RetryLayer::new(policy()).runtime(ManualRuntime::new());
    let layer = layer.idempotency_keys();
    for key in [None, Some("mine")] {
        let retries = RetryMiddleware::new(policy()).runtime(ManualRuntime::new());
        let retries = retries.idempotency_keys();
        for keys in [by_layer(&layer, key), by_middleware(retries, key)] {
            assert_eq!(keys.len(), 3, "{keys:?}");
            assert!(keys.iter().all(Option::is_some), "{keys:?}");
            assert!(keys[0] != keys[1] && keys[1] == keys[2], "{keys:?}");
        }
    }
}

#[test]
fn a_key_in_a_header_of_the_service_stands_for_one_body_too() {
    let own = || HeaderName::from_static("x-order-key");
    let builder = policy().to_builder();
    let policy = builder.dialect(Dialect::named("own").key_header(own()));
    let layer = RetryLayer::new(policy.build().unwrap()).runtime(ManualRuntime::new());
    for (layer, made) in [(layer.clone(), false), (layer.idempotency_keys(), true)] {
        let (keys, api) = (Keys::default(), api());
        let seen = keys.clone();
        let client = service_fn(move |request: Request<String>| {
            let key = request.headers().get(own());
            let key = key.map(|key| key.to_str().unwrap().to_owned());
            seen.0.lock().unwrap().push(key);
            assert!(!request.headers().contains_key("idempotency-key"));
            api.clone().oneshot(request)
        });
        let (mut request, _) = post(PROMPT.to_owned());
        let mine = HeaderValue::from_static("mine");
        request.headers_mut().insert(own(), mine);
        let ended = layer.layer(client).oneshot(request).now_or_never();
        ended.unwrap().unwrap();
        let keys = keys.0.lock().unwrap().clone();
        assert_eq!(keys[0].as_deref(), Some("mine"));
        if made {
            assert!(keys.len() == 3 && keys[1] != keys[0] && keys[1] == keys[2]);
        } else {
            assert_eq!(keys[1..], [None]);
        }
    }
}
