//! Operations without async.

use super::{DELAY, Failed, SECOND, policy, transient};
use http_retry::run::Runner;
use http_retry::testing::ManualRuntime;
use http_retry::{Backoff, Jitter, RetryPolicy, RetryReport, StopReason};
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

#[test]
fn a_function_is_repeated_with_the_waits_of_the_policy() {
    let runtime = ManualRuntime::new();
    let runner = Runner::on(runtime.clone(), policy().build().unwrap()).idempotent(true);
    // It need not be `Send`.
    let calls = Rc::new(Cell::new(0));
    let result = runner.run_blocking(transient, |attempt| {
        calls.set(attempt.number);
        if attempt.number < 3 {
            Err(Failed(attempt.number))
        } else {
            Ok("done")
        }
    });
    assert_eq!((result, calls.get()), (Ok("done"), 3));
    assert_eq!(runtime.sleeps(), [DELAY, DELAY]);
}

#[test]
fn a_function_whose_retries_are_used_up_returns_its_last_error() {
    let slot = RetryReport::slot();
    let runner = Runner::on(ManualRuntime::new(), policy().build().unwrap());
    let runner = runner.idempotent(true).report_to(slot.clone());
    let fail = |attempt: http_retry::Attempt| Err::<(), _>(Failed(attempt.number));
    assert_eq!(runner.run_blocking(transient, fail), Err(Failed(3)));
    assert_eq!(slot.take().unwrap().stop, StopReason::AttemptsExhausted);
}

#[test]
fn a_function_that_may_do_harm_is_called_once() {
    let runner = Runner::on(ManualRuntime::new(), policy().build().unwrap());
    let mut calls = 0;
    let result = runner.run_blocking_by_policy(|_| {
        calls += 1;
        Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionReset))
    });
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(calls, 1);
}

#[test]
fn a_function_is_told_what_is_left_of_the_deadline() {
    let policy = policy().deadline(SECOND * 5).build().unwrap();
    let runner = Runner::on(ManualRuntime::new(), policy).idempotent(true);
    let mut limits = Vec::new();
    let _ = runner.run_blocking(transient, |attempt| {
        limits.push(attempt.limit);
        Err::<(), _>(Failed(1))
    });
    assert_eq!(limits, [5, 3, 1].map(|seconds| Some(SECOND * seconds)));
}

/// A runner on the system's clock, with waits that end soon.
fn quick() -> Runner {
    let backoff = Backoff::fixed(Duration::from_millis(2)).jitter(Jitter::None);
    let policy = RetryPolicy::builder().backoff(backoff).build().unwrap();
    Runner::new(policy).one_request()
}

fn second_call(runner: &Runner) -> io::Result<u32> {
    runner.run_blocking_by_policy(|attempt| match attempt.number {
        1 => Err(io::ErrorKind::ConnectionRefused.into()),
        number => Ok(number),
    })
}

#[test]
fn a_wait_needs_no_tokio() {
    assert_eq!(second_call(&quick()).unwrap(), 2);
}

#[tokio::test]
async fn a_wait_on_a_thread_of_tokio_needs_no_turn_of_its_executor() {
    let on_the_thread = second_call(&quick());
    assert_eq!(on_the_thread.unwrap(), 2);
    let runner = quick();
    let elsewhere = tokio::task::spawn_blocking(move || second_call(&runner));
    assert_eq!(elsewhere.await.unwrap().unwrap(), 2);
}
