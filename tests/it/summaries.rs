//! The worst cases of a document's services, with those that they fail over to.

use http_retry::config::RetryConfig;
use http_retry::services::RouteSummary;
use std::time::Duration;

fn routes(document: &str) -> Vec<RouteSummary> {
    serde_json::from_str::<RetryConfig>(document)
        .unwrap()
        .routes()
}

#[test]
fn what_follows_a_failover_counts_where_the_request_starts() {
    let all = routes(
        r#"{"version": 1, "retry": {"deadline": "1m"}, "services": {
            "a": {"retry": {"max_retries": 1, "on_exhausted": {"failover": "b"}},
                  "rules": [{"when": 529, "failover": "c"}]},
            "b": {"base_url": "http://b", "retry": {"max_retries": 2},
                  "routes": [{"name": "more", "match": {"path": "/*"}, "retry": {"max_retries": 3}}]},
            "c": {"base_url": "http://c", "retry": {"max_retries": 0, "on_exhausted": {"failover": "b"}}}}}"#,
    );
    let cost = |route: &RouteSummary| (route.service.clone(), route.worst_case.attempts);
    let costs: Vec<_> = all.iter().map(cost).collect();
    let of = |name: &str, attempts| (Some(name.to_owned()), Some(attempts));
    // From a: two attempts, then the one at c, and then the four of the most expensive route of b.
    let expected = [
        of("a", 7),
        of("b", 4),
        of("b", 3),
        of("c", 5),
        (None, Some(5)),
    ];
    assert_eq!(costs, expected);
    let minute = Some(Duration::from_secs(60));
    assert!(all.iter().all(|route| route.worst_case.time() == minute));
}

#[test]
fn services_that_lead_to_each_other_are_asked_once() {
    let service = |n: u32, name: &str| {
        let rule =
            |status, to: &str| format!(r#"{{"when": {status}, "failover": "s{:02}{to}"}}"#, n + 1);
        let rules = format!("[{}, {}]", rule(500, "a"), rule(501, "b"));
        format!(r#""s{n:02}{name}": {{"base_url": "http://s", "rules": {rules}}}"#)
    };
    let pairs = (0..14).map(|n| format!("{}, {}", service(n, "a"), service(n, "b")));
    let pairs: Vec<String> = pairs.collect();
    let last = r#""s14a": {"base_url": "http://s"}, "s14b": {"base_url": "http://s"}"#;
    let document = format!(
        r#"{{"version": 1, "services": {{{}, {last}}}}}"#,
        pairs.join(", ")
    );
    let all = routes(&document);
    assert_eq!(all.first().unwrap().worst_case.attempts, Some(15 * 5));
}

#[test]
fn each_rule_is_told_with_its_verdict() {
    let all = routes(
        r#"{"version": 1, "otherwise": "fail", "retry": {"deadline": "1h"}, "rules": [
            {"name": "again", "when": 409, "retry": {"max_retries": 1, "backoff": "none", "counter": "rule"}},
            {"when": 202, "wait": {"delay": "2s", "at_most": 9, "max": "5m"}},
            {"when": 503, "retry": {"max_retries": "unlimited", "backoff": "none"}},
            {"when": 410, "do": "break"}]}"#,
    );
    let rules = &all.first().unwrap().rules;
    let told: Vec<(&str, &str)> = rules
        .iter()
        .map(|(name, then)| (&**name, &**then))
        .collect();
    let expected = [
        ("again", "retry, at most 1 of its own, no delay"),
        ("rules[1]", "wait 2s, at most 9 times, at most 5m in all"),
        ("rules[2]", "retry without a limit, no delay"),
        ("rules[3]", "stop"),
        ("otherwise", "fail"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn an_explanation_names_the_rules_and_counts_them() {
    let all = routes(
        r#"{"version": 1, "rules": [{"name": "poll", "when": 202, "wait": {"delay": "2s", "at_most": 9}}]}"#,
    );
    let text = all.first().unwrap().policy.explain();
    for line in [
        "document: at most 14 attempts\n",
        "  without its rules: at most 5 attempts\n",
        "  rule poll: wait 2s, at most 9 times\n",
        "  worst case: 48s of backoff and the attempts, which have no limit\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}
