//! The blocks of a document, whatever they say.

use http_retry::config::{Document, RetryConfig};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// One layer: keys and values as a document has them, and what it uses.
pub(super) type Layer = (Map<String, Value>, Option<&'static str>);

/// Values that fit each other, whatever layer they come from.
fn fields() -> impl Strategy<Value = Map<String, Value>> {
    let fields = json!({
        "base": ["1s", "3s", "500ms"],
        "max_delay": ["60s", "90s", "none"],
        "deadline": ["10m", "20m", "none"],
        "attempt_timeout": ["10s", "20s", "none"],
        "backoff": ["fixed", "linear", "exponential", "none"],
        "factor": [1.5, 2, 3.25],
        "first_step": [0, 1],
        "cap": ["both", "before", "after"],
        "jitter": [
            "none", "full", "equal", "decorrelated",
            {}, {"min": 0.25}, {"max": 1.5}, {"min": 0.75, "max": 2.5},
        ],
        "retry_after": [
            "respect", "ignore",
            {"max": "30s"}, {"over": "clamp"}, {"max": "none", "over": "stop"},
        ],
        "max_retries": [0, 1, 3, 7],
        "max_refused": [0, 2, 50],
        "methods": ["all", "idempotent"],
    });
    let fields = fields.as_object().unwrap().iter();
    let fields: Vec<_> = fields.map(|(key, values)| field(key, values)).collect();
    fields.prop_map(|fields| fields.into_iter().flatten().collect())
}

/// A field with one of these values, or nothing of it.
fn field(key: &str, values: &Value) -> impl Strategy<Value = Option<(String, Value)>> + use<> {
    let (key, values) = (key.to_owned(), values.as_array().unwrap().clone());
    option::of(select(values).prop_map(move |value| (key.clone(), value)))
}

fn layer(uses: &'static [&'static str]) -> impl Strategy<Value = Layer> {
    (fields(), option::of(select(uses)))
}

/// The blocks of a document: two policies, of which the second may use the first, and then the document, a service and
/// a route.
pub(super) fn layers() -> impl Strategy<Value = [Layer; 5]> {
    const ALL: &[&str] = &["one", "two", "background", "llm", "rate_limited"];
    [
        layer(&["background", "llm", "rate_limited"]).boxed(),
        layer(&["one", "llm"]).boxed(),
        layer(ALL).boxed(),
        layer(ALL).boxed(),
        layer(ALL).boxed(),
    ]
}

fn block((fields, uses): &Layer) -> Value {
    let mut block = fields.clone();
    if let Some(uses) = uses {
        block.insert("use".into(), json!(uses));
    }
    block.into()
}

pub(super) fn config([one, two, document, service, route]: &[Layer; 5]) -> RetryConfig {
    let text = json!({
        "version": 1,
        "policies": {"one": block(one), "two": block(two)},
        "retry": block(document),
        "services": {"a": {
            "retry": block(service),
            "routes": [{"name": "r", "match": {"path": "/*"}, "retry": block(route)}],
        }},
    });
    let document: Document = serde_json::from_value(text).unwrap();
    RetryConfig::load(&document).unwrap_or_else(|errors| panic!("{errors}"))
}
