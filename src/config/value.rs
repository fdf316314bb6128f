//! A document as any serde reader gives it, before anybody knows what it means.

use super::shown::{self, Quoted};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// One value of a document. It is kept as it was written, so that an error can say where it stands and what it is.
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

/// Deeper documents are refused, so that reading one takes bounded stack.
const DEEPEST: usize = 64;
/// More values than this are refused.
const MOST_VALUES: usize = 100_000;

impl Value {
    /// What it is, as an error names it.
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

    /// Whether none of its texts and keys may be a secret.
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

    /// The keys of a map, as an error shows them.
    pub(super) fn shown_keys(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Map(map) => map.keys().map(|key| shown::name(key)).collect(),
            _ => Vec::new(),
        }
    }

    /// The value under a key of a map, made if it is not there; what is no map becomes one.
    pub(super) fn entry(&mut self, key: &str) -> &mut Self {
        if !matches!(self, Self::Map(_)) {
            *self = Self::Map(BTreeMap::new());
        }
        match self {
            Self::Map(map) => map.entry(key.to_owned()).or_insert(Self::Null),
            other => other,
        }
    }

    /// Maps are merged, a null takes a key away, and everything else is replaced.
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

    /// Whether it is within the bounds of depth and number.
    pub(super) fn check_size(&self) -> Result<(), String> {
        let mut left = vec![(self, 0_usize)];
        let mut seen = 0_usize;
        while let Some((value, depth)) = left.pop() {
            seen = seen.saturating_add(1);
            if depth > DEEPEST {
                return Err(format!("is nested more than {DEEPEST} levels deep"));
            }
            if seen > MOST_VALUES {
                return Err(format!("holds more than {MOST_VALUES} values"));
            }
            let depth = depth.saturating_add(1);
            match value {
                Self::List(list) => left.extend(list.iter().map(|value| (value, depth))),
                Self::Map(map) => left.extend(map.values().map(|value| (value, depth))),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Short enough for an error message, and without a secret.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("nothing"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            // So that 1.0 does not look like 1.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => Quoted(text).fmt(f),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) => f.write_str("a map"),
        }
    }
}

/// No more than an error says.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document of maps, lists, texts, numbers and truth values")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        Value::deserialize(inner)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element()? {
            list.push(value);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some(Key(key)) = access.next_key()? {
            let value = access.next_value()?;
            if map.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format!(
                    "{}: is there twice",
                    shown::key(&key)
                )));
            }
        }
        Ok(Value::Map(map))
    }
}

/// A key; YAML lets numbers and truth values be keys, which then count as their text.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Text(text) => Ok(Self(text)),
            Value::Integer(number) => Ok(Self(number.to_string())),
            Value::Bool(value) => Ok(Self(value.to_string())),
            other => Err(D::Error::custom(format!(
                "{} cannot be a key",
                other.kind()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_an_error() {
        let twice = serde_json::from_str::<Value>(r#"{"retry": 1, "retry": 2}"#);
        let error = twice.unwrap_err().to_string();
        assert!(error.starts_with("retry: is there twice"), "{error}");
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
