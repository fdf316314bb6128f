//! The deadline of a request.

use super::stack::*;
use http_retry::tower::RetryLayer;
use http_retry::{Attempt, AttemptTimeout, RetryPolicyBuilder, StopReason};
use std::time::Duration;

/// A delay, and one second more.
const DEADLINE: Duration = Duration::from_secs(3);

#[test]
fn a_retry_after_the_deadline_is_not_waited_for() {
    let mut stack = Stack::new(policy().deadline(DELAY));
    let call = stack.answered(get(), text(503, "sorry"));
    let response = call.end().unwrap();
    assert_eq!(report(&response).stop, StopReason::DeadlineExceeded);
    assert_eq!(report(&response).waited, Duration::ZERO);
    assert_eq!(body_of(response), "sorry");
    assert_eq!(stack.tokens(), TOKENS);
}

#[test]
fn the_deadline_counts_from_the_start_of_the_first_attempt() {
    let mut stack = Stack::new(policy().deadline(DEADLINE));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND);
    assert!(call.is_pending());
    stack.answer(status(503));
    let response = call.end().unwrap();
    assert_eq!(report(&response).stop, StopReason::DeadlineExceeded);
}

#[test]
fn every_attempt_gets_what_is_left_of_the_deadline() {
    let mut stack = Stack::layered(policy().deadline(SECOND * 10), RetryLayer::across_tasks);
    let mut call = stack.start(get());
    let (request, first) = stack.received();
    assert_eq!(limit(&request), Some(SECOND * 10));
    stack.runtime.advance(SECOND * 3);
    first.send_response(status(503));
    stack.next_retry(&mut call);
    let (request, _second) = stack.received();
    assert_eq!(limit(&request), Some(SECOND * 5));
}

#[test]
fn a_delay_that_took_too_long_ends_with_the_last_answer() {
    let mut stack = Stack::new(policy().deadline(DEADLINE));
    let mut call = stack.answered(get(), text(503, "sorry"));
    assert!(call.is_pending());
    stack.runtime.advance(DEADLINE);
    let response = call.end().unwrap();
    assert_eq!(report(&response).stop, StopReason::DeadlineExceeded);
    assert_eq!(body_of(response), "sorry");
    assert!(stack.is_idle());
    assert_eq!(stack.tokens(), TOKENS);
}

#[test]
fn readiness_is_waited_for_no_longer_than_the_deadline() {
    let mut stack = Stack::new(policy().deadline(DEADLINE));
    let mut call = stack.answered(get(), text(503, "sorry"));
    stack.server.allow(0);
    stack.next_retry(&mut call);
    stack.runtime.advance(DEADLINE - DELAY);
    let response = call.end().unwrap();
    assert_eq!(report(&response).stop, StopReason::DeadlineExceeded);
    assert_eq!(body_of(response), "sorry");
    assert_eq!(stack.tokens(), TOKENS);
}

#[test]
fn a_failed_body_is_read_no_longer_than_the_deadline() {
    let policy = policy().deadline(DEADLINE);
    let limits = |layer: RetryLayer| layer.drain_before_retry(1_024, SECOND * 60);
    let mut stack = Stack::layered(policy, limits);
    let mut call = stack.answered(get(), endless(503).0);
    assert!(call.is_pending());
    stack.runtime.advance(DEADLINE);
    let response = call.end().unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(report(&response).stop, StopReason::DeadlineExceeded);
    assert_eq!(stack.tokens(), TOKENS);
}

#[test]
fn a_response_over_the_drain_limit_comes_back_at_the_deadline() {
    let limits = |layer: RetryLayer| layer.drain_before_retry(4, SECOND);
    let policy = || policy().deadline(DEADLINE);
    for is_ready in [true, false] {
        let mut stack = Stack::layered(policy(), limits);
        let (request, slot) = with_slot(get());
        let mut call = stack.answered(request, text(503, "sorry"));
        if !is_ready {
            stack.server.allow(0);
            stack.next_retry(&mut call);
        }
        assert!(call.is_pending());
        stack.runtime.advance(DEADLINE);
        assert_eq!(body_of(call.end().unwrap()), "sorry");
        assert_eq!(slot.take().unwrap().stop, StopReason::DeadlineExceeded);
        assert!(stack.is_idle());
        assert_eq!(stack.tokens(), TOKENS);

        let mut stack = Stack::unchanged_with(policy(), limits);
        let mut call = stack.answered(get(), text(503, "sorry"));
        if !is_ready {
            stack.server.allow(0);
            stack.next_retry(&mut call);
        }
        assert!(call.is_pending());
        stack.runtime.advance(DEADLINE);
        assert_eq!(body_of(call.end().unwrap()), "sorry");
        assert!(stack.is_idle());
    }
}

/// Without a deadline, its connection need not stay open for the wait.
#[test]
fn a_response_over_the_drain_limit_is_dropped_for_a_wait() {
    let limits = |layer: RetryLayer| layer.drain_before_retry(4, SECOND);
    for (deadline, is_held) in [(None, false), (Some(DEADLINE), true)] {
        let policy = deadline
            .into_iter()
            .fold(policy(), RetryPolicyBuilder::deadline);
        let mut stack = Stack::layered(policy, limits);
        let (response, held) = guarded(503, "sorry");
        let mut call = stack.answered(get(), response);
        assert!(call.is_pending());
        assert_eq!(held.upgrade().is_some(), is_held);
        stack.next_retry(&mut call);
        // The next attempt is under way.
        assert!(held.upgrade().is_none());
    }
}

#[test]
fn with_unchanged_errors_the_last_attempt_may_be_late() {
    let mut stack = Stack::unchanged(policy().deadline(DEADLINE));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND * 60);
    assert!(call.is_pending());
    stack.answer(status(200));
    assert_eq!(call.end().unwrap().status(), 200);
}

#[test]
fn the_last_attempt_ends_with_the_deadline() {
    let policy = policy().deadline(SECOND * 10);
    let mut stack = Stack::new(policy);
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND * 3);
    stack.answer(status(503));
    stack.next_retry(&mut call);
    let _second = stack.received();
    stack.runtime.advance(SECOND * 4);
    assert!(call.is_pending());
    stack.runtime.advance(SECOND);
    let error = call.end().unwrap_err();
    let timeout = error.downcast_ref::<AttemptTimeout>().unwrap();
    assert_eq!(timeout.after(), SECOND * 5);
    let text = "the deadline passed: no response head within 5s on attempt 2";
    assert_eq!(error.to_string(), text);
}

fn limit(request: &Request) -> Option<Duration> {
    request.extensions().get::<Attempt>().unwrap().limit
}
