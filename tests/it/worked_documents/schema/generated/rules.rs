//! Rules and their conditions.

use super::retry;
use super::values::{Keys, Values, list_of, one_of, some_of, statuses, with};
use proptest::prelude::*;
use serde_json::json;

pub(super) fn when() -> Values {
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

pub(super) fn rules() -> Values {
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
