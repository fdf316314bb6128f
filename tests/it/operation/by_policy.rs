//! Errors that the policy judges: those that it was taught, and those of the standard library.

use super::{Failed, Record, SECOND, fail_with_number, idempotent, now, policy, runner};
use http_retry::policy::Verdict;
use http_retry::run::Runner;
use http_retry::testing::ManualRuntime;
use http_retry::{Class, Reach, RetryReport, StopReason};
use std::io;

#[test]
fn the_policy_judges_the_errors_it_was_taught() {
    let policy = policy().classify_error(|error: &Failed| match error.0 {
        1 => (Class::Transient, Reach::Refused),
        _ => (Class::Permanent, Reach::Answered),
    });
    let slot = RetryReport::slot();
    let runner = runner(policy).report_to(slot.clone());
    assert_eq!(now(runner.run_by_policy(fail_with_number)), Err(Failed(2)));
    let report = slot.take().unwrap();
    assert_eq!(
        (report.attempt_count, report.stop),
        (2, StopReason::NotRetryable)
    );
}

#[test]
fn an_error_that_was_taught_says_when_to_come_back() {
    let busy = Verdict::new(Class::Throttled, Reach::Refused);
    let policy = policy().classify_error(move |error: &Failed| match error.0 {
        1 => Some(busy.asking_for(SECOND * 90)),
        _ => None,
    });
    let runtime = ManualRuntime::new();
    let runner = Runner::on(runtime.clone(), policy.build().unwrap()).one_request();
    assert_eq!(now(runner.run_by_policy(fail_with_number)), Err(Failed(2)));
    assert!(runtime.sleeps()[0] >= SECOND * 90);
}

#[test]
fn the_policy_finds_what_it_was_taught_inside_of_other_errors() {
    let policy = policy().classify_error(|_: &Failed| (Class::Transient, Reach::Unsent));
    let record = Record::default();
    let failed = now(runner(policy).run_by_policy(|attempt| {
        record.add(attempt);
        async { Err::<(), _>(io::Error::other(Failed(7))) }
    }));
    let inner = failed.unwrap_err().into_inner().unwrap();
    assert_eq!(inner.downcast_ref(), Some(&Failed(7)));
    assert_eq!(record.numbers(), [1, 2, 3]);
}

#[test]
fn the_policy_knows_the_errors_of_the_standard_library() {
    for (kind, attempts) in [
        (io::ErrorKind::ConnectionRefused, 3),
        (io::ErrorKind::ConnectionReset, 1),
        (io::ErrorKind::PermissionDenied, 1),
    ] {
        assert_eq!(
            attempts_by_policy(&runner(policy()), kind),
            attempts,
            "{kind}"
        );
    }
    let idempotent = idempotent(policy());
    assert_eq!(
        attempts_by_policy(&idempotent, io::ErrorKind::ConnectionReset),
        3
    );
}

#[test]
fn an_error_that_nobody_knows_is_not_repeated() {
    let slot = RetryReport::slot();
    let runner = idempotent(policy()).report_to(slot.clone());
    assert_eq!(now(runner.run_by_policy(fail_with_number)), Err(Failed(1)));
    assert_eq!(slot.take().unwrap().stop, StopReason::NotRetryable);
}

fn attempts_by_policy(runner: &Runner, kind: io::ErrorKind) -> usize {
    let record = Record::default();
    let failed = now(runner.run_by_policy(|attempt| {
        record.add(attempt);
        async move { Err::<(), _>(io::Error::from(kind)) }
    }));
    assert_eq!(failed.unwrap_err().kind(), kind);
    record.numbers().len()
}
