//! Idempotency keys and the number of the attempt, as the server sees them.

use super::post;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use http_body_util::Empty;
use http_retry::RetryPolicy;
use http_retry::policy::Moment;
use http_retry::reqwest::RetryMiddleware;
use http_retry::runtime::{Runtime, Sleep};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

/// The headers of each attempt of a request that fails with 500.
fn sent(layer: &RetryLayer, request: Request<String>) -> Vec<HeaderMap> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&seen);
    let client = service_fn(move |request: Request<String>| {
        all.lock().unwrap().push(request.headers().clone());
        let mut response = Response::new(Empty::<bytes::Bytes>::new());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        async { Ok::<_, Infallible>(response) }
    });
    let call = layer.layer(client).oneshot(request);
    assert!(call.now_or_never().is_some());
    let seen = seen.lock().unwrap();
    seen.clone()
}

fn layer() -> RetryLayer {
    let policy = RetryPolicy::builder().max_retries(2).build().unwrap();
    RetryLayer::new(policy).runtime(ManualRuntime::new())
}

fn keys(headers: &[HeaderMap]) -> Vec<Option<String>> {
    let key = |headers: &HeaderMap| {
        let key = headers.get("idempotency-key")?;
        Some(key.to_str().unwrap().to_owned())
    };
    headers.iter().map(key).collect()
}

#[test]
fn every_attempt_has_the_same_key_and_no_two_requests_do() {
    let layer = layer().idempotency_keys();
    let one = keys(&sent(&layer, post(String::new()).0));
    assert_eq!(one.len(), 3);
    assert!(one[0].is_some() && one.iter().all(|key| *key == one[0]));
    assert_eq!(one[0].as_ref().unwrap().len(), 36);
    let other = keys(&sent(&layer, post(String::new()).0));
    assert_ne!(one[0], other[0]);
}

/// A runtime of a user's own that gives one random number for ever.
#[derive(Clone)]
struct Constant;

impl Runtime for Constant {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn moment(&self) -> Moment {
        Moment::new(Duration::ZERO).with_random(7)
    }

    fn sleep(&self, _: Duration) -> Sleep {
        Box::pin(std::future::ready(()))
    }
}

/// Notes the key of each request that comes by.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

#[async_trait::async_trait]
impl Middleware for Notes {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut http::Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let key = request.headers()["idempotency-key"].to_str().unwrap();
        self.0.lock().unwrap().push(key.to_owned());
        next.run(request, extensions).await
    }
}

/// The keys of two requests, one through each stack, on this runtime.
fn keys_of_both_stacks<R: Runtime + Clone>(client: &reqwest::Client, runtime: &R) -> Vec<String> {
    let policy = RetryPolicy::never();
    let layer = RetryLayer::new(policy.clone()).runtime(runtime.clone());
    let sent = sent(&layer.idempotency_keys(), post(String::new()).0);
    let by_layer = keys(&sent).into_iter().flatten();
    let notes = Notes::default();
    let retries = RetryMiddleware::new(policy).runtime(runtime.clone());
    let client = ClientBuilder::new(client.clone())
        .with(retries.idempotency_keys())
        .with(notes.clone())
        .with(Script::new().status(200))
        .build();
    let call = client.post("http://api.example/").send();
    assert!(call.now_or_never().is_some());
    let by_middleware = notes.0.lock().unwrap().clone();
    by_layer.chain(by_middleware).collect()
}

#[test]
fn no_two_requests_have_one_key_whatever_the_randomness() {
    let client = reqwest::Client::new();
    let fixed = ManualRuntime::new().with_random(0);
    let shared = Arc::new(ManualRuntime::paused());
    let each = || ManualRuntime::new().seeded(7);
    for (name, keys) in [
        (
            "constant",
            thousand(|| keys_of_both_stacks(&client, &Constant)),
        ),
        ("fixed", thousand(|| keys_of_both_stacks(&client, &fixed))),
        ("shared", thousand(|| keys_of_both_stacks(&client, &shared))),
        ("each", thousand(|| keys_of_both_stacks(&client, &each()))),
    ] {
        let different: BTreeSet<_> = keys.iter().collect();
        assert_eq!((keys.len(), different.len()), (1_000, 1_000), "{name}");
    }
}

fn thousand(two: impl Fn() -> Vec<String>) -> Vec<String> {
    (0..500).flat_map(|_| two()).collect()
}

#[test]
fn a_key_of_the_callers_own_stays_and_a_get_needs_none() {
    let layer = layer().idempotency_keys();
    let (mut own, _) = post(String::new());
    own.headers_mut()
        .insert("idempotency-key", "mine".parse().unwrap());
    let own = keys(&sent(&layer, own));
    assert_eq!(own, vec![Some("mine".to_owned()); 3]);
    let (mut get, _) = post(String::new());
    *get.method_mut() = Method::GET;
    assert_eq!(keys(&sent(&layer, get)), [None, None, None]);
}

#[test]
fn without_the_setting_a_post_gets_no_key_and_is_sent_once() {
    assert_eq!(keys(&sent(&layer(), post(String::new()).0)), [None]);
}

#[test]
fn the_server_can_be_told_which_attempt_it_sees() {
    let name = HeaderName::from_static("x-attempt");
    let layer = layer().attempt_header(name).idempotency_keys();
    let sent = sent(&layer, post(String::new()).0);
    let numbers: Vec<_> = sent
        .iter()
        .map(|headers| headers["x-attempt"].clone())
        .collect();
    assert_eq!(numbers, ["1", "2", "3"]);
}
