//! Documents that are refused: by both, and by the loader alone, which sees more.

use super::{load, validator};
use serde_json::{Value, json};

fn with(key: &str, value: Value) -> Value {
    let mut document = json!({"version": 1});
    document[key] = value;
    document
}

fn retry(block: Value) -> Value {
    with("retry", block)
}

fn rules(rules: Value) -> Value {
    with("rules", rules)
}

/// A rule that stops on a condition.
fn when(when: Value) -> Value {
    let mut rule = json!({"do": "stop"});
    rule["when"] = when;
    rules(Value::Array(vec![rule]))
}

fn service(service: Value) -> Value {
    let mut services = json!({});
    services["s"] = service;
    with("services", services)
}

fn of_the_document() -> Vec<Value> {
    vec![
        json!(null),
        json!([]),
        json!({}),
        json!({"version": 2}),
        json!({"version": "1"}),
        json!({"version": 1, "retries": {}}),
        with("rules", json!([])),
        with("rules", json!({"do": "stop"})),
        with("services", json!([])),
        with("policies", json!({"p": null})),
        with("budgets", json!({"b": null})),
        with("budgets", json!({"b": {"capacity": "20"}})),
        with("budgets", json!({"b": {"capacity": 0}})),
        with("budgets", json!({"b": {"per_success": -0.1}})),
        with("budgets", json!({"b": {"per_success": 1_001}})),
        with("budgets", json!({"b": {"tokens": 20}})),
        with("otherwise", json!("retry")),
        with("otherwise", json!({})),
        with("otherwise", json!({"retry": null})),
    ]
}

fn of_retry() -> Vec<Value> {
    let blocks = [of_schedules(), of_ends()].concat();
    blocks.into_iter().map(retry).collect()
}

fn of_schedules() -> Vec<Value> {
    vec![
        json!(3),
        json!([]),
        json!({"max_retry": 3}),
        json!({"max_retries": 2, "max_attempts": 3}),
        json!({"max_attempts": 0}),
        json!({"max_retries": -1}),
        json!({"max_retries": "3"}),
        json!({"max_retries": 2.5}),
        json!({"max_retries": 4_294_967_295_u32}),
        json!({"base": 2000}),
        json!({"base": "2000"}),
        json!({"base": "2 parsecs"}),
        json!({"base": "-2s"}),
        json!({"base": "none"}),
        json!({"backoff": "fibonacci"}),
        json!({"backoff": []}),
        json!({"backoff": [1, 2]}),
        json!({"backoff": {}}),
        json!({"factor": 0.5}),
        json!({"factor": "2"}),
        json!({"first_step": 2}),
        json!({"jitter": "some"}),
        json!({"jitter": "120%"}),
        json!({"jitter": 0.2}),
        json!({"jitter": {"min": -1}}),
        json!({"cap": "never"}),
    ]
}

fn of_ends() -> Vec<Value> {
    vec![
        json!({"methods": ["GET"]}),
        json!({"retry_on": []}),
        json!({"retry_on": "5xx"}),
        json!({"stop_on": [{}]}),
        json!({"retry_after": {"over": "wait"}}),
        json!({"retry_after": "1m"}),
        json!({"counter": "all"}),
        json!({"on_exhausted": "respond"}),
        json!({"on_exhausted": {}}),
        json!({"on_exhausted": {"failover": "a", "dead_letter": "failed"}}),
        json!({"on_exhausted": {"same_keys": true}}),
        json!({"on_exhausted": {"dead_letter": "failed", "same_keys": true}}),
        json!({"on_exhausted": {"dead_letter": "failed", "set": {"headers": {"a": "b"}}}}),
        json!({"on_exhausted": {"failover": "a", "set": {}}}),
        json!({"credentials": []}),
        json!({"credentials": ["a b"]}),
        json!({"credentials": {"a": true}}),
        json!({"credentials": vec!["a"; 101]}),
        json!({"on_exhausted": {"respond": {"status": 99}}}),
        json!({"on_exhausted": {"respond": {"status": 503, "headers": {"a b": "c"}}}}),
    ]
}

fn of_rules() -> Vec<Value> {
    vec![
        rules(json!([{}])),
        rules(json!([{"when": {"status": 429}}])),
        rules(json!([{"do": "stop", "retry": {}}])),
        rules(json!([{"do": "jump"}])),
        rules(json!([{"wait": {"at_most": 1}, "requeue": {"at_most": 1}}])),
        rules(json!([{"wait": {"at_most": 0}}])),
        rules(json!([{"wait": {"delay": "none", "at_most": 1}}])),
        rules(json!([{"do": "stop", "set": {"headers": {"a": "b"}}}])),
        rules(json!([{"do": "stop", "same_keys": true}])),
        rules(json!([{"do": "retry", "same_keys": true}])),
        rules(json!([{"failover": "a", "same_keys": "yes"}])),
        rules(json!([{"do": "retry", "set": {}}])),
        when(json!({})),
        when(json!([429])),
        when(json!({"status": 99})),
        when(json!({"status": "6"})),
        when(json!({"status": "0xx"})),
        when(json!({"status": []})),
        when(json!({"outcome": "failed"})),
        when(json!({"error": "http"})),
        when(json!({"code": ""})),
        when(json!({"message": []})),
        when(json!({"method": "G ET"})),
        when(json!({"attempt": 0})),
        when(json!({"attempt": "few"})),
        when(json!({"retryable": "yes"})),
        when(json!({"header": "a b"})),
        when(json!({"header": {"a": false}})),
        when(json!({"any": {"status": 429}})),
        when(json!({"not": []})),
    ]
}

fn of_services() -> Vec<Value> {
    vec![
        service(json!(null)),
        service(json!({"matches": {}})),
        service(json!({"match": {}})),
        service(json!({"match": {"host": "https://a.example"}})),
        service(json!({"match": {"host": "a.*.example"}})),
        service(json!({"match": {"host": []}})),
        service(json!({"match": {"scheme": "ftp"}})),
        service(json!({"match": {"path": "v1"}})),
        service(json!({"base_url": "a.example"})),
        service(json!({"base_url": "https://user@a.example"})),
        service(json!({"base_url": "https://a.example/?q=1"})),
        service(json!({"gate": {}})),
        service(json!({"gate": 1})),
        service(json!({"hedge": "p95"})),
        service(json!({"hedge": {"after": "p100"}})),
        service(json!({"hedge": {"after": "p9"}})),
        service(json!({"hedge": {"max": 4}})),
        service(json!({"hedge": {"cost": 0}})),
        service(json!({"budget": 5})),
        service(json!({"request_overrides": "some"})),
        service(json!({"routes": []})),
        service(json!({"routes": [{"match": {"path": "/"}}]})),
        service(json!({"routes": [{"name": "r"}]})),
        service(json!({"routes": [{"name": "r", "match": {"host": "a"}}]})),
        service(json!({"routes": [{"name": "r", "match": {"path": "/"}, "budget": "b"}]})),
    ]
}

#[test]
fn the_schema_and_the_loader_refuse_a_wrong_shape() {
    let validator = validator();
    let parts = [of_the_document(), of_retry(), of_rules(), of_services()];
    for document in parts.into_iter().flatten() {
        assert!(load(&document).is_err(), "the loader takes {document}");
        assert!(
            !validator.is_valid(&document),
            "the schema takes {document}"
        );
    }
}

/// What the loader sees and a schema cannot, and the words in which the loader says so.
fn of_names() -> Vec<(Value, &'static str)> {
    let two = |first: Value, second: Value| with("services", json!({"a": first, "b": second}));
    let over = |to: &str| {
        let url = format!("https://{to}.example");
        json!({"base_url": url, "retry": {"on_exhausted": {"failover": to}}})
    };
    vec![
        (retry(json!({"use": "fast"})), "is no policy"),
        (retry(json!({"budget": "shared"})), "is no budget"),
        (
            with("policies", json!({"a": {"use": "b"}, "b": "a"})),
            "use cycle",
        ),
        (two(over("b"), over("a")), "failover cycle"),
        (two(over("c"), json!({})), "is no service"),
        (rules(json!([{"failover": "s"}])), "is no service"),
        (
            two(json!({}), json!({"rules": [{"jump": "a"}]})),
            "has no place to go to",
        ),
        (
            retry(json!({"on_exhausted": {"dead_letter": "nobody"}})),
            "is no dead letter observer",
        ),
        (
            retry(json!({"backoff": {"custom": "nobodys"}})),
            "is no custom backoff",
        ),
        (
            retry(json!({"on_exhausted": {"respond": {"body": "sorry"}}})),
            "respond has no status",
        ),
    ]
}

fn of_limits() -> Vec<(Value, &'static str)> {
    vec![
        (
            retry(json!({"max_retries": "unlimited"})),
            "unlimited needs a deadline",
        ),
        (rules(json!([{"wait": {}}])), "never ends"),
        (
            rules(json!([{"do": "stop"}, {"do": "fail"}])),
            "is never reached",
        ),
        (
            retry(json!({"base": "2s", "max_delay": "1s"})),
            "must be at most max_delay",
        ),
        (retry(json!({"base": "0s"})), "must be above 0"),
        (retry(json!({"deadline": "0s"})), "must be above 0"),
        (
            retry(json!({"deadline": "1s", "attempt_timeout": "2s"})),
            "must be at most the deadline",
        ),
        (
            retry(json!({"jitter": {"min": 2, "max": 1}})),
            "must be 0 to the jitter's max",
        ),
        (
            retry(json!({"factor": 1.123_456_7})),
            "at most six decimal places",
        ),
    ]
}

fn of_other_limits() -> Vec<(Value, &'static str)> {
    vec![
        (
            with("budgets", json!({"b": {"capacity": 5, "initial": 6}})),
            "must be 0 to 5",
        ),
        (
            service(json!({"budget": "b", "retry": {"budget": "b"}})),
            "give one of the two",
        ),
        (
            service(json!({"routes": [
                {"name": "r", "match": {"path": "/a"}},
                {"name": "r", "match": {"path": "/b"}},
            ]})),
            "is a duplicate",
        ),
        (when(json!({"status": "599-500"})), "runs backwards"),
        (when(json!({"attempt": "<1"})), "is out of range"),
    ]
}

#[test]
fn what_only_the_whole_shows_the_loader_alone_refuses() {
    let validator = validator();
    for (document, why) in [of_names(), of_limits(), of_other_limits()].concat() {
        let errors = load(&document).unwrap_err();
        assert!(errors.contains(why), "{document}: {errors}");
        assert!(validator.is_valid(&document), "{document}");
    }
}
