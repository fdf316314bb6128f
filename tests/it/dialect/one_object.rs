//! A limit of one object holds back its own calls alone, whatever the client.

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use http::{Extensions, HeaderValue, Response, StatusCode};
use http_retry::dialect::Dialect;
use http_retry::tower::RetryLayer;
use http_retry::{RetryMiddleware, RetryPolicy};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use std::convert::Infallible;
use std::future::ready;
use std::time::Duration;
use tower::util::BoxCloneService;
use tower::{Layer, ServiceExt, service_fn};

const REASON: &str = "stripe-rate-limited-reason";
const OBJECT: &str = "/v1/payment_intents/pi_1";

fn policy() -> RetryPolicy {
    let policy = RetryPolicy::background().to_builder();
    policy.dialect(Dialect::stripe()).build().unwrap()
}

/// A server that refuses all calls to one object for this reason, and accepts all others.
fn response(path: &str, reason: &'static str) -> Response<String> {
    let mut response = Response::new("{}".to_owned());
    if path == OBJECT {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        let reason = HeaderValue::from_static(reason);
        response.headers_mut().insert(REASON, reason);
    }
    response
}

type Call = Box<dyn Fn(String) -> BoxFuture<'static, StatusCode>>;

fn by_tower(reason: &'static str) -> Call {
    let server = service_fn(move |request: http::Request<String>| {
        ready(Ok::<_, Infallible>(response(request.uri().path(), reason)))
    });
    let client = BoxCloneService::new(RetryLayer::new(policy()).layer(server));
    Box::new(move |path| {
        let request = http::Request::get(format!("http://api.example{path}"));
        let call = client.clone().oneshot(request.body(String::new()).unwrap());
        async { call.await.unwrap().status() }.boxed()
    })
}

struct Server(&'static str);

#[async_trait]
impl Middleware for Server {
    async fn handle(
        &self,
        request: reqwest::Request,
        _: &mut Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        Ok(response(request.url().path(), self.0).into())
    }
}

fn by_reqwest(reason: &'static str) -> Call {
    let client: ClientWithMiddleware = ClientBuilder::new(reqwest::Client::new())
        .with(RetryMiddleware::new(policy()))
        .with(Server(reason))
        .build();
    Box::new(move |path| {
        let call = client.get(format!("http://api.example{path}")).send();
        async { call.await.unwrap().status() }.boxed()
    })
}

/// Returns how many of 40 calls to other objects pass at once while five calls to one object are refused again and
/// again.
async fn passed_at_once(call: Call) -> usize {
    // A call that has ended stays pending.
    let object = || call(OBJECT.to_owned()).fuse();
    let mut refused: Vec<_> = (0..5).map(|_| object()).collect();
    for _ in 0..6 {
        let all = join_all(refused.iter_mut());
        let _ = tokio::time::timeout(Duration::from_millis(500), all).await;
    }
    let others = (0..40).map(|number| call(format!("/v1/customers/{number}")));
    let passed = others.filter_map(FutureExt::now_or_never);
    passed.filter(|status| *status == StatusCode::OK).count()
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_one_object_stops_no_call_to_another() {
    for call in [by_tower, by_reqwest] {
        assert_eq!(passed_at_once(call("resource-specific")).await, 40);
        assert_eq!(passed_at_once(call("endpoint-rate")).await, 40);
    }
}
