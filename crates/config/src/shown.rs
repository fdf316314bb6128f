//! Redaction: errors show names and plain values of a document, never user info, a query, a header's value or a
//! body.

use http::HeaderName;
use std::borrow::Cow;
use std::fmt;

/// The most bytes of a name.
const MAX_NAME_CHARS: usize = 128;
/// The most characters of a value in a message.
const MAX_VALUE_CHARS: usize = 60;
/// The most characters of an error from elsewhere.
const MAX_SENTENCE_CHARS: usize = 200;
/// The most characters of a key that is too long for a name.
const MAX_KEY_CHARS: usize = 32;

/// The words that replace a text that may be a secret.
pub(super) const HIDDEN: &str = "this text";

/// Writes a text in quotes, shortened; `this text` if it may be a secret.
pub(super) fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    if is_public(text) {
        write!(f, "\"{}\"", shortened(text, MAX_VALUE_CHARS))
    } else {
        f.write_str(HIDDEN)
    }
}

/// Returns an unknown key as it is shown; `<hidden>` if it may be a secret.
pub(super) fn key(key: &str) -> Cow<'_, str> {
    if is_public(key) {
        shortened(key, MAX_KEY_CHARS)
    } else {
        "<hidden>".into()
    }
}

/// Returns a key that should be a name, as it is shown.
pub(super) fn name(name: &str) -> Cow<'_, str> {
    match not_a_name(name) {
        None => name.into(),
        Some(_) => key(name),
    }
}

/// Returns the reason that a text cannot be a name, or `None` if it can.
pub(super) fn not_a_name(text: &str) -> Option<&'static str> {
    let forbidden =
        |text: &str| text.contains(['@', '?', '=']) || text.contains("://") || text.contains(": ");
    // Nearly every name is plain, which is cheaper to check than the reasons against one.
    let is_plain = |text: &str| {
        let mut bytes = text.bytes();
        bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    };
    if text.is_empty() {
        Some("is empty: give a name")
    } else if !is_short(text) {
        Some("is too long: a name has at most 128 bytes")
    } else if is_plain(text) {
        None
    } else if forbidden(text) || holds_credentials(text) {
        Some(
            "is no name: a name holds no @, ?, =, \"://\" or \": \", no control character and no credentials",
        )
    } else {
        None
    }
}

/// Parses the name of a header. An invalid one may be a secret, so the error does not show it.
pub(super) fn header_name(name: &str) -> Result<HeaderName, &'static str> {
    if !is_short(name) {
        return Err("holds a header name of more than 128 bytes");
    }
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        if name.contains(':') {
            "holds a header name with a colon: write the value as the value of the key"
        } else {
            "holds what is no header name: write letters, digits and hyphens"
        }
    })
}

/// Returns `true` if a text is no longer than a name may be.
pub(super) fn is_short(text: &str) -> bool {
    text.len() <= MAX_NAME_CHARS
}

/// Returns `true` if a value holds nothing secret: no user info, query, fragment, header or cookie.
pub(super) fn is_public(text: &str) -> bool {
    let after_scheme = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    // A leading sign is that of a comparison, such as `>=500`.
    let after_sign = text.trim_start_matches(['<', '>', '=']);
    !after_scheme.unwrap_or(text).contains(':')
        && !after_sign.contains(['@', '?', '&', '#', ';', '='])
        && !holds_credentials(text)
}

/// Returns `true` if a text has control characters, or looks like the value of an `Authorization` header.
fn holds_credentials(text: &str) -> bool {
    const SCHEMES: [&str; 5] = ["basic", "bearer", "digest", "negotiate", "token"];
    let (first, rest) = text.trim_start().split_once(' ').unwrap_or_default();
    let is_header = !rest.is_empty()
        && SCHEMES
            .iter()
            .any(|scheme| scheme.eq_ignore_ascii_case(first));
    is_header || text.chars().any(char::is_control)
}

/// Returns the text of another crate's error that is known to hold no secret, shortened to a sentence.
pub(super) fn sentence(text: &str) -> String {
    shortened(text, MAX_SENTENCE_CHARS).into_owned()
}

fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    match text
        .char_indices()
        .nth(longest)
        .and_then(|(end, _)| text.get(..end))
    {
        Some(start) => format!("{start}...").into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn quoted(text: &str) -> String {
        Value::Text(text.to_owned()).to_string()
    }

    #[test]
    fn common_mistakes_are_quoted() {
        for text in [
            "soon",
            "5 parsecs",
            "5xx",
            ">=5000",
            "<0",
            "a*.com",
            "/v1",
            "http://h",
            "20%",
            "token",
            "",
        ] {
            assert_eq!(quoted(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn a_possible_secret_is_hidden() {
        for text in [
            "u:p@h",
            "u:p",
            "/p?k=v",
            "k=v",
            "h#f",
            "a: b",
            "BEARER x",
            "a\nb",
            "http://u:p",
        ] {
            assert_eq!(quoted(text), "this text");
        }
    }

    #[test]
    fn a_key_is_shown_if_it_could_be_a_name() {
        let long = "x".repeat(129);
        for (text, as_key, as_name) in [
            ("orders", "orders", "orders"),
            ("not yet", "not yet", "not yet"),
            ("llama3:8b", "<hidden>", "llama3:8b"),
            ("http://u:p@h", "<hidden>", "<hidden>"),
            ("Authorization: x", "<hidden>", "<hidden>"),
            (
                &long,
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...",
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...",
            ),
        ] {
            assert_eq!((&*key(text), &*name(text)), (as_key, as_name));
        }
    }
}
