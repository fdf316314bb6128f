//! An untyped document, as any serde format returns it.

mod reading;

pub(super) use reading::{check_text, why_unreadable};

use super::shown::{self, HIDDEN, Quoted};
use reading::Size;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A value of a document, as it was written.
#[derive(Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
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
                let hidden = |(key, value): (&String, &Self)| (key.clone(), value.without_texts());
                Self::Map(map.iter().map(hidden).collect())
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
    pub(super) fn map_at(&self, key: &str) -> Option<&BTreeMap<String, Self>> {
        match self.at(key)? {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns `true` if two maps are equal but for the value under this key.
    pub(super) fn is_same_without(&self, key: &str, other: &Self) -> bool {
        let (Self::Map(own), Self::Map(others)) = (self, other) else {
            return false;
        };
        let is_other = |entry: &(&String, &Self)| entry.0 != key;
        let (own, others) = (own.iter().filter(is_other), others.iter().filter(is_other));
        own.eq(others)
    }

    /// Returns the value under a key of a map, and creates it if it is missing; anything but a map becomes one.
    pub(super) fn entry(&mut self, key: &str) -> &mut Self {
        if !matches!(self, Self::Map(_)) {
            *self = Self::Map(BTreeMap::new());
        }
        match self {
            Self::Map(map) => map.entry(key.to_owned()).or_insert(Self::Null),
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
        for (key, change) in changes {
            match (change, &mut *self) {
                (Self::Null, Self::Map(map)) => {
                    map.remove(key);
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
                    .map(|(key, value)| (key.clone(), value.to_json()));
                Json::Object(entries.collect())
            }
        }
    }

    /// Checks the bounds on depth, number of values and length of texts.
    pub(super) fn check_size(&self) -> Result<(), String> {
        self.count(&Size::default())
    }

    /// Returns `true` if it holds more values, or more bytes of text, than these.
    pub(super) fn is_larger_than(&self, values: usize, text: usize) -> bool {
        self.count(&Size::up_to(values, text)).is_err()
    }

    fn count(&self, size: &Size) -> Result<(), String> {
        // An explicit stack, so that a deep document needs no deep call stack.
        let mut left = vec![(self, 0)];
        while let Some((value, depth)) = left.pop() {
            size.add_value(depth)?;
            let depth = depth.saturating_add(1);
            match value {
                Self::Text(text) => size.add_text(text)?,
                Self::List(list) => left.extend(list.iter().map(|value| (value, depth))),
                Self::Map(map) => {
                    for (key, value) in map {
                        size.add_text(key)?;
                        left.push((value, depth));
                    }
                }
                Self::Null | Self::Bool(_) | Self::Integer(_) | Self::Float(_) => {}
            }
        }
        Ok(())
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
            Self::Text(text) => Quoted(text).fmt(f),
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
    fn depth_and_size_are_bounded() {
        let mut deep = Value::Null;
        for _ in 0..100 {
            deep = Value::List(vec![deep]);
        }
        assert!(deep.check_size().is_err());
        let wide = Value::List(vec![Value::Null; 100_001]);
        assert!(wide.check_size().is_err());
        assert!(Value::List(vec![Value::Null; 1_000]).check_size().is_ok());
    }
}
