//! JSON that all parsers read alike: one complete document without duplicate members or numbers that lose their value.

use crate::error_body::work;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// Returns `true` if a text is one JSON document that can be read in one way only.
pub(in crate::error_body) fn is_unambiguous(text: &str) -> bool {
    work::add(text.len());
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Members.deserialize(&mut reader).and_then(|()| reader.end());
    read.is_ok() && numbers(text).all(is_read_as_written)
}

/// A value in which no object has a duplicate member.
struct Members;

impl<'de> DeserializeSeed<'de> for Members {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = Keys::default();
        // Of two equal members some parsers use the first and some the last (RFC 8259, section 4). A key is compared
        // without its escapes.
        while let Some(key) = map.next_key_seed(Key)? {
            if !seen.insert(key) {
                return Err(A::Error::custom("duplicate member"));
            }
            map.next_value_seed(Self)?;
        }
        Ok(())
    }
}

/// The keys of an object so far.
#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    /// All of them, once they are too many to be compared one by one.
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    /// The most keys that are compared one by one, which is quicker than hashing them.
    const FEW: usize = 16;

    /// Adds a key, and returns `false` if it is there already.
    fn insert(&mut self, key: Cow<'a, str>) -> bool {
        if self.many.is_empty() && self.few.len() < Self::FEW {
            let is_new = !self.few.contains(&key);
            self.few.push(key);
            return is_new;
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(key)
    }
}

/// A key, which is copied only if it has escapes.
pub(super) struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

/// Returns the numbers in a JSON text, as written.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let (mut in_string, mut escaped) = (false, false);
    text.split(move |c: char| {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            return true;
        }
        in_string = c == '"';
        !is_number_char(c)
    })
    // Drops the `e` of `true` and `false`.
    .filter(|token| token.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
}

fn is_number_char(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E')
}

/// Returns `false` if a number is read as a different whole number, such as `1e-400` as 0.
fn is_read_as_written(number: &str) -> bool {
    if number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok() {
        return true;
    }
    // A fraction is never a code, so its last digits do not matter. A code that is read as another one does.
    let read: f64 = number.parse().unwrap_or(f64::NAN);
    read.fract() != 0.0 || digits(number) == digits(&read.to_string())
}

/// Returns the digits of a decimal without the zeros around them, and the power of ten of the last digit.
fn digits(number: &str) -> (String, i64) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{}{fraction}", whole.trim_start_matches('-'));
    let significant = all.trim_end_matches('0');
    let exponent: i64 = exponent.parse().unwrap_or(i64::MAX);
    let power = exponent
        .saturating_sub(length(fraction))
        .saturating_add(length(&all).saturating_sub(length(significant)));
    match significant.trim_start_matches('0') {
        // Zero is zero with any exponent.
        "" => (String::new(), 0),
        digits => (digits.to_owned(), power),
    }
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::is_unambiguous;

    #[test]
    fn json_that_is_read_in_one_way_is_unambiguous() {
        for text in [
            "{}",
            "[]",
            "7",
            r#""text""#,
            r#" {"a": {"code": 1}, "b": {"code": 1}} "#,
            r#"[{"code": "A"}, {"code": "B"}]"#,
            r#"{"a": "1e-400", "b": "\\\"1e-400"}"#,
            r#"[0, -0, 0.0, 0e5, 1.50, 1e3, 1E+3, 120e-1, 0.5, 1e-7, true, false, null]"#,
            "[18446744073709551615, -9223372036854775808, 1700000000.123456789]",
            "[1e22, 100000000000000000000]",
        ] {
            assert!(is_unambiguous(text), "{text}");
        }
    }

    #[test]
    fn json_that_can_be_read_in_two_ways_is_not_unambiguous() {
        for text in [
            "",
            r#"{"code": "A", "code": "B"}"#,
            r#"{"code": "A", "code": "A"}"#,
            r#"{"code": "A", "c\u006fde": "B"}"#,
            r#"{"errors": [{"x": 1, "x": 2}], "code": "A"}"#,
            r#"{"code": "A""#,
            r#"{"code": "A"} {"code": "B"}"#,
            r#"{"code": "A"}, "#,
            r#"{"code": "A",}"#,
            r#"{"code": 'A'}"#,
            r#"{"code": 1e-400}"#,
            r#"{"code": -1e-400}"#,
            r#"{"code": 1e-99999999999999999999}"#,
            r#"{"code": 0.99999999999999999999}"#,
            r#"{"code": 429.00000000000000000001}"#,
            r#"{"code": 18446744073709551617}"#,
            r#"{"code": 1e400}"#,
            r#"{"code": 01}"#,
        ] {
            assert!(!is_unambiguous(text), "{text}");
        }
    }
}
