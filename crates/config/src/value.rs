//! An untyped document, as any serde format returns it.

mod reading;

pub(super) use reading::{DocumentSize, check_text, why_unreadable};

use super::shown::{self, HIDDEN};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The entries of a map, in the order of their keys.
pub(super) type Entries = BTreeMap<Arc<str>, Value>;

/// A value of a document, as it was written. Clones share their maps, so that a document with one changed service costs
/// no copy of the others.
#[derive(Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    Map(Arc<Entries>),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(own), Self::Bool(other)) => own == other,
            (Self::Integer(own), Self::Integer(other)) => own == other,
            (Self::Float(own), Self::Float(other)) => own == other,
            (Self::Text(own), Self::Text(other)) => own == other,
            (Self::List(own), Self::List(other)) => own == other,
            // A shared map is not looked into.
            (Self::Map(own), Self::Map(other)) => Arc::ptr_eq(own, other) || own == other,
            _ => false,
        }
    }
}

impl Value {
    /// Returns the kind of the value, as an error names it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a truth value",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// Returns `true` if none of its texts and keys may be a secret.
    pub(super) fn is_public(&self) -> bool {
        match self {
            Self::Text(text) => shown::is_public(text),
            Self::List(list) => list.iter().all(Self::is_public),
            Self::Map(map) => map
                .iter()
                .all(|(key, value)| shown::is_public(key) && value.is_public()),
            Self::Null | Self::Bool(_) | Self::Integer(_) | Self::Float(_) => true,
        }
    }

    /// Returns the value with [`HIDDEN`] instead of each text.
    pub(super) fn without_texts(&self) -> Self {
        match self {
            Self::Text(_) => Self::Text(HIDDEN.to_owned()),
            Self::List(list) => Self::List(list.iter().map(Self::without_texts).collect()),
            Self::Map(map) => {
                let hidden =
                    |(key, value): (&Arc<str>, &Self)| (Arc::clone(key), value.without_texts());
                Self::Map(Arc::new(map.iter().map(hidden).collect()))
            }
            other => other.clone(),
        }
    }

    /// Returns a message with [`HIDDEN`] instead of each text of this value.
    pub(super) fn redact(&self, message: &str) -> String {
        match self {
            // Replacing an empty text would insert the words between all characters.
            Self::Text(text) if !text.is_empty() => message.replace(text.as_str(), HIDDEN),
            Self::List(list) => list
                .iter()
                .fold(message.to_owned(), |message, value| value.redact(&message)),
            Self::Map(map) => map
                .values()
                .fold(message.to_owned(), |message, value| value.redact(&message)),
            _ => message.to_owned(),
        }
    }

    /// Returns the keys of a map, as an error shows them.
    pub(super) fn shown_keys(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Map(map) => map.keys().map(|key| shown::name(key)).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the value under a key, if this is a map that has it.
    pub(super) fn at(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get(key),
            _ => None,
        }
    }

    /// Returns the map under a key, if this is a map that has one there.
    pub(super) fn map_at(&self, key: &str) -> Option<&Entries> {
        match self.at(key)? {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the map without this key; anything else as it is.
    pub(super) fn without(&self, key: &str) -> Self {
        match self {
            Self::Map(map) if map.contains_key(key) => {
                let mut map = Entries::clone(map);
                map.remove(key);
                Self::Map(Arc::new(map))
            }
            other => other.clone(),
        }
    }

    /// Returns the value under a key of a map, and creates it if it is missing; anything but a map becomes one.
    pub(super) fn entry(&mut self, key: &str) -> &mut Self {
        if !matches!(self, Self::Map(_)) {
            *self = Self::Map(Arc::default());
        }
        match self {
            Self::Map(map) => Arc::make_mut(map).entry(key.into()).or_insert(Self::Null),
            // Never reached: it is a map by now.
            other => other,
        }
    }

    /// Merges maps, removes a key for a null, and replaces everything else.
    pub(super) fn merge(&mut self, change: &Self) {
        let Self::Map(changes) = change else {
            self.clone_from(change);
            return;
        };
        for (key, change) in &**changes {
            match (change, &mut *self) {
                (Self::Null, Self::Map(map)) => {
                    Arc::make_mut(map).remove(key);
                }
                // A null for a key that is not there must not make an empty map.
                (Self::Null, _) => {}
                _ => self.entry(key).merge(change),
            }
        }
    }

    pub(super) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Integer(number) => match i64::try_from(*number) {
                Ok(number) => Json::from(number),
                Err(_) => u64::try_from(*number).map_or(Json::Null, Json::from),
            },
            Self::Float(number) => Json::from(*number),
            Self::Text(text) => Json::from(text.as_str()),
            Self::List(list) => list.iter().map(Self::to_json).collect(),
            Self::Map(map) => {
                let entries = map
                    .iter()
                    .map(|(key, value)| (key.to_string(), value.to_json()));
                Json::Object(entries.collect())
            }
        }
    }

    /// Returns `true` if it holds more values, or more bytes of text, than these.
    pub(super) fn is_larger_than(&self, values: usize, text: usize) -> bool {
        let size = DocumentSize::inside(self, 0);
        size.map_or(true, |size| size.values > values || size.text > text)
    }
}

/// Prints the value in a form that is short enough for an error message, and holds no secret.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            // `Debug` keeps 1.0 apart from 1.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => shown::write_quoted(f, text),
            Self::Null | Self::List(_) | Self::Map(_) => f.write_str(self.kind()),
        }
    }
}

/// Prints no more than an error message does.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_key_is_an_error() {
        let twice = serde_json::from_str::<Value>(r#"{"retry": 1, "retry": 2}"#);
        let error = twice.unwrap_err().to_string();
        assert!(error.starts_with("retry: duplicate key"), "{error}");
    }

    #[test]
    fn a_changed_clone_shares_what_it_does_not_change() {
        let text =
            r#"{"version": 1, "services": {"a": {"retry": {"base": "1s"}}, "b": {"retry": {}}}}"#;
        let before: Value = serde_json::from_str(text).unwrap();
        let mut after = before.clone();
        assert!(after == before);
        let change = serde_json::from_str(r#"{"retry": {"base": "2s"}}"#).unwrap();
        after.entry("services").entry("a").merge(&change);
        assert!(after != before && after.without("services") == before.without("services"));
        let map =
            |document: &Value, name: &str| match document.map_at("services").unwrap().get(name) {
                Some(Value::Map(map)) => Arc::clone(map),
                _ => Arc::default(),
            };
        assert!(Arc::ptr_eq(&map(&before, "b"), &map(&after, "b")));
        assert!(!Arc::ptr_eq(&map(&before, "a"), &map(&after, "a")));
        assert_eq!(
            before.map_at("services").unwrap()["a"]
                .map_at("retry")
                .unwrap()["base"]
                .to_string(),
            "\"1s\""
        );
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let mut deep = Value::Null;
        for _ in 0..100 {
            deep = Value::List(vec![deep]);
        }
        assert!(DocumentSize::of(&deep).is_err());
        let wide = Value::List(vec![Value::Null; 100_001]);
        assert!(DocumentSize::of(&wide).is_err());
        assert!(DocumentSize::of(&Value::List(vec![Value::Null; 1_000])).is_ok());
    }
}
