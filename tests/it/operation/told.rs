//! What a run tells: its report, and events.

use super::{DELAY, fail_with_number, idempotent, now, policy, transient};
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::route::{RequestHead, Route, Router};
use http_retry::rules::{Action, Condition, ErrorGroup, Rule};
use http_retry::run::Runner;
use http_retry::testing::ManualRuntime;
use http_retry::{RetryReport, StopReason};
use std::sync::{Arc, Mutex};

#[test]
fn the_report_is_there_whatever_came_of_the_run() {
    let slot = RetryReport::slot();
    let runner = idempotent(policy()).report_to(slot.clone());
    assert_eq!(now(runner.run(transient, |_| async { Ok(1) })), Ok(1));
    let report = slot.take().unwrap();
    assert_eq!(
        (report.attempt_count, report.stop),
        (1, StopReason::Succeeded)
    );
    assert!(now(runner.run(transient, fail_with_number)).is_err());
    let report = slot.take().unwrap();
    assert_eq!(report.stop, StopReason::AttemptsExhausted);
    assert_eq!((report.attempt_count, report.waited), (3, DELAY * 2));
}

#[test]
fn observers_are_told_of_every_step_in_order() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let (first, second) = (Arc::clone(&told), Arc::clone(&told));
    let runner = idempotent(policy().max_retries(1))
        .service("db")
        .observe(move |event: &RetryEvent<'_>| first.lock().unwrap().push(line(event)))
        .observe(move |_: &RetryEvent<'_>| second.lock().unwrap().push("and".into()));
    assert!(now(runner.run(transient, fail_with_number)).is_err());
    let told = told.lock().unwrap();
    let lines: Vec<&str> = told
        .iter()
        .map(String::as_str)
        .filter(|line| *line != "and")
        .collect();
    assert_eq!(
        lines,
        [
            "db 0ns: attempt 1",
            "db 0ns: attempt 1 transient",
            "db 0ns: retry 1 in 2s",
            "db 2s: attempt 2",
            "db 2s: attempt 2 transient",
            "db 2s: attempts_exhausted",
        ]
    );
    assert_eq!(told.len(), 2 * lines.len());
}

#[test]
fn a_report_says_by_what_a_run_stopped() {
    let every = || Condition::error(ErrorGroup::Any);
    let ruled = Rule::when(every()).named("enough").stop();
    for (policy, by) in [
        (policy().stop_on([every()]), "stop_on"),
        (policy().rule(ruled), "enough"),
        (policy().otherwise(Action::Fail), "otherwise"),
    ] {
        let slot = RetryReport::slot();
        let runner = idempotent(policy).report_to(slot.clone());
        assert!(now(runner.run(transient, fail_with_number)).is_err());
        let report = slot.take().unwrap();
        assert_eq!(
            (report.attempt_count, report.stopped_by.as_deref()),
            (1, Some(by))
        );
    }
}

/// A router whose route names a service, whatever is sent.
struct Named;

impl Router for Named {
    fn route(&self, _: &RequestHead<'_>, _: Option<&str>) -> Arc<Route> {
        Arc::new(Route::new(policy().build().unwrap()).service("route"))
    }
}

#[test]
fn an_operation_has_its_own_name_or_that_of_its_route() {
    for (own, expected) in [("db", "db"), ("", "route")] {
        let told = Arc::new(Mutex::new(Vec::new()));
        let names = Arc::clone(&told);
        let runner = Runner::routed_on(ManualRuntime::new(), Named).service(own);
        let runner = runner.observe(move |event: &RetryEvent<'_>| {
            names.lock().unwrap().push(event.service.to_owned());
        });
        assert_eq!(now(runner.run(transient, |_| async { Ok(1) })), Ok(1));
        let mut told = told.lock().unwrap();
        told.dedup();
        assert_eq!(told[..], [expected]);
    }
}

fn line(event: &RetryEvent<'_>) -> String {
    assert_eq!(event.method, None);
    let what = match event.kind {
        RetryEventKind::AttemptStarted { number, .. } => format!("attempt {number}"),
        RetryEventKind::AttemptEnded(ended) => format!("attempt {} {}", ended.number, ended.class),
        RetryEventKind::RetryScheduled { retry, delay, .. } => {
            format!("retry {retry} in {delay:?}")
        }
        RetryEventKind::Stopped(report) => report.stop.to_string(),
        _ => "something new".into(),
    };
    format!("{} {:?}: {what}", event.service, event.at)
}
