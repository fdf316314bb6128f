//! An operation may be several requests, and its error is that of the last one.

use super::{Failed, Record, now, policy};
use http_retry::run::Runner;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::{Class, ErrorKind, Reach, RetryReport, StopReason};
use std::io;
use tower::ServiceExt;

/// An order that is accepted, and then a record of it that is refused.
async fn order_and_record(orders: Script) -> io::Result<()> {
    let order = http::Request::post("http://api.example/orders");
    orders.oneshot(order.body(String::new()).unwrap()).await?;
    Err(io::ErrorKind::ConnectionRefused.into())
}

fn runner() -> Runner {
    Runner::on(ManualRuntime::new(), policy().build().unwrap())
}

/// How many orders were sent, and why no other attempt followed.
fn orders_sent(runner: Runner) -> (usize, StopReason, Reach) {
    let (orders, slot) = (Script::new().status(201), RetryReport::slot());
    let runner = runner.report_to(slot.clone());
    let failed = now(runner.run_by_policy(|_| order_and_record(orders.clone())));
    assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    let report = slot.take().unwrap();
    let last = report.attempts.last().unwrap();
    assert_eq!(last.error, Some(ErrorKind::Connect));
    (orders.calls().len(), report.stop, last.reach)
}

#[test]
fn an_order_is_sent_once_when_the_step_after_it_is_refused() {
    let unknown = (1, StopReason::RequestsUnknown, Reach::Ambiguous);
    assert_eq!(orders_sent(runner()), unknown);
    assert_eq!(orders_sent(runner().idempotent(false)), unknown);
}

#[test]
fn what_was_said_of_the_operation_counts() {
    let exhausted = (3, StopReason::AttemptsExhausted, Reach::Unsent);
    assert_eq!(orders_sent(runner().idempotent(true)), exhausted);
    assert_eq!(orders_sent(runner().one_request()), exhausted);
}

/// A function sees the same error as the policy.
#[test]
fn a_function_knows_no_more_of_the_requests_before() {
    for reach in [Reach::Unsent, Reach::Refused] {
        let record = Record::default();
        let slot = RetryReport::slot();
        let runner = runner().report_to(slot.clone());
        let failed = now(runner.run(
            |_: &Failed| (Class::Transient, reach),
            |attempt| {
                record.add(attempt);
                async { Err::<(), _>(Failed(1)) }
            },
        ));
        assert_eq!((failed, record.numbers()), (Err(Failed(1)), vec![1]));
        assert_eq!(slot.take().unwrap().stop, StopReason::RequestsUnknown);
    }
}

#[test]
fn the_reason_names_the_line_to_write() {
    let explained = StopReason::RequestsUnknown.explain();
    assert!(explained.contains(".one_request()") && explained.contains(".idempotent(true)"));
}

/// An operation that says that it is one request, and reports another, is not.
#[test]
fn a_report_of_another_request_overrules_the_setting() {
    let slot = RetryReport::slot();
    let runner = runner().one_request().report_to(slot.clone());
    let failed = now(runner.run_by_policy(|_| async {
        http_retry::attempt::sent();
        Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused))
    }));
    assert!(failed.is_err());
    assert_eq!(slot.take().unwrap().stop, StopReason::NotIdempotent);
}
