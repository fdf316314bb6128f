//! The parts of a document that no effective policy shows, by path.

use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Marks a value that may be a secret: it is compared, and not shown.
const HIDDEN: char = '\u{0}';

/// The parts of a service or route besides its policy.
const PARTS: [&str; 4] = ["match", "base_url", "dialect", "request_overrides"];

/// Returns the paths and values of all budgets, matches, addresses and conditions.
pub(super) fn definitions(tree: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Some(budgets) = tree.get("budgets") {
        flatten("budgets".to_owned(), budgets, true, &mut found);
    }
    for part in ["rules", "fleet", "dialects"] {
        if let Some(value) = tree.get(part) {
            parts(part, part, value, &mut found);
        }
    }
    for (name, service) in members(tree.get("services")) {
        let path = format!("services.{name}");
        place(&path, service, &mut found);
        for (index, route) in items(service.get("routes")) {
            place(&format!("{path}.routes.{index}"), route, &mut found);
        }
    }
    found
}

/// Returns the value, unless it may be a secret.
pub(super) fn shown(value: &str) -> Option<&str> {
    (!value.starts_with(HIDDEN)).then_some(value)
}

fn place(path: &str, place: &Value, found: &mut Vec<(String, String)>) {
    for part in PARTS.into_iter().chain(["rules"]) {
        if let Some(value) = place.get(part) {
            parts(part, &format!("{path}.{part}"), value, found);
        }
    }
}

fn parts(part: &str, path: &str, value: &Value, found: &mut Vec<(String, String)>) {
    if part != "rules" {
        return flatten(path.to_owned(), value, part == "match", found);
    }
    for (name, rule) in items(Some(value)) {
        flatten(format!("{path}.{name}"), rule, false, found);
    }
}

/// Adds the leaves of a value, with those that may be secrets as hashes.
fn flatten(path: String, value: &Value, is_public: bool, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                // Statuses, methods and classes are words of the document; headers and bodies are not.
                let is_public =
                    is_public || ["status", "method", "outcome", "attempt"].contains(&&**key);
                flatten(format!("{path}.{key}"), value, is_public, found);
            }
        }
        value if is_public => found.push((path, words(value))),
        value => {
            let mut hasher = DefaultHasher::new();
            value.to_string().hash(&mut hasher);
            found.push((path, format!("{HIDDEN}{:x}", hasher.finish())));
        }
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

/// The items of a list, each by its name or its place.
fn items(value: Option<&Value>) -> impl Iterator<Item = (String, &Value)> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.enumerate().map(|(index, item)| {
        let name = item.get("name").and_then(Value::as_str);
        (
            name.map_or_else(|| format!("[{index}]"), str::to_owned),
            item,
        )
    })
}
