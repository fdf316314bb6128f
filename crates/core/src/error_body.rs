//! What can be read of an outcome beyond its head: an error body's text and tokens, or an error's words.

#[cfg_attr(not(feature = "json"), path = "error_body/no_json.rs")]
mod json;
mod json_text;
mod pointer;
pub(crate) mod work;
mod xml;

pub use pointer::Pointer;

use crate::server_hints::{RetryTime, date_in_prose, delay_in_prose};
use json::{Findings, is_json, parsed};
use json_text::{closed, is_one_document, json_in, without_cut_number};
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const MAX_PROSE_CHARS: usize = 64 * 1024;

/// What was read of an outcome beyond its head: the start of the answer's body, or an error's words.
///
/// A classifier that asks for it ([`Classify::reads_body`](crate::policy::Classify::reads_body)) sees it by
/// [`Outcome::body`](crate::Outcome::body). It is bounded: 64 KiB of a body, values of 128 bytes in JSON, 256 of them, 32
/// levels deep. `Debug` shows nothing of it: what a server wrote is nobody else's to read.
///
/// ```
/// use http_retry::policy::ErrorBody;
///
/// let body = ErrorBody::read(br#"{"errors": [{"code": "busy"}, {"code": 7}]}"#);
/// # #[cfg(feature = "json")]
/// assert!(body.json("/errors/*/code").eq(["busy", "7"]));
/// assert!(body.text().starts_with("{"));
/// ```
#[derive(Clone, Default)]
pub struct ErrorBody {
    /// All of it, as it was written.
    text: String,
    /// More of the body may follow.
    is_cut: bool,
    /// Where somebody has said before that they will look, and what stands there.
    found: Findings,
    /// All of it, in lower case.
    pub(crate) lower: String,
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
    pub(crate) has_zero_quota: bool,
    /// A message is JSON that is cut off or ambiguous.
    has_doubtful_text: bool,
    /// The JSON is an error by its shape: `{"error": ...}`, `{"type": "error"}`, `{"...Exception": ...}`.
    pub(crate) is_error: bool,
    /// Whether it can be read in one way only, once somebody has asked.
    certain: OnceLock<bool>,
    /// Whether it is JSON or XML to its end, once somebody has asked.
    understood: OnceLock<bool>,
    /// What a classifier has made of it, once it has.
    memo: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl ErrorBody {
    /// Reads the start of a body, whatever its content type says: JSON, a server-sent event with JSON, or else prose.
    /// JSON that was cut off counts up to the cut; a number at the cut does not count, since more digits may have followed.
    ///
    /// Layers read bodies by themselves; this is for tests of a classifier or a dialect. It takes as much as it is given, so
    /// give it at most 64 KiB.
    #[must_use]
    pub fn read(start: &[u8]) -> Self {
        work::add(start.len());
        let text = String::from_utf8_lossy(start);
        let text = text.trim_start_matches('\u{feff}').trim();
        let read = Self::of_json(json_in(text)).unwrap_or_else(|| {
            let mut prose = Self::default();
            prose.add_prose(without_cut_number(text));
            prose
        });
        Self {
            lower: text.to_lowercase(),
            text: text.to_owned(),
            ..read
        }
    }

    /// The same for those who will look at these places: one walk over the text finds what stands at all of them.
    #[must_use]
    pub fn with_pointers(mut self, pointers: &[Pointer]) -> Self {
        self.found.find(json_in(&self.text), pointers);
        self
    }

    /// The same, where more of the body may follow.
    pub fn cut(self, is_cut: bool) -> Self {
        Self {
            is_cut,
            certain: OnceLock::new(),
            understood: OnceLock::new(),
            ..self
        }
    }

    /// The text, without the blanks around it; bytes that are no UTF-8 are replaced. Empty for an error: its words are
    /// no answer.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What stands at a place of a JSON body, in the order of the text: texts, numbers, `true` and `false` as they are
    /// written; of a number no more digits than needed. The place is a pointer of RFC 6901, in which `*` stands for any
    /// member or item. Nothing for another body, or without the feature `dialects`. A text that is JSON itself is read
    /// as such, three levels deep. A text of more than 128 bytes, a list, an object and `null` are left out.
    ///
    /// ```
    /// use http_retry::policy::ErrorBody;
    ///
    /// let body = ErrorBody::read(br#"{"error": {"code": 429, "retry": true}}"#);
    /// # #[cfg(feature = "json")]
    /// assert_eq!(body.json("/error/code").next().as_deref(), Some("429"));
    /// assert_eq!(body.json("/error/reason").next(), None);
    /// ```
    ///
    /// # Source
    ///
    /// RFC 6901 for the pointers; `*` is this crate's addition.
    pub fn json(&self, pointer: &str) -> impl Iterator<Item = String> {
        let pointer = Pointer::parse(pointer).ok();
        let all = pointer.map_or_else(Vec::new, |pointer| self.at(&pointer));
        all.into_iter().flatten()
    }

    /// Returns what stands at a place, as [`json`](Self::json) does, with `None` for a list, an object and a text that is
    /// too long. Empty without the feature `dialects`. A place that
    /// [`Classify::pointers`](crate::policy::Classify::pointers) names has been found already.
    #[must_use]
    pub fn at(&self, pointer: &Pointer) -> Vec<Option<String>> {
        self.found.at(json_in(&self.text), pointer)
    }

    /// Returns `true` if all of the body was read, and what stands at this place can be read in one way only.
    pub(crate) fn is_certain_at(&self, pointer: &Pointer) -> bool {
        self.is_certain() && !self.found.is_doubtful(json_in(&self.text), pointer)
    }

    /// What the first element of this name holds, in the first 4 KiB of an XML body whose root is `Error`,
    /// `ErrorResponse` or `Response`; references stay as they are. `None` for an element with others inside.
    ///
    /// ```
    /// use http_retry::policy::ErrorBody;
    ///
    /// let body = ErrorBody::read(b"<Error><Code>SlowDown</Code></Error>");
    /// assert_eq!(body.xml("Code"), Some("SlowDown"));
    /// ```
    #[must_use]
    pub fn xml(&self, tag: &str) -> Option<&str> {
        xml::first(&self.text, tag)
    }

    /// Whether this is all of the body. If not, it was longer than 64 KiB, did not come in time, or broke off.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// Returns `true` if all of the body was read, and its tokens and messages can be read in one way only.
    #[must_use]
    pub fn is_unambiguous(&self) -> bool {
        self.is_certain() && !self.has_doubtful_text
    }

    /// Returns `true` if all of the body was read, and the elements of this name can be read in one way only.
    pub(crate) fn is_certain_xml(&self, tag: &str) -> bool {
        self.is_certain() && xml::is_certain(&self.text, tag)
    }

    /// Returns `true` if all of the body was read, and it is no JSON, or one JSON document that can be read in one way
    /// only.
    fn is_certain(&self) -> bool {
        *self.certain.get_or_init(|| {
            let is_like_json = json_in(&self.text).starts_with(['{', '[']);
            // A byte that is no UTF-8 may have been any.
            let is_text = self.is_whole() && !self.text.contains(char::REPLACEMENT_CHARACTER);
            is_text && (!is_like_json || is_one_document(&self.text))
        })
    }

    /// Returns `true` if this is all of the body, and JSON or XML to its end: only such a body may show that a success is
    /// none.
    #[must_use]
    pub fn is_understood(&self) -> bool {
        *self.understood.get_or_init(|| {
            work::add(self.text.len());
            let is_closed = || {
                if self.text.starts_with('<') {
                    xml::is_closed(&self.text)
                } else {
                    is_json(json_in(&self.text))
                }
            };
            self.is_whole() && is_closed()
        })
    }

    /// The tokens under the keys that APIs use for them (`code`, `type`, `status`, `reason` and the like), at any depth;
    /// none has a blank. At most 256.
    #[must_use]
    pub fn codes(&self) -> &[String] {
        &self.codes
    }

    /// The tokens that name what failed: the codes that do not repeat the request, those that are a phrase, and keys
    /// that name an exception. At most 256.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The messages, one to a line; of a body that is no JSON its text.
    #[must_use]
    pub fn prose(&self) -> &str {
        &self.prose
    }

    /// Returns `true` if the JSON is an error by its shape: `{"error": ..}`, `{"type": "error"}`, `{"..Exception": ..}`.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Returns `true` if it names a broken quota whose limit is zero, as Google APIs do.
    #[must_use]
    pub fn has_zero_quota(&self) -> bool {
        self.has_zero_quota
    }

    /// The longest delay that a field or the prose asks for. A delay of zero, as in `reset after 0s`, does not count: it
    /// must not hide what the headers say.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        let asked = self.retry_delay.max(delay_in_prose(&self.prose));
        asked.filter(|delay| !delay.is_zero())
    }

    /// The times to come back that the prose names: a delay, as in `try again in 20 s`, and a date of ISO 8601 behind
    /// `after`.
    #[must_use]
    pub fn prose_times(&self) -> Vec<RetryTime> {
        let delay = delay_in_prose(&self.prose).map(RetryTime::In);
        let date = date_in_prose(&self.prose).map(RetryTime::At);
        delay.into_iter().chain(date).collect()
    }

    /// Returns what a function makes of it, and keeps that for the next call: for a look that several rows of a table need.
    /// It keeps the value of one type; that of another is made anew each time.
    pub fn memoize<T: Copy + Send + Sync + 'static>(&self, make: impl FnOnce(&Self) -> T) -> T {
        let kept = self.memo.get().and_then(|kept| kept.downcast_ref());
        kept.copied().unwrap_or_else(|| {
            let made = make(self);
            self.memo.get_or_init(|| Arc::new(made));
            made
        })
    }
}

/// What a server wrote is nobody else's to read.
impl fmt::Debug for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorBody").finish_non_exhaustive()
    }
}

impl ErrorBody {
    /// An error's words.
    #[must_use]
    pub fn of_words(words: &str) -> Self {
        Self {
            lower: words.to_lowercase(),
            ..Self::default()
        }
    }

    fn of_json(text: &str) -> Option<Self> {
        if !text.starts_with(['{', '[', '"']) {
            return None;
        }
        let (mut body, ended_early) = parsed(text);
        if ended_early {
            body = parsed(&closed(text)).0;
        }
        (!body.is_empty()).then_some(body)
    }

    fn is_empty(&self) -> bool {
        let nothing_read = self.codes.is_empty() && self.labels.is_empty();
        let nothing_said = self.prose.is_empty() && self.retry_delay.is_none();
        nothing_read && nothing_said && !self.is_error
    }

    fn add_prose(&mut self, text: &str) {
        let room = MAX_PROSE_CHARS.saturating_sub(self.prose.len());
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

#[cfg(all(test, feature = "json"))]
mod tests;
