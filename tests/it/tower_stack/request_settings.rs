//! What one request says for itself in its extensions.

use super::stack::*;
use http_retry::testing::Script;
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryOverride, ServiceBudgets, StopReason};

#[test]
fn a_request_can_switch_its_retries_off() {
    assert_eq!(
        outcome_of(with_own(get(), RetryOverride::off())),
        (1, StopReason::Disabled)
    );
}

#[test]
fn a_request_can_set_its_own_number_of_retries() {
    for retries in [0, 1, 5] {
        let own = RetryOverride::new().max_retries(retries);
        let calls = usize::try_from(retries).unwrap() + 1;
        let expected = (calls, StopReason::AttemptsExhausted);
        assert_eq!(outcome_of(with_own(get(), own)), expected);
    }
}

#[test]
fn a_request_can_say_that_twice_does_no_harm() {
    let own = RetryOverride::new().idempotent(true);
    let expected = (3, StopReason::AttemptsExhausted);
    assert_eq!(outcome_of(with_own(post(), own)), expected);
}

#[test]
fn a_request_can_say_that_twice_does_harm() {
    let own = RetryOverride::new().idempotent(false);
    let expected = (1, StopReason::NotIdempotent);
    assert_eq!(outcome_of(with_own(get(), own)), expected);
}

#[test]
fn a_request_can_set_its_own_deadline() {
    let own = RetryOverride::new().deadline(DELAY * 3 / 2);
    let expected = (2, StopReason::DeadlineExceeded);
    assert_eq!(outcome_of(with_own(get(), own)), expected);
}

#[test]
fn settings_that_change_nothing_leave_the_policys_in_place() {
    let expected = (3, StopReason::AttemptsExhausted);
    assert_eq!(outcome_of(with_own(get(), RetryOverride::new())), expected);
    assert_eq!(outcome_of(get()), expected);
}

#[test]
fn settings_of_one_request_are_not_those_of_the_next() {
    let client = Script::new().status(503);
    let layer = RetryLayer::new(policy().build().unwrap());
    let off = with_own(get(), RetryOverride::off());
    for (request, calls) in [(off, 1), (get(), 4)] {
        let sent = sent_through(layer.clone(), &client, request);
        assert_eq!(sent.unwrap().status(), 503);
        assert_eq!(client.calls().len(), calls);
    }
}

#[test]
fn a_request_can_name_the_service_whose_budget_it_uses() {
    let budgets = one_token_each().service("reports", no_tokens());
    let of = |service: &'static str| with_own(get(), RetryOverride::new().service(service));
    for (request, calls) in [
        (of("payments"), 2),
        (of("payments"), 1),
        (of("orders"), 2),
        (of("reports"), 1),
    ] {
        assert_eq!(
            outcome_on(&budgets, request),
            (calls, StopReason::BudgetExhausted)
        );
    }
}

#[test]
fn a_request_without_a_service_uses_the_budget_of_its_host() {
    let budgets = one_token_each();
    let to = |uri| http::Request::get(uri).body(String::new()).unwrap();
    for (request, calls) in [
        (to("http://a.example/x"), 2),
        (to("http://a.example/y"), 1),
        (to("http://A.example:80/z"), 1),
        (to("http://a.example:8080/x"), 2),
        (to("http://b.example/x"), 2),
    ] {
        assert_eq!(
            outcome_on(&budgets, request),
            (calls, StopReason::BudgetExhausted)
        );
    }
}

fn one_token_each() -> ServiceBudgets {
    ServiceBudgets::new(RetryBudget::builder().capacity(1)).unwrap()
}

fn no_tokens() -> RetryBudget {
    let budget = RetryBudget::builder().capacity(1).initial(0);
    budget.build().unwrap()
}

fn outcome_on(budgets: &ServiceBudgets, request: Request) -> (usize, StopReason) {
    let layer = RetryLayer::new(policy().build().unwrap());
    outcome_through(layer.budgets(budgets.clone()), request)
}

/// How often the request reaches a server that always answers 503, and why it is sent no more.
fn outcome_of(request: Request) -> (usize, StopReason) {
    outcome_through(RetryLayer::new(policy().build().unwrap()), request)
}

fn outcome_through(layer: RetryLayer, request: Request) -> (usize, StopReason) {
    let client = Script::new().status(503);
    let response = sent_through(layer, &client, request).unwrap();
    (client.calls().len(), report(&response).stop)
}
