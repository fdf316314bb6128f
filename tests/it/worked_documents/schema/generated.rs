//! Documents made from the vocabulary, right and wrong ones: whatever the loader takes, the schema takes.

mod rules;
mod values;

use super::{load, validator};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rules::{rules, when};
use serde_json::json;
use std::cell::Cell;
use values::{Keys, Values, durations, list_of, longer, one_of, some_of, with};

fn retry_keys() -> Keys {
    let mut keys = schedule_keys();
    keys.extend(attempt_keys());
    keys.extend(end_keys());
    keys
}

fn schedule_keys() -> Keys {
    vec![
        (
            "use",
            one_of(json!(["background", "llm", "never", "fast", "slow"])),
        ),
        ("max_retries", one_of(json!([0, 3, 7, null]))),
        ("max_refused", one_of(json!([0, 20, 900]))),
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
    ]
}

fn attempt_keys() -> Keys {
    vec![
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
        (
            "methods",
            one_of(json!([
                "idempotent", "all", {"only": "GET"}, {"only": ["put", "PROPFIND"]}
            ])),
        ),
        ("deadline", longer()),
        ("attempt_timeout", durations()),
        (
            "whole_responses",
            one_of(json!(["2MiB", " 512 KiB", "100B", "0GiB", 0, 4_096, null])),
        ),
    ]
}

fn end_keys() -> Keys {
    vec![
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

fn place() -> Keys {
    vec![
        ("retry", retry()),
        (
            "hedge",
            one_of(json!([
                "on", "off", true, {"after": "p95"}, {"after": "200ms", "max": 3, "cost": 0.5},
                {"max": 0, "cost": null}, {}
            ])),
        ),
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
    one_of(json!(["off", "on", true, false, {"max_wait": "3m"}]))
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
