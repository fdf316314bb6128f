//! What a request that succeeds at once does not cost: no copy that nobody needs, no allocation for a report that
//! nobody sees, and a small future.

use allocation_counter::measure;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Extensions, HeaderValue, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryOverride, RetryPolicy, RetryReport, StopReason};
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, Service, ServiceExt, service_fn};

/// A body that counts its copies.
#[derive(Default)]
struct Counted(Arc<AtomicUsize>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl Body for Counted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}

type Request = http::Request<Counted>;
type Response = http::Response<String>;

/// A client that gives this answer to everything.
fn client(
    status: StatusCode,
) -> impl Service<
    Request,
    Response = Response,
    Error = Infallible,
    Future = impl Future<Output = Result<Response, Infallible>> + Send,
> + Clone
+ Send {
    service_fn(move |request: Request| async move {
        drop(request);
        let mut response = Response::default();
        *response.status_mut() = status;
        Ok(response)
    })
}

fn layer() -> RetryLayer {
    RetryLayer::new(RetryPolicy::background())
}

fn request() -> Request {
    let request = http::Request::get("http://api.example/orders");
    let request = request.header("x-request-id", "7".repeat(16));
    request.body(Counted::default()).unwrap()
}

fn with(own: RetryOverride) -> Request {
    let mut request = request();
    request.extensions_mut().insert(own);
    request
}

/// How often a request is copied on its way, and what the answer's report says of its end.
fn copies<S, B>(service: S, request: Request) -> (usize, Option<StopReason>)
where
    S: Service<Request, Response = http::Response<B>, Error: std::fmt::Debug>,
{
    let copies = Arc::clone(&request.body().0);
    let response = service.oneshot(request).now_or_never().unwrap().unwrap();
    let report = response.extensions().get::<RetryReport>();
    (copies.load(Relaxed), report.map(|report| report.stop))
}

#[test]
fn a_request_is_copied_once_and_only_where_a_retry_can_follow() {
    let ok = StatusCode::OK;
    assert_eq!(copies(layer().layer(client(ok)), request()), (1, None));
    let nested = layer().layer(layer().layer(client(ok)));
    assert_eq!(copies(nested, request()), (1, None));
    let never = RetryLayer::new(RetryPolicy::never()).layer(client(ok));
    assert_eq!(copies(never, request()), (0, None));
    for own in [RetryOverride::off(), RetryOverride::new().max_retries(0)] {
        assert_eq!(copies(layer().layer(client(ok)), with(own)), (0, None));
    }
}

#[test]
fn what_is_not_copied_still_has_its_report_when_it_fails() {
    let failing = || client(StatusCode::SERVICE_UNAVAILABLE);
    let never = RetryLayer::new(RetryPolicy::never()).layer(failing());
    let disabled = (0, Some(StopReason::Disabled));
    assert_eq!(copies(never, request()), disabled);
    let exhausted = (0, Some(StopReason::AttemptsExhausted));
    let limited = with(RetryOverride::new().max_retries(0));
    assert_eq!(copies(layer().layer(failing()), limited), exhausted);
    let off = with(RetryOverride::off());
    assert_eq!(copies(layer().layer(failing()), off), disabled);
}

#[test]
fn a_success_allocates_its_saved_request_and_its_headers() {
    let client = || client(StatusCode::OK);
    let bare = allocations(|| _ = copies(client(), request()));
    let layered = layer().layer(client());
    // The first call through a gate makes its table.
    copies(layered.clone(), request());
    let layered = allocations(|| _ = copies(layered, request()));
    assert_eq!(layered, bare + 2);
}

#[test]
fn an_answer_at_once_takes_no_timer() {
    let timed = RetryPolicy::background().to_builder();
    let timed = timed.attempt_timeout(Duration::from_secs(1));
    let timed = timed.deadline(Duration::from_secs(2)).build().unwrap();
    let timed = RetryLayer::new(timed).layer(client(StatusCode::OK));
    let untimed = layer().layer(client(StatusCode::OK));
    for service in [&timed, &untimed] {
        copies(service.clone(), request());
    }
    let untimed = allocations(|| _ = copies(untimed, request()));
    assert_eq!(allocations(|| _ = copies(timed, request())), untimed);
}

#[test]
fn a_copy_by_a_function_takes_no_more_than_one_by_clone() {
    let by_function = || layer().copy_body(|body: &Counted| Some(body.clone()));
    let ok = || client(StatusCode::OK);
    assert_eq!(copies(by_function().layer(ok()), request()), (1, None));
    let (cloning, copying) = (layer().layer(ok()), by_function().layer(ok()));
    let cloning = allocations(|| _ = copies(cloning, request()));
    let copying = allocations(|| _ = copies(copying, request()));
    assert_eq!(copying, cloning);
    let inner = size_of_val(&ok().call(request()));
    let outer = size_of_val(&by_function().layer(ok()).call(request()));
    assert!(outer <= inner + 256, "{outer}");
}

#[test]
fn on_reqwest_only_a_copy_allocates_more() {
    let none = Extensions::new;
    // A host's first call would make its budget.
    let budget = RetryBudget::default();
    let never = RetryMiddleware::new(RetryPolicy::never()).budget(budget.clone());
    let retries = || RetryMiddleware::new(RetryPolicy::background()).budget(budget.clone());
    let mut off = Extensions::new();
    off.insert(RetryOverride::off());

    let bare = sent(stack(), none());
    let copied = sent(stack().with(retries()), none());
    assert_eq!(sent(stack().with(never), none()), bare + 1);
    assert_eq!(
        sent(stack().with(retries()).with(retries()), none()),
        copied + 1
    );
    assert_eq!(sent(stack().with(retries()), off), bare + 1);
}

#[test]
fn on_reqwest_a_plain_request_takes_three_allocations_more() {
    let through = |retries: RetryMiddleware| {
        let sent = || sent(stack().with(retries.clone()), Extensions::new());
        // The first call through a gate makes its table.
        sent();
        sent()
    };
    let retries = || RetryMiddleware::new(RetryPolicy::background());
    let bare = sent(stack(), Extensions::new());
    assert_eq!(through(retries().plain_requests()), bare + 3);
    assert_eq!(through(retries()), bare + 6);
}

#[test]
fn the_future_adds_little_to_the_inner_one() {
    let (mut bare, mut layered) = (
        client(StatusCode::OK),
        layer().layer(client(StatusCode::OK)),
    );
    let inner = size_of_val(&bare.call(request()));
    let outer = size_of_val(&layered.call(request()));
    assert!(outer <= inner + 256, "{outer}");
}

fn allocations(work: impl FnOnce()) -> u64 {
    measure(work).count_total
}

fn stack() -> ClientBuilder {
    ClientBuilder::new(reqwest::Client::new())
}

/// The allocations of one success through a stack.
fn sent(stack: ClientBuilder, mut extensions: Extensions) -> u64 {
    let client = stack.with(Canned).build();
    let url = "http://api.example/orders".parse().unwrap();
    let mut request = reqwest::Request::new(reqwest::Method::GET, url);
    let id = HeaderValue::from_static("7");
    request.headers_mut().insert("x-request-id", id);
    allocations(|| {
        let sent = client.execute_with_extensions(request, &mut extensions);
        drop(sent.now_or_never().unwrap().unwrap());
    })
}

/// Answers in the place of the client.
struct Canned;

#[async_trait::async_trait]
impl Middleware for Canned {
    async fn handle(
        &self,
        _: reqwest::Request,
        _: &mut Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        Ok(http::Response::new("").into())
    }
}
