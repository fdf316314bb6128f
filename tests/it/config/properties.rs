//! Any layers at all, against a merge that is written down as plainly as can be.

use super::{SECOND, origins, policy};
use http_retry::config::{Document, RetryConfig};
use http_retry::policy::Decimal;
use http_retry::{Backoff, Jitter, Methods, RetryPolicy};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One layer: keys and values as a document has them, and what it uses.
type Layer = (Map<String, Value>, Option<&'static str>);

/// A field's words, and where they stand.
type Model = BTreeMap<String, (String, String)>;

const PRESETS: [(&str, [(&str, &str); 8]); 3] = [
    (
        "background",
        preset(["4", "2s", "1m", "15m", "idempotent", "5m", "by status"]),
    ),
    ("llm", preset(["2", "1s", "1m", "2m", "all", "5m", "llm"])),
    (
        "rate_limited",
        preset(["2", "2s", "2m", "10m", "idempotent", "15m", "by status"]),
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

fn among(values: &[Value]) -> impl Strategy<Value = Option<Value>> + use<> {
    option::of(select(values.to_vec()))
}

fn jitter() -> impl Strategy<Value = Option<Value>> {
    among(&[
        json!("none"),
        json!("full"),
        json!("equal"),
        json!("decorrelated"),
        json!({}),
        json!({"min": 0.25}),
        json!({"max": 1.5}),
        json!({"min": 0.75, "max": 2.5}),
    ])
}

/// Values that fit each other, whatever layer they come from.
fn fields() -> impl Strategy<Value = Map<String, Value>> {
    let times = (
        among(&[json!("1s"), json!("3s"), json!("500ms")]),
        among(&[json!("60s"), json!("90s"), json!("none")]),
        among(&[json!("10m"), json!("20m"), json!("none")]),
        among(&[json!("10s"), json!("20s"), json!("none")]),
    );
    let growth = (
        among(&[
            json!("fixed"),
            json!("linear"),
            json!("exponential"),
            json!("none"),
        ]),
        among(&[json!(1.5), json!(2), json!(3.25)]),
        among(&[json!(0), json!(1)]),
        among(&[json!("both"), json!("before"), json!("after")]),
    );
    let asked = among(&[
        json!("respect"),
        json!("ignore"),
        json!({"max": "30s"}),
        json!({"over": "clamp"}),
        json!({"max": "none", "over": "stop"}),
    ]);
    let limit = among(&[json!(0), json!(1), json!(3), json!(7)]);
    let methods = among(&[json!("all"), json!("idempotent")]);
    (times, growth, jitter(), asked, limit, methods).prop_map(
        |(
            (base, max_delay, deadline, attempt),
            (growth, factor, step, cap),
            jitter,
            asked,
            limit,
            methods,
        )| {
            let fields = [
                ("base", base),
                ("max_delay", max_delay),
                ("deadline", deadline),
                ("attempt_timeout", attempt),
                ("backoff", growth),
                ("factor", factor),
                ("first_step", step),
                ("cap", cap),
                ("jitter", jitter),
                ("retry_after", asked),
                ("max_retries", limit),
                ("methods", methods),
            ];
            let given = fields.into_iter();
            given
                .filter_map(|(key, value)| Some((key.to_owned(), value?)))
                .collect()
        },
    )
}

fn layer(uses: &'static [&'static str]) -> impl Strategy<Value = Layer> {
    (fields(), option::of(select(uses)))
}

/// The blocks of a document: two policies, of which the second may use the first, and then the document, a service and
/// a route.
fn layers() -> impl Strategy<Value = [Layer; 5]> {
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

fn config([one, two, document, service, route]: &[Layer; 5]) -> RetryConfig {
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

/// Lays one layer upon what is there: first what it uses, then its own fields.
fn lay(model: &mut Model, layers: &[Layer; 5], layer: &Layer, place: &str) {
    let (fields, uses) = layer;
    match uses {
        Some("one") => lay(model, layers, &layers[0], "policies.one"),
        Some("two") => lay(model, layers, &layers[1], "policies.two"),
        Some(name) => {
            let found = PRESETS.iter().find(|(preset, _)| preset == name);
            for (field, value) in found.unwrap().1 {
                put(model, field, value, &format!("preset {name}"));
            }
        }
        None => {}
    }
    for (key, value) in fields {
        lay_field(model, key, value, &format!("{place}.{key}"));
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

fn model(layers: &[Layer; 5]) -> Model {
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

/// The same policy by the builder.
fn built(model: &Model) -> RetryPolicy {
    let text = |field: &str| model.get(field).map(|(value, _)| value.as_str());
    let time = |field: &str| text(field).and_then(time);
    let decimal = |field: &str| text(field).map(|text| Decimal::from(text.parse::<f64>().unwrap()));
    let base = time("base").unwrap();
    let mut backoff = match text("backoff").unwrap() {
        "none" => Backoff::none(),
        "fixed" => Backoff::fixed(base),
        "linear" => Backoff::linear(base),
        _ => Backoff::exponential(base),
    };
    if text("max_delay").is_some() {
        backoff = backoff.max_delay(time("max_delay"));
    }
    if let Some(factor) = decimal("factor") {
        backoff = backoff.factor(factor);
    }
    let backoff = match text("cap") {
        Some("before") => backoff.cap_before_jitter(),
        Some("after") => backoff.cap_after_jitter(),
        _ => backoff,
    };
    let step = text("first_step").map_or(0, |step| step.parse().unwrap());
    let min = decimal("jitter.min").unwrap_or(Decimal::from(0));
    let max = decimal("jitter.max").unwrap_or(Decimal::from(1));
    let jitter = match text("jitter") {
        Some("decorrelated") => Jitter::Decorrelated,
        _ => Jitter::between(min, max),
    };
    let methods = match text("methods").unwrap() {
        "all" => Methods::All,
        _ => Methods::Idempotent,
    };
    let builder = RetryPolicy::builder()
        .max_retries(text("max_retries").unwrap().parse().unwrap())
        .backoff(backoff.first_step(step).jitter(jitter))
        .deadline(time("deadline"))
        .attempt_timeout(time("attempt_timeout"))
        .max_server_delay(time("retry_after.max"))
        .methods(methods)
        .max_gate_wait(time("gate"));
    builder.build().unwrap()
}

fn time(text: &str) -> Option<std::time::Duration> {
    let number = |unit: &str| text.strip_suffix(unit)?.parse::<u32>().ok();
    let milliseconds = number("ms").map(|n| SECOND / 1_000 * n);
    let minutes = || number("m").map(|n| SECOND * 60 * n);
    milliseconds
        .or_else(|| number("s").map(|n| SECOND * n))
        .or_else(minutes)
}

/// What is said of a schedule, without its name, and with one word for each way of jitter.
fn schedule(policy: &RetryPolicy) -> Vec<String> {
    let text = policy.explain();
    let lines = text.lines().skip(1);
    lines
        // What is made of a server's wish has no setting in code, and is held by tests of its own.
        .filter(|line| !line.contains(" (from ") && !line.contains("a server "))
        .map(|line| {
            line.replace("jitter 1 to 1", "no jitter")
                .replace("jitter 0.5 to 1", "equal jitter")
                .replace("jitter 0 to 1", "full jitter")
        })
        .collect()
}

proptest! {
    #![proptest_config(Config::with_cases(1_000))]

    #[test]
    fn every_effective_field_comes_from_the_most_specific_layer(layers in layers()) {
        let found = policy(&config(&layers), Some("a"), Some("r"));
        let found: Model = origins(&found)
            .into_iter()
            .map(|(field, value, from)| (field, (value, from)))
            .collect();
        prop_assert_eq!(found, model(&layers));
    }

    #[test]
    fn the_policy_in_force_is_the_one_that_is_explained(layers in layers()) {
        let found = policy(&config(&layers), Some("a"), Some("r"));
        let wanted = built(&model(&layers));
        prop_assert_eq!(found.max_retries(), wanted.max_retries());
        prop_assert_eq!(schedule(&found), schedule(&wanted));
    }
}
