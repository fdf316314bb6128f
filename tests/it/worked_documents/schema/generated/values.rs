//! Values of a document, and now and then something of another kind.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

pub(super) type Values = BoxedStrategy<Value>;
pub(super) type Keys = Vec<(&'static str, Values)>;

/// One of these, and now and then something of another kind.
pub(super) fn one_of(values: Value) -> Values {
    let Value::Array(values) = values else {
        panic!("a list of values")
    };
    prop_oneof![60 => select(values), 1 => odd()].boxed()
}

fn odd() -> Values {
    let values = json!([null, true, 0, -1, 0.5, "", "x", "2s", 429, [], {}, {"x": 1}]);
    select(values.as_array().unwrap().clone()).boxed()
}

/// A map with some of these keys.
pub(super) fn some_of(keys: Keys, often: f64) -> Values {
    let (names, values): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
    let values: Vec<_> = values
        .into_iter()
        .map(|value| {
            if often < 1.0 {
                proptest::option::weighted(often, value).boxed()
            } else {
                value.prop_map(Some).boxed()
            }
        })
        .collect();
    let map = move |values: Vec<Option<Value>>| {
        let given = names.iter().zip(values);
        let given = given.filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
        Value::Object(given.collect::<Map<_, _>>())
    };
    values.prop_map(map).boxed()
}

/// The same, where these keys are always there.
pub(super) fn with(keys: Keys, rest: Values) -> Values {
    (some_of(keys, 1.0), rest)
        .prop_map(|(mut own, rest)| {
            let rest = rest.as_object().unwrap().clone();
            own.as_object_mut().unwrap().extend(rest);
            own
        })
        .boxed()
}

pub(super) fn list_of(items: Values, most: usize) -> Values {
    let list = proptest::collection::vec(items, 1..=most);
    list.prop_map(Value::Array).boxed()
}

pub(super) fn durations() -> Values {
    one_of(json!([
        "1s", "1s", "2s", "1500ms", "1.5s", "1s 500ms", "1 sec", " 1s ", "1s1ms", "3seconds"
    ]))
}

pub(super) fn longer() -> Values {
    one_of(json!([
        "1m", "2min", "1h 30m", "1day", "1.5h", "none", null
    ]))
}

pub(super) fn statuses() -> Values {
    one_of(json!([
        429,
        503,
        "5xx",
        "4XX",
        "500-599",
        ">=500",
        "<= 499",
        ">499",
        "<1000",
        "=429",
        "429",
        " 502 - 504",
        ["5xx", 429],
        "05xx"
    ]))
}
