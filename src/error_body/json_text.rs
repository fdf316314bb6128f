//! Texts that are JSON, hold it, or were cut off in it.

use super::work;

/// The JSON that a text may be, or hold.
pub(super) fn json_in(text: &str) -> &str {
    event_data(text).unwrap_or(text)
}

/// The first data of a server-sent event, which some servers answer with also where they fail.
fn event_data(text: &str) -> Option<&str> {
    if !text.starts_with("data:") && !text.starts_with("event:") {
        return None;
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data:"))?;
    Some(data.trim())
}

/// JSON that was cut off inside a string, with that string closed, so that its beginning is not lost.
pub(super) fn closed(text: &str) -> String {
    work::add(text.len());
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
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
    format!("{text}\"")
}
