//! Headers of a document: maps of values, and names.

use super::block::Node;
use super::fields::{Type, checked, object, table};
use super::schema::{Defs, one_or_more, text_like};
use super::shown::is_short;
use super::types::{TOKEN, few, few_schema};
use super::value::Value;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// As many as servers and clients take by default; a `HeaderMap` itself panics where it is full.
const MOST: usize = 100;

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

table! {
    /// What changes in the request from the next attempt on.
    Change("set", "What changes before the next attempt") {
        /// Request headers, which take the place of those of the same name.
        headers: Arc<HeaderMap> = headers(), required();
    }
}

/// What changes in the request: its headers.
pub(super) fn set() -> Type<Arc<HeaderMap>> {
    Type {
        read: |node| {
            if !is_map(node) {
                return None;
            }
            let change = checked(node, |change: &Change, _| {
                let headers = change.headers.as_ref();
                let is_nothing = headers.is_none_or(|headers| headers.is_empty());
                is_nothing.then_some("sets nothing: write {headers: {NAME: VALUE}}")
            });
            change?.headers
        },
        schema: object::<Change>,
    }
}

pub(super) fn map_of(values: &Json) -> Json {
    json!({"type": "object", "propertyNames": {"pattern": TOKEN}, "additionalProperties": values})
}

/// The name of a header, or a list of names.
pub(super) fn header_names() -> Type<Arc<[HeaderName]>> {
    Type {
        read: |node| few(node, header_name().read),
        schema: |defs| few_schema("the name of a header", name_schema(defs)),
    }
}

pub(super) fn name_schema(defs: &mut Defs) -> Json {
    let says = ["The name of a header", "Letters, digits and hyphens."];
    defs.named("header_name", says, |_| text_like(TOKEN))
}

/// The name of one header.
pub(super) fn header_name() -> Type<HeaderName> {
    Type {
        read: |node| name_of(node.text()?, node),
        schema: name_schema,
    }
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
        node.wrong_unseen(cause);
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
                Err(cause) => node.wrong_unseen(cause),
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
        node.wrong_unseen(cause);
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
pub(super) fn name_of(name: &str, place: &Node<'_>) -> Option<HeaderName> {
    let short = Some(name).filter(|name| is_short(name));
    let parsed = short.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok());
    if parsed.is_none() {
        let cause = match name.contains(':') {
            _ if !is_short(name) => "holds a header name of more than 128 bytes",
            true => "holds a header name with a colon: write the value as the value of the key",
            false => "holds what is no header name: write letters, digits and hyphens",
        };
        place.wrong_unseen(cause);
    }
    parsed
}
