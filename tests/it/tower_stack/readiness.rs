//! Readiness: whose it is, when it is asked for, and what happens without it.

use super::stack::*;
use futures_util::FutureExt;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{AttemptTimeout, StopReason};
use std::future::{Ready, ready};
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tower::{Layer, Service, ServiceExt};

#[test]
fn the_layer_is_ready_when_the_inner_service_is() {
    let mut stack = Stack::new(policy());
    stack.server.allow(0);
    assert!(stack.service.ready().now_or_never().is_none());
    stack.server.allow(1);
    assert!(matches!(stack.service.ready().now_or_never(), Some(Ok(_))));
    stack.server.send_error("closing");
    let refused = stack.service.ready().now_or_never().unwrap();
    assert_eq!(refused.unwrap_err().to_string(), "closing");
}

#[test]
fn the_service_that_was_ready_is_the_one_that_is_called() {
    // The mock panics when a clone of it is called that was not asked for its readiness.
    let mut stack = Stack::new(policy());
    stack.server.allow(1);
    let call = stack.answered(get(), status(200));
    assert_eq!(call.end().unwrap().status(), 200);
    assert!(stack.service.ready().now_or_never().is_none());
}

#[test]
fn every_attempt_is_preceded_by_its_own_readiness() {
    let log = Log::default();
    let runtime = ManualRuntime::new();
    let layer = RetryLayer::new(policy().build().unwrap()).runtime(runtime);
    let service = layer.layer(Logged { log: log.clone() });
    let sent = service.oneshot(get()).now_or_never().unwrap();
    assert_eq!(sent.unwrap().status(), 503);
    assert_eq!(*log.lock().unwrap(), ["ready", "call"].repeat(3));
}

#[test]
fn a_retry_waits_for_readiness_and_sends_nothing_before_it() {
    for request in [get(), with_slot(get()).0] {
        let mut stack = Stack::new(policy());
        let mut call = stack.answered(request, status(503));
        stack.server.allow(0);
        stack.next_retry(&mut call);
        stack.runtime.advance(SECOND * 3_600);
        assert!(call.is_pending() && stack.is_idle());
        stack.server.allow(1);
        assert!(call.is_pending());
        stack.answer(status(200));
        assert_eq!(call.end().unwrap().status(), 200);
    }
}

#[test]
fn without_readiness_the_last_response_comes_back_whole() {
    let mut stack = Stack::new(policy());
    let mut call = stack.answered(get(), asking(503, "2"));
    assert!(call.is_pending());
    stack.server.send_error("closing");
    stack.runtime.advance(SECOND * 60);
    let response = call.end().unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "2");
    assert_eq!(report(&response).stop, StopReason::NotReady);
    assert_eq!(report(&response).attempt_count, 1);
    assert_eq!(body_of(response), "later");
    assert!(stack.is_idle());
    assert_eq!(stack.tokens(), TOKENS);
}

#[test]
fn without_readiness_for_a_retry_the_last_error_comes_back() {
    let mut stack = Stack::new(policy());
    let (request, slot) = with_slot(get());
    let mut call = stack.start(request);
    stack.fail(io::Error::from(io::ErrorKind::ConnectionReset));
    assert!(call.is_pending());
    stack.server.send_error("closing");
    stack.runtime.advance(DELAY);
    let error = call.end().unwrap_err();
    let error = error.downcast_ref::<io::Error>().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(slot.take().unwrap().stop, StopReason::NotReady);
    assert_eq!(stack.tokens(), TOKENS);
}

#[test]
fn where_the_body_was_cut_off_the_readiness_error_comes_back() {
    let mut stack = Stack::layered(policy(), |layer| layer.drain_before_retry(4, SECOND));
    let (request, slot) = with_slot(get());
    let mut call = stack.answered(request, text(503, "sorry"));
    assert!(call.is_pending());
    stack.server.send_error("closing");
    stack.runtime.advance(DELAY);
    assert_eq!(call.end().unwrap_err().to_string(), "closing");
    assert_eq!(slot.take().unwrap().stop, StopReason::NotReady);
    assert_eq!(stack.tokens(), TOKENS);
}

#[test]
fn after_a_slow_body_the_readiness_error_comes_back() {
    let mut stack = Stack::layered(policy(), |layer| layer.drain_before_retry(1_024, SECOND));
    let (response, body) = endless(503);
    let mut call = stack.answered(get(), response);
    assert!(call.is_pending() && body.strong_count() == 1);
    stack.runtime.advance(SECOND);
    assert!(call.is_pending() && body.strong_count() == 0);
    stack.server.send_error("closing");
    stack.runtime.advance(DELAY);
    assert_eq!(call.end().unwrap_err().to_string(), "closing");
}

#[test]
fn after_a_cut_attempt_the_timeout_comes_back() {
    let mut stack = Stack::new(policy().attempt_timeout(SECOND));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND);
    assert!(call.is_pending());
    stack.server.send_error("closing");
    stack.runtime.advance(DELAY);
    assert!(AttemptTimeout::is(&*call.end().unwrap_err()));
}

#[test]
fn after_an_unreported_cut_the_readiness_error_comes_back() {
    let mut stack = Stack::unchanged(policy().attempt_timeout(SECOND));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND);
    assert!(call.is_pending());
    stack.server.send_error("closing");
    stack.runtime.advance(DELAY);
    assert_eq!(call.end().unwrap_err().0.to_string(), "closing");
}

#[test]
fn a_body_on_http2_is_let_go_at_once() {
    let mut stack = Stack::new(policy());
    let (mut response, body) = endless(503);
    *response.version_mut() = http::Version::HTTP_2;
    let mut call = stack.answered(get(), response);
    assert!(call.is_pending());
    assert_eq!(body.strong_count(), 0);
}

#[test]
fn a_body_that_was_read_is_not_held_while_the_retry_waits() {
    let mut stack = Stack::new(policy());
    let (response, body) = guarded(503, "sorry");
    let mut call = stack.answered(get(), response);
    assert!(call.is_pending());
    assert_eq!(body.strong_count(), 0);
    stack.server.send_error("closing");
    stack.runtime.advance(DELAY);
    assert_eq!(body_of(call.end().unwrap()), "sorry");
}

#[test]
fn the_time_for_reading_a_body_is_part_of_the_delay() {
    let mut stack = Stack::layered(policy(), |layer| layer.drain_before_retry(1_024, SECOND));
    let mut call = stack.answered(get(), endless(503).0);
    assert!(call.is_pending());
    stack.runtime.advance(SECOND);
    assert!(call.is_pending());
    stack.runtime.advance(DELAY - SECOND);
    assert!(call.is_pending());
    stack.answer(status(200));
    assert_eq!(call.end().unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_woken_for_every_step_of_its_way() {
    let layer = RetryLayer::new(policy().build().unwrap());
    let (mock, mut server) = tower_test::mock::pair::<Request, Response>();
    let call = tokio::spawn(layer.layer(mock).oneshot(get()));
    let (_, first) = server.next_request().await.unwrap();
    server.allow(0);
    first.send_response(status(503));
    tokio::time::advance(DELAY * 2).await;
    server.allow(1);
    let (_, second) = server.next_request().await.unwrap();
    second.send_response(status(200));
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
}

type Log = Arc<Mutex<Vec<&'static str>>>;

/// Answers 503, and writes down what it was asked.
#[derive(Clone)]
struct Logged {
    log: Log,
}

impl Service<Request> for Logged {
    type Response = Response;
    type Error = io::Error;
    type Future = Ready<io::Result<Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.log.lock().unwrap().push("ready");
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        self.log.lock().unwrap().push("call");
        ready(Ok(status(503)))
    }
}
