//! Deserialization of an untyped value from any serde format, and the limits on its size, counted while it is read: an
//! alias in a short text can expand to a large document.

use super::Value;
use crate::shown;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let whole = Reading {
            size: &mut DocumentSize::default(),
            depth: 0,
            is_services: false,
        };
        whole.deserialize(deserializer)
    }
}

/// A deserializer of one value that counts it and its contents.
struct Reading<'a> {
    /// The size of what is read so far.
    size: &'a mut DocumentSize,
    depth: usize,
    /// `true` for the map of services, each of which may add to the document.
    is_services: bool,
}

impl Reading<'_> {
    fn inside(&mut self) -> Reading<'_> {
        Reading {
            size: self.size,
            depth: self.depth.saturating_add(1),
            is_services: false,
        }
    }

    /// Returns the reading of the value under a key of this map.
    fn under(&mut self, key: &str) -> Reading<'_> {
        Reading {
            is_services: self.depth == 0 && key == SERVICES,
            ..self.inside()
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        // Counted before the value is read, so that a document that expands stops early.
        self.size.add_value(self.depth).map_err(D::Error::custom)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
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
        deserializer.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        inner.deserialize_any(self)
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

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.size.add_text(text.len()).map_err(E::custom)?;
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(self.inside())? {
            list.push(value);
        }
        // A document stays in memory for as long as it is in force.
        list.shrink_to_fit();
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some(key) = access.next_key_seed(Key(self.inside()))? {
            if self.is_services {
                self.size.services = self.size.services.saturating_add(1);
            }
            let value = access.next_value_seed(self.under(&key))?;
            match map.entry(Arc::from(key)) {
                Entry::Vacant(slot) => {
                    slot.insert(value);
                }
                Entry::Occupied(entry) => {
                    let key = shown::key(entry.key());
                    return Err(A::Error::custom(format!("{key}: duplicate key")));
                }
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }
}

/// A key. YAML allows numbers and truth values as keys, which count as their text.
struct Key<'a>(Reading<'a>);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        match deserializer.deserialize_any(self.0)? {
            Value::Text(text) => Ok(text),
            Value::Integer(number) => Ok(number.to_string()),
            Value::Bool(value) => Ok(value.to_string()),
            other => Err(D::Error::custom(format!(
                "{} cannot be a key",
                other.kind()
            ))),
        }
    }
}

/// The deepest nesting of a document, so that reading one takes bounded stack.
const MAX_DEPTH: usize = 64;
/// The key of the services of a document.
const SERVICES: &str = "services";
/// The most values of a document without services.
const MAX_VALUES: usize = 100_000;
/// The values by which a document may grow with each service. A service needs a name of its own, so the bound is linear
/// in the text, and a short text that expands stays small.
const VALUES_PER_SERVICE: usize = 40;
/// The most bytes of keys and texts of a document without services.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// The bytes of keys and texts by which a document may grow with each service.
const TEXT_BYTES_PER_SERVICE: usize = 1_024;

/// The most brackets that may be open at once in a text.
const MAX_OPEN: usize = 128;

/// Checks that a text is short enough to be read.
pub(crate) fn check_text(text: &str) -> Result<(), String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("the text has more than {MAX_TEXT_BYTES} bytes"));
    }
    // Brackets in texts and comments count too: only a parser could tell them apart.
    let mut open = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open = open.saturating_add(1),
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_OPEN {
            return Err(format!(
                "the text has more than {MAX_OPEN} brackets open at once"
            ));
        }
    }
    Ok(())
}

/// Returns why a parser could not read a text, if that is a common mistake that its error does not name.
pub(crate) fn why_unreadable(text: &str, error: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some("the document is empty: write version: 1".to_owned());
    }
    // In these words libyaml refuses a tab, among other characters.
    let (_, place) = error.split_once("cannot start any token at line ")?;
    let number = place.split(' ').next()?.parse::<usize>().ok()?;
    let line = text.lines().nth(number.checked_sub(1)?)?;
    let mut indentation = line.chars().take_while(|c| c.is_whitespace());
    let has_tab = indentation.any(|c| c == '\t');
    has_tab.then(|| format!("{error}: indent with spaces, not with tabs"))
}

fn check_depth(depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("is nested more than {MAX_DEPTH} levels deep"));
    }
    Ok(())
}

/// The size of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DocumentSize {
    services: usize,
    pub(crate) values: usize,
    /// The bytes of keys and texts.
    pub(crate) text: usize,
}

impl DocumentSize {
    /// Returns the size of a whole document, or an error if it is too large.
    pub(crate) fn of(document: &Value) -> Result<Self, String> {
        let services = document.map_at(SERVICES).map_or(0, BTreeMap::len);
        let inside = Self::inside(document, 0)?;
        let size = Self { services, ..inside };
        size.check()?;
        Ok(size)
    }

    /// Returns the size of a value at a depth below the document, or an error if it is too deep.
    pub(crate) fn inside(value: &Value, depth: usize) -> Result<Self, String> {
        let mut size = Self::default();
        // An explicit stack, so that a deep document needs no deep call stack.
        let mut left = vec![(value, depth)];
        while let Some((value, depth)) = left.pop() {
            check_depth(depth)?;
            size.values = size.values.saturating_add(1);
            let depth = depth.saturating_add(1);
            match value {
                Value::Text(text) => size.text = size.text.saturating_add(text.len()),
                Value::List(list) => left.extend(list.iter().map(|value| (value, depth))),
                Value::Map(map) => {
                    for (key, value) in &**map {
                        size.text = size.text.saturating_add(key.len());
                        left.push((value, depth));
                    }
                }
                Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {}
            }
        }
        Ok(size)
    }

    /// Returns the size of the document after a change of one service, or an error if it is too deep then.
    pub(crate) fn with_service(
        self,
        name: &str,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Result<Self, String> {
        // Below the document and the map of its services.
        let size = |value: Option<&Value>| match value {
            Some(value) => Self::inside(value, 2).map(|size| Self {
                services: 1,
                text: size.text.saturating_add(name.len()),
                ..size
            }),
            None => Ok(Self::default()),
        };
        let rest = self.with(size(before)?, usize::saturating_sub);
        Ok(rest.with(size(after)?, usize::saturating_add))
    }

    /// Returns the sums or differences with another size.
    fn with(self, other: Self, combine: impl Fn(usize, usize) -> usize) -> Self {
        Self {
            services: combine(self.services, other.services),
            values: combine(self.values, other.values),
            text: combine(self.text, other.text),
        }
    }

    /// Returns an error if the document is too large.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_values()?;
        self.check_text()
    }

    /// Counts a value at this depth below the document.
    fn add_value(&mut self, depth: usize) -> Result<(), String> {
        check_depth(depth)?;
        self.values = self.values.saturating_add(1);
        self.check_values()
    }

    fn add_text(&mut self, bytes: usize) -> Result<(), String> {
        self.text = self.text.saturating_add(bytes);
        self.check_text()
    }

    fn check_values(&self) -> Result<(), String> {
        let most = VALUES_PER_SERVICE.saturating_mul(self.services);
        let most = most.saturating_add(MAX_VALUES);
        if self.values > most {
            return Err(format!("holds more than {most} values"));
        }
        Ok(())
    }

    fn check_text(&self) -> Result<(), String> {
        let most = TEXT_BYTES_PER_SERVICE.saturating_mul(self.services);
        let most = most.saturating_add(MAX_TEXT_BYTES);
        if self.text > most {
            return Err(format!("holds more than {most} bytes of text"));
        }
        Ok(())
    }
}
