//! What can be read of an outcome beyond its head: an error body's text and tokens, or an error's words.

#[cfg(feature = "dialects")]
mod keys;
#[cfg(feature = "dialects")]
mod visitor;

#[cfg(feature = "llm")]
use crate::server_hints::delay_in_prose;
use std::fmt;
use std::time::Duration;
#[cfg(feature = "dialects")]
use visitor::Value;

const MOST_PROSE: usize = 64 * 1024;

/// The start of an error body, or an error's words, and what was found in it.
#[derive(Clone, Default)]
pub(crate) struct ErrorBody {
    /// All of it, in lower case.
    pub(crate) text: String,
    /// The tokens under the keys that APIs use for them; none has a blank.
    pub(crate) codes: Vec<String>,
    /// The tokens that tell what failed: the codes that are no echo of the request, those that are a phrase, and the
    /// keys that name an exception.
    pub(crate) labels: Vec<String>,
    /// The messages, one to a line; of a body that is no JSON its text.
    pub(crate) prose: String,
    /// The longest delay that a field asks for.
    pub(crate) retry_delay: Option<Duration>,
    /// A quota that was broken is said to be zero.
    #[cfg(feature = "dialects")]
    pub(crate) has_zero_quota: bool,
    /// The JSON is an error by its shape: `{"error": ...}`, `{"type": "error"}`, `{"...Exception": ...}`.
    pub(crate) is_error: bool,
}

#[cfg(feature = "llm")]
impl ErrorBody {
    /// The longest delay that a field or the prose asks for. Nothing at all, as in `reset after 0s`, is no wish: it must not
    /// hide what the headers say.
    pub(crate) fn delay(&self) -> Option<Duration> {
        let asked = self.retry_delay.max(delay_in_prose(&self.prose));
        asked.filter(|delay| !delay.is_zero())
    }

    /// Whether the prose itself says when to come back.
    pub(crate) fn names_a_time(&self) -> bool {
        delay_in_prose(&self.prose).is_some_and(|delay| !delay.is_zero())
    }
}

/// What a server wrote is nobody else's to read.
impl fmt::Debug for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorBody").finish_non_exhaustive()
    }
}

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

    #[cfg(feature = "dialects")]
    fn parsed(text: &str) -> (Self, bool) {
        let mut body = Self::default();
        let result = Value::whole(&mut body).read(text);
        (body, result.is_err_and(|error| error.is_eof()))
    }

    /// Without a feature that reads JSON nothing asks for what stands in it.
    #[cfg(not(feature = "dialects"))]
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

#[cfg(all(test, feature = "dialects"))]
mod tests;
