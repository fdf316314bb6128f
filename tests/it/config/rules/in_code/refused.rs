//! Rules and conditions that cannot work.

use super::{SECOND, base, headers};
use http::HeaderMap;
use http_retry::rules::{Action, Condition, Rule, RuleBuilder, Wait};
use http_retry::{Backoff, RetryPolicyBuilder};
use std::time::Duration;

fn always() -> RuleBuilder {
    Rule::when(Condition::always())
}

fn waiting(wait: Wait) -> RetryPolicyBuilder {
    base().rule(always().wait(wait))
}

#[test]
fn a_rule_that_cannot_work_is_refused() {
    let ruled = || base().rule(always().stop()).build().unwrap();
    let own = || base().build().unwrap();
    for (builder, field) in [
        (base().rule(always().named("").stop()), "rules[0].name"),
        (base().rule(always().named("a\nb").stop()), "rules[0].name"),
        (
            base()
                .rule(always().stop())
                .rule(always().named("b").fail()),
            "rules[1]",
        ),
        (
            base().rule(always().set_headers(headers("x-a")).stop()),
            "rules[0].set_headers",
        ),
        (
            base().rule(always().set_headers(HeaderMap::new()).retry(own())),
            "rules[0].set_headers",
        ),
        (base().rule(always().retry(ruled())), "rules[0].retry"),
        (base().otherwise(Action::Retry(ruled())), "otherwise"),
        (
            base().otherwise(Action::Wait(Wait::new().at_most(1))),
            "otherwise",
        ),
        (base().retry_on([]), "retry_on"),
        (base().stop_on([]), "stop_on"),
    ] {
        assert_refused(builder, field);
    }
}

#[test]
fn a_wait_that_cannot_work_is_refused() {
    for builder in [
        waiting(Wait::new().delay(SECOND)),
        waiting(Wait::new().delay(Duration::ZERO).at_most(1)),
        waiting(Wait::new().at_most(0)),
        waiting(Wait::new().at_most(1)).backoff(Backoff::none()),
    ] {
        assert_refused(builder, "rule");
    }
    let ends = waiting(Wait::new()).deadline(SECOND * 9).build();
    assert!(ends.is_ok());
}

fn assert_refused(builder: RetryPolicyBuilder, field: &str) {
    let error = builder.build().map(drop).unwrap_err();
    assert_eq!(error.field(), field, "{error}");
}

#[test]
fn a_condition_that_holds_for_nothing_is_refused() {
    for (condition, field) in [
        (Condition::status([]), "status"),
        (Condition::status([99]), "status"),
        (Condition::status(500..=1000), "status"),
        (Condition::attempt(0..=1), "attempt"),
        (Condition::attempt(3..3), "attempt"),
        (Condition::message(""), "message"),
        (Condition::code(""), "code"),
    ] {
        assert_eq!(condition.unwrap_err().field(), field);
    }
}
