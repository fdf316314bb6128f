//! A call that is dropped: nothing more is sent, and the token of a retry that was not sent is back.

use super::stack::*;
use futures_util::FutureExt;
use http_retry::tower::RetryLayer;
use std::sync::Arc;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

#[test]
fn a_call_that_is_dropped_drops_its_running_attempt() {
    for request in [get(), with_slot(get()).0] {
        let held = Arc::new(());
        let inner = Arc::clone(&held);
        let service = service_fn(move |_: Request| {
            let held = Arc::clone(&inner);
            async move {
                std::future::pending::<()>().await;
                drop(held);
                Ok::<_, BoxError>(status(200))
            }
        });
        let layer = RetryLayer::new(policy().build().unwrap());
        let mut service = layer.layer(service);
        let mut call = Box::pin(service.call(request));
        assert!(call.as_mut().now_or_never().is_none());
        drop(service);
        assert_eq!(Arc::strong_count(&held), 3);
        drop(call);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}

#[test]
fn a_call_that_is_dropped_in_its_first_attempt_costs_nothing() {
    let mut stack = Stack::new(policy());
    let call = stack.start(get());
    let (_, reply) = stack.received();
    drop(call);
    reply.send_response(status(503));
    assert_untouched(&mut stack);
}

#[test]
fn dropped_in_a_failed_body_a_call_gives_its_token_back() {
    for request in [get(), with_slot(get()).0] {
        let mut stack = Stack::new(policy());
        let (response, body) = endless(503);
        let mut call = stack.answered(request, response);
        assert!(call.is_pending());
        assert_eq!((stack.tokens(), body.strong_count()), (TOKENS - 1, 1));
        drop(call);
        assert_eq!(body.strong_count(), 0);
        assert_untouched(&mut stack);
    }
}

#[test]
fn a_call_that_is_dropped_while_it_sleeps_gives_its_token_back() {
    for request in [get(), with_slot(get()).0] {
        let mut stack = Stack::new(policy());
        let mut call = stack.answered(request, status(503));
        assert!(call.is_pending());
        assert_eq!(stack.tokens(), TOKENS - 1);
        drop(call);
        assert_untouched(&mut stack);
    }
}

#[test]
fn dropped_before_readiness_a_call_gives_its_token_back() {
    let mut stack = Stack::new(policy());
    let mut call = stack.answered(get(), status(503));
    stack.server.allow(0);
    stack.next_retry(&mut call);
    assert_eq!(stack.tokens(), TOKENS - 1);
    drop(call);
    stack.server.allow(1);
    assert_untouched(&mut stack);
}

#[test]
fn dropped_after_its_retry_was_sent_a_call_has_paid() {
    let mut stack = Stack::new(policy());
    let mut call = stack.answered(get(), status(503));
    stack.next_retry(&mut call);
    let _retry = stack.received();
    drop(call);
    assert_eq!(stack.tokens(), TOKENS - 1);
    assert!(stack.is_idle());
}

#[test]
fn only_the_token_of_the_unsent_retry_is_given_back() {
    let mut stack = Stack::new(policy());
    let mut call = stack.answered(get(), status(503));
    stack.next_retry(&mut call);
    stack.answer(status(503));
    assert!(call.is_pending());
    assert_eq!(stack.tokens(), TOKENS - 2);
    drop(call);
    assert_eq!(stack.tokens(), TOKENS - 1);
}

#[test]
fn a_retry_after_a_timeout_gives_back_all_that_it_cost() {
    let mut stack = Stack::new(policy().attempt_timeout(SECOND));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND);
    assert!(call.is_pending());
    assert_eq!(stack.tokens(), TOKENS - 2);
    drop(call);
    assert_eq!(stack.tokens(), TOKENS);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_leaves_no_task_behind() {
    let layer = RetryLayer::new(policy().build().unwrap());
    let (mock, mut server) = tower_test::mock::pair::<Request, Response>();
    let mut call = Box::pin(layer.layer(mock).oneshot(get()));
    assert!((&mut call).now_or_never().is_none());
    let (_, reply) = server.next_request().await.unwrap();
    reply.send_response(status(503));
    assert!((&mut call).now_or_never().is_none());
    drop(call);
    let tasks = tokio::runtime::Handle::current().metrics();
    assert_eq!(tasks.num_alive_tasks(), 0);
    tokio::time::advance(SECOND * 3_600).await;
    assert!(server.next_request().await.is_none());
}

/// Nothing was sent for a long time, and all tokens are there.
fn assert_untouched(stack: &mut Stack) {
    stack.runtime.advance(SECOND * 3_600);
    assert!(stack.is_idle());
    assert_eq!(stack.tokens(), TOKENS);
}
