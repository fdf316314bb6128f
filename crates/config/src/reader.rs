//! Deserialization of a document's types from its values, by serde.
//!
//! The derived types define the keys and their types; the [`Reader`] tracks the path. Every problem is added to the
//! [`Diagnostics`] at the path of its cause, the value counts as missing, and reading continues. So one pass finds all
//! problems of a document.
//!
//! Three names have a special meaning here:
//!
//! - An enum variant named `$map`, `$text`, `$list`, `$nothing` or `$other` takes the values of that kind.
//! - A struct named `$given` gets the value, its text and its path ([`Spanned`]).
//! - A newtype named `$hidden` holds a value that may be a secret ([`Hidden`]): no error shows it.

use super::problems::{Diagnostics, Path, hint};
use super::shown;
use super::value::{Entries as Map, Value};
use serde::de::value::{
    MapAccessDeserializer, MapDeserializer, SeqDeserializer, StringDeserializer,
};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, SeqAccess, Visitor,
};
use std::fmt;
use std::sync::Arc;

/// A value, its path, and the collector of problems.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    value: &'a Value,
    path: Path<'a>,
    problems: &'a Diagnostics,
    /// The keys of `retry`, which are often written beside it by mistake.
    retry_keys: &'static [&'static str],
    is_hidden: bool,
}

/// The cause of a problem; `None` once it has been reported.
#[derive(Debug)]
pub(super) struct Cause(Option<String>);

/// A value with its text and its path.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(rename = "$given")]
pub(super) struct Spanned<T> {
    pub(super) value: T,
    pub(super) text: Arc<str>,
    pub(super) from: Arc<str>,
}

/// A value that may be a secret.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(rename = "$hidden")]
pub(super) struct Hidden<T>(pub(super) T);

/// A value, or `None` if it is invalid, which has been reported.
#[derive(Debug, Clone)]
pub(super) struct Checked<T>(pub(super) Option<T>);

/// A value whose own error is reported at its path: [`Reader::deserialize_newtype_struct`] does so for every newtype.
#[derive(serde::Deserialize)]
struct OwnErrorAt<T>(T);

const GIVEN: &str = "$given";
const HIDDEN: &str = "$hidden";

/// Reads a field of a [`block`].
pub(super) fn optional<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    reader: D,
) -> Result<Option<T>, D::Error> {
    let Checked(value) = Checked::deserialize(reader)?;
    Ok(value)
}

/// Defines a map of a document: each key with its type. A key with a null counts as missing.
macro_rules! block {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident $(as $key:literal)?: $type:ty,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, serde::Deserialize)]
        #[serde(default)]
        pub(crate) struct $name {
            $(
                $(#[$doc])*
                #[serde($(rename = $key,)? deserialize_with = "crate::reader::optional")]
                pub(crate) $field: Option<$type>,
            )+
        }
    };
}

pub(super) use block;

impl<T> Spanned<T> {
    /// Returns another value with the same path.
    pub(super) fn with<U>(&self, value: U, text: impl Into<Arc<str>>) -> Spanned<U> {
        Spanned {
            value,
            text: text.into(),
            from: Arc::clone(&self.from),
        }
    }

    pub(super) fn path(&self) -> Path<'static> {
        Path::from(&self.from)
    }
}

/// Replaces the text of a value, if it is given.
pub(super) fn show<T>(given: &mut Option<Spanned<T>>, text: impl FnOnce(&T) -> String) {
    if let Some(given) = given {
        given.text = text(&given.value).into();
    }
}

/// Returns `true` if a path is in the document, and not a default or a preset.
pub(super) fn is_written(from: &str) -> bool {
    from != "default" && !from.starts_with("preset ")
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let read = OwnErrorAt::deserialize(reader).ok();
        Ok(Self(read.map(|OwnErrorAt(value)| value)))
    }
}

impl<'a> Reader<'a> {
    /// Reads a whole document.
    pub(super) fn read<T: Deserialize<'a>>(
        value: &'a Value,
        problems: &'a Diagnostics,
        retry_keys: &'static [&'static str],
    ) -> Option<T> {
        Self::read_at(value, Path::default(), problems, retry_keys)
    }

    /// Reads a part of a document.
    pub(super) fn read_at<T: Deserialize<'a>>(
        value: &'a Value,
        path: Path<'a>,
        problems: &'a Diagnostics,
        retry_keys: &'static [&'static str],
    ) -> Option<T> {
        let reader = Self {
            value,
            path,
            problems,
            retry_keys,
            is_hidden: false,
        };
        optional(reader).ok().flatten()
    }

    fn at(&self, value: &'a Value, path: Path<'a>) -> Self {
        Self {
            value,
            path,
            problems: self.problems,
            retry_keys: self.retry_keys,
            is_hidden: self.is_hidden,
        }
    }

    /// Returns an entry of this map.
    fn entry(&self, key: &'a str, value: &'a Value) -> (&'a str, Self) {
        // An invalid header name may be a secret, so problems are reported at its map.
        let path = if self.is_hidden && shown::header_name(key).is_err() {
            self.path.clone()
        } else {
            self.path.key(key)
        };
        (key, self.at(value, path))
    }

    fn shown(&self) -> String {
        if self.is_hidden {
            self.value.kind().to_owned()
        } else {
            self.value.to_string()
        }
    }

    /// Returns the cause for a value of another kind than the expected one.
    fn not(&self, wanted: &str) -> Cause {
        Cause(Some(format!("{} is not {wanted}", self.shown())))
    }

    /// Reports a cause at this path, unless there is a problem below it, which is more precise.
    fn report(&self, Cause(cause): Cause) -> Cause {
        let has_parts = matches!(self.value, Value::Map(_) | Value::List(_));
        let is_new = !has_parts || !self.problems.are_within(&self.path);
        if let Some(cause) = cause.filter(|_| is_new) {
            let shown = self.shown();
            // A cause without the value leaves it out on purpose, since it may be a secret.
            let given = if cause.contains(&shown) { &*shown } else { "" };
            self.problems.add(&self.path, &given, cause);
        }
        Cause(None)
    }

    /// Returns the entries with known keys, each after its place among the keys, in this order.
    fn known_entries(
        &self,
        map: &'a Map,
        name: &str,
        keys: &'static [&'static str],
    ) -> Vec<(usize, &'a str, &'a Value)> {
        let mut known = Vec::with_capacity(map.len());
        // A block has few of many keys, so each entry is looked up among the keys, and not each key in the map.
        for (key, value) in map {
            // A key without a value counts as missing, as YAML users expect of one whose lines are commented out.
            if *value == Value::Null {
                self.report_empty(name, key);
            } else if let Some(place) = keys.iter().position(|known| *known == &**key) {
                known.push((place, &**key, value));
            }
        }
        known.sort_unstable_by_key(|(place, ..)| *place);
        known
    }

    /// Reports a null for a key that must have a value, as that of an action must.
    fn report_empty(&self, name: &str, key: &str) {
        // A rule whose `retry` has no value would otherwise be one without an action.
        if matches!((name, key), ("Rule" | "OtherwiseRetry", "retry")) {
            let cause = "has nothing in it: write retry: {max_attempts: 3}, or {} for the settings of this place";
            self.problems.add(&self.path.key(key), &"", cause);
        }
    }

    fn report_unknown(&self, map: &Map, keys: &'static [&'static str]) {
        for key in map.keys().filter(|key| !keys.contains(&&***key)) {
            let shown = shown::key(key);
            // A suggestion would name a key of this map, while the mistake is the level.
            if keys.contains(&"retry") && self.retry_keys.contains(&&**key) {
                let cause = format!("is a key of retry: write retry: {{{key}: ..}}");
                self.problems.add(&self.path.key(key), &shown, cause);
                continue;
            }
            // That key is for editors, so it is not suggested.
            let known = keys.iter().copied().filter(|key| *key != "$schema");
            let (path, what) = (self.path.key(&shown), "is not a known key");
            let hint = || hint(key, known);
            self.problems.unknown(&path, &shown, what, hint);
        }
    }
}

impl<'de> IntoDeserializer<'de, Cause> for Reader<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Cause;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Cause> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Integer(number) => visitor.visit_i128(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::List(_) => self.deserialize_seq(visitor),
            Value::Map(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Cause> {
        match self.value {
            Value::Bool(value) => visitor.visit_bool(*value),
            _ => Err(self.not("true or false")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Cause> {
        match self.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            _ => Err(self.not("a text")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Cause> {
        self.deserialize_str(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Cause> {
        match self.value {
            Value::List(list) => {
                let items = list.iter().enumerate();
                let items = items.map(|(index, value)| self.at(value, self.path.item(index)));
                visitor.visit_seq(SeqDeserializer::new(items))
            }
            _ => Err(self.not("a list")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Cause> {
        let Value::Map(map) = self.value else {
            return Err(self.not("a map"));
        };
        let entries = map.iter().map(|(key, value)| self.entry(key, value));
        visitor.visit_map(MapDeserializer::new(entries))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Cause> {
        if name == GIVEN {
            return visitor.visit_seq(GivenParts(self, 0));
        }
        let Value::Map(map) = self.value else {
            return Err(self.not("a map"));
        };
        let entries = self.known_entries(map, name, keys).into_iter();
        let entries = entries.map(|(_, key, value)| self.entry(key, value));
        let read = visitor.visit_map(MapDeserializer::new(entries));
        // After the known keys, and also if one of those is invalid: a misspelt key may be the cause.
        self.report_unknown(map, keys);
        read
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Cause> {
        let inside = Self {
            is_hidden: self.is_hidden || name == HIDDEN,
            ..self
        };
        let reporter = inside.clone();
        let read = visitor.visit_newtype_struct(inside);
        read.map_err(|cause| reporter.report(cause))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Cause> {
        let kind = match self.value {
            Value::Map(_) => "$map",
            Value::List(_) => "$list",
            Value::Text(_) => "$text",
            Value::Null => "$nothing",
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) => "$other",
        };
        // `$other` takes every kind that has no variant of its own.
        let mut forms = [kind, "$other"].into_iter();
        match forms.find_map(|form| variants.iter().copied().find(|variant| *variant == form)) {
            // A map of one entry, which serde reads as an enum: the form, and the value itself.
            Some(form) => visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(
                std::iter::once((form, self)),
            ))),
            None => Err(self.not(name)),
        }
    }

    /// Skips the value, however large it is.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Cause> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Cause> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

/// The parts of a [`Spanned`]: the value, its text and its path, in this order.
struct GivenParts<'a>(Reader<'a>, u8);

impl<'de> SeqAccess<'de> for GivenParts<'de> {
    type Error = Cause;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Cause> {
        let Self(reader, part) = self;
        *part = part.saturating_add(1);
        let text = match *part {
            1 => return seed.deserialize(reader.clone()).map(Some),
            // The text ends up in explanations, which operators log.
            2 if reader.is_hidden => "given".to_owned(),
            2 => reader.shown().trim_matches('"').to_owned(),
            _ => reader.path.clone().into(),
        };
        seed.deserialize(StringDeserializer::new(text)).map(Some)
    }
}

impl de::Error for Cause {
    fn custom<T: fmt::Display>(cause: T) -> Self {
        Self(Some(cause.to_string()))
    }

    /// serde's default message quotes the value, which may be a secret.
    fn invalid_type(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self(Some(format!("is not {expected}")))
    }

    fn invalid_value(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self(Some(format!("is not {expected}")))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or_default())
    }
}

impl std::error::Error for Cause {}
