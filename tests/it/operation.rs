//! Operations of any kind under a `Runner`.

mod blocking;
mod budgets;
mod by_policy;
mod nested;
mod several_requests;
mod time_limits;
mod told;

use futures_util::FutureExt;
use http_retry::config::RetryConfig;
use http_retry::run::Runner;
use http_retry::testing::ManualRuntime;
use http_retry::{
    Attempt, Backoff, Class, Jitter, Reach, RetryPolicy, RetryPolicyBuilder, RetryReport,
    StopReason,
};
use serde_json::json;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
                if attempt.number < 3 {
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
fn a_list_of_methods_does_not_apply_to_an_operation() {
    let get = http_retry::Methods::only([http::Method::GET]);
    assert_eq!(
        judged(
            &runner(policy().methods(get)),
            Class::Transient,
            Reach::Unsent
        ),
        (3, StopReason::AttemptsExhausted)
    );
}

#[test]
fn what_is_permanent_is_not_repeated() {
    let runner = runner(policy()).idempotent(true);
    assert_eq!(
        judged(&runner, Class::Permanent, Reach::Unsent),
        (1, StopReason::NotRetryable)
    );
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
        self.attempts()
            .iter()
            .map(|attempt| attempt.number)
            .collect()
    }
}

fn policy() -> RetryPolicyBuilder {
    RetryPolicy::builder()
        .max_retries(2)
        .backoff(Backoff::fixed(DELAY).jitter(Jitter::None))
}

/// A runner of operations that send one request.
fn runner(policy: RetryPolicyBuilder) -> Runner {
    Runner::on(ManualRuntime::new(), policy.build().unwrap()).one_request()
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
    Err(Failed(attempt.number))
}

/// How often an operation runs whose errors mean this, and why it runs no more.
fn judged(runner: &Runner, class: Class, reach: Reach) -> (u32, StopReason) {
    let slot = RetryReport::slot();
    let runner = runner.clone().report_to(slot.clone());
    let failed = now(runner.run(|_| (class, reach), fail_with_number));
    let report = slot.take().unwrap();
    assert_eq!(failed, Err(Failed(report.attempt_count)));
    (report.attempt_count, report.stop)
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
            if attempt.number < 50 {
                Err(Failed(attempt.number))
            } else {
                Ok(())
            }
        });
        assert_eq!(failed.await, Err(Failed(expected)));
    }
}
