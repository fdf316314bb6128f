//! Header maps of a document.

use super::block::Node;
use http::{HeaderMap, HeaderName, HeaderValue};

/// A map of names and values; a list gives a name several.
pub(super) fn headers(node: &Node<'_>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, node) in node.entries() {
        let Some(name) = name_of(name, &node) else {
            continue;
        };
        for node in node.one_or_more() {
            let value = node.text().map(HeaderValue::from_str);
            match value {
                Some(Ok(value)) => {
                    headers.append(&name, value);
                }
                // What it holds may be a secret.
                Some(Err(_)) => node.problems.add(
                    &node.path,
                    &"",
                    "is no header value: it holds a line break or another control character",
                ),
                None => {}
            }
        }
    }
    Some(headers)
}

pub(super) fn name_of(name: &str, node: &Node<'_>) -> Option<HeaderName> {
    let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
    if parsed.is_none() {
        node.problems
            .add(&node.path, &name, format!("\"{name}\" is no header name"));
    }
    parsed
}
