//! Calls whose deadline comes before their gate opens.

use futures_util::FutureExt;
use http::StatusCode;
use http_retry::reqwest::RetryMiddleware;
use http_retry::runtime::Runtime;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RateLimited, ReportSlot, RetryPolicy, StopReason};
use reqwest_middleware::ClientBuilder;
use std::time::Duration;
use tower::{BoxError, Layer, ServiceExt};

const URL: &str = "http://api.example/orders";
const DEADLINE: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(60);

/// Four refusals close the gate, and two probes meet the limit too.
const REFUSED: usize = 6;

fn policy() -> RetryPolicy {
    let policy = RetryPolicy::builder().deadline(DEADLINE);
    policy.build().unwrap()
}

/// A server that refuses more calls than are sent.
fn limited() -> Script {
    (0..REFUSED + 1).fold(Script::new(), |script, _| {
        script.status(429).header("retry-after", "60")
    })
}

fn get(slot: &ReportSlot) -> http::Request<String> {
    let mut request = http::Request::get(URL).body(String::new()).unwrap();
    request.extensions_mut().insert(slot.clone());
    request
}

/// Checks what the calls got: refusals, and then the error, at once.
fn check(ends: &[(Result<StatusCode, BoxError>, Duration)], slot: &ReportSlot) {
    let (last, refused) = ends.split_last().unwrap();
    assert_eq!(refused.len(), REFUSED);
    for (end, _) in refused {
        assert_eq!(end.as_ref().unwrap(), &StatusCode::TOO_MANY_REQUESTS);
    }
    let (end, took) = last;
    let error = end.as_ref().unwrap_err();
    let limited = RateLimited::of(&**error).unwrap();
    assert_eq!(&*limited.service, "api.example");
    let left = limited.retry_after;
    assert!(left > LIMIT - DEADLINE && left <= LIMIT, "{left:?}");
    assert_eq!(*took, Duration::ZERO);
    let report = slot.take().unwrap();
    assert_eq!(report.stop, StopReason::DeadlineExceeded);
    assert_eq!(report.attempt_count, 0);
}

#[test]
fn on_tower_a_call_that_cannot_pass_in_time_ends_at_once() {
    let (clock, slot) = (ManualRuntime::new(), ReportSlot::default());
    let layer = RetryLayer::new(policy()).runtime(clock.clone());
    let service = layer.layer(limited());
    let calls = (0..=REFUSED).map(|_| {
        let began = clock.now();
        let sent = service.clone().oneshot(get(&slot)).now_or_never().unwrap();
        let end = sent.map(|response| response.status());
        (end, clock.now() - began)
    });
    check(&calls.collect::<Vec<_>>(), &slot);
}

#[test]
fn on_reqwest_a_call_that_cannot_pass_in_time_ends_at_once() {
    let (clock, slot) = (ManualRuntime::new(), ReportSlot::default());
    let retries = RetryMiddleware::new(policy()).runtime(clock.clone());
    let client = ClientBuilder::new(reqwest::Client::new());
    let client = client.with(retries).with(limited()).build();
    let calls = (0..=REFUSED).map(|_| {
        let began = clock.now();
        let request = client.get(URL).with_extension(slot.clone());
        let sent = request.send().now_or_never().unwrap();
        let end = sent
            .map(|response| response.status())
            .map_err(BoxError::from);
        (end, clock.now() - began)
    });
    check(&calls.collect::<Vec<_>>(), &slot);
}

#[test]
fn without_an_error_to_return_a_call_is_sent_at_its_deadline() {
    let clock = ManualRuntime::new();
    let layer = RetryLayer::new(policy()).runtime(clock.clone());
    let service = layer.unchanged_errors().layer(limited());
    for _ in 0..REFUSED {
        let request = get(&ReportSlot::default());
        service
            .clone()
            .oneshot(request)
            .now_or_never()
            .unwrap()
            .unwrap();
    }
    let (began, slot) = (clock.now(), ReportSlot::default());
    let sent = service.oneshot(get(&slot)).now_or_never().unwrap();
    assert_eq!(sent.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(clock.now() - began, DEADLINE);
    assert_eq!(slot.take().unwrap().waited, DEADLINE);
}
