mod failover;

use super::*;
use crate::policy::rules::predicate::tests::{Always, retryable};
use crate::policy::rules::{Action, Counter, Rule, Wait};
use crate::policy::{Backoff, Jitter, RetryPolicyBuilder};
use std::sync::Arc;

const SECOND: Duration = Duration::from_secs(1);

fn fixed(retries: u32, delay: Duration) -> RetryPolicy {
    let builder = RetryPolicy::builder()
        .max_retries(retries)
        .backoff(Backoff::fixed(delay))
        .max_server_delay(SECOND * 50)
        .max_gate_wait(None);
    builder.build().unwrap()
}

fn rule(action: Action) -> Rule {
    Rule::when(retryable()).named("rule").then(action)
}

fn ruled(policy: &RetryPolicy, rules: Vec<Rule>) -> WorstCase {
    let builder = rules
        .into_iter()
        .fold(policy.to_builder(), RetryPolicyBuilder::rule);
    builder.build().unwrap().worst_case()
}

fn failing_otherwise(policy: &RetryPolicy) -> WorstCase {
    let builder = policy.to_builder().otherwise(Action::Fail);
    builder.build().unwrap().worst_case()
}

fn counting_separately(policy: &RetryPolicy) -> RetryPolicy {
    let builder = policy.to_builder().counter(Counter::Rule);
    builder.build().unwrap()
}

fn wait(delay: Option<Duration>, at_most: Option<u32>, max: Option<Duration>) -> Rule {
    rule(Action::Wait(Wait {
        delay,
        at_most,
        max,
    }))
}

#[test]
fn the_spread_of_a_server_delay_is_added_to_the_longer_delay() {
    let worst = fixed(2, SECOND * 60).worst_case();
    assert_eq!(
        (worst.attempts, worst.backoff),
        (Some(3), Some(SECOND * 120))
    );
    // 60 s of its own, which are longer than 50 s, and a spread of a fifth of these 50 s.
    assert_eq!(worst.waits, Some(SECOND * 140));
}

#[test]
fn the_largest_limit_counts_if_retries_are_counted_together() {
    let more = rule(Action::Retry(fixed(4, SECOND * 2)));
    let fewer = rule(Action::Retry(fixed(1, SECOND * 9)));
    let worst = ruled(&fixed(3, SECOND), vec![more, fewer]);
    assert_eq!(worst.attempts, Some(5));
    assert_eq!(worst.backoff, Some(SECOND * (9 + 2 + 2 + 2)));
}

#[test]
fn limits_of_rules_that_count_separately_add_up() {
    let own = counting_separately(&fixed(4, SECOND * 2));
    let rules = vec![
        rule(Action::Retry(own.clone())),
        rule(Action::Retry(own)),
        wait(Some(SECOND * 5), Some(2), None),
    ];
    let worst = ruled(&fixed(3, SECOND), rules);
    assert_eq!(worst.attempts, Some(1 + 3 + 4 + 4 + 2));
    assert_eq!(worst.backoff, Some(SECOND * (3 + 8 + 8 + 10)));
}

#[test]
fn a_policy_that_no_outcome_reaches_costs_nothing() {
    let always = Rule {
        when: Arc::new(Always),
        ..rule(Action::Retry(fixed(1, SECOND)))
    };
    assert_eq!(ruled(&fixed(9, SECOND), vec![always]).attempts, Some(2));
    let worst = failing_otherwise(&fixed(9, SECOND));
    assert_eq!(
        (worst.attempts, worst.waits),
        (Some(1), Some(Duration::ZERO))
    );
}

#[test]
fn a_part_that_nothing_bounds_is_none() {
    let unlimited = rule(Action::Retry(fixed(u32::MAX, SECOND)));
    let worst = ruled(&fixed(1, SECOND), vec![unlimited]);
    assert_eq!(
        (worst.attempts, worst.backoff, worst.time()),
        (None, None, None)
    );

    let polls = ruled(&fixed(1, SECOND), vec![wait(None, None, Some(SECOND * 9))]);
    // A wait without a delay takes at least 100 ms.
    let bounds = (polls.attempts, polls.backoff);
    assert_eq!(bounds, (Some(2 + 90), Some(SECOND * 10)));
    let polls = wait(Some(SECOND * 4), None, Some(SECOND * 9));
    let polls = ruled(&fixed(1, SECOND), vec![polls]);
    assert_eq!((polls.attempts, polls.backoff), (Some(4), Some(SECOND * 9)));
}

#[test]
fn the_deadline_is_the_longest_or_none_if_one_is_missing() {
    let limited = |deadline: u32| {
        let builder = fixed(1, SECOND).to_builder();
        builder.deadline(SECOND * deadline).build().unwrap()
    };
    let later = rule(Action::Retry(limited(80)));
    let worst = ruled(&limited(20), vec![later]);
    assert_eq!(
        (worst.deadline, worst.time()),
        (Some(SECOND * 80), Some(SECOND * 80))
    );
    let open = rule(Action::Retry(fixed(1, SECOND)));
    assert_eq!(ruled(&limited(20), vec![open]).deadline, None);
}

#[test]
fn decorrelated_jitter_may_build_on_the_longest_delay_of_a_rule() {
    let decorrelated = Backoff::exponential(SECOND).jitter(Jitter::Decorrelated);
    let policy = RetryPolicy::builder().max_retries(2).backoff(decorrelated);
    let policy = policy.build().unwrap();
    assert_eq!(policy.worst_case().backoff, Some(SECOND * (3 + 9)));
    let other = rule(Action::Retry(counting_separately(&fixed(1, SECOND * 15))));
    assert_eq!(
        ruled(&policy, vec![other]).backoff,
        Some(SECOND * (45 + 60 + 15))
    );
}

fn gated(retries: u32, millis: u64) -> RetryPolicy {
    let builder = fixed(retries, SECOND).to_builder();
    let builder = builder.max_gate_wait(Duration::from_millis(millis));
    let builder = builder.max_refused(if retries > 0 { 100 } else { 0 });
    builder.attempt_timeout(SECOND * 2).build().unwrap()
}

#[test]
fn the_gate_adds_waits_and_a_refusal_for_each_second() {
    let worst = gated(1, 4_500).worst_case();
    assert_eq!(worst.attempts, Some(2));
    assert_eq!(worst.gated_attempts, 5);
    assert_eq!(worst.gated_waits, Duration::from_millis(4_500));
    assert_eq!(worst.gated_sending, Some(SECOND * 10));
    let all = Duration::from_millis(60_000 + 4_000 + 4_500 + 10_000);
    assert_eq!(worst.time(), Some(all));
}

#[test]
fn gated_attempts_are_zero_unless_max_refused_is_set() {
    let gated = |builder: RetryPolicyBuilder| builder.max_gate_wait(SECOND * 60).build().unwrap();
    let worst = |builder| gated(builder).worst_case().gated_attempts;
    let plain = || fixed(2, SECOND).to_builder();
    assert_eq!(worst(plain()), 0);
    assert_eq!(worst(plain().max_refused(7)), 7);
    let separate = || gated(plain().max_refused(7)).to_builder();
    assert_eq!(worst(separate().max_retries(3)), 0);
    assert_eq!(worst(separate().max_attempts(3).max_refused(5)), 5);
    assert_eq!(worst(separate().attempt_timeout(SECOND)), 7);
}

#[test]
fn a_request_sent_once_waits_at_the_gate_only_before_it() {
    let worst = gated(0, 5_000).worst_case();
    assert_eq!((worst.gated_attempts, worst.gated_waits), (0, SECOND * 5));
    let retries = || rule(Action::Retry(gated(1, 1_000)));
    assert_eq!(ruled(&gated(0, 7_000), vec![retries()]).gated_attempts, 7);
    assert_eq!(failing_otherwise(&gated(1, 7_000)).gated_attempts, 0);
    let none = fixed(3, SECOND).worst_case();
    assert_eq!((none.gated_attempts, none.gated_waits), (0, Duration::ZERO));
    assert_eq!(none.gated_sending, Some(Duration::ZERO));
}

#[test]
fn the_gate_is_the_services_whatever_policy_a_rule_retries_by() {
    let other = |millis| rule(Action::Retry(gated(1, millis)));
    let none = ruled(&fixed(1, SECOND), vec![other(7_000)]);
    assert_eq!((none.gated_attempts, none.gated_waits), (0, Duration::ZERO));
    let own = ruled(&gated(1, 5_000), vec![other(7_000)]);
    assert_eq!((own.gated_attempts, own.gated_waits), (5, SECOND * 5));
}
