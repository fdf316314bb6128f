//! Documents made from the vocabulary, right and wrong ones: whatever the loader takes, the schema takes.

use super::{load, validator};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use std::cell::Cell;

type Values = BoxedStrategy<Value>;
type Keys = Vec<(&'static str, Values)>;

/// One of these, and now and then something of another kind.
fn one_of(values: Value) -> Values {
    let Value::Array(values) = values else {
        panic!("a list of values")
    };
    prop_oneof![60 => select(values), 1 => odd()].boxed()
}

fn odd() -> Values {
    let values = json!([null, true, 0, -1, 0.5, "", "x", "2s", 429, [], {}, {"x": 1}]);
    select(values.as_array().unwrap().clone()).boxed()
}

/// A map with some of these keys.
fn some_of(keys: Keys, often: f64) -> Values {
    let (names, values): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
    let values: Vec<_> = values
        .into_iter()
        .map(|value| match often < 1.0 {
            true => proptest::option::weighted(often, value).boxed(),
            false => value.prop_map(Some).boxed(),
        })
        .collect();
    let map = move |values: Vec<Option<Value>>| {
        let given = names.iter().zip(values);
        let given = given.filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
        Value::Object(given.collect::<Map<_, _>>())
    };
    values.prop_map(map).boxed()
}

/// The same, where these keys are always there.
fn with(keys: Keys, rest: Values) -> Values {
    (some_of(keys, 1.0), rest)
        .prop_map(|(mut own, rest)| {
            let rest = rest.as_object().unwrap().clone();
            own.as_object_mut().unwrap().extend(rest);
            own
        })
        .boxed()
}

fn list_of(items: Values, most: usize) -> Values {
    let list = proptest::collection::vec(items, 1..=most);
    list.prop_map(Value::Array).boxed()
}

fn durations() -> Values {
    one_of(json!([
        "1s", "1s", "2s", "1500ms", "1.5s", "1s 500ms", "1 sec", " 1s ", "1s1ms", "3seconds"
    ]))
}

fn longer() -> Values {
    one_of(json!([
        "1m", "2min", "1h 30m", "1day", "1.5h", "none", null
    ]))
}

fn statuses() -> Values {
    one_of(json!([
        429,
        503,
        "5xx",
        "4XX",
        "500-599",
        ">=500",
        "<= 499",
        ">499",
        "<1000",
        "=429",
        "429",
        " 502 - 504",
        ["5xx", 429],
        "05xx"
    ]))
}

fn retry_keys() -> Keys {
    vec![
        (
            "use",
            one_of(json!(["background", "llm", "never", "fast", "slow"])),
        ),
        ("max_retries", one_of(json!([0, 3, 7, null]))),
        ("base", durations()),
        (
            "backoff",
            one_of(json!([
                "none", "fixed", "linear", "exponential", ["1s", "2s"], {"custom": "mine"},
                {"custom": "mine", "args": {"a": [1, null]}}
            ])),
        ),
        ("factor", one_of(json!([1, 2, 1.5, 3.25, 1_000]))),
        ("first_step", one_of(json!([0, 1]))),
        ("max_delay", longer()),
        (
            "jitter",
            one_of(json!([
                "none", "full", "equal", "decorrelated", "20%", "100 %", {"min": 0.5}, {"max": 1.5}, {}
            ])),
        ),
        ("cap", one_of(json!(["both", "before", "after"]))),
        (
            "truncate",
            one_of(json!([
                "off", "tail", {"keep": "ends", "share": 0.5}, {"share": 0.25}, {}
            ])),
        ),
        (
            "hold_streams",
            one_of(json!([
                "on", "off", {"first_event_timeout": "2m"}, {"first_event_timeout": "none"}, {}
            ])),
        ),
        ("retry_on", list_of(when(), 2)),
        ("stop_on", list_of(when(), 2)),
        (
            "retry_after",
            one_of(json!([
                "respect", "ignore", {"max": "1m"}, {"max": "none", "over": "clamp"}, {}
            ])),
        ),
        ("methods", one_of(json!(["idempotent", "all"]))),
        ("deadline", longer()),
        ("attempt_timeout", durations()),
        (
            "whole_answers",
            one_of(json!(["2MiB", " 512 KiB", "100B", "0GiB", 0, 4_096, null])),
        ),
        ("counter", one_of(json!(["request", "rule"]))),
        ("budget", one_of(json!(["shared"]))),
        (
            "credentials",
            one_of(json!(["x-a", ["X-Vendor-Key", "x-a"], null])),
        ),
        (
            "on_exhausted",
            one_of(json!([
                "last", "fail", {"failover": "backup"}, {"dead_letter": "failed"},
                {"failover": "backup", "same_keys": true, "set": {"headers": {"authorization": "b"}}},
                {"dead_letter": "failed", "same_keys": null, "set": null},
                {"respond": {"status": 503}},
                {"respond": {"status": 200, "headers": {"a": ["b", "c\u{e9}\t"]}, "body": ""}}
            ])),
        ),
    ]
}

fn retry() -> Values {
    prop_oneof![8 => some_of(retry_keys(), 0.15), 1 => one_of(json!(["llm", "fast"]))].boxed()
}

fn when() -> Values {
    let leaf = prop_oneof![
        1 => statuses().prop_filter("no list", |value| !value.is_array() && !value.is_object()),
        4 => with(vec![("status", statuses())], some_of(when_keys(), 0.15)),
    ];
    leaf.prop_recursive(2, 8, 2, |deeper| {
        let several = list_of(deeper.clone().boxed(), 2);
        prop_oneof![
            several.clone().prop_map(|list| json!({"any": list})),
            several.prop_map(|list| json!({"all": list})),
            deeper.prop_map(|when| json!({"not": when})),
        ]
    })
    .boxed()
}

fn when_keys() -> Keys {
    vec![
        ("outcome", one_of(json!(["ok", "error", null]))),
        (
            "error",
            one_of(json!(["connect", ["timeout", "reset"], "any", "tls"])),
        ),
        ("code", one_of(json!(["busy", 40001, ["a", 7]]))),
        ("message", one_of(json!(["try again", ["A", "b"]]))),
        (
            "header",
            one_of(json!([
                "x-a", ["x-a", "X-B"], {"x-a": true}, {"x-a": "1", "x-b": ["2", 3]}
            ])),
        ),
        (
            "method",
            one_of(json!(["GET", "post", ["PUT", "M-SEARCH"]])),
        ),
        ("attempt", one_of(json!([1, "<3", "2-4", ">= 2", [1, "5"]]))),
        ("retryable", one_of(json!([true, false]))),
        ("idempotent", one_of(json!([true, false]))),
    ]
}

fn rules() -> Values {
    let wait = json!([
        {"at_most": 3}, {"delay": "1s", "max": "1m"}, {"delay": "0s", "at_most": 1, "max": null}
    ]);
    let set = || one_of(json!([{"headers": {"x-a": "b"}}, {"headers": {"x-a": ["b", "c"]}}]));
    let words = json!([
        "accept", "fail", "stop", "continue", "break", "prune", "retry"
    ]);
    let stays = [("do", one_of(words))];
    let goes = [
        ("do", one_of(json!(["retry"]))),
        ("retry", retry()),
        ("wait", one_of(wait.clone())),
        ("requeue", one_of(wait)),
        ("failover", one_of(json!(["backup"]))),
        ("jump", one_of(json!(["backup"]))),
    ];
    let same_keys = || ("same_keys", one_of(json!([true, false, null])));
    let head = || vec![("name", one_of(json!(["n", "", null])))];
    let stays = stays.map(|then| with(vec![then, ("when", when())], some_of(head(), 0.5)));
    let goes = goes.map(|then| {
        let mut rest = head();
        rest.push(("set", set()));
        if matches!(then.0, "failover" | "jump") {
            rest.push(same_keys());
        }
        with(vec![then, ("when", when())], some_of(rest, 0.3))
    });
    let all: Vec<Values> = stays.into_iter().chain(goes).collect();
    list_of(proptest::strategy::Union::new(all).boxed(), 2)
}

fn place() -> Keys {
    vec![
        ("retry", retry()),
        ("rules", rules()),
        (
            "otherwise",
            prop_oneof![
                one_of(json!([
                    "classify",
                    "accept",
                    "continue",
                    "fail",
                    "by_outcome"
                ])),
                retry().prop_map(|retry| json!({"retry": retry})),
            ]
            .boxed(),
        ),
    ]
}

fn service() -> Values {
    let route_match =
        json!([{"path": "/v1/*"}, {"method": "GET"}, {"path": ["/a", "*"], "method": null}]);
    let route = with(
        vec![
            ("name", one_of(json!(["r"]))),
            ("match", one_of(route_match)),
        ],
        some_of(place(), 0.3),
    );
    let mut keys = place();
    keys.extend([
        (
            "match",
            one_of(json!([
                {"host": "a.example"}, {"host": ["*.a.example", "b.example:8443"], "path": "/v1/*"},
                {"scheme": "HTTPS", "method": "get"}, {"path": "/"}
            ])),
        ),
        (
            "base_url",
            one_of(json!([
                "http://a.example",
                "HTTPS://a.example:8443/v1/",
                "http://[::1]/"
            ])),
        ),
        ("budget", one_of(json!(["shared"]))),
        ("gate", gate()),
        ("fleet", one_of(json!(["on", "off"]))),
        (
            "request_overrides",
            one_of(json!(["allow", "fill_only", "deny"])),
        ),
        ("routes", list_of(route, 1)),
    ]);
    some_of(keys, 0.25)
}

fn gate() -> Values {
    one_of(json!(["off", "on", {"max_wait": "3m"}]))
}

fn documents() -> Values {
    let mut keys = place();
    keys.push(("gate", gate()));
    if cfg!(feature = "redis") {
        let fleets = json!([
            {"redis": "redis://h"}, {"redis": "redis://h:1/2", "prefix": "a.b", "wait": "50ms"}, null
        ]);
        keys.push(("fleet", one_of(fleets)));
    }
    keys.push((
        "services",
        service().prop_map(|service| json!({"s": service})).boxed(),
    ));
    let budget = one_of(json!([
        {}, {"capacity": 50}, {"capacity": 5.5, "initial": 0, "per_second": 10, "retry_cost": 0.5},
        {"per_success": 0, "timeout_cost": 3, "shared": false}
    ]));
    (some_of(keys, 0.6), retry(), budget)
        .prop_map(|(mut document, slow, budget)| {
            document["version"] = json!(1);
            document["policies"] = json!({"fast": "user_facing", "slow": slow});
            document["budgets"] = json!({"shared": budget});
            document["services"]["backup"] =
                json!({"base_url": "https://backup.example", "retry": {"on_exhausted": "last"}});
            document
        })
        .boxed()
}

#[test]
fn whatever_the_loader_takes_the_schema_takes() {
    let validator = validator();
    let taken = Cell::new(0);
    let mut runner = TestRunner::new_with_rng(
        Config::with_cases(500),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let held = runner.run(&documents(), |document| {
        if load(&document).is_ok() {
            taken.set(taken.get() + 1);
            let wrong = validator.validate(&document).err();
            prop_assert!(wrong.is_none(), "{wrong:?} {document}");
        }
        Ok(())
    });
    held.unwrap_or_else(|error| panic!("{error}"));
    assert!(taken.get() >= 100, "only {} were taken", taken.get());
}
