//! Scanning of a JSON text for the positions of its values, without building anything from it.
//!
//! The whole text is known to be valid when a [`Span`] exists, so every step below only looks for the ends of values.
//! Nothing recurses, however deep the text nests, and a walk costs one pass for each level that it descends.

use crate::llm::json::Depth;
use serde::de::IgnoredAny;

/// One JSON value of the body.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    body: &'a str,
    start: usize,
    end: usize,
}

/// The contents of a JSON string between its quotes, with the escapes as they were sent.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    raw: &'a str,
    /// The offset of the text in the body.
    start: usize,
}

impl<'a> Span<'a> {
    /// Returns the body as one value, or `None` if it is not valid JSON.
    pub(super) fn of(body: &'a [u8]) -> Option<Self> {
        let body = std::str::from_utf8(body).ok()?;
        serde_json::from_str::<IgnoredAny>(body).ok()?;
        items(body, 0, body.len()).next()
    }

    /// Returns the text, or `None` if the value is not a string.
    pub(super) fn text(self) -> Option<Text<'a>> {
        let raw = self.raw().strip_prefix('"')?.strip_suffix('"')?;
        let start = self.start.saturating_add(1);
        Some(Text { raw, start })
    }

    /// Returns `true` if the value is exactly this string.
    pub(super) fn is(self, word: &str) -> bool {
        self.text().is_some_and(|text| text.is(word))
    }

    /// Returns `true` if the value is anything but `null`, `false` or an empty string.
    pub(super) fn is_set(self) -> bool {
        !matches!(self.raw(), "null" | "false" | "\"\"")
    }

    /// Returns the values of an array; nothing if it is something else.
    pub(super) fn elements(self) -> impl Iterator<Item = Span<'a>> {
        self.inside('[')
    }

    /// Returns the members with these names; no members if it is not an object. Returns `None` if one of the names
    /// occurs twice.
    pub(super) fn members<const N: usize>(self, names: [&str; N]) -> Option<[Option<Span<'a>>; N]> {
        let mut found = [None; N];
        let mut items = self.inside('{');
        while let Some(key) = items.next() {
            let value = items.next()?;
            let place = names.iter().zip(&mut found).find(|(name, _)| key.is(name));
            if let Some((_, place)) = place {
                if place.replace(value).is_some() {
                    return None;
                }
            }
        }
        Some(found)
    }

    fn raw(self) -> &'a str {
        self.body.get(self.start..self.end).unwrap_or_default()
    }

    fn inside(self, bracket: char) -> impl Iterator<Item = Span<'a>> {
        let (at, end) = (self.start.saturating_add(1), self.end.saturating_sub(1));
        let opens = self.raw().starts_with(bracket);
        items(self.body, at, if opens { end } else { at })
    }
}

impl<'a> Text<'a> {
    /// Returns the offset of the text in the body.
    pub(super) fn start(self) -> usize {
        self.start
    }

    /// Returns its length in the body in bytes, which is at least its number of characters.
    pub(super) fn bytes(self) -> usize {
        self.raw.len()
    }

    /// Returns the number of characters after decoding, or `None` if there is an unpaired surrogate.
    pub(super) fn count(self) -> Option<usize> {
        self.chars().try_fold(0_usize, |count, (_, decoded)| {
            decoded.map(|_| count.saturating_add(1))
        })
    }

    /// Returns the offset of the n-th character in the body; past the last one, the end of the text.
    pub(super) fn offset(self, n: usize) -> usize {
        let inside = self.chars().nth(n).map_or(self.raw.len(), |(at, _)| at);
        self.start.saturating_add(inside)
    }

    /// Returns `true` if the text is a `data:` URL from its first character to its last.
    pub(super) fn is_data_url(self) -> bool {
        let mut chars = self.chars().map(|(_, decoded)| decoded);
        let scheme = "data:".chars().all(|wanted| {
            let found = chars.next().flatten();
            found.is_some_and(|found| found.eq_ignore_ascii_case(&wanted))
        });
        scheme && chars.all(|decoded| decoded.is_some_and(is_url_char))
    }

    fn is(self, word: &str) -> bool {
        self.raw == word
            || self.raw.contains('\\')
                && self
                    .chars()
                    .map(|(_, decoded)| decoded)
                    .eq(word.chars().map(Some))
    }

    /// Returns the characters with their offsets in the text; `None` for an unpaired surrogate.
    fn chars(self) -> impl Iterator<Item = (usize, Option<char>)> + 'a {
        let mut at = 0_usize;
        std::iter::from_fn(move || {
            let rest = self.raw.get(at..)?;
            let (decoded, length) = match rest.chars().next()? {
                '\\' => escaped(rest),
                plain => (Some(plain), plain.len_utf8()),
            };
            let start = at;
            at = start.saturating_add(length);
            Some((start, decoded))
        })
    }
}

/// RFC 3986: unreserved, reserved, and the percent sign.
fn is_url_char(found: char) -> bool {
    found.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(found)
}

/// Returns the values between two brackets in order; for an object, keys and values alternate.
fn items(body: &str, mut at: usize, last: usize) -> impl Iterator<Item = Span<'_>> {
    std::iter::from_fn(move || {
        let rest = body.as_bytes().get(at..last)?;
        let gap = rest.iter().position(|byte| !is_separator(*byte))?;
        let start = at.saturating_add(gap);
        let end = start.saturating_add(length(rest.get(gap..)?));
        at = end;
        Some(Span { body, start, end })
    })
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':')
}

/// Returns the length of the first value.
fn length(rest: &[u8]) -> usize {
    match rest.first() {
        Some(b'"' | b'{' | b'[') => Depth::length(rest),
        _ => rest
            .iter()
            .position(|byte| is_separator(*byte) || matches!(byte, b'}' | b']'))
            .unwrap_or(rest.len()),
    }
}

/// Returns the character of the escape that a text starts with, and its length in bytes.
fn escaped(rest: &str) -> (Option<char>, usize) {
    let short = |decoded| (Some(decoded), 2);
    match rest.as_bytes().get(1) {
        Some(b'b') => short('\u{8}'),
        Some(b'f') => short('\u{c}'),
        Some(b'n') => short('\n'),
        Some(b'r') => short('\r'),
        Some(b't') => short('\t'),
        Some(b'u') => coded(rest),
        other => short(other.copied().map_or('\\', char::from)),
    }
}

fn coded(rest: &str) -> (Option<char>, usize) {
    let Some(first) = unit(rest, 0) else {
        return (None, 6);
    };
    if let Some(decoded) = char::from_u32(u32::from(first)) {
        return (Some(decoded), 6);
    }
    // A surrogate counts only as the first of a pair of escapes.
    let pair = unit(rest, 6).and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    (pair, if pair.is_some() { 12 } else { 6 })
}

/// Returns the number of the `\uXXXX` escape at this offset.
fn unit(rest: &str, at: usize) -> Option<u16> {
    let digits = rest.get(at..)?.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}
