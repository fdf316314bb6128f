//! The keys that the guide and the reference list, held against those that the loader knows.

use super::tables::{code, table, words};
use super::{GUIDE, REFERENCE, sorted};
use crate::config::{Document, RetryConfig};
use serde_json::Value;

/// Each place of a document with a key that none knows, under its name in the guide.
const PLACES: [(&str, &str); 7] = [
    ("the document", "zzzz: 1"),
    ("a budget", "budgets: {b: {zzzz: 1}}"),
    ("a service", "services: {s: {zzzz: 1}}"),
    ("a route", "services: {s: {routes: [{zzzz: 1}]}}"),
    ("`retry`", "retry: {zzzz: 1}"),
    ("a rule", "rules: [{zzzz: 1}]"),
    ("`when`", "rules: [{when: {zzzz: 1}}]"),
];

#[test]
fn the_guide_lists_the_keys_of_each_place() {
    let rows = table(GUIDE, "## In a document", 0);
    for (place, text) in PLACES {
        let row = rows.iter().find(|row| row[0] == place).unwrap();
        let keys = words(&without_brackets(&row[1]));
        // What a key holds may stand behind it.
        let keys = keys.iter().filter_map(|key| key.split(':').next());
        let keys = sorted(keys.map(str::to_owned));
        assert_eq!(keys, known(text), "of {place}");
    }
}

#[test]
fn the_reference_has_a_row_for_each_key() {
    for (heading, text) in [
        ("## Budgets", "budgets: {b: {zzzz: 1}}"),
        ("## RETRY", "retry: {zzzz: 1}"),
        ("## Conditions", "rules: [{when: {zzzz: 1}}]"),
        ("## Waits", "rules: [{when: 500, wait: {zzzz: 1}}]"),
    ] {
        assert_eq!(rows(heading), known(text), "of {heading}");
    }
}

/// The words, bounds and defaults of the tables that the loader reads by.
#[test]
fn the_reference_says_what_the_loader_takes() {
    let schema: Value = serde_json::from_str(&RetryConfig::json_schema()).unwrap();
    for (heading, block, has_defaults) in [
        ("## Budgets", "budget", true),
        ("## RETRY", "retry_map", true),
        ("## Conditions", "when_map", false),
        ("## Waits", "wait", true),
        ("## Services and routes", "service", true),
    ] {
        let properties = &schema["$defs"][block]["properties"];
        for row in table(REFERENCE, heading, 0) {
            for key in words(&row[0]) {
                let Some(property) = properties.get(&key) else {
                    continue;
                };
                let mut said = Vec::new();
                limits(property, &mut said);
                let wrong = said.iter().find(|limit| !says(&row[1], limit));
                assert!(wrong.is_none(), "{key} does not say {wrong:?}");
                let default = property.get("default").filter(|_| has_defaults);
                let default = default.map(|default| default.to_string().replace('"', ""));
                let is_said = default
                    .as_ref()
                    .is_none_or(|default| says(&row[2], default));
                assert!(is_said, "the default of {key} is {default:?}");
            }
        }
    }
}

/// The words and bounds of a value.
fn limits(schema: &Value, found: &mut Vec<String>) {
    for key in ["minimum", "maximum", "exclusiveMinimum", "maxItems"] {
        found.extend(schema.get(key).map(Value::to_string));
    }
    for key in ["enum", "anyOf"] {
        for form in schema[key].as_array().into_iter().flatten() {
            found.extend(form.as_str().map(str::to_owned));
            limits(form, found);
        }
    }
    found.retain(|limit| *limit != u32::MAX.to_string());
}

/// A whole word; the most tokens are those of the capacity, too.
fn says(cell: &str, limit: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "._".contains(c);
    let mut parts = cell.split(|c| !is_part(c));
    let is_bound = limit == "1000000000" && cell.contains("`capacity`");
    is_bound || parts.any(|part| part.trim_end_matches('.') == limit)
}

#[test]
fn the_reference_has_a_row_for_each_key_of_a_service() {
    let of_match = known("services: {s: {match: {zzzz: 1}}}");
    let of_match = of_match.iter().map(|key| format!("match.{key}"));
    let own = known("services: {s: {zzzz: 1}}").into_iter();
    // These are places of their own.
    let own = own.filter(|key| !["match", "retry", "rules", "otherwise"].contains(&&**key));
    assert_eq!(rows("## Services and routes"), sorted(of_match.chain(own)));
}

#[test]
fn the_shape_of_the_reference_is_whole() {
    let shape = code(REFERENCE, "## Shape");
    let shape: Value = serde_yaml_ng::from_str(shape).unwrap();
    let keys = |value: &Value| sorted(value.as_object().unwrap().keys().cloned());
    assert_eq!(keys(&shape), known("zzzz: 1"));
    let service = &shape["services"]["NAME"];
    assert_eq!(keys(service), known("services: {s: {zzzz: 1}}"));
    let of_match = known("services: {s: {match: {zzzz: 1}}}");
    assert_eq!(keys(&service["match"]), of_match);
    let route = &service["routes"][0];
    assert_eq!(keys(route), known("services: {s: {routes: [{zzzz: 1}]}}"));
    let of_match = known("services: {s: {routes: [{match: {zzzz: 1}}]}}");
    assert_eq!(keys(&route["match"]), of_match);
}

/// Returns the keys that the loader lists as known when it meets an unknown one.
fn known(text: &str) -> Vec<String> {
    let document: Document = serde_yaml_ng::from_str(text).unwrap();
    let errors = RetryConfig::load(&document).unwrap_err();
    let mut unknown = errors.iter().filter(|error| error.field.ends_with("zzzz"));
    let message = &unknown.next().unwrap().allowed;
    let (_, keys) = message.split_once("known are ").unwrap();
    sorted(keys.split(", ").map(str::to_owned))
}

/// The keys of a table's first column.
fn rows(heading: &str) -> Vec<String> {
    let rows = table(REFERENCE, heading, 0);
    sorted(rows.iter().flat_map(|row| words(&row[0])))
}

fn without_brackets(cell: &str) -> String {
    let parts = cell.split('(').map(|part| match part.split_once(')') {
        Some((_, after)) => after,
        None => part,
    });
    parts.collect()
}
