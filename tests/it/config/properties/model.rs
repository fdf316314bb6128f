//! The merge of layers, written down as plainly as can be.

use super::layers::Layer;
use serde_json::Value;
use std::collections::BTreeMap;

/// A field's words, and where they stand.
pub(super) type Model = BTreeMap<String, (String, String)>;

const PRESETS: [(&str, [(&str, &str); 8]); 3] = [
    (
        "background",
        preset(["4", "2s", "1m", "15m", "idempotent", "5m", "by status"]),
    ),
    ("llm", preset(["2", "1s", "1m", "2m", "all", "5m", "llm"])),
    (
        "rate_limited",
        preset(["2", "2s", "2m", "15m", "idempotent", "15m", "by status"]),
    ),
];

const fn preset(values: [&'static str; 7]) -> [(&'static str, &'static str); 8] {
    let [retries, base, max_delay, asked, methods, gate, classifier] = values;
    [
        ("max_retries", retries),
        ("backoff", "exponential"),
        ("base", base),
        ("max_delay", max_delay),
        ("retry_after.max", asked),
        ("methods", methods),
        ("gate", gate),
        ("classifier", classifier),
    ]
}

/// Lays one layer upon what is there: first what it uses, then its own fields.
fn lay(model: &mut Model, layers: &[Layer; 5], layer: &Layer, place: &str) {
    let (fields, uses) = layer;
    match uses {
        Some("one") => lay(model, layers, &layers[0], "policies.one"),
        Some("two") => lay(model, layers, &layers[1], "policies.two"),
        Some(name) => {
            let found = PRESETS.iter().find(|(preset, _)| preset == name);
            let from = format!("preset {name}");
            for (field, value) in found.unwrap().1 {
                put(model, field, value, &from);
            }
            match *name {
                "llm" => put(model, "max_refused", "300", &from),
                "rate_limited" => put(model, "max_refused", "900", &from),
                _ => bound_all(model, &from),
            }
        }
        None => {}
    }
    if fields.contains_key("max_retries") && !fields.contains_key("max_refused") {
        bound_all(model, &format!("{place}.max_retries"));
    }
    for (key, value) in fields {
        lay_field(model, key, value, &format!("{place}.{key}"));
    }
}

/// A limit of retries bounds all that is sent, whatever the layers below count apart.
fn bound_all(model: &mut Model, from: &str) {
    if model.contains_key("max_refused") {
        put(model, "max_refused", "0", from);
    }
}

fn put(model: &mut Model, field: &str, value: &str, from: &str) {
    model.insert(field.into(), (value.into(), from.into()));
}

fn words(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn lay_field(model: &mut Model, key: &str, value: &Value, from: &str) {
    if let Value::Object(block) = value {
        let whole = match key {
            "jitter" => "between min and max",
            _ => "respect",
        };
        put(model, key, whole, from);
        for (inner, value) in block {
            put(
                model,
                &format!("{key}.{inner}"),
                &words(value),
                &format!("{from}.{inner}"),
            );
        }
        return;
    }
    put(model, key, &words(value), from);
    let ends = match value.as_str() {
        Some("none") => ("1", "1"),
        Some("equal") => ("0.5", "1"),
        _ => ("0", "1"),
    };
    if key == "jitter" {
        put(model, "jitter.min", ends.0, from);
        put(model, "jitter.max", ends.1, from);
    }
}

pub(super) fn model(layers: &[Layer; 5]) -> Model {
    let mut model = Model::new();
    for (field, value) in PRESETS[0].1 {
        if !["max_delay", "classifier"].contains(&field) {
            put(&mut model, field, value, "default");
        }
    }
    lay(&mut model, layers, &layers[2], "retry");
    lay(&mut model, layers, &layers[3], "services.a.retry");
    lay(&mut model, layers, &layers[4], "services.a.routes[0].retry");
    model
}
