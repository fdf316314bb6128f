//! Limits and schedules of a rule's own.

use super::super::client::{STACKS, on_tower, statuses};
use super::super::{delays, seconds};
use super::{get_on, with_rules};
use http_retry::StopReason;

#[test]
fn a_rule_retries_by_its_own_limit_and_schedule() {
    let rules = with_rules(
        "
- {when: {status: 409}, retry: {max_retries: 2, backoff: [5s, 7s]}}
- {when: {status: 404}, retry: {max_attempts: 2}}
- {when: {status: 423}, do: retry}
",
    );
    for stack in STACKS {
        let waited = |list: &[u16]| delays(&get_on(stack, &rules, list).report);
        assert_eq!(waited(&[409]), seconds(&[5, 7]));
        assert_eq!(waited(&[404]), seconds(&[1]));
        assert_eq!(waited(&[423]), seconds(&[1, 1, 1]));
        assert_eq!(waited(&[503]), seconds(&[1, 1, 1]));
    }
}

#[test]
fn a_limit_counts_the_request_unless_it_is_the_rules_own() {
    let rules = |counter: &str| {
        with_rules(&format!(
            "
- {{when: {{status: 500}}, retry: {{max_retries: 2, counter: {counter}}}}}
- {{when: {{status: 502}}, retry: {{max_retries: 2, counter: {counter}}}}}
"
        ))
    };
    let list = [500, 502, 500, 502, 500, 502];
    for stack in STACKS {
        let ended = get_on(stack, &rules("request"), &list);
        assert_eq!(ended.statuses(), [500, 502, 500]);
        let ended = get_on(stack, &rules("rule"), &list);
        assert_eq!(ended.statuses(), [500, 502, 500, 502, 500]);
        assert_eq!(ended.stop(), StopReason::AttemptsExhausted);
    }
}

#[test]
fn a_rules_own_count_drives_its_own_schedule() {
    let rules = with_rules(
        "
- {when: {status: 500}, retry: {backoff: [1s, 2s], max_retries: 2, counter: rule}}
- {when: {status: 502}, retry: {backoff: [10s, 20s], max_retries: 2, counter: rule}}
",
    );
    let ended = on_tower(&rules, statuses(&[500, 502, 500, 502, 200]));
    assert_eq!(delays(&ended.report), seconds(&[1, 10, 2, 20]));
}
