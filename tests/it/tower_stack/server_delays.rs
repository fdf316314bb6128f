//! What a server asks for: kept, never undercut, and refused where it is too much.

use super::stack::*;
use futures_util::FutureExt;
use http_retry::policy::DelaySource;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryPolicy, StopReason};
use std::time::Duration;
use tower::{Layer, ServiceExt};

#[test]
fn a_server_is_left_alone_as_asked_or_a_fifth_longer() {
    let sleeps: Vec<Duration> = (0..100).map(|seed| sleep_asked_for(7, seed)).collect();
    for sleep in &sleeps {
        assert!((SECOND * 7..=SECOND * 42 / 5).contains(sleep), "{sleep:?}");
    }
    let longest = sleeps.iter().max().unwrap();
    let shortest = sleeps.iter().min().unwrap();
    assert!(*longest - *shortest > SECOND, "{shortest:?} to {longest:?}");
}

#[test]
fn the_spread_is_at_most_ten_seconds() {
    for seed in 0..100 {
        let sleep = sleep_asked_for(600, seed);
        assert!((SECOND * 600..=SECOND * 610).contains(&sleep), "{sleep:?}");
    }
}

#[test]
fn the_policys_own_delay_stands_where_the_server_asks_for_less() {
    let mut stack = Stack::new(policy());
    let mut call = stack.answered(get(), asking(503, "1"));
    assert!(call.is_pending());
    stack.runtime.advance(DELAY - SECOND / 10);
    assert!(call.is_pending() && stack.is_idle());
    stack.runtime.advance(SECOND);
    assert!(call.is_pending());
    stack.answer(status(200));
    let response = call.end().unwrap();
    let retry = &report(&response).attempts[1];
    assert_eq!(retry.delay_source, Some(DelaySource::Own));
    assert!(retry.delay >= DELAY);
}

#[test]
fn the_report_tells_what_the_server_asked_for() {
    let mut stack = Stack::new(policy());
    let mut call = stack.answered(get(), asking(429, "7"));
    assert!(call.is_pending());
    stack.runtime.advance(SECOND * 9);
    assert!(call.is_pending());
    stack.answer(status(200));
    let response = call.end().unwrap();
    let [first, second] = &report(&response).attempts[..] else {
        panic!("two attempts")
    };
    assert_eq!(first.asked, Some(SECOND * 7));
    assert_eq!(second.delay_source, Some(DelaySource::Server));
}

#[test]
fn a_server_that_asks_for_too_much_is_not_asked_again() {
    let mut stack = Stack::new(policy().max_server_delay(SECOND * 10));
    let call = stack.answered(get(), asking(429, "11"));
    let response = call.end().unwrap();
    assert_eq!(response.headers()["retry-after"], "11");
    assert_eq!(report(&response).stop, StopReason::ServerDelayTooLong);
    assert_eq!(body_of(response), "later");
    assert_eq!(stack.tokens(), TOKENS);
}

#[test]
fn a_server_that_asks_for_as_much_as_is_allowed_is_waited_for() {
    let mut stack = Stack::new(policy().max_server_delay(SECOND * 10));
    let mut call = stack.answered(get(), asking(429, "10"));
    assert!(call.is_pending());
    stack.runtime.advance(SECOND * 12);
    assert!(call.is_pending());
    stack.answer(status(200));
    assert_eq!(call.end().unwrap().status(), 200);
}

#[test]
fn a_wish_beyond_the_deadline_is_not_waited_for() {
    let mut stack = Stack::new(policy().deadline(SECOND * 10));
    let call = stack.answered(get(), asking(503, "10"));
    let response = call.end().unwrap();
    assert_eq!(report(&response).stop, StopReason::DeadlineExceeded);
}

/// How long a background client sleeps when it is asked for so many seconds.
fn sleep_asked_for(seconds: u64, seed: u64) -> Duration {
    let runtime = ManualRuntime::new().seeded(seed);
    let client = Script::new()
        .status(503)
        .header("retry-after", &seconds.to_string())
        .status(200);
    let layer = RetryLayer::new(RetryPolicy::background()).runtime(runtime.clone());
    let sent = layer.layer(client).oneshot(get()).now_or_never();
    assert_eq!(sent.unwrap().unwrap().status(), 200);
    runtime.sleeps()[0]
}

#[test]
fn a_server_that_closes_idle_connections_is_not_waited_for() {
    for (after, wait) in [(SECOND / 2, Duration::ZERO), (SECOND, DELAY)] {
        let mut stack = Stack::new(policy());
        let mut call = stack.start(get());
        stack.runtime.advance(after);
        stack.answer(status(408));
        if !wait.is_zero() {
            assert!(call.is_pending() && stack.is_idle());
            stack.runtime.advance(wait + DELAY / 5);
        }
        assert!(call.is_pending());
        stack.answer(status(200));
        let response = call.end().unwrap();
        let retry = &report(&response).attempts[1];
        assert_eq!(retry.delay.is_zero(), wait.is_zero(), "{retry:?}");
        assert_eq!(report(&response).retries(), 1);
    }
}
