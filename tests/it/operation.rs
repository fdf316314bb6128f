//! Operations of any kind under a `Runner`.

mod time_limits;

use futures_util::FutureExt;
use http_retry::config::RetryConfig;
use http_retry::policy::Verdict;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::run::Runner;
use http_retry::runtime::Runtime;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{
    Attempt, Backoff, Class, Jitter, Reach, RetryBudget, RetryPolicy, RetryPolicyBuilder,
    RetryReport, ServiceBudgets, StopReason,
};
use serde_json::json;
use std::fmt;
use std::future::{Future, ready};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);
const DELAY: Duration = Duration::from_secs(2);

#[test]
fn attempts_are_numbered_from_one_in_every_run() {
    let runner = idempotent(policy());
    for _ in 0..2 {
        let record = Record::default();
        let answer = now(runner.run(transient, |attempt| {
            record.add(attempt);
            async move {
                if attempt.number() < 3 {
                    Err(Failed(1))
                } else {
                    Ok("done")
                }
            }
        }));
        assert_eq!(answer, Ok("done"));
        assert_eq!(record.numbers(), [1, 2, 3]);
    }
}

#[test]
fn the_last_error_comes_back_as_it_was() {
    let runner = idempotent(policy());
    let answer = now(runner.run(transient, fail_with_number));
    assert_eq!(answer, Err(Failed(3)));
}

#[test]
fn an_operation_is_not_idempotent_unless_that_is_said() {
    let runner = runner(policy());
    assert_eq!(
        judged(&runner, Class::Transient, Reach::Ambiguous),
        (1, StopReason::NotIdempotent)
    );
    assert_eq!(
        judged(&runner, Class::Transient, Reach::Answered),
        (1, StopReason::NotIdempotent)
    );
    assert_eq!(
        judged(&runner.idempotent(true), Class::Transient, Reach::Ambiguous),
        (3, StopReason::AttemptsExhausted)
    );
}

#[test]
fn what_did_not_happen_is_repeated_all_the_same() {
    let runner = runner(policy());
    for reach in [Reach::Unsent, Reach::Refused] {
        assert_eq!(
            judged(&runner, Class::Transient, reach),
            (3, StopReason::AttemptsExhausted)
        );
    }
}

#[test]
fn what_is_permanent_is_not_repeated() {
    let runner = runner(policy()).idempotent(true);
    assert_eq!(
        judged(&runner, Class::Permanent, Reach::Unsent),
        (1, StopReason::NotRetryable)
    );
}

#[test]
fn runners_that_share_a_budget_empty_it_together() {
    let budget = RetryBudget::builder().capacity(3).build().unwrap();
    for (attempts, why) in [
        (3, StopReason::AttemptsExhausted),
        (2, StopReason::BudgetExhausted),
        (1, StopReason::BudgetExhausted),
    ] {
        let runner = runner(policy()).budget(budget.clone());
        assert_eq!(
            judged(&runner, Class::Transient, Reach::Unsent),
            (attempts, why)
        );
    }
}

#[test]
fn a_success_deposits_and_a_failure_does_not() {
    let budget = RetryBudget::builder()
        .capacity(10)
        .initial(5)
        .per_success(0.5);
    let budget = budget.build().unwrap();
    let runner = idempotent(policy()).budget(budget.clone());
    let tokens = || budget.tokens(Duration::ZERO).unwrap().to_string();
    let answer = now(runner.run(transient, |_| async { Ok(()) }));
    assert_eq!((answer, tokens()), (Ok(()), "5.5".into()));
    let answer = now(runner.run(transient, fail_with_number));
    assert_eq!((answer, tokens()), (Err(Failed(3)), "3.5".into()));
}

#[test]
fn a_service_has_a_budget_of_its_own() {
    let budgets = ServiceBudgets::new(RetryBudget::builder().capacity(1)).unwrap();
    for (service, attempts) in [("db", 2), ("db", 1), ("queue", 2), ("queue", 1)] {
        let runner = runner(policy()).budgets(budgets.clone()).service(service);
        assert_eq!(
            judged(&runner, Class::Transient, Reach::Unsent),
            (attempts, StopReason::BudgetExhausted)
        );
    }
}

#[test]
fn the_report_is_there_whatever_came_of_the_run() {
    let slot = RetryReport::slot();
    let runner = idempotent(policy()).report_to(slot.clone());
    assert_eq!(now(runner.run(transient, |_| async { Ok(1) })), Ok(1));
    let report = slot.take().unwrap();
    assert_eq!(
        (report.attempt_count(), report.stop()),
        (1, StopReason::Succeeded)
    );
    assert!(now(runner.run(transient, fail_with_number)).is_err());
    let report = slot.take().unwrap();
    assert_eq!(report.stop(), StopReason::AttemptsExhausted);
    assert_eq!((report.attempt_count(), report.waited()), (3, DELAY * 2));
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
fn a_runner_inside_a_retry_layer_stands_aside() {
    let record = Record::default();
    let (runner, inner) = (idempotent(policy()), record.clone());
    let service = service_fn(move |_: http::Request<String>| {
        let failed = now(runner.run(transient, |attempt| {
            inner.add(attempt);
            fail_with_number(attempt)
        }));
        let error = failed.map_err(|_| io::Error::from(io::ErrorKind::ConnectionReset));
        ready(error.map(|()| http::Response::new(String::new())))
    });
    let layer = RetryLayer::new(policy().build().unwrap()).runtime(ManualRuntime::new());
    let request = http::Request::new(String::new());
    assert!(now(layer.layer(service).oneshot(request)).is_err());
    assert_eq!(record.numbers(), [1, 1, 1]);
}

#[test]
fn a_runner_inside_a_runner_stands_aside_and_says_so() {
    let slot = RetryReport::slot();
    let inner = idempotent(policy()).report_to(slot.clone());
    let outer = idempotent(policy());
    let record = Record::default();
    let failed = now(outer.run(transient, |_| {
        ready(now(inner.run(transient, |attempt| {
            record.add(attempt);
            fail_with_number(attempt)
        })))
    }));
    assert_eq!(failed, Err(Failed(1)));
    assert_eq!(record.numbers(), [1, 1, 1]);
    assert_eq!(slot.take().unwrap().stop(), StopReason::Nested);
}

#[test]
fn a_run_that_is_dropped_while_it_sleeps_gives_its_token_back() {
    let runtime = ManualRuntime::paused();
    let budget = RetryBudget::builder()
        .capacity(10)
        .initial(5)
        .build()
        .unwrap();
    let runner = Runner::on(runtime.clone(), policy().build().unwrap())
        .idempotent(true)
        .budget(budget.clone());
    let record = Record::default();
    let mut run = Box::pin(runner.run(transient, |attempt| {
        record.add(attempt);
        fail_with_number(attempt)
    }));
    assert!((&mut run).now_or_never().is_none());
    assert_eq!(budget.available(runtime.now()), 4);
    drop(run);
    runtime.advance(SECOND * 60);
    assert_eq!(budget.available(runtime.now()), 5);
    assert_eq!(record.numbers(), [1]);
}

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
        (report.attempt_count(), report.stop()),
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
    let runner = Runner::on(runtime.clone(), policy.build().unwrap());
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
    assert_eq!(slot.take().unwrap().stop(), StopReason::NotRetryable);
}

/// An error of the user's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Failed(u32);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failure {}", self.0)
    }
}

impl std::error::Error for Failed {}

/// The attempts that an operation was told of.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<Attempt>>>);

impl Record {
    fn add(&self, attempt: Attempt) {
        self.0.lock().unwrap().push(attempt);
    }

    fn attempts(&self) -> Vec<Attempt> {
        self.0.lock().unwrap().clone()
    }

    fn numbers(&self) -> Vec<u32> {
        self.attempts().iter().map(Attempt::number).collect()
    }
}

fn policy() -> RetryPolicyBuilder {
    RetryPolicy::builder()
        .max_retries(2)
        .backoff(Backoff::fixed(DELAY).jitter(Jitter::None))
}

fn runner(policy: RetryPolicyBuilder) -> Runner {
    Runner::on(ManualRuntime::new(), policy.build().unwrap())
}

fn idempotent(policy: RetryPolicyBuilder) -> Runner {
    runner(policy).idempotent(true)
}

fn now<F: Future>(run: F) -> F::Output {
    run.now_or_never().expect("the run is over")
}

fn transient(_: &Failed) -> (Class, Reach) {
    (Class::Transient, Reach::Ambiguous)
}

async fn fail_with_number(attempt: Attempt) -> Result<(), Failed> {
    Err(Failed(attempt.number()))
}

/// How often an operation runs whose errors mean this, and why it runs no more.
fn judged(runner: &Runner, class: Class, reach: Reach) -> (u32, StopReason) {
    let slot = RetryReport::slot();
    let runner = runner.clone().report_to(slot.clone());
    let failed = now(runner.run(|_| (class, reach), fail_with_number));
    let report = slot.take().unwrap();
    assert_eq!(failed, Err(Failed(report.attempt_count())));
    (report.attempt_count(), report.stop())
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

fn line(event: &RetryEvent<'_>) -> String {
    assert_eq!(event.method, None);
    let what = match event.kind {
        RetryEventKind::AttemptStarted { number, .. } => format!("attempt {number}"),
        RetryEventKind::AttemptEnded(ended) => format!("attempt {} {}", ended.number, ended.class),
        RetryEventKind::RetryScheduled { retry, delay, .. } => {
            format!("retry {retry} in {delay:?}")
        }
        RetryEventKind::Stopped(report) => report.stop().to_string(),
        _ => "something new".into(),
    };
    format!("{} {:?}: {what}", event.service, event.at)
}

#[tokio::test(start_paused = true)]
async fn a_run_can_be_spawned() {
    let runner = Runner::new(policy().build().unwrap()).idempotent(true);
    let record = Record::default();
    let inner = record.clone();
    let run = tokio::spawn(async move {
        let run = runner.run(transient, |attempt| {
            inner.add(attempt);
            fail_with_number(attempt)
        });
        run.await
    });
    assert_eq!(run.await.unwrap(), Err(Failed(3)));
    assert_eq!(record.numbers(), [1, 2, 3]);
}

/// An operation has no place that it could be taken away from.
#[tokio::test(start_paused = true)]
async fn an_operation_does_not_fail_over() {
    for service in [
        json!({"retry": {"max_retries": 1, "on_exhausted": {"failover": "other"}}}),
        json!({"rules": [{"when": {"error": "any"}, "failover": "other"}]}),
    ] {
        let expected = if service["rules"].is_null() { 2 } else { 1 };
        let services = json!({"own": service, "other": {"base_url": "http://other.example"}});
        let document = serde_json::from_value(json!({"version": 1, "services": services})).unwrap();
        let config = RetryConfig::load(&document).unwrap();
        let runner = Runner::from_config(&config).service("own").idempotent(true);
        let failed = runner.run(transient, |attempt| async move {
            // A run without an end would not fail by itself.
            match attempt.number() < 50 {
                true => Err(Failed(attempt.number())),
                false => Ok(()),
            }
        });
        assert_eq!(failed.await, Err(Failed(expected)));
    }
}
