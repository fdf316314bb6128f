//! The JSON Schema of the document, held against the loader: what the loader takes, the schema takes, and neither knows a
//! key that the other does not.

mod bad;
mod generated;
mod places;

use super::{WORKED, text};
use http_retry::config::{Document, RetryConfig};
use http_retry::report::DeadLetter;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::time::Duration;

fn schema() -> Value {
    serde_json::from_str(include_str!(
        "../../../crates/config/src/config.schema.json"
    ))
    .unwrap()
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

/// What the loader says, where code has given a name to everything that documents here name.
fn load(document: &Value) -> Result<(), String> {
    let document: Document = serde_json::from_value(document.clone()).unwrap();
    RetryConfig::builder()
        .dead_letters("failed", |_: &DeadLetter<'_>| {})
        .dead_letters("payment_failed", |_: &DeadLetter<'_>| {})
        .backoff("mine", |_: Value| |_| Duration::ZERO)
        .load(&document)
        .map(drop)
        .map_err(|errors| errors.to_string())
}

fn worked() -> impl Iterator<Item = Value> {
    let json = |name| serde_json::from_str(&text(&format!("{name}.json"))).unwrap();
    WORKED.into_iter().map(json)
}

#[test]
fn the_schema_is_one() {
    jsonschema::draft202012::meta::validate(&schema()).unwrap();
}

#[test]
fn every_worked_document_is_valid() {
    let validator = validator();
    for document in worked() {
        let wrong: Vec<_> = validator
            .iter_errors(&document)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(wrong, [""; 0]);
    }
}

#[test]
fn every_key_has_a_description_and_every_default_is_valid() {
    let schema = schema();
    for place in places::objects(&schema) {
        for (key, says) in place.value["properties"].as_object().unwrap() {
            let pointer = format!("{}: {key}", place.pointer);
            let description = says["description"].as_str().unwrap_or_default();
            assert!(description.ends_with('.'), "{pointer}");
            let Some(default) = says.get("default") else {
                continue;
            };
            let mut alone = says.clone();
            alone["$defs"] = schema["$defs"].clone();
            assert!(jsonschema::is_valid(&alone, default), "{pointer}");
        }
    }
}

#[test]
fn a_documents_editor_line_leads_to_the_schema() {
    for name in WORKED {
        for (file, start) in [
            (format!("{name}.yaml"), "# yaml-language-server: $schema="),
            (format!("{name}.toml"), "#:schema "),
        ] {
            let text = text(&file);
            let path = text.lines().next().unwrap().strip_prefix(start);
            let path = format!("examples/config/{}", path.expect(&file));
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
            assert!(root.join(path).is_file(), "{file}");
        }
    }
}

#[test]
fn what_the_loader_takes_the_schema_takes() {
    let others = [
        json!(null),
        json!(true),
        json!(0),
        json!(7),
        json!(503),
        json!(0.5),
        json!(""),
        json!("x"),
        json!("2s"),
        json!("20%"),
        json!("5xx"),
        json!("none"),
        json!("retry"),
        json!("background"),
        json!("*"),
        json!([]),
        json!(["2s"]),
        json!([503, "x"]),
        json!({}),
        json!({"x": "y"}),
        json!({"status": 429}),
        json!({"retry": {}}),
        json!({"max": "none"}),
    ];
    let validator = validator();
    let (mut taken, mut all) = (0, 0);
    for document in worked().filter(has_many_keys) {
        for changed in changed(&document, &others) {
            all += 1;
            if load(&changed).is_ok() {
                taken += 1;
                let wrong = validator.validate(&changed).err();
                assert!(wrong.is_none(), "{wrong:?} {changed}");
            }
        }
    }
    assert!(all > 3_000 && taken > 300, "{taken} of {all}");
}

/// The documents that say the same over and over are left out.
fn has_many_keys(document: &Value) -> bool {
    document.get("budgets").is_some() && document.get("rules").is_some()
}

/// The document with each other value in the place of each of its own.
fn changed(document: &Value, others: &[Value]) -> Vec<Value> {
    let children: Vec<&Value> = match document {
        Value::Object(map) => map.values().collect(),
        Value::Array(list) => list.iter().collect(),
        _ => Vec::new(),
    };
    let with = |index: usize, new: Value| {
        let mut document = document.clone();
        let child = match &mut document {
            Value::Object(map) => map.values_mut().nth(index),
            Value::Array(list) => list.get_mut(index),
            _ => None,
        };
        *child.unwrap() = new;
        document
    };
    let of_child = |(index, child): (usize, &Value)| {
        let deeper = changed(child, others);
        let new = others.iter().cloned().chain(deeper);
        new.map(|new| with(index, new)).collect::<Vec<_>>()
    };
    children
        .into_iter()
        .enumerate()
        .flat_map(of_child)
        .collect()
}
