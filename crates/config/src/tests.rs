//! The published JSON Schema against the types that a document is read into.

use super::RetryConfig;
use serde_json::{Value as Json, json};

fn schema() -> Json {
    serde_json::from_str(&RetryConfig::json_schema()).unwrap()
}

/// Checks that the documented defaults are those in force.
#[test]
fn documented_defaults_change_nothing() {
    let schema = schema();
    let mut retry = Json::default();
    for (key, property) in schema["$defs"]["retry_map"]["properties"]
        .as_object()
        .unwrap()
    {
        match property.get("default") {
            // An alternative to max_retries.
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
