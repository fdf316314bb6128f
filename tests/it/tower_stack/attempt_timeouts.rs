//! The timeout of an attempt.

use super::stack::*;
use futures_util::FutureExt;
use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_retry::rules::{Condition, ErrorGroup, Rule};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{AttemptTimeout, ErrorKind, RetryBudget, RetryPolicy, StopReason};
use std::future::{poll_fn, ready};
use std::io;
use std::sync::Arc;
use std::task::Poll;
use tower::{BoxError, Layer, ServiceExt, service_fn};

#[test]
fn an_attempt_is_cut_short_when_a_retry_follows() {
    let mut stack = Stack::new(policy().attempt_timeout(SECOND));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND);
    let _hanging = stack.received();
    stack.next_retry(&mut call);
    stack.answer(text(200, "done"));
    let response = call.end().unwrap();
    let first = &report(&response).attempts[0];
    assert_eq!(
        (first.error, first.took),
        (Some(ErrorKind::Timeout), SECOND)
    );
    assert_eq!(body_of(response), "done");
}

#[test]
fn an_attempt_that_is_cut_short_is_dropped_before_the_wait() {
    for request in [get(), with_slot(get()).0] {
        let running = Arc::new(());
        let held = Arc::clone(&running);
        let runtime = ManualRuntime::paused();
        let policy = policy().attempt_timeout(SECOND).build().unwrap();
        let layer = RetryLayer::new(policy).runtime(runtime.clone());
        let service = layer.layer(service_fn(move |_: Request| {
            let held = Arc::clone(&held);
            poll_fn(move |_| {
                let _held = &held;
                Poll::<Result<Response, BoxError>>::Pending
            })
        }));
        let mut call = Box::pin(service.oneshot(request));
        assert!((&mut call).now_or_never().is_none());
        let without = Arc::strong_count(&running) - 1;
        runtime.advance(SECOND);
        assert!((&mut call).now_or_never().is_none());
        assert_eq!(Arc::strong_count(&running), without);
    }
}

#[test]
fn an_attempt_that_ends_in_time_is_not_cut_short() {
    let mut stack = Stack::new(policy().attempt_timeout(SECOND));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND / 2);
    assert!(call.is_pending());
    stack.answer(status(200));
    stack.runtime.advance(SECOND);
    assert_eq!(call.end().unwrap().status(), 200);
}

#[test]
fn the_last_attempt_is_cut_short_too() {
    let policy = policy().max_retries(1).attempt_timeout(SECOND);
    let mut stack = Stack::new(policy);
    let (request, slot) = with_slot(get());
    let mut call = stack.start(request);
    stack.runtime.advance(SECOND);
    let _first = stack.received();
    stack.next_retry(&mut call);
    let _second = stack.received();
    stack.runtime.advance(SECOND);
    let error = call.end().unwrap_err();
    assert!(AttemptTimeout::is(&*error));
    let timeout = error.downcast_ref::<AttemptTimeout>().unwrap();
    assert_eq!(timeout.after(), SECOND);
    assert_eq!(error.to_string(), "no response head within 1s on attempt 2");
    let report = slot.take().unwrap();
    assert_eq!(report.stop, StopReason::AttemptsExhausted);
    assert_eq!(report.attempts[1].error, Some(ErrorKind::Timeout));
}

#[test]
fn an_error_is_the_inner_one() {
    let mut stack = Stack::new(policy().max_retries(0));
    let call = stack.start(get());
    stack.fail(io::Error::from(io::ErrorKind::BrokenPipe));
    let error = call.end().unwrap_err();
    assert!(!AttemptTimeout::is(&*error));
    assert!(error.is::<io::Error>());
}

#[test]
fn a_post_that_was_cut_short_is_not_repeated() {
    let policy = policy().attempt_timeout(SECOND);
    let mut stack = Stack::new(policy);
    let (request, slot) = with_slot(post());
    let call = stack.start(request);
    stack.runtime.advance(SECOND);
    assert!(AttemptTimeout::is(&*call.end().unwrap_err()));
    assert_eq!(slot.take().unwrap().stop, StopReason::NotIdempotent);
}

#[test]
fn with_unchanged_errors_a_box_still_reports_a_timeout() {
    let policy = policy().max_retries(0).attempt_timeout(SECOND);
    let mut stack = Stack::layered(policy, RetryLayer::unchanged_errors);
    let call = stack.start(get());
    stack.runtime.advance(SECOND);
    assert!(AttemptTimeout::is(&*call.end().unwrap_err()));
}

#[test]
fn with_unchanged_errors_the_last_attempt_runs_to_its_end() {
    for (status_of_last, why) in [
        (200, StopReason::Succeeded),
        (503, StopReason::AttemptsExhausted),
    ] {
        let mut stack = Stack::unchanged(policy().max_retries(0).attempt_timeout(SECOND));
        let (request, slot) = with_slot(get());
        let mut call = stack.start(request);
        stack.runtime.advance(SECOND * 60);
        assert!(call.is_pending());
        stack.answer(status(status_of_last));
        assert_eq!(call.end().unwrap().status(), status_of_last);
        let report = slot.take().unwrap();
        assert_eq!(report.stop, why);
        assert_eq!(report.attempts[0].took, SECOND * 60);
    }
}

#[test]
fn with_unchanged_errors_a_late_error_comes_back_as_it_is() {
    let mut stack = Stack::unchanged(policy().max_retries(0).attempt_timeout(SECOND));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND * 60);
    assert!(call.is_pending());
    stack.fail(io::Error::from(io::ErrorKind::BrokenPipe));
    let error = call.end().unwrap_err();
    let error = error.0.downcast_ref::<io::Error>().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn with_unchanged_errors_a_late_post_runs_to_its_end() {
    let mut stack = Stack::unchanged(policy().attempt_timeout(SECOND));
    let mut call = stack.start(post());
    stack.runtime.advance(SECOND * 60);
    assert!(call.is_pending());
    stack.answer(status(503));
    let response = call.end().unwrap();
    assert_eq!(report(&response).stop, StopReason::NotIdempotent);
    assert!(stack.is_idle());
}

#[test]
fn without_a_token_a_timed_out_attempt_is_cut_and_not_repeated() {
    let policy = policy().attempt_timeout(SECOND);
    let mut stack = Stack::layered(policy, |layer| layer.budget(one_token()));
    let (request, slot) = with_slot(get());
    let call = stack.start(request);
    stack.runtime.advance(SECOND);
    assert!(AttemptTimeout::is(&*call.end().unwrap_err()));
    assert_eq!(slot.take().unwrap().stop, StopReason::BudgetExhausted);
}

#[test]
fn with_unchanged_errors_and_no_token_it_runs_to_its_end() {
    let policy = policy().attempt_timeout(SECOND);
    let mut stack = Stack::unchanged_with(policy, |layer| layer.budget(one_token()));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND * 60);
    assert!(call.is_pending());
    stack.answer(text(200, "done"));
    assert_eq!(body_of(call.end().unwrap()), "done");
}

/// No error can say that it was cut, and a retry without the header would be another request.
#[test]
fn with_unchanged_errors_and_no_room_it_runs_to_its_end() {
    let own = RetryPolicy::background();
    let fresh = HeaderMap::from_iter([(CACHE_CONTROL, HeaderValue::from_static("no-cache"))]);
    let late = Rule::when(Condition::error(ErrorGroup::Timeout));
    let policy = policy().attempt_timeout(SECOND);
    let policy = policy.rule(late.set_headers(fresh).retry(own));
    let mut stack = Stack::unchanged(policy);
    let mut request = get();
    let headers = request.headers_mut();
    for number in headers.len()..4_096 {
        let name = HeaderName::try_from(format!("x-{number}")).unwrap();
        headers.insert(name, HeaderValue::from_static("a"));
    }
    let mut call = stack.start(request);
    stack.runtime.advance(SECOND * 60);
    assert!(call.is_pending());
    stack.answer(text(200, "done"));
    assert_eq!(body_of(call.end().unwrap()), "done");
}

/// A retry after a timeout costs two.
fn one_token() -> RetryBudget {
    let budget = RetryBudget::builder().capacity(2).initial(1);
    budget.build().unwrap()
}

#[test]
fn an_error_of_anyhow_is_read_and_comes_back_as_what_it_holds() {
    let policy = policy().max_retries(1).build().unwrap();
    let layer = RetryLayer::new(policy).runtime(ManualRuntime::new());
    let service = layer.layer(service_fn(|_: Request| {
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        ready(Err::<Response, _>(anyhow::Error::new(reset)))
    }));
    let (request, slot) = with_slot(get());
    let error = service.oneshot(request).now_or_never().unwrap();
    assert!(error.unwrap_err().is::<io::Error>());
    let report = slot.take().unwrap();
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Reset));
    assert_eq!(report.attempt_count, 2);
}
