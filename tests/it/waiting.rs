//! What calls take that wait at a gate, and what hosts leave behind there.

use allocation_counter::measure;
use http::{Response, StatusCode};
use http_retry::RetryPolicy;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::Script;
use http_retry::tower::RetryLayer;
use reqwest_middleware::ClientBuilder;
use std::convert::Infallible;
use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use tokio::runtime::Runtime;
use tower::{Layer, Service, ServiceExt, service_fn};

pub(crate) const CALLS: usize = 10_000;
const URL: &str = "http://api.example/orders";

type Request = http::Request<String>;
type Answer = Result<Response<String>, Infallible>;

pub(crate) fn paused() -> Runtime {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap()
}

fn get(url: &str) -> Request {
    http::Request::get(url).body(String::new()).unwrap()
}

fn answer(status: StatusCode, header: (&str, &str)) -> Answer {
    let answer = Response::builder()
        .status(status)
        .header(header.0, header.1);
    Ok(answer.body(String::new()).unwrap())
}

fn refused(wish: (&str, &str)) -> Answer {
    answer(StatusCode::TOO_MANY_REQUESTS, wish)
}

/// Polls a call once, which cannot end now.
pub(crate) async fn begin(call: Pin<&mut impl Future>) {
    let mut call = call;
    let pending = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_pending()));
    assert!(pending.await);
}

/// The bytes that each of these calls takes on the heap while it waits, besides its own future.
pub(crate) async fn heap_of_each<C: Future>(
    calls: &mut Vec<Pin<Box<C>>>,
    mut call: impl FnMut() -> C,
) -> u64 {
    let futures = CALLS * size_of::<C>();
    let waiting = poll_fn(|cx| {
        let taken = measure(|| {
            for _ in 0..CALLS {
                let mut call = Box::pin(call());
                assert!(call.as_mut().poll(cx).is_pending());
                calls.push(call);
            }
        });
        Poll::Ready(taken.bytes_current)
    });
    let bytes = usize::try_from(waiting.await).unwrap();
    ((bytes - futures) / CALLS) as u64
}

#[test]
fn ten_thousand_calls_that_wait_at_one_gate_take_two_kib_each() {
    paused().block_on(async {
        let server = service_fn(|_: Request| ready(refused(("retry-after", "60"))));
        let mut bare = server;
        let bare = size_of_val(&bare.call(get(URL)));
        let mut service = RetryLayer::new(RetryPolicy::background()).layer(server);
        let mut first = Box::pin(service.call(get(URL)));
        begin(first.as_mut()).await;
        // A request is the caller's, and is there already.
        let mut requests: Vec<_> = (0..CALLS).map(|_| get(URL)).collect();
        let mut calls = Vec::with_capacity(CALLS);
        let next = || service.call(requests.pop().unwrap());
        let heap = heap_of_each(&mut calls, next).await;
        let future = size_of_val(&*calls[0]) as u64;
        let each = heap + future - (bare + size_of::<Request>()) as u64;
        assert!(
            each <= 2_048,
            "{each}: {heap} and {future}, of a future of {bare}"
        );
    });
}

#[test]
fn ten_thousand_calls_that_wait_on_reqwest_take_2800_bytes_each() {
    paused().block_on(async {
        let refusing = Script::new().status(429).header("retry-after", "60");
        let client = ClientBuilder::new(reqwest::Client::new());
        let retries = RetryMiddleware::new(RetryPolicy::background());
        let client = client.with(retries).with(refusing).build();
        let request = || reqwest::Request::new(reqwest::Method::GET, URL.parse().unwrap());
        let mut first = Box::pin(client.execute(request()));
        begin(first.as_mut()).await;
        let mut requests: Vec<_> = (0..CALLS).map(|_| request()).collect();
        let mut calls = Vec::with_capacity(CALLS);
        // The future of the client itself is there without retries too.
        let next = || client.execute(requests.pop().unwrap());
        let each = heap_of_each(&mut calls, next).await;
        assert!(each <= 2_800, "{each}");
    });
}

#[test]
fn a_hundred_thousand_hosts_leave_no_more_than_a_thousand() {
    let attempts = Arc::new(AtomicU64::new(0));
    // Each call is refused once.
    let server = service_fn(move |_: Request| {
        let refuses = attempts.fetch_add(1, Ordering::Relaxed) % 2 == 0;
        ready(if refuses {
            refused(("retry-after-ms", "1"))
        } else {
            answer(StatusCode::OK, ("x-request-id", "7"))
        })
    });
    let service = RetryLayer::new(RetryPolicy::background()).layer(server);
    let runtime = paused();
    let call_hosts = |hosts: std::ops::Range<u32>| {
        let calls = async {
            for host in hosts {
                let request = get(&format!("http://host{host}.example/"));
                let answer = service.clone().oneshot(request).await.unwrap();
                assert_eq!(answer.status(), StatusCode::OK);
            }
        };
        measure(|| runtime.block_on(calls)).bytes_current
    };
    let first = call_hosts(0..20_000);
    let others = call_hosts(20_000..100_000);
    assert!(first <= 1_000 * 2_048, "{first}");
    // A few places may still have been free.
    assert!(others <= 64 * 1_024, "{others} more");
}
