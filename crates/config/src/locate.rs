//! The place of a problem in the text of its document.
//!
//! A document is read without places, since most formats give none with a value. An error of a format has one, so the
//! text is read once more by a [`PathProbe`], which fails at the path of the problem.

use super::shown;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::fmt;

/// A reader that fails at one path of a document, so that the error of the format has its place.
///
/// [`ConfigErrors::locate`](crate::ConfigErrors::locate) makes one for each problem. It reads nothing of a document, and
/// succeeds if the path is not there.
#[derive(Debug, Clone, Copy)]
pub struct PathProbe<'a> {
    /// The rest of the path, from here on.
    path: &'a str,
    /// The fewest bytes of the path that were left at any place.
    left: &'a Cell<usize>,
}

impl<'a> PathProbe<'a> {
    /// Returns the line and column of a path, such as `services.orders.retry.base` or `rules[2].when`, or of the longest
    /// part of it that the document has. `None` if it has no part of it.
    ///
    /// `find` reads the document with the probe, and returns the place at which that fails; see
    /// [`ConfigErrors::locate`](crate::ConfigErrors::locate).
    ///
    /// ```
    /// use http_retry::config::PathProbe;
    /// use serde::de::DeserializeSeed;
    ///
    /// let text = "version: 1\nbudgets:\n  spare: {capacity: 5}\n";
    /// let place = PathProbe::place_of("budgets.spare", |probe| {
    ///     let yaml = serde_yaml_ng::Deserializer::from_str(text);
    ///     let place = probe.deserialize(yaml).err()?.location()?;
    ///     Some((place.line(), place.column()))
    /// });
    /// assert_eq!(place.map(|(line, _)| line), Some(3));
    /// ```
    pub fn place_of(
        path: &str,
        mut find: impl FnMut(PathProbe<'_>) -> Option<(usize, usize)>,
    ) -> Option<(usize, usize)> {
        let left = Cell::new(path.len());
        let place = find(PathProbe { path, left: &left });
        if place.is_some() {
            return place;
        }
        let known = path.get(..path.len().saturating_sub(left.get()))?;
        let left = Cell::new(known.len());
        // The whole document has no place worth a mention.
        let is_part = !known.is_empty();
        is_part.then(|| {
            find(PathProbe {
                path: known,
                left: &left,
            })
        })?
    }

    fn below(self, path: &'a str) -> Self {
        self.left.set(self.left.get().min(path.len()));
        Self { path, ..self }
    }

    /// Returns the rest of the path behind this key, if the path goes through it.
    fn behind(self, key: &str) -> Option<Self> {
        let path = self.path.strip_prefix('.').unwrap_or(self.path);
        let rest = path.strip_prefix(&*shown::name(key))?;
        let ends = rest.is_empty() || rest.starts_with(['.', '[']);
        ends.then(|| self.below(rest))
    }

    /// Returns the number of the item that the path goes through, and the rest of the path behind it.
    fn item(self) -> Option<(usize, &'a str)> {
        let (index, rest) = self.path.strip_prefix('[')?.split_once(']')?;
        Some((index.parse().ok()?, rest))
    }

    fn is_found(self) -> bool {
        self.path.is_empty()
    }

    fn found<E: Error>() -> E {
        E::custom("here")
    }
}

impl<'de> DeserializeSeed<'de> for PathProbe<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PathProbe<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        if self.is_found() {
            return Err(Self::found());
        }
        while let Some(inside) = access.next_key_seed(KeyProbe(self))? {
            match inside {
                Some(probe) => access.next_value_seed(probe)?,
                None => access.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if self.is_found() {
            return Err(Self::found());
        }
        let wanted = self.item();
        let mut index = 0_usize;
        loop {
            let more = match wanted {
                Some((number, rest)) if number == index => {
                    seq.next_element_seed(self.below(rest))?.is_some()
                }
                _ => seq.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                return Ok(());
            }
            index = index.saturating_add(1);
        }
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.scalar()
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.scalar()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.scalar()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<(), E> {
        self.scalar()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.scalar()
    }
}

impl PathProbe<'_> {
    fn scalar<E: Error>(self) -> Result<(), E> {
        if self.is_found() {
            Err(Self::found())
        } else {
            Ok(())
        }
    }
}

/// A reader of a key: `Some` with the probe for its value if the path goes on there, an error if the path ends at it.
struct KeyProbe<'a>(PathProbe<'a>);

impl<'de, 'a> DeserializeSeed<'de> for KeyProbe<'a> {
    type Value = Option<PathProbe<'a>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'a> Visitor<'de> for KeyProbe<'a> {
    type Value = Option<PathProbe<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        match self.0.behind(key) {
            Some(probe) if probe.is_found() => Err(PathProbe::found()),
            probe => Ok(probe),
        }
    }

    fn visit_bool<E: Error>(self, key: bool) -> Result<Self::Value, E> {
        self.visit_str(&key.to_string())
    }

    fn visit_i64<E: Error>(self, key: i64) -> Result<Self::Value, E> {
        self.visit_str(&key.to_string())
    }

    fn visit_u64<E: Error>(self, key: u64) -> Result<Self::Value, E> {
        self.visit_str(&key.to_string())
    }
}
