//! What the runs of operations deposit and spend.

use super::{
    Failed, Record, SECOND, fail_with_number, idempotent, judged, now, policy, runner, transient,
};
use futures_util::FutureExt;
use http_retry::run::Runner;
use http_retry::runtime::Runtime;
use http_retry::testing::ManualRuntime;
use http_retry::{Class, Reach, RetryBudget, ServiceBudgets, StopReason};
use std::time::Duration;

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
    let tokens = || budget.tokens_at(Duration::ZERO).unwrap().to_string();
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
