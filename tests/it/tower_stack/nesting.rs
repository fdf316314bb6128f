//! Retry layers inside of retry layers: only the outermost one repeats a request.

use super::stack::*;
use futures_util::FutureExt;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryOverride, RetryPolicy, StopReason};
use std::time::Duration;
use tower::buffer::Buffer;
use tower::{Layer, ServiceBuilder, ServiceExt};

#[test]
fn an_inner_layer_stands_aside() {
    for request in [get(), with_slot(get()).0] {
        let client = Script::new().status(503);
        let service = ServiceBuilder::new()
            .layer(layer())
            .layer(layer())
            .service(client.clone());
        let response = service.oneshot(request).now_or_never().unwrap().unwrap();
        assert_eq!(client.calls().len(), 3);
        assert_eq!(report(&response).attempt_count, 3);
        assert_eq!(report(&response).stop, StopReason::AttemptsExhausted);
    }
}

#[test]
fn an_inner_layer_stands_aside_behind_other_layers() {
    let client = Script::new().status(503);
    let service = ServiceBuilder::new()
        .layer(layer())
        .concurrency_limit(1)
        .map_request(|request: Request| request)
        .map_response(|response| response)
        .layer(layer())
        .service(client.clone());
    assert!(service.oneshot(get()).now_or_never().unwrap().is_ok());
    assert_eq!(client.calls().len(), 3);
}

#[test]
fn an_inner_layer_stands_aside_when_it_is_called_late() {
    let client = Script::new().status(503);
    let inner = layer().layer(client.clone());
    let late = tower::service_fn(move |request: Request| {
        let inner = inner.clone();
        async move { inner.oneshot(request).await }
    });
    let sent = layer().layer(late).oneshot(get()).now_or_never().unwrap();
    assert_eq!(sent.unwrap().status(), 503);
    assert_eq!(client.calls().len(), 3);
}

#[test]
fn a_layer_that_repeats_nothing_leaves_it_to_the_inner_one() {
    for request in [get(), with_slot(get()).0] {
        let client = Script::new().status(503);
        let never = RetryLayer::new(RetryPolicy::never()).runtime(ManualRuntime::new());
        let service = ServiceBuilder::new()
            .layer(never)
            .layer(layer())
            .service(client.clone());
        assert!(service.oneshot(request).now_or_never().unwrap().is_ok());
        assert_eq!(client.calls().len(), 3);
    }
}

#[test]
fn an_inner_layer_can_be_told_to_repeat_all_the_same() {
    let client = Script::new().status(503);
    let service = ServiceBuilder::new()
        .layer(layer())
        .layer(layer())
        .service(client.clone());
    let request = with_own(get(), RetryOverride::new().retry_when_nested());
    assert!(service.oneshot(request).now_or_never().unwrap().is_ok());
    assert_eq!(client.calls().len(), 9);
}

#[test]
fn a_success_through_two_layers_pays_into_their_budget_once() {
    for request in [get(), with_slot(get()).0] {
        let budget = RetryBudget::builder().capacity(10).initial(5);
        let budget = budget.per_success(1).build().unwrap();
        let service = ServiceBuilder::new()
            .layer(layer().budget(budget.clone()))
            .layer(layer().budget(budget.clone()))
            .service(Script::new().status(200));
        assert!(service.oneshot(request).now_or_never().unwrap().is_ok());
        assert_eq!(budget.available(Duration::ZERO), 6);
    }
}

#[test]
fn calls_beside_each_other_are_not_inside_of_each_other() {
    let mut stack = Stack::new(policy());
    let mut first = stack.answered(get(), status(503));
    assert!(first.is_pending());
    let mut second = stack.answered(get(), status(503));
    stack.next_retry(&mut second);
    stack.answer(status(200));
    let response = second.end().unwrap();
    assert_eq!(report(&response).attempt_count, 2);
}

#[tokio::test]
async fn across_tasks_an_inner_layer_behind_a_buffer_stands_aside() {
    assert_eq!(calls_behind_a_buffer(layer().across_tasks()).await, 3);
}

#[tokio::test]
async fn a_first_attempt_in_another_task_is_not_noticed_without_that() {
    // The inner layer repeats the first attempt, and stands aside for the two retries, which are marked.
    assert_eq!(calls_behind_a_buffer(layer()).await, 5);
}

async fn calls_behind_a_buffer(outer: RetryLayer) -> usize {
    let client = Script::new().status(503);
    let buffered = Buffer::new(layer().layer(client.clone()), 1);
    let sent = outer.layer(buffered).oneshot(get()).await;
    assert_eq!(sent.unwrap().status(), 503);
    client.calls().len()
}

fn layer() -> RetryLayer {
    let policy: RetryPolicy = policy().build().unwrap();
    RetryLayer::new(policy).runtime(ManualRuntime::new())
}

#[test]
fn an_observer_changes_neither_deposits_nor_attempts() {
    let streamed = || {
        let body = http_retry::ReplayBody::with_limit(String::new(), 0);
        http::Request::put("http://api.example/")
            .body(body)
            .unwrap()
    };
    let calls = |outer: RetryLayer| {
        let client = Script::new().status(503);
        let service = ServiceBuilder::new()
            .layer(outer)
            .map_request(|request: http::Request<_>| {
                request.map(|_: http_retry::ReplayBody<String>| String::new())
            })
            .layer(layer())
            .service(client.clone());
        assert!(service.oneshot(streamed()).now_or_never().unwrap().is_ok());
        client.calls().len()
    };
    let observed = layer().observe(|_: &http_retry::report::RetryEvent<'_>| {});
    assert_eq!(calls(layer()), calls(observed));
}
