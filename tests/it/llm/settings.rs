//! Idempotency keys and the number of the attempt, as the server sees them.

use super::post;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use http_body_util::Empty;
use http_retry::RetryPolicy;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
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
fn every_attempt_of_a_request_has_the_same_key_and_no_two_requests_do() {
    let layer = layer().idempotency_keys();
    let one = keys(&sent(&layer, post(String::new()).0));
    assert_eq!(one.len(), 3);
    assert!(one[0].is_some() && one.iter().all(|key| *key == one[0]));
    assert_eq!(one[0].as_ref().unwrap().len(), 36);
    let other = keys(&sent(&layer, post(String::new()).0));
    assert_ne!(one[0], other[0]);
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
