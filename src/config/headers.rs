//! Headers of a document: maps of values, names, and tests of them.

use super::block::Node;
use super::fields::Type;
use super::schema::{Defs, forms, list, one_or_more, text_like, with};
use super::shown::is_short;
use super::types::{TOKEN, read_texts, texts};
use super::value::Value;
use crate::policy::HeaderTest;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// As many as servers and clients take by default; a `HeaderMap` itself panics where it is full.
const MOST: usize = 100;
const MOST_NAMES: usize = 100;

/// A map of names and values; a list gives a name several.
pub(super) fn headers() -> Type<Arc<HeaderMap>> {
    Type {
        read: |node| read_headers(node).map(Arc::new),
        schema: |defs| {
            let about = "Names and values; a list gives a name several values.";
            defs.named("headers", ["Headers", about], |_| {
                let value = text_like("^[^\\u0000-\\u0008\\u000a-\\u001f\\u007f]*$");
                map_of(&one_or_more("a value", value))
            })
        },
    }
}

fn map_of(values: &Json) -> Json {
    json!({"type": "object", "propertyNames": {"pattern": TOKEN}, "additionalProperties": values})
}

/// The name of a header, or a list of names.
pub(super) fn header_names() -> Type<Arc<[HeaderName]>> {
    Type {
        read: read_names,
        schema: |defs| {
            let name = name_schema(defs);
            let names = with(list(&name), json!({"maxItems": MOST_NAMES}));
            forms([("the name of a header", name), ("a list of names", names)])
        },
    }
}

fn name_schema(defs: &mut Defs) -> Json {
    let says = ["The name of a header", "Letters, digits and hyphens."];
    defs.named("header_name", says, |_| text_like(TOKEN))
}

fn read_names(node: &Node<'_>) -> Option<Arc<[HeaderName]>> {
    let items = node.one_or_more();
    if items.len() > MOST_NAMES {
        let cause = format!("has more than {MOST_NAMES} names");
        node.problems.add(&node.path, &items.len(), cause);
        return None;
    }
    let names = items.iter().map(|node| name_of(node.text()?, node));
    // Every name that is none is a problem of its own.
    let names: Vec<Option<HeaderName>> = names.collect();
    names.into_iter().collect()
}

/// A name that must be there, a list of such names, or a map of names and what they must hold.
pub(super) fn header_tests() -> Type<Vec<HeaderTest>> {
    Type {
        read: |node| Some(read_tests(node)),
        schema: |defs| {
            let name = name_schema(defs);
            let values = forms([
                ("it is there", json!({"const": true})),
                ("it has this value", (texts().schema)(defs)),
            ]);
            forms([
                ("the name of a header", name.clone()),
                ("a list of names", list(&name)),
                ("a map of names and values", map_of(&values)),
            ])
        },
    }
}

fn read_tests(node: &Node<'_>) -> Vec<HeaderTest> {
    if let Value::Map(map) = node.value {
        if map.is_empty() {
            node.wrong("is empty: give at least one header, or leave the key out");
        }
        let test = |(name, entry): (&str, Node<'_>)| {
            let name = name_of(name, node)?;
            let values = match entry.value {
                Value::Bool(true) => None,
                _ => read_texts(&entry),
            };
            Some(HeaderTest { name, values })
        };
        return node.entries().into_iter().filter_map(test).collect();
    }
    let name = |node: &Node<'_>| {
        let name = name_of(node.text()?, node)?;
        Some(HeaderTest { name, values: None })
    };
    node.one_or_more().iter().filter_map(name).collect()
}

fn read_headers(node: &Node<'_>) -> Option<HeaderMap> {
    if !is_map(node) {
        return None;
    }
    let entries = node.entries();
    let several = entries.iter().map(|(_, entry)| match entry.value {
        Value::List(list) => list.len(),
        _ => 1,
    });
    if several.fold(0, usize::saturating_add) > MOST {
        let cause = format!("holds more than {MOST} headers");
        node.problems.add(&node.path, &"", cause);
        return None;
    }
    let mut headers = HeaderMap::new();
    for (name, entry) in entries {
        let Some(name) = name_of(name, node) else {
            continue;
        };
        for node in entry.one_or_more() {
            match value_of(&node) {
                Ok(value) => {
                    headers.append(&name, value);
                }
                // What it holds may be a secret.
                Err(cause) => node.problems.add(&node.path, &"", cause),
            }
        }
    }
    Some(headers)
}

/// Whether a place for headers or a response holds a map; if not, what it holds instead may be a secret.
pub(super) fn is_map(node: &Node<'_>) -> bool {
    let is_map = matches!(node.value, Value::Map(_));
    if !is_map {
        let cause = format!("{} is not a map", node.value.kind());
        node.problems.add(&node.path, &"", cause);
    }
    is_map
}

fn value_of(node: &Node<'_>) -> Result<HeaderValue, String> {
    match node.value {
        Value::Text(text) => HeaderValue::from_str(text).map_err(|_| {
            "is no header value: it holds a line break or another control character".to_owned()
        }),
        Value::Map(_) | Value::List(_) | Value::Null => {
            Err(format!("{} is not a text", node.value.kind()))
        }
        other => Err(format!("{} is not a text: put it in quotes", other.kind())),
    }
}

/// The name, which may be a secret where it is none: the problem is told of the place that holds it.
fn name_of(name: &str, place: &Node<'_>) -> Option<HeaderName> {
    let short = Some(name).filter(|name| is_short(name));
    let parsed = short.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok());
    if parsed.is_none() {
        let cause = match name.contains(':') {
            _ if !is_short(name) => "holds a header name of more than 128 bytes",
            true => "holds a header name with a colon: write the value as the value of the key",
            false => "holds what is no header name: write letters, digits and hyphens",
        };
        place.problems.add(&place.path, &"", cause);
    }
    parsed
}
