//! What a document takes in memory is at most a stated multiple of its text, and a stated sum for rules that retry at
//! many places.

use allocation_counter::measure;
use http_retry::config::{Document, RetryConfig};
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Bytes for each byte of the text, as the reference says.
const MULTIPLE: u64 = 256;
/// Bytes for the rules at all places.
const RULES: u64 = 16 * 1024 * 1024;

fn assert_bounded(document: &Value) {
    let text = document.to_string();
    let mut result = String::new();
    let cost = measure(|| {
        let document: Document = serde_json::from_str(&text).unwrap();
        let config = RetryConfig::builder()
            .backoff("mine", |_: Value| |_| Duration::from_secs(1))
            .load(&document);
        result = config.map_or_else(
            |errors| errors.to_string(),
            |config| config.routes().len().to_string(),
        );
    });
    let most = MULTIPLE * u64::try_from(text.len()).unwrap() + RULES;
    let cost = cost.bytes_max;
    assert!(
        cost <= most,
        "{cost} of {} bytes: {result:.200}\n{text:.200}",
        text.len()
    );
}

fn many(n: usize, each: impl Fn(usize) -> Value) -> Value {
    (0..n).map(each).collect()
}

fn named(n: usize, each: impl Fn(usize) -> Value) -> Value {
    let entries = (0..n).map(|i| (i.to_string(), each(i)));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn rules_of_all() -> Vec<(Value, Value)> {
    let rules = |n| many(n, |_| json!({"when": 500, "retry": {}}));
    let slow = json!({"retry": {"base": "1s"}});
    vec![
        (json!({"version": 1}), json!({})),
        (json!({"version": 1}), slow.clone()),
        (json!({"version": 1, "rules": rules(19)}), json!({})),
        (json!({"version": 1, "rules": rules(19)}), slow.clone()),
        (
            json!({"version": 1, "rules": [{"when": {"code": many(5_000, |i| json!(i))}, "do": "stop"}]}),
            json!({}),
        ),
        (
            json!({"version": 1, "rules": [{"when": {"code": many(5_000, |i| json!(i))}, "do": "stop"}]}),
            slow.clone(),
        ),
    ]
}

fn settings_of_all() -> Vec<(Value, Value)> {
    let slow = json!({"retry": {"base": "1s"}});
    let long = "x".repeat(100_000);
    vec![
        (
            json!({"version": 1, "retry": {"on_exhausted": {"respond": {"status": 503, "body": long}}}}),
            slow.clone(),
        ),
        (
            json!({"version": 1, "retry": {"on_exhausted": {"respond": {"status": 503, "headers": {"x": long}}}}}),
            slow.clone(),
        ),
        (
            json!({"version": 1, "rules": [{"when": 500, "do": "retry", "set": {"headers": {"x": long}}}]}),
            slow.clone(),
        ),
        (
            json!({"version": 1, "retry": {"backoff": many(5_000, |_| json!("1s"))}}),
            json!({"retry": {"deadline": "1m"}}),
        ),
        (
            json!({"version": 1, "retry": {"retry_on": many(5_000, |_| json!(500))}}),
            slow.clone(),
        ),
        (
            json!({"version": 1, "retry": {"backoff": {"custom": "mine", "args": named(250, |i| json!(i))}}}),
            slow.clone(),
        ),
        (
            json!({"version": 1, "policies": {"p": {"use": "llm"}}, "retry": "p"}),
            json!({"retry": "p"}),
        ),
        (
            json!({"version": 1}),
            json!({"match": {"host": "a.example", "path": "/*"}, "base_url": "http://a"}),
        ),
    ]
}

/// A rule, a block or a list that holds at each of very many places.
#[test]
fn what_holds_at_many_places_is_kept_once() {
    for (document, inner) in [rules_of_all(), settings_of_all()].concat() {
        let mut document = document;
        // A match of its own for each, where there is one.
        document["services"] = named(1_000, |i| {
            let mut inner = inner.clone();
            if let Some(host) = inner.pointer_mut("/match/host") {
                *host = json!(format!("a{i}.example"));
            }
            inner
        });
        assert_bounded(&document);
    }
}

#[test]
fn each_thing_that_a_document_holds_takes_bounded_memory() {
    let n = 2_000;
    let route = |i: usize| json!({"name": i.to_string(), "match": {"path": format!("/{i}")}});
    for document in [
        json!({"version": 1, "budgets": named(n, |_| json!({}))}),
        json!({"version": 1, "policies": named(n, |_| json!({}))}),
        json!({"version": 1, "policies": named(n, |_| json!({"base": "1s"}))}),
        json!({"version": 1, "services": {"a": {"routes": many(n, route)}}}),
        json!({"version": 1, "rules": many(n, |_| json!({"when": 500, "do": "stop"}))}),
        json!({"version": 1, "rules": many(n, |_| json!({"when": 500, "retry": {}}))}),
        json!({"version": 1, "rules": many(n, |_| json!({"when": 500, "retry": {"base": "1s"}}))}),
        json!({"version": 1, "rules": many(n, |_| json!({"when": {"any": [500]}, "do": "stop"}))}),
        json!({"version": 1, "retry": {"retry_on": many(n, |_| json!({"not": 500}))}}),
        // And what is refused.
        json!({"version": 1, "services": named(n, |i| json!({i.to_string(): 1}))}),
        json!({"version": 1, "services": named(n, |_| json!({"budget": "b"}))}),
        named(n, |_| json!(null)),
        many(n, |_| json!({"a": {"b": {}}})),
        json!({"version": 1, "rules": many(20_001, |_| json!({"when": 500, "do": "stop"}))}),
    ] {
        assert_bounded(&document);
    }
}

proptest! {
    #![proptest_config(Config { cases: 24, ..Config::default() })]

    /// Any numbers of services, routes and rules, whatever of it they say for themselves.
    #[test]
    fn any_document_takes_bounded_memory(
        (services, routes, rules, own_rules) in (0_usize..120, 0_usize..4, 0_usize..60, 0_usize..4),
        (says, body, codes) in (0_u32..4, 0_usize..5_000, 1_usize..300),
    ) {
        let rule = |i: usize| match i % 3 {
            0 => json!({"when": {"code": many(codes, |i| json!(i))}, "do": "stop"}),
            1 => json!({"when": 500, "retry": {"max_retries": i}}),
            _ => json!({"when": 202, "wait": {"at_most": 3}}),
        };
        let service = |i: usize| {
            let route = |i: usize| json!({"name": i.to_string(), "match": {"path": format!("/{i}")}});
            let mut service = json!({"match": {"host": format!("h{i}")}});
            if routes > 0 { service["routes"] = many(routes, route); }
            if own_rules > 0 { service["rules"] = many(own_rules, rule); }
            if says > 1 { service["retry"] = json!({"base": "1s"}); }
            service
        };
        let mut document = json!({"version": 1, "services": named(services, service)});
        if rules > 0 { document["rules"] = many(rules, rule); }
        if says % 2 == 1 {
            let respond = json!({"status": 503, "body": "x".repeat(body)});
            document["retry"] = json!({"on_exhausted": {"respond": respond}});
        }
        assert_bounded(&document);
    }
}
