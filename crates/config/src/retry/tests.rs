//! A table with a key that no document has: what it takes is one row.

use super::*;
use crate::problems::Diagnostics;
use crate::reader::Reader;
use crate::values::Words;
use crate::{Document, RetryConfig};
use serde_json::{Value as Json, json};

settings! {
    Shop {
        deadline: Spanned<DurationOrNone> => |builder, time| builder.deadline(time.value.0),
        patience: Spanned<Count<0, 9>> => |builder, number| builder.max_retries(number.value.0),
    } of the level {
        /// A setting that has its key elsewhere.
        gate: Spanned<Gating>,
    }
}

fn read(document: Json) -> Shop {
    let Document(value) = serde_json::from_value(document).unwrap();
    let problems = Diagnostics::default();
    Reader::read(&value, &problems, Shop::KEYS).unwrap()
}

fn fields(layer: &Shop) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    layer.fields("".into(), &mut all);
    let owned = |(name, text, from): Field| (name.into(), (*text).into(), (*from).into());
    all.into_iter().map(owned).collect()
}

#[test]
fn a_document_has_the_key_and_an_explanation_its_origin() {
    assert_eq!(Shop::KEYS, ["deadline", "patience"]);
    let layer = read(json!({"patience": 4}));
    assert_eq!(
        fields(&layer),
        [("patience".into(), "4".into(), "patience".into())]
    );
}

#[test]
fn a_layer_keeps_its_key_and_takes_a_missing_one_from_below() {
    let below = read(json!({"patience": 4, "deadline": "1s"}));
    let mut set = read(json!({"patience": 5}));
    set.merge_below(&below);
    let texts: Vec<_> = fields(&set).into_iter().map(|(_, text, _)| text).collect();
    assert_eq!(texts, ["1s", "5"]);
}

#[test]
fn the_key_has_its_effect_on_a_policy() {
    let built = |document| read(document).set_plain(RetryPolicy::builder()).build();
    assert_eq!(built(json!({"patience": 7})).unwrap().retry_limit(), 7);
    assert_eq!(built(json!({})).unwrap().retry_limit(), 4);
}

/// A type whose form in the schema follows from it. That of a block or a list is written by hand.
pub(crate) trait Form {
    fn form() -> Option<Json> {
        None
    }
}

impl<T> Form for Box<T> {}
impl<T> Form for Few<T> {}
impl Form for Conditions {}
impl Form for Truncate {}
impl Form for Hold {}
impl Form for RepeatedMethods {}

impl<T: Form> Form for Spanned<T> {
    fn form() -> Option<Json> {
        T::form()
    }
}

impl Form for Name {
    fn form() -> Option<Json> {
        any_of(&[json!({"$ref": "#/$defs/name", "title": "name"})])
    }
}

impl Form for Duration {
    fn form() -> Option<Json> {
        any_of(&[json!({"$ref": "#/$defs/duration", "title": "duration"})])
    }
}

impl Form for DurationOrNone {
    fn form() -> Option<Json> {
        any_of(&[
            json!({"$ref": "#/$defs/duration", "title": "a duration"}),
            json!({"const": "none", "title": "none"}),
        ])
    }
}

impl Form for Bytes {
    fn form() -> Option<Json> {
        let size = r"^\s*[0-9]+\s*(?:KiB|MiB|GiB|B)\s*$";
        any_of(&[
            json!({"minimum": 0, "title": "a number of bytes", "type": "integer"}),
            json!({"pattern": size, "title": "a size: 512KiB or 2MiB", "type": "string"}),
        ])
    }
}

impl<const LEAST: u32> Form for Limit<LEAST> {
    fn form() -> Option<Json> {
        any_of(&[
            json!({"maximum": u32::MAX - 1, "minimum": LEAST, "title": "a number", "type": "integer"}),
            json!({"const": "unlimited", "title": "unlimited"}),
        ])
    }
}

impl<const LEAST: u32, const MOST: u32> Form for Count<LEAST, MOST> {
    fn form() -> Option<Json> {
        Some(json!({"maximum": MOST, "minimum": LEAST, "type": ["integer", "null"]}))
    }
}

impl<const LEAST: u32, const MOST: u32> Form for Number<LEAST, MOST> {
    fn form() -> Option<Json> {
        Some(json!({"maximum": MOST, "minimum": LEAST, "type": ["number", "null"]}))
    }
}

impl<T: Words> Form for Word<T> {
    fn form() -> Option<Json> {
        let words = T::WORDS.iter().map(|(word, _)| Some(*word));
        let words: Vec<_> = words.chain([None]).collect();
        Some(json!({"enum": words, "type": ["string", "null"]}))
    }
}

fn any_of(forms: &[Json]) -> Option<Json> {
    let none = json!({"title": "left out", "type": "null"});
    let forms: Vec<_> = forms.iter().chain([&none]).collect();
    Some(json!({"anyOf": forms}))
}

#[test]
fn the_key_has_a_form_in_the_schema() {
    let number = json!({"maximum": 9, "minimum": 0, "type": ["integer", "null"]});
    assert!(Shop::forms().contains(&("patience", Some(number))));
}

/// Checks that the bounds and words of the published schema are those of the table.
#[test]
fn each_key_stands_in_the_schema_as_in_the_table() {
    let schema: Json = serde_json::from_str(&RetryConfig::json_schema()).unwrap();
    let keys = schema["$defs"]["retry_map"]["properties"].as_object();
    let mut keys = keys.unwrap().clone();
    for (key, form) in Retry::forms() {
        let mut written = keys.remove(key).expect(key);
        let written = written.as_object_mut().unwrap();
        assert!(written.remove("description").is_some(), "{key}");
        written.remove("default");
        if let Some(form) = form {
            assert_eq!(Some(&*written), form.as_object(), "{key}");
        }
    }
    assert!(keys.is_empty(), "{keys:?}");
}

macro_rules! list {
    ($($name:ident)+) => {
        const SETTINGS: &[&str] = &[$(stringify!($name)),+];
    };
}

http_retry_core::setting_names!(list);

/// Checks that a setting of the core is in documents.
#[test]
fn each_setting_of_a_policy_has_a_key() {
    // Those that are in a block, beside RETRY, in code alone, or there under another name.
    let elsewhere = [
        "max_server_delay",
        "max_gate_wait",
        "quotas_at_once",
        "hedge",
        "classifier",
        "dialect",
        "header_rules",
        "otherwise",
        "rewrite",
        "rule",
        "server_delays",
    ];
    let without: Vec<_> = SETTINGS
        .iter()
        .filter(|name| !Retry::KEYS.contains(name))
        .collect();
    assert_eq!(without, elsewhere.iter().collect::<Vec<_>>());
}
