//! The committed schema, held against the tables.

use crate::config::RetryConfig;
use crate::config::block::OF_RETRY;
use crate::config::document::schema;
use serde_json::{Value as Json, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/docs/config.schema.json");

#[test]
fn the_committed_schema_is_that_of_the_tables() {
    let made = schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(FILE, format!("{}\n", pretty(&made, 0))).unwrap();
    }
    let committed = std::fs::read_to_string(FILE).unwrap();
    let committed: Json = serde_json::from_str(&committed).unwrap();
    assert_eq!(made, committed, "write it anew with UPDATE_SCHEMA=1");
}

#[test]
fn every_key_of_retry_is_known_beside_it() {
    let schema = schema();
    let keys = schema["$defs"]["retry_map"]["properties"].as_object();
    let keys: Vec<&str> = keys.unwrap().keys().map(String::as_str).collect();
    let mut known = OF_RETRY.to_vec();
    known.sort_unstable();
    assert_eq!(keys, known);
}

/// So that the defaults of the tables are those in force.
#[test]
fn a_document_that_says_every_default_says_nothing() {
    let schema = schema();
    let mut retry = Json::default();
    for (key, property) in schema["$defs"]["retry_map"]["properties"]
        .as_object()
        .unwrap()
    {
        match property.get("default") {
            // Another word for max_retries.
            Some(_) if key == "max_attempts" => {}
            Some(default) => retry[key] = default.clone(),
            None => {}
        }
    }
    let server = &schema["$defs"]["server_delays"]["properties"];
    retry["retry_after"] =
        json!({"max": server["max"]["default"], "over": server["over"]["default"]});
    let explain = |document: Json| {
        let config: RetryConfig = serde_json::from_value(document).unwrap();
        let text = config.routes()[0].policy.explain();
        let lines = text.lines().filter(|line| !line.contains("(from "));
        lines.collect::<Vec<_>>().join("\n")
    };
    let nothing = explain(json!({"version": 1}));
    assert_eq!(explain(json!({"version": 1, "retry": retry})), nothing);
}

#[test]
fn each_alternative_has_a_title() {
    let schema = schema();
    let mut left = vec![&schema];
    while let Some(part) = left.pop() {
        for key in ["anyOf", "oneOf", "allOf"] {
            for form in part[key].as_array().into_iter().flatten() {
                assert!(form["title"].is_string(), "no title: {form}");
            }
        }
        match part {
            Json::Object(map) => left.extend(map.values()),
            Json::Array(list) => left.extend(list),
            _ => {}
        }
    }
}

/// A value on one line where it is short.
fn pretty(value: &Json, depth: usize) -> String {
    let short = value.to_string();
    let (open, close, items) = match value {
        Json::Object(map) if short.len() > 100 => {
            let entry = |(key, value): (&String, &Json)| {
                format!("{}: {}", Json::from(key.as_str()), pretty(value, depth + 1))
            };
            ('{', '}', map.iter().map(entry).collect::<Vec<_>>())
        }
        Json::Array(list) if short.len() > 100 => {
            let items = list.iter().map(|value| pretty(value, depth + 1));
            ('[', ']', items.collect())
        }
        _ => return short,
    };
    let (line, end) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    format!(
        "{open}\n{line}{}\n{end}{close}",
        items.join(&format!(",\n{line}"))
    )
}
