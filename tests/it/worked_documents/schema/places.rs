//! The keys that the schema knows and those that the loader knows, at every place of a document.

use super::{load, schema};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A part of the schema that lists the keys of a map.
pub(super) struct Object<'a> {
    pub(super) pointer: String,
    pub(super) value: &'a Value,
}

/// Every map whose keys the schema lists.
pub(super) fn objects(schema: &Value) -> Vec<Object<'_>> {
    let mut found = Vec::new();
    let mut left = vec![(String::new(), schema)];
    while let Some((pointer, value)) = left.pop() {
        if value.get("additionalProperties") == Some(&Value::Bool(false)) {
            found.push(Object {
                pointer: pointer.clone(),
                value,
            });
        }
        match value {
            Value::Object(map) => left.extend(
                map.iter()
                    .map(|(key, value)| (format!("{pointer}/{key}"), value)),
            ),
            Value::Array(list) => left.extend(
                list.iter()
                    .enumerate()
                    .map(|(index, value)| (format!("{pointer}/{index}"), value)),
            ),
            _ => {}
        }
    }
    found
}

/// Where the loader meets a map of each kind.
fn places() -> Vec<(&'static str, Value)> {
    [of_the_root(), of_retry(), of_rules(), of_services()].concat()
}

fn root(key: &str, value: Value) -> Value {
    let mut root = json!({"version": 1});
    root[key] = value;
    root
}

fn of_the_root() -> Vec<(&'static str, Value)> {
    vec![
        ("", json!({"version": 1, "zzz": 1})),
        ("/$defs/fleet", root("fleet", json!({"zzz": 1}))),
        ("/$defs/budget", root("budgets", json!({"b": {"zzz": 1}}))),
        (
            "/$defs/retry_map",
            root("policies", json!({"p": {"zzz": 1}})),
        ),
        ("/$defs/dialect", root("dialects", json!({"d": {"zzz": 1}}))),
        (
            "/$defs/row",
            root("dialects", json!({"d": {"rows": [{"zzz": 1}]}})),
        ),
        (
            "/$defs/delay_from",
            root(
                "rules",
                json!([{"as": "throttled", "delay_from": {"zzz": 1}}]),
            ),
        ),
        (
            "/$defs/scope_from_map",
            root(
                "rules",
                json!([{"as": "throttled", "scope_from": {"zzz": 1}}]),
            ),
        ),
        (
            "/$defs/value_map",
            root("rules", json!([{"when": {"header": {"x": {"zzz": 1}}}}])),
        ),
    ]
}

fn of_retry() -> Vec<(&'static str, Value)> {
    let retry = |key: &str| root("retry", json!({key: {"zzz": 1}}));
    vec![
        ("/$defs/custom_backoff", retry("backoff")),
        ("/$defs/jitter_interval", retry("jitter")),
        ("/$defs/server_delays", retry("retry_after")),
        ("/$defs/exhausted", retry("on_exhausted")),
        ("/$defs/truncate_map", retry("truncate")),
        ("/$defs/hold_streams_map", retry("hold_streams")),
        ("/$defs/methods_map", retry("methods")),
        (
            "/$defs/response",
            root("retry", json!({"on_exhausted": {"respond": {"zzz": 1}}})),
        ),
    ]
}

fn of_rules() -> Vec<(&'static str, Value)> {
    let rule = |key: &str| root("rules", json!([{key: {"zzz": 1}}]));
    vec![
        ("/$defs/rule", root("rules", json!([{"zzz": 1}]))),
        ("/$defs/when_map", rule("when")),
        ("/$defs/wait", rule("wait")),
        ("/$defs/set", rule("set")),
        (
            "/$defs/otherwise_retry",
            root("otherwise", json!({"zzz": 1})),
        ),
    ]
}

fn of_services() -> Vec<(&'static str, Value)> {
    let service = |key: &str, value: Value| root("services", json!({"s": {key: value}}));
    vec![
        ("/$defs/service", root("services", json!({"s": {"zzz": 1}}))),
        ("/$defs/match_service", service("match", json!({"zzz": 1}))),
        ("/$defs/gate_map", service("gate", json!({"zzz": 1}))),
        ("/$defs/hedge_map", service("hedge", json!({"zzz": 1}))),
        ("/$defs/route", service("routes", json!([{"zzz": 1}]))),
        (
            "/$defs/match_route",
            service("routes", json!([{"name": "r", "match": {"zzz": 1}}])),
        ),
    ]
}

/// The keys that the loader knows where the document holds the key `zzz`, as it lists them itself.
fn known(document: &Value) -> BTreeSet<String> {
    let errors = load(document).unwrap_err();
    let listed = errors
        .lines()
        .find_map(|line| line.split_once("zzz: is not a known key: known are "));
    let (_, listed) = listed.unwrap_or_else(|| panic!("{errors}"));
    listed.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_schema_and_the_loader_know_the_same_keys_at_every_place() {
    let schema = schema();
    for (pointer, document) in places() {
        let part = schema.pointer(pointer).expect(pointer);
        let keys = part["properties"].as_object().expect(pointer).keys();
        // Where an editor finds the schema, which the loader passes over.
        let keys = keys.filter(|key| *key != "$schema");
        let keys: BTreeSet<String> = keys.cloned().collect();
        assert_eq!(keys, known(&document), "{pointer}");
    }
}

#[test]
fn every_map_of_the_schema_is_looked_at() {
    let schema = schema();
    let listed: BTreeSet<String> = objects(&schema).into_iter().map(|o| o.pointer).collect();
    let places = places().into_iter();
    let looked_at: BTreeSet<String> = places.map(|(pointer, _)| pointer.to_owned()).collect();
    assert_eq!(listed, looked_at);
}

/// Where the schema lists words, and where a document has one of them.
const WORDS: [(&str, &str); 16] = [
    ("/$defs/rule/properties/do", "rules.0.do"),
    ("/$defs/when_map/properties/outcome", "rules.0.when.outcome"),
    ("/$defs/when_map/properties/error", "rules.0.when.error"),
    ("/$defs/retry_map/properties/backoff", "retry.backoff"),
    ("/$defs/retry_map/properties/jitter", "retry.jitter"),
    ("/$defs/retry_map/properties/cap", "retry.cap"),
    ("/$defs/retry_map/properties/truncate", "retry.truncate"),
    ("/$defs/truncate_map/properties/keep", "retry.truncate.keep"),
    (
        "/$defs/retry_map/properties/hold_streams",
        "retry.hold_streams",
    ),
    (
        "/$defs/retry_map/properties/retry_after",
        "retry.retry_after",
    ),
    ("/$defs/retry_map/properties/methods", "retry.methods"),
    ("/$defs/retry_map/properties/counter", "retry.counter"),
    (
        "/$defs/retry_map/properties/on_exhausted",
        "retry.on_exhausted",
    ),
    (
        "/$defs/server_delays/properties/over",
        "retry.retry_after.over",
    ),
    ("/$defs/otherwise", "otherwise"),
    (
        "/$defs/service/properties/request_overrides",
        "services.s.request_overrides",
    ),
];

#[test]
fn the_words_of_the_schema_are_those_of_the_loader() {
    let schema = schema();
    for (pointer, place) in WORDS {
        let words = words_of(schema.pointer(pointer).expect(pointer));
        let errors = load(&document_with(place)).unwrap_err();
        let listed = errors
            .lines()
            .find_map(|line| line.split_once("known are "));
        let (_, listed) = listed.unwrap_or_else(|| panic!("{errors}"));
        // The others are ways to write something else in the place of a word.
        let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let known = listed.split(", ").filter(is_word);
        let known: BTreeSet<String> = known.map(str::to_owned).collect();
        assert_eq!(words, known, "{pointer}");
    }
}

/// A document with a word that nobody knows at a place.
fn document_with(place: &str) -> Value {
    let value = place
        .rsplit('.')
        .fold(json!("zzz"), |value, key| match key {
            "0" => json!([value]),
            key => json!({key: value}),
        });
    let mut document = json!({"version": 1});
    for (key, value) in value.as_object().unwrap() {
        document[key] = value.clone();
    }
    document
}

fn words_of(schema: &Value) -> BTreeSet<String> {
    let own = schema["enum"].as_array().into_iter().flatten();
    let own = own.filter_map(|word| word.as_str().map(str::to_owned));
    let parts = schema["anyOf"].as_array().into_iter().flatten();
    own.chain(parts.flat_map(words_of)).collect()
}
