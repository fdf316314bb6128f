//! What a call takes while its attempt runs, besides what its client takes.

use crate::waiting::{CALLS, begin, heap_of_each, paused};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::Full;
use http_retry::RetryPolicy;
use http_retry::llm::LlmPreset;
use http_retry::report::RetryEvent;
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use std::convert::Infallible;
use std::future::{Future, pending};
use tower::{Layer, Service, service_fn};

const URL: &str = "https://api.example/v1/chat/completions";

type Request = http::Request<Full<Bytes>>;
type Answer = Result<http::Response<Full<Bytes>>, Infallible>;

/// Six, made at run time, as those of a program are.
fn headers() -> HeaderMap {
    let pairs = [
        ("accept", "application/json"),
        ("authorization", "Bearer 8f14e45fceea167a5a36dedd4bea2543"),
        ("content-type", "application/json"),
        ("idempotency-key", "c9f0f895fb98ab91"),
        ("user-agent", "orders/1.4"),
        ("x-request-id", "45c48cce2e2d7fbd"),
    ];
    let pairs = pairs.map(|(name, value)| {
        let value = HeaderValue::from_str(value).unwrap();
        (HeaderName::from_static(name), value)
    });
    HeaderMap::from_iter(pairs)
}

fn body() -> Bytes {
    Bytes::from(vec![b'x'; 1024])
}

fn request() -> Request {
    let mut request = http::Request::post(URL).body(Full::new(body())).unwrap();
    *request.headers_mut() = headers();
    request
}

/// Answers nothing, and holds each request.
fn server() -> impl Service<
    Request,
    Response = http::Response<Full<Bytes>>,
    Error = Infallible,
    Future = impl Future<Output = Answer> + Send,
> + Clone
+ Send {
    service_fn(|request: Request| async move {
        let _held = request;
        pending().await
    })
}

/// The bytes of each call that is under way through this layer, beyond those of a call without it.
async fn each_through(layer: RetryLayer) -> u64 {
    let bare = size_of_val(&server().call(request()));
    let mut service = layer.layer(server());
    let mut first = Box::pin(service.call(request()));
    begin(first.as_mut()).await;
    // A request is the caller's, and is there already.
    let mut requests: Vec<_> = (0..CALLS).map(|_| request()).collect();
    let mut calls = Vec::with_capacity(CALLS);
    let next = || service.call(requests.pop().unwrap());
    let heap = heap_of_each(&mut calls, next).await;
    heap + (size_of_val(&*calls[0]) - bare) as u64
}

#[test]
fn ten_thousand_calls_in_flight_take_600_bytes_each() {
    let layer = RetryLayer::new(RetryPolicy::llm());
    let each = paused().block_on(each_through(layer));
    assert!(each <= 600, "{each}");
}

#[test]
fn a_call_that_is_observed_takes_1000_bytes() {
    let observed = RetryLayer::new(RetryPolicy::llm()).observe(|_: &RetryEvent<'_>| ());
    let each = paused().block_on(each_through(observed));
    assert!(each <= 1_000, "{each}");
}

/// Holds each request in the place of the client.
struct Silent;

#[async_trait::async_trait]
impl Middleware for Silent {
    async fn handle(
        &self,
        request: reqwest::Request,
        _: &mut http::Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let _held = request;
        pending().await
    }
}

async fn each_of_reqwest(client: ClientWithMiddleware) -> u64 {
    let request = || {
        let mut request = reqwest::Request::new(Method::POST, URL.parse().unwrap());
        *request.headers_mut() = headers();
        *request.body_mut() = Some(body().into());
        request
    };
    let mut first = Box::pin(client.execute(request()));
    begin(first.as_mut()).await;
    let mut requests: Vec<_> = (0..CALLS).map(|_| request()).collect();
    let mut calls = Vec::with_capacity(CALLS);
    let next = || client.execute(requests.pop().unwrap());
    heap_of_each(&mut calls, next).await
}

async fn each_beyond_reqwest(retries: RetryMiddleware) -> u64 {
    let client = || ClientBuilder::new(reqwest::Client::new());
    let bare = each_of_reqwest(client().with(Silent).build()).await;
    let layered = client().with(retries).with(Silent).build();
    each_of_reqwest(layered).await - bare
}

#[test]
fn ten_thousand_calls_in_flight_on_reqwest_take_1330_bytes() {
    let retries = RetryMiddleware::new(RetryPolicy::llm());
    let each = paused().block_on(each_beyond_reqwest(retries));
    assert!(each <= 1_330, "{each}");
}

#[test]
fn a_call_on_reqwest_that_is_watched_takes_four_kib() {
    let watched = RetryMiddleware::new(RetryPolicy::llm()).observe(|_: &RetryEvent<'_>| ());
    let each = paused().block_on(each_beyond_reqwest(watched));
    assert!(each <= 4_096, "{each}");
}
