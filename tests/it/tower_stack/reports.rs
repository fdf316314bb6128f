//! What is told of a request, beside its response and in the requests that are sent again.

use super::stack::*;
use http_retry::policy::DelaySource;
use http_retry::testing::{Script, ScriptBody};
use http_retry::tower::RetryLayer;
use http_retry::{Attempt, Class, ErrorKind, Reach, RetryReport, StopReason};
use std::io;
use std::time::Duration;
use tower::BoxError;

#[test]
fn a_success_at_once_carries_no_report() {
    let sent = send(&Script::new().status(200), get());
    assert!(sent.unwrap().extensions().get::<RetryReport>().is_none());
}

#[test]
fn a_late_success_at_once_carries_no_report_either() {
    let mut stack = Stack::unchanged(policy().attempt_timeout(SECOND).max_retries(0));
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND * 60);
    assert!(call.is_pending());
    stack.answer(status(200));
    let response = call.end().unwrap();
    assert!(response.extensions().get::<RetryReport>().is_none());
}

#[test]
fn a_slot_is_filled_on_a_success_at_once() {
    let (request, slot) = with_slot(get());
    let sent = send(&Script::new().status(200), request);
    assert!(sent.unwrap().extensions().get::<RetryReport>().is_none());
    let report = slot.take().unwrap();
    assert_eq!((report.attempt_count, report.retries()), (1, 0));
    assert_eq!(report.stop, StopReason::Succeeded);
    assert_eq!(report.attempts[0].class, Class::Success);
}

#[test]
fn a_slot_is_filled_when_the_call_fails() {
    let (request, slot) = with_slot(get());
    let client = Script::new().error(io::ErrorKind::ConnectionRefused);
    let error = send(&client, request).unwrap_err();
    let error = error.downcast_ref::<io::Error>().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    let report = slot.take().unwrap();
    assert_eq!(report.stop, StopReason::AttemptsExhausted);
    assert_eq!(report.attempt_count, 3);
    for attempt in &report.attempts {
        assert_eq!(attempt.error, Some(ErrorKind::Connect));
        assert_eq!(attempt.reach, Reach::Unsent);
    }
}

#[test]
fn the_slot_and_the_response_hold_the_same_report() {
    let (request, slot) = with_slot(get());
    let client = Script::new().status(503).status(200);
    let response = send(&client, request).unwrap();
    assert_eq!(slot.take().as_ref(), Some(report(&response)));
}

#[test]
fn a_slot_is_empty_until_the_request_is_over() {
    let mut stack = Stack::new(policy());
    let (request, slot) = with_slot(get());
    let mut call = stack.answered(request, status(503));
    assert!(call.is_pending());
    assert_eq!(slot.take(), None);
}

#[test]
fn a_report_tells_every_attempt_and_every_wait() {
    let mut stack = Stack::new(policy());
    let mut call = stack.start(get());
    stack.runtime.advance(SECOND);
    stack.answer(status(500));
    stack.next_retry(&mut call);
    stack.fail(io::Error::from(io::ErrorKind::ConnectionReset));
    stack.next_retry(&mut call);
    stack.answer(status(200));
    let response = call.end().unwrap();
    let report = report(&response);
    assert_eq!(report.stop, StopReason::Succeeded);
    assert_eq!(report.waited, DELAY * 2);
    assert_eq!(report.tokens_left.unwrap().to_string(), "3");
    let told = report.attempts.iter();
    let told = told.map(|told| {
        (
            told.number,
            told.status.map(u16::from),
            told.started,
            told.delay,
        )
    });
    let zero = Duration::ZERO;
    assert!(told.eq([
        (1, Some(500), zero, zero),
        (2, None, SECOND + DELAY, DELAY),
        (3, Some(200), SECOND + DELAY * 2, DELAY),
    ]));
    let sources = report.attempts.iter().map(|told| told.delay_source);
    assert!(sources.eq([None, Some(DelaySource::Own), Some(DelaySource::Own)]));
}

#[test]
fn an_answer_that_is_not_worth_repeating_carries_its_report() {
    let response = send(&Script::new().status(404), get()).unwrap();
    assert_eq!(report(&response).stop, StopReason::NotRetryable);
    assert_eq!(report(&response).attempts[0].class, Class::Permanent);
}

#[test]
fn a_request_that_is_sent_again_carries_its_number() {
    let mut stack = Stack::new(policy());
    assert_eq!(numbers(&mut stack), [None, Some(2), Some(3)]);
}

#[test]
fn across_tasks_the_first_attempt_carries_its_number_too() {
    let mut stack = Stack::layered(policy(), RetryLayer::across_tasks);
    assert_eq!(numbers(&mut stack), [Some(1), Some(2), Some(3)]);
}

/// The numbers that the attempts of a failing request carry.
fn numbers(stack: &mut Stack) -> [Option<u32>; 3] {
    let mut call = stack.start(get());
    [1, 2, 3].map(|attempt| {
        if attempt > 1 {
            stack.next_retry(&mut call);
        }
        let (request, reply) = stack.received();
        reply.send_response(status(503));
        let carried = request.extensions().get::<Attempt>();
        carried.map(|attempt| attempt.number)
    })
}

fn send(
    client: &Script,
    request: Request,
) -> Result<http::Response<http_retry::RetryBody<ScriptBody>>, BoxError> {
    let layer = RetryLayer::new(policy().build().unwrap());
    sent_through(layer, client, request)
}
