//! The elements of a header: one header is one list, whether a gateway has folded its lines or not (RFC 9110 section
//! 5.3).

use super::date::is_weekday;
use super::{MAX_HEADER_LINES, text};
use http::{HeaderMap, HeaderName};

/// The most elements of a header that are read.
pub(super) const MAX_ELEMENTS: usize = 64;

/// Returns `true` if one of the elements of a header passes a test. They come from all of its lines that can be read,
/// without surrounding whitespace, and no more are tested then. The test is behind a pointer, so that a program has this
/// code once, and not for each test.
#[inline(never)]
pub(crate) fn any_element<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    test: &mut dyn FnMut(&'a str) -> bool,
) -> bool {
    let lines = headers.get_all(name).iter().take(MAX_HEADER_LINES);
    let elements = lines.filter_map(text).flat_map(split);
    elements.take(MAX_ELEMENTS).any(test)
}

/// Returns the elements of a line. An element may be an HTTP-date, which itself has a comma after its weekday.
#[inline]
pub(crate) fn split(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || next(&mut rest))
}

/// Takes the next element off a line. A list is read at many places, and nearly no response has one.
#[inline(never)]
fn next<'a>(rest: &mut Option<&'a str>) -> Option<&'a str> {
    loop {
        let text = rest.take()?;
        let (first, mut after) = cut(text, 0);
        let mut element = first.trim_ascii();
        if after.is_some() && is_weekday(element) {
            (element, after) = cut(text, first.len().saturating_add(1));
            element = element.trim_ascii();
        }
        *rest = after;
        // RFC 9110 section 5.6.1: empty elements do not count.
        if !element.is_empty() {
            return Some(element);
        }
    }
}

/// Splits a text at the first byte of this kind, which is one of ASCII. The search in `str`, which is in a program once for
/// each file that uses it, has three times the code.
#[inline(never)]
pub(crate) fn split_once(text: &str, at: u8) -> Option<(&str, &str)> {
    let place = text.bytes().position(|byte| byte == at)?;
    let (before, after) = text.split_at_checked(place)?;
    Some((before, after.get(1..)?))
}

/// Splits a text at each byte of this kind.
pub(crate) fn parts(text: &str, at: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some((part, after)) = split_once(text, at) else {
            return Some(text);
        };
        rest = Some(after);
        Some(part)
    })
}

/// Returns `true` if a word is part of a text. Both are short: a plain search has a tenth of the code of that in `str`.
#[inline(never)]
pub(crate) fn holds(text: &str, word: &str) -> bool {
    let mut parts = text.as_bytes().windows(word.len().max(1));
    parts.any(|part| part == word.as_bytes())
}

/// Splits a text at its first comma from a position on.
#[inline]
fn cut(text: &str, from: usize) -> (&str, Option<&str>) {
    // Values are short: a search that has no set-up is the fastest.
    let mut bytes = text.bytes().enumerate().skip(from);
    let comma = bytes.find(|(_, byte)| *byte == b',');
    match comma.and_then(|(at, _)| text.split_at_checked(at)) {
        Some((before, after)) => (before, after.get(1..)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_at_its_commas_but_not_within_a_date() {
        let date = "Fri, 21 Aug 2026 12:00:12 GMT";
        let long = "Friday, 21-Aug-26 12:00:12 GMT";
        for (line, wanted) in [
            ("6", vec!["6"]),
            ("6, 6", vec!["6", "6"]),
            (" 6 ,\t7,", vec!["6", "7"]),
            (",, 6,,", vec!["6"]),
            (",", vec![]),
            ("", vec![]),
            (date, vec![date]),
            (&format!("{date}, {date}"), vec![date, date]),
            (&format!("6,{long},7"), vec!["6", long, "7"]),
            ("Fri,", vec!["Fri,"]),
            ("Fri, Sat, 6", vec!["Fri, Sat", "6"]),
            ("Fri", vec!["Fri"]),
        ] {
            assert_eq!(split(line).collect::<Vec<_>>(), wanted, "{line:?}");
        }
    }
}
