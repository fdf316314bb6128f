//! One successful call through each stack, without a network: this crate's, its peers', and the same without retries.
#![allow(dead_code, unused_imports, reason = "no benchmark needs every stack")]

mod reqwest_stacks;
mod tower_stacks;

pub(crate) use reqwest_stacks::{middleware, reqwest_retry};
pub(crate) use tower_stacks::{Request, Response, layer, request, tower_retry};

use bytes::Bytes;
use http::HeaderMap;
use http_retry::RetryPolicy;
use http_retry::dialect::Dialect;
use std::time::Duration;
use tower::{Layer, Service};
use tracing_subscriber::util::SubscriberInitExt;

/// Sends one request and drops its response.
pub(crate) type Call = Box<dyn FnMut()>;

const URL: &str = "http://127.0.0.1:8080/v2/orders?limit=50";

/// The call of this name: a stack, and what is on it.
pub(crate) fn call(name: &str) -> Option<Call> {
    let (stack, layers) = name.split_once('/')?;
    match stack {
        "tower" => tower_stacks::call(layers),
        "reqwest" => reqwest_stacks::call(layers),
        _ => None,
    }
}

/// 1 KiB.
pub(crate) fn body() -> Bytes {
    Bytes::from_static(&[b'x'; 1024])
}

/// Six, with values that were made at run time, as those of most programs are.
pub(crate) fn headers() -> HeaderMap {
    let pairs = [
        ("accept", "application/json"),
        ("authorization", "Bearer 8f14e45fceea167a5a36dedd4bea2543"),
        ("content-type", "application/json"),
        ("idempotency-key", "c9f0f895fb98ab91"),
        ("user-agent", "orders/1.4"),
        ("x-request-id", "45c48cce2e2d7fbd"),
    ];
    let pairs = pairs.map(|(name, value)| {
        let value = http::HeaderValue::from_str(value).unwrap();
        (http::HeaderName::from_static(name), value)
    });
    HeaderMap::from_iter(pairs)
}

fn response<B>(body: B) -> http::Response<B> {
    let response = http::Response::builder()
        .header("content-type", "application/json")
        .header("x-request-id", "45c48cce2e2d7fbd");
    response.body(body).unwrap()
}

/// Three retries, and no gate.
fn policy() -> RetryPolicy {
    let policy = gated().to_builder().max_gate_wait(None);
    policy.build().unwrap()
}

/// The same with a dialect that reads no success.
fn with_dialect() -> RetryPolicy {
    let policy = policy().to_builder().dialect(Dialect::stripe());
    policy.build().unwrap()
}

/// The same behind a gate that stays open.
fn gated() -> RetryPolicy {
    RetryPolicy::builder().max_retries(3).build().unwrap()
}

/// A fleet whose store nobody talks to. What a success costs does not depend on that.
#[cfg(feature = "redis")]
fn fleet() -> http_retry::fleet::Fleet {
    http_retry::fleet::Fleet::redis("redis://127.0.0.1:1").unwrap()
}

/// Its budget of one service, and a gate that it shares.
#[cfg(feature = "redis")]
fn shared() -> (http_retry::RetryBudget, http_retry::gate::Gate) {
    let fleet = fleet();
    let budget = fleet.budget("orders", http_retry::RetryBudget::builder());
    (
        budget.unwrap(),
        http_retry::gate::Gate::new().shared(&fleet),
    )
}

/// The same as [`policy`] with a limit to each attempt and to the whole request.
fn timed() -> RetryPolicy {
    let policy = policy().to_builder();
    let policy = policy.attempt_timeout(Duration::from_secs(10));
    policy.deadline(Duration::from_secs(30)).build().unwrap()
}

/// The same call where somebody listens to spans, and does nothing with them.
fn traced(call: Call) -> Call {
    tracing_subscriber::registry().init();
    call
}

/// The size of the future of a call to a bare tower service.
pub(crate) fn inner_future_size() -> usize {
    let mut service = tower_stacks::bare::<7>();
    size_of_val(&service.call(tower_stacks::request()))
}

/// The size of the future of a call through the retry layer.
pub(crate) fn future_size() -> usize {
    let mut service = tower_stacks::layer().layer(tower_stacks::bare::<7>());
    size_of_val(&service.call(tower_stacks::request()))
}
