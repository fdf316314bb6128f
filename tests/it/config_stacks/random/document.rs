//! Documents out of a seed.

use crate::random::Random;
use serde_json::{Map, Value, json};

pub(super) fn of(random: &mut Random) -> Value {
    let mut document = json!({
        "version": 1,
        "budgets": {
            "small": {"capacity": 3, "initial": 2, "per_success": 0.5},
            "large": {"capacity": 100, "initial": 100, "timeout_cost": 3},
        },
        "policies": {"named": retry(random, None)},
        "services": {
            "main": {"match": {"host": "main.example"}, "base_url": "http://main.example/v1"},
            "spare": {"base_url": "http://spare.example/below"},
        },
    });
    place(random, &mut document, None);
    place(random, &mut document["services"]["spare"], None);
    let main = &mut document["services"]["main"];
    place(random, main, Some("spare"));
    if random.one_in(2) {
        main["request_overrides"] = json!(random.one_of(&["allow", "fill_only", "deny"]));
    }
    if random.one_in(2) {
        main["routes"] = json!([{"name": "chat", "match": {"path": "/v1/*"}}]);
        place(random, &mut main["routes"][0], Some("spare"));
    }
    document
}

/// What the document, a service and a route have in common.
fn place(random: &mut Random, place: &mut Value, other: Option<&str>) {
    if random.one_in(2) {
        place["retry"] = retry(random, other);
    }
    if random.one_in(2) {
        let rules = 1 + random.below(3);
        place["rules"] = (0..rules).map(|_| rule(random, other)).collect();
    }
    if random.one_in(4) {
        let words = ["classify", "accept", "fail", "by_outcome"];
        place["otherwise"] = if random.one_in(3) {
            json!({"retry": retry(random, None)})
        } else {
            json!(random.one_of(&words))
        };
    }
}

fn retry(random: &mut Random, other: Option<&str>) -> Value {
    let jitters = [
        json!("none"),
        json!("full"),
        json!("equal"),
        json!("20%"),
        json!({"min": 0.5, "max": 1.5}),
    ];
    let asked = [
        json!("respect"),
        json!("ignore"),
        json!({"max": "2s"}),
        json!({"max": "2s", "over": "clamp"}),
    ];
    let fields = [
        ("max_retries", json!(random.below(5))),
        ("jitter", random.one_of(&jitters)),
        ("cap", json!(random.one_of(&["both", "before", "after"]))),
        ("retry_on", json!([when(random, 1), when(random, 1)])),
        ("stop_on", json!([when(random, 1)])),
        ("retry_after", random.one_of(&asked)),
        ("methods", json!(random.one_of(&["idempotent", "all"]))),
        ("deadline", json!(random.one_of(&["5s", "40s"]))),
        ("attempt_timeout", json!("10s")),
        ("counter", json!(random.one_of(&["request", "rule"]))),
        ("budget", json!(random.one_of(&["small", "large"]))),
        ("on_exhausted", exhausted(random, other)),
    ];
    let mut retry = backoff(random);
    for (name, value) in fields {
        // Lists narrow so much that they are rare.
        let rare = matches!(name, "retry_on" | "stop_on" | "deadline");
        if random.one_in(if rare { 8 } else { 3 }) {
            retry.insert(name.to_owned(), value);
        }
    }
    Value::Object(retry)
}

fn backoff(random: &mut Random) -> Map<String, Value> {
    let growths = [
        json!("none"),
        json!("fixed"),
        json!("linear"),
        json!("exponential"),
        json!(["1s", "3s"]),
    ];
    let fields = [
        ("backoff", random.one_of(&growths)),
        ("base", json!(random.one_of(&["100ms", "1s", "2s 500ms"]))),
        ("factor", json!(random.one_of(&[1.0, 1.5, 3.0]))),
        ("first_step", json!(random.below(2))),
        ("max_delay", json!(random.one_of(&["none", "4s", "1m"]))),
        ("jitter", json!("decorrelated")),
    ];
    let fields = fields.into_iter().filter(|_| random.one_in(3));
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn exhausted(random: &mut Random, other: Option<&str>) -> Value {
    let respond = json!({"respond": {"status": 299, "headers": {"x-own": "1"}, "body": "own"}});
    match (other, random.below(4)) {
        (Some(service), 0) => json!({"failover": service}),
        (_, 1) => respond,
        (_, 2) => json!("fail"),
        _ => json!("last"),
    }
}

fn rule(random: &mut Random, other: Option<&str>) -> Value {
    let mut rule = json!({"when": when(random, 2)});
    let words = ["accept", "fail", "stop", "retry", "continue", "prune"];
    match (random.below(8), other) {
        (0..=2, _) => rule["do"] = json!(random.one_of(&words)),
        (3 | 4, _) => rule["retry"] = retry(random, None),
        (5, _) => rule["retry"] = json!("named"),
        (6, _) | (_, None) => {
            let delays = [json!("2s"), json!("700ms")];
            rule["wait"] = json!({"at_most": 1 + random.below(3)});
            if random.one_in(2) {
                rule["wait"]["delay"] = random.one_of(&delays);
            }
            if random.one_in(3) {
                rule["wait"]["max"] = json!("3s");
            }
        }
        (_, Some(service)) => rule["failover"] = json!(service),
    }
    if rule["do"].is_null() && random.one_in(3) {
        rule["set"] = json!({"headers": {"x-again": "1"}});
    }
    let given = rule
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null());
    Value::Object(
        given
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

fn when(random: &mut Random, depth: u32) -> Value {
    if depth > 0 && random.one_in(4) {
        let (one, other) = (when(random, depth - 1), when(random, depth - 1));
        return match random.below(3) {
            0 => json!({"any": [one, other]}),
            1 => json!({"all": [one, other]}),
            _ => json!({"not": one}),
        };
    }
    let tests = tests(random);
    let mut when = Map::new();
    for _ in 0..1 + random.below(2) {
        let (name, value) = random.one_of(&tests);
        when.insert(name.to_owned(), value);
    }
    Value::Object(when)
}

fn tests(random: &mut Random) -> [(&'static str, Value); 10] {
    let mut one_of = |values: Value| random.one_of(values.as_array().unwrap());
    [
        ("outcome", one_of(json!(["ok", "error"]))),
        (
            "status",
            one_of(json!(["5xx", [429, 503], "400-409", ">=500", 202])),
        ),
        (
            "error",
            one_of(json!(["any", "connect", ["reset", "timeout"]])),
        ),
        ("code", one_of(json!(["busy", ["RESOURCE_EXHAUSTED", "x"]]))),
        ("message", one_of(json!(["SLOW down", "reset", "not json"]))),
        (
            "header",
            one_of(json!(["retry-after", {"x-state": "running"}])),
        ),
        ("method", one_of(json!(["GET", ["POST", "PUT"]]))),
        ("attempt", one_of(json!([1, "<3", ">=2"]))),
        ("retryable", one_of(json!([true, false]))),
        ("idempotent", one_of(json!([true, false]))),
    ]
}
