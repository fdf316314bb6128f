//! Requests with more headers than a header map takes, or nearly so: nothing panics, and nothing is sent that is not what
//! was asked for.

use super::client::{Client, STACKS, get, post, send, statuses};
use super::config;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderName, Request};
use http_retry::config::RetryConfig;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{Methods, RetryPolicy, RetryReport, StopReason};
use std::convert::Infallible;
use std::future;
use std::sync::{Arc, Mutex};
use tower::{Layer, ServiceExt, service_fn};

/// As many names as a header map takes.
const MOST: usize = 24_576;

fn fill(headers: &mut HeaderMap, most: usize) {
    for n in headers.len()..most {
        let name = HeaderName::try_from(format!("x-{n}")).unwrap();
        headers.insert(name, n.into());
    }
}

fn with_headers(mut request: Request<String>, most: usize) -> Request<String> {
    fill(request.headers_mut(), most);
    request
}

fn setting() -> RetryConfig {
    config(
        "
version: 1
retry: {max_retries: 2, base: 1s}
rules: [{when: 429, do: retry, set: {headers: {x-new: [a, b]}}}]
",
    )
}

#[test]
fn a_retry_that_cannot_have_its_headers_is_not_made() {
    for stack in STACKS {
        for most in [4_095, MOST] {
            let client = Client::new(statuses(&[429, 200]));
            let request = with_headers(get(), most);
            let ended = send(stack, &setting(), &client, request);
            let seen = (ended.status, ended.attempts(), ended.stop());
            let wanted = (Some(429), 1, StopReason::NotRetryable);
            assert_eq!(seen, wanted, "{stack:?} {most}");
        }
    }
}

#[test]
fn a_retry_with_room_for_its_headers_has_them() {
    for stack in STACKS {
        let client = Client::new(statuses(&[429, 200]));
        let ended = send(stack, &setting(), &client, with_headers(get(), 4_094));
        assert_eq!(ended.statuses(), [429, 200]);
        let new = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(client.header("x-new"), [vec![], new], "{stack:?}");
    }
}

#[test]
fn a_retry_that_sets_nothing_is_made_with_any_number_of_headers() {
    for stack in STACKS {
        let client = Client::new(statuses(&[503, 200]));
        let ended = send(stack, &setting(), &client, with_headers(get(), MOST));
        assert_eq!(ended.statuses(), [503, 200], "{stack:?}");
    }
}

/// An attempt that is cut short is no reason to send the next one without its headers.
#[test]
fn an_attempt_that_is_cut_is_not_repeated_without_its_headers() {
    let text = "
version: 1
retry: {max_retries: 2, base: 1s, attempt_timeout: 5s}
rules: [{when: {error: timeout}, do: retry, set: {headers: {x-new: a}}}]
";
    for (most, attempts, stop) in [
        (MOST, 1, StopReason::NotRetryable),
        (100, 3, StopReason::AttemptsExhausted),
    ] {
        let layer = RetryLayer::from_config(&config(text)).runtime(ManualRuntime::new());
        let silent =
            |_: Request<String>| future::pending::<Result<http::Response<String>, Infallible>>();
        let slot = RetryReport::slot();
        let mut request = with_headers(get(), most);
        request.extensions_mut().insert(slot.clone());
        let service = layer.layer(service_fn(silent));
        assert!(service.oneshot(request).now_or_never().unwrap().is_err());
        let report = slot.take().unwrap();
        assert_eq!((report.attempt_count, report.stop), (attempts, stop));
    }
}

/// The attempts that come to a server which answers like this, by the values of two headers.
fn seen(layer: RetryLayer, request: Request<String>, status: u16) -> Vec<(bool, Option<String>)> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let server = service_fn(move |request: Request<String>| {
        let headers = request.headers();
        let number = headers.get("x-attempt");
        let number = number.map(|number| number.to_str().unwrap().to_owned());
        let has_key = headers.contains_key("idempotency-key");
        kept.lock().unwrap().push((has_key, number));
        let answer = http::Response::builder().status(status);
        future::ready(Ok::<_, Infallible>(answer.body(String::new()).unwrap()))
    });
    let call = layer.runtime(ManualRuntime::new()).layer(server);
    assert!(call.oneshot(request).now_or_never().unwrap().is_ok());
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn keys_and_numbers_are_left_out_where_there_is_no_room() {
    let policy = RetryPolicy::builder().max_retries(1).build().unwrap();
    let layer = RetryLayer::new(policy)
        .idempotency_keys()
        .attempt_header(HeaderName::from_static("x-attempt"));
    let full = || with_headers(post(), MOST);
    // Without a key nobody may repeat it after it may have been processed.
    assert_eq!(seen(layer.clone(), full(), 500), [(false, None)]);
    assert_eq!(
        seen(layer.clone(), full(), 408),
        [(false, None), (false, None)]
    );
    let both = [(true, Some("1".to_owned())), (true, Some("2".to_owned()))];
    assert_eq!(seen(layer, post(), 500), both);
}

/// Where there is no room for more, what stands there already is written anew.
#[test]
fn a_stale_number_does_not_stay() {
    let policy = RetryPolicy::builder().methods(Methods::All).max_retries(1);
    let layer = RetryLayer::new(policy.build().unwrap());
    let layer = layer.attempt_header(HeaderName::from_static("x-attempt"));
    let mut request = get();
    request
        .headers_mut()
        .insert("x-attempt", "9".parse().unwrap());
    let request = with_headers(request, MOST);
    let numbers = [(false, Some("1".to_owned())), (false, Some("2".to_owned()))];
    assert_eq!(seen(layer, request, 503), numbers);
}
