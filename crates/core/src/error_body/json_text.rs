//! Texts that are JSON, contain JSON, or are JSON that was cut off.

use super::work;

/// Returns the JSON that a text is or contains.
pub(super) fn json_in(text: &str) -> &str {
    without_cut_number(event_data(text).unwrap_or(text))
}

/// Returns a list or an object without a number at its cut end, since more digits may have followed.
pub(super) fn without_cut_number(text: &str) -> &str {
    // Digits at the end of a string or of prose are no JSON number, and stay.
    let before = text.trim_end_matches(|c: char| c.is_ascii_digit() || "+-.eE".contains(c));
    let is_value = before.trim_end().ends_with([':', ',', '[']);
    let is_cut = is_value && text.starts_with(['{', '[']);
    if is_cut { before } else { text }
}

/// Returns `true` if a text is one JSON document, alone or in one server-sent event, that can be read in one way only.
pub(super) fn is_one_document(text: &str) -> bool {
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let is_event = event_data(text).is_some();
    // Services with the API of OpenAI end a stream with `[DONE]`, which is no second document.
    let is_one = !is_event || data.by_ref().skip(1).all(|data| data.trim() == "[DONE]");
    is_one && super::json::is_unambiguous(json_in(text))
}

/// Returns the first data of a server-sent event. Some servers send one even for an error.
fn event_data(text: &str) -> Option<&str> {
    if !text.starts_with("data:") && !text.starts_with("event:") {
        return None;
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data:"))?;
    Some(data.trim())
}

/// Closes the string in which JSON was cut off, so that its beginning is not lost.
pub(super) fn closed(text: &str) -> String {
    work::add(text.len());
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        // After half an escape, a quote would not end the string.
        if byte != b'\\' {
            continue;
        }
        let whole = match bytes.next() {
            Some((_, b'u')) => bytes.nth(3).is_some(),
            next => next.is_some(),
        };
        if !whole {
            return format!("{}\"", text.get(..at).unwrap_or(""));
        }
    }
    // If the cut was not in a string, the quote only adds an error behind everything that can be read.
    format!("{text}\"")
}
