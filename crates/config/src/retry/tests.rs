//! A table with a key that no document has: what it takes is one row.

use super::*;
use crate::problems::Diagnostics;
use crate::reader::Reader;
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

/// Returns the keys that the schema of RETRY does not have.
fn not_in_the_schema<'a>(keys: &[&'a str]) -> Vec<&'a str> {
    let schema: Json = serde_json::from_str(&RetryConfig::json_schema()).unwrap();
    let known = &schema["$defs"]["retry_map"]["properties"];
    let unknown = keys.iter().filter(|key| known.get(key).is_none());
    unknown.copied().collect()
}

#[test]
fn the_schema_misses_the_key_and_no_other() {
    assert_eq!(not_in_the_schema(Shop::KEYS), ["patience"]);
    assert_eq!(not_in_the_schema(Retry::KEYS), [""; 0]);
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
    // Those in a block, or beside RETRY.
    let elsewhere = ["max_server_delay", "max_gate_wait", "quotas_at_once"];
    let without: Vec<_> = SETTINGS
        .iter()
        .filter(|name| !Retry::KEYS.contains(name))
        .collect();
    assert_eq!(without, elsewhere.iter().collect::<Vec<_>>());
}
