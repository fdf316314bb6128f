//! The budget that bounds the retries of all services that share it.

use super::stack::*;
use http_retry::testing::Script;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, StopReason};
use std::time::Duration;

#[test]
fn services_that_share_a_budget_empty_it_together() {
    let budget = RetryBudget::builder().capacity(3).build().unwrap();
    let client = Script::new().status(503).body("sorry");
    let send = || sent_through(layer().budget(budget.clone()), &client, get()).unwrap();
    let first = send();
    assert_eq!(report(&first).stop, StopReason::AttemptsExhausted);
    let second = send();
    assert_eq!(report(&second).stop, StopReason::BudgetExhausted);
    assert_eq!(report(&second).attempt_count, 2);
    let third = send();
    assert_eq!(report(&third).attempt_count, 1);
    assert_eq!(report(&third).tokens_left.unwrap().to_string(), "0");
    assert_eq!(body_of(third), "sorry");
}

#[test]
fn services_of_different_layers_have_different_budgets() {
    let patient = || RetryLayer::new(policy().max_retries(1_000).build().unwrap());
    for _ in 0..2 {
        let client = Script::new().status(503);
        let response = sent_through(patient(), &client, get()).unwrap();
        assert_eq!(report(&response).stop, StopReason::BudgetExhausted);
        assert_eq!(client.calls().len(), 21);
    }
}

#[test]
fn services_of_one_layer_share_its_budget() {
    let layer = RetryLayer::new(policy().max_retries(1_000).build().unwrap());
    for calls in [21, 1] {
        let client = Script::new().status(503);
        let response = sent_through(layer.clone(), &client, get()).unwrap();
        assert_eq!(report(&response).stop, StopReason::BudgetExhausted);
        assert_eq!(client.calls().len(), calls);
    }
}

#[test]
fn a_success_deposits_at_once_and_after_a_retry() {
    for (statuses, tokens) in [
        ([200, 200], "5.5"),
        ([503, 200], "4.5"),
        ([503, 503], "3"),
        ([404, 404], "5"),
    ] {
        for request in [get(), with_slot(get()).0] {
            assert_eq!(tokens_after(statuses, request), tokens, "{statuses:?}");
        }
    }
}

#[test]
fn a_token_is_held_in_the_wait_and_spent_when_sent() {
    let mut stack = Stack::new(policy());
    let mut call = stack.start(get());
    assert_eq!(stack.tokens(), TOKENS);
    stack.answer(status(503));
    assert!(call.is_pending());
    assert_eq!(stack.tokens(), TOKENS - 1);
    stack.next_retry(&mut call);
    stack.answer(status(200));
    assert_eq!(call.end().unwrap().status(), 200);
    assert_eq!(stack.tokens(), TOKENS - 1);
}

#[test]
fn an_attempt_that_the_policy_does_not_repeat_costs_nothing() {
    let mut stack = Stack::new(policy());
    let call = stack.answered(post(), status(503));
    assert_eq!(call.end().unwrap().status(), 503);
    assert_eq!(stack.tokens(), TOKENS);
}

#[test]
fn without_a_budget_every_planned_retry_is_sent() {
    let client = Script::new().status(503);
    let policy = policy().max_retries(100).build().unwrap();
    let layer = RetryLayer::new(policy).budget(RetryBudget::unlimited());
    let response = sent_through(layer, &client, get()).unwrap();
    assert_eq!(client.calls().len(), 101);
    assert_eq!(report(&response).tokens_left, None);
}

/// What is left of five tokens, where a success brings half a one.
fn tokens_after(statuses: [u16; 2], request: Request) -> String {
    let budget = RetryBudget::builder().capacity(10).initial(5);
    let budget = budget.per_success(0.5).min_per_second(0);
    let budget = budget.build().unwrap();
    let client = statuses.into_iter().fold(Script::new(), Script::status);
    let sent = sent_through(layer().budget(budget.clone()), &client, request);
    assert!(sent.is_ok());
    budget.tokens_at(Duration::ZERO).unwrap().to_string()
}

fn layer() -> RetryLayer {
    RetryLayer::new(policy().build().unwrap())
}
