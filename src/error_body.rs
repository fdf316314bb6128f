//! What can be read of an outcome beyond its head: an error body's text and tokens, or an error's words.

#[cfg(any(feature = "serde", feature = "llm"))]
mod keys;
#[cfg(any(feature = "serde", feature = "llm"))]
mod visitor;

use crate::policy::{ErrorBody, Inspect};
use std::ops::ControlFlow;
#[cfg(any(feature = "serde", feature = "llm"))]
use visitor::Value;

/// How much of an error body is read.
pub(crate) const MOST_BYTES: usize = 64 * 1024;

/// The start of a body.
#[derive(Debug, Default)]
pub(crate) struct Start(Vec<u8>);

impl Start {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Inspect for Start {
    fn see(&mut self, data: &[u8]) -> ControlFlow<()> {
        let room = MOST_BYTES.saturating_sub(self.0.len());
        self.0.extend(data.iter().take(room));
        match self.0.len() < MOST_BYTES {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

const MOST_PROSE: usize = 64 * 1024;

impl ErrorBody {
    /// Reads the start of a body, whatever its content type says: JSON, a server-sent event with JSON, or else prose.
    /// JSON that was cut off counts up to the cut.
    pub(crate) fn read(prefix: &[u8]) -> Self {
        let text = String::from_utf8_lossy(prefix);
        let text = text.trim_start_matches('\u{feff}').trim();
        let json = event_data(text).unwrap_or(text);
        let read = Self::of_json(json).unwrap_or_else(|| {
            let mut prose = Self::default();
            prose.add_prose(text);
            prose
        });
        Self {
            text: text.to_lowercase(),
            ..read
        }
    }

    /// An error's words.
    pub(crate) fn of_words(words: &str) -> Self {
        Self {
            text: words.to_lowercase(),
            ..Self::default()
        }
    }

    fn of_json(text: &str) -> Option<Self> {
        if !text.starts_with(['{', '[', '"']) {
            return None;
        }
        let (mut body, ended_early) = Self::parsed(text);
        if ended_early {
            body = Self::parsed(&closed(text)).0;
        }
        (!body.is_empty()).then_some(body)
    }

    #[cfg(any(feature = "serde", feature = "llm"))]
    fn parsed(text: &str) -> (Self, bool) {
        let mut body = Self::default();
        let result = Value::whole(&mut body).read(text);
        (body, result.is_err_and(|error| error.is_eof()))
    }

    /// Without a feature that reads JSON nothing asks for what stands in it.
    #[cfg(not(any(feature = "serde", feature = "llm")))]
    fn parsed(_: &str) -> (Self, bool) {
        (Self::default(), false)
    }

    fn is_empty(&self) -> bool {
        let nothing_read = self.codes.is_empty() && self.labels.is_empty();
        let nothing_said = self.prose.is_empty() && self.retry_delay.is_none();
        nothing_read && nothing_said && !self.is_error
    }

    fn add_prose(&mut self, text: &str) {
        let room = MOST_PROSE.saturating_sub(self.prose.len());
        if room <= 1 || text.is_empty() {
            return;
        }
        if !self.prose.is_empty() {
            self.prose.push('\n');
        }
        let mut end = text.len().min(room.saturating_sub(1));
        while !text.is_char_boundary(end) {
            end = end.saturating_sub(1);
        }
        self.prose.push_str(text.get(..end).unwrap_or(""));
    }
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
fn closed(text: &str) -> String {
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

#[cfg(all(test, any(feature = "serde", feature = "llm")))]
mod tests;
