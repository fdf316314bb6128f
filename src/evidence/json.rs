//! The tokens of a JSON error body.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The tokens of a JSON text, as far as it goes: one that was cut off keeps those before the cut.
pub(super) fn codes(json: &[u8]) -> Vec<String> {
    let mut codes = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(json);
    // What is no JSON has no tokens, which is an answer too.
    let _ = Any(&mut codes).deserialize(&mut reader);
    codes
}

/// The keys that APIs put their error codes under, in lower case and without `_` and `-`.
const KEYS: [&str; 14] = [
    "code",
    "error",
    "errorcode",
    "errortype",
    "kind",
    "limitsource",
    "name",
    "quotaid",
    "reason",
    "sqlcode",
    "sqlstate",
    "status",
    "statuscode",
    "type",
];
const MOST_CODES: usize = 256;
const LONGEST_CODE: usize = 128;

fn is_key(key: &str) -> bool {
    let plain: String = key.chars().filter(|c| !matches!(c, '_' | '-')).collect();
    KEYS.contains(&plain.to_ascii_lowercase().as_str())
}

/// Any value; only what stands under a known key is a token.
struct Any<'a>(&'a mut Vec<String>);

/// The value under a known key.
struct Code<'a>(&'a mut Vec<String>);

impl Code<'_> {
    /// A token has no blanks; prose is none. AWS puts a namespace before its own.
    fn add(&mut self, text: &str) {
        let fits = !text.is_empty() && text.len() <= LONGEST_CODE;
        if !fits || text.contains(char::is_whitespace) || self.0.len() >= MOST_CODES {
            return;
        }
        if let Some((_, name)) = text.rsplit_once('#') {
            self.0.push(name.to_owned());
        }
        self.0.push(text.to_owned());
    }
}

fn map<'de, A: MapAccess<'de>>(codes: &mut Vec<String>, mut map: A) -> Result<(), A::Error> {
    while let Some(key) = map.next_key::<String>()? {
        match is_key(&key) {
            true => map.next_value_seed(Code(codes))?,
            false => map.next_value_seed(Any(codes))?,
        }
    }
    Ok(())
}

impl<'de> DeserializeSeed<'de> for Any<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> DeserializeSeed<'de> for Code<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! ignored {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E>(self, _: $type) -> Result<(), E> {
            Ok(())
        })*
    };
}

impl<'de> Visitor<'de> for Any<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    ignored!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Any(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        map(self.0, access)
    }
}

impl<'de> Visitor<'de> for Code<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    ignored!(visit_bool: bool, visit_f64: f64);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.add(&number.to_string());
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.add(&number.to_string());
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        self.add(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Code(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<(), A::Error> {
        map(self.0, access)
    }
}

#[cfg(test)]
mod tests {
    use super::codes;

    #[test]
    fn tokens_stand_under_known_keys_at_any_depth() {
        let json = br#"{"error": {"message": "too_many", "code": "rate_limited", "details": [{"error_code": 40001}]}}"#;
        assert_eq!(codes(json), ["rate_limited", "40001"]);
        let aws = br#"[{"__type": "com.amazon.coral#ThrottlingException"}]"#;
        assert_eq!(
            codes(aws),
            [
                "ThrottlingException",
                "com.amazon.coral#ThrottlingException"
            ]
        );
        assert_eq!(codes(br#"{"error": "invalid_grant"}"#), ["invalid_grant"]);
    }

    #[test]
    fn prose_and_what_is_no_json_has_no_tokens() {
        assert!(codes(br#"{"error": "try again later"}"#).is_empty());
        assert!(codes(b"<html>code</html>").is_empty());
        assert!(codes(b"").is_empty());
    }

    #[test]
    fn a_text_that_was_cut_off_keeps_the_tokens_before_the_cut() {
        assert_eq!(codes(br#"{"code": "busy", "message": "abc"#), ["busy"]);
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let deep = "[".repeat(100_000);
        assert!(codes(deep.as_bytes()).is_empty());
        let many = format!("[{}1]", r#"{"code": "x"},"#.repeat(1_000));
        assert_eq!(codes(many.as_bytes()).len(), 256);
    }
}
