//! The JSON, XML and prose of an error body. The text may be JSON, contain JSON, or be JSON that was cut off.

#[cfg_attr(not(feature = "json"), path = "error_body/no_json.rs")]
mod json;
mod xml;

use http_retry_core::policy::ErrorBody;
#[cfg(feature = "json")]
use http_retry_core::policy::Pointer;
use http_retry_core::reading::{RetryTime, date_in_prose, delay_in_prose};
#[cfg(feature = "json")]
use json::Findings;
use json::{is_json, parsed};
use std::time::Duration;

const MAX_PROSE_CHARS: usize = 64 * 1024;

/// Reads the part of an outcome beyond its head: JSON, a server-sent event with JSON, XML, or else prose.
///
/// JSON that was cut off counts up to the cut, except for a number at the cut, since more digits may have followed. It
/// is bounded: 256 JSON values of up to 128 bytes, 32 levels deep. A body is read by the first who looks at it, and
/// once.
///
/// ```
/// use http_retry::policy::ErrorBody;
/// use http_retry::rules::ReadBody;
///
/// let body = ErrorBody::read(b"Slow down: try again in 20 s");
/// assert_eq!(body.delay(), Some(std::time::Duration::from_secs(20)));
/// ```
pub trait ReadBody: sealed::Sealed {
    /// Returns the values at a pointer into a JSON body, in the order of the text. Texts, numbers, `true` and `false`
    /// are as written, but a number has no more digits than needed. In the pointer, `*` matches any member or item.
    /// Empty for other bodies. A text that is itself JSON is read as such, three levels deep. Texts of more than 128
    /// bytes, lists, objects and `null` are left out.
    ///
    /// ```
    /// use http_retry::policy::ErrorBody;
    /// use http_retry::rules::ReadBody;
    ///
    /// let body = ErrorBody::read(br#"{"error": {"code": 429, "retry": true}}"#);
    /// assert_eq!(body.json("/error/code").next().as_deref(), Some("429"));
    /// assert_eq!(body.json("/error/reason").next(), None);
    /// ```
    ///
    /// # Source
    ///
    /// RFC 6901 for the pointers; `*` is this crate's addition.
    #[cfg(feature = "json")]
    fn json(&self, pointer: &str) -> impl Iterator<Item = String>;

    /// Returns the values at a pointer, as [`json`](Self::json) does, with `None` for a list, an object or a text that
    /// is too long. Pointers named by [`Classify::pointers`](http_retry_core::policy::Classify::pointers) have been looked up
    /// already.
    #[cfg(feature = "json")]
    #[must_use]
    fn at(&self, pointer: &Pointer) -> Vec<Option<String>>;

    /// Returns `true` if all of the body was read, and the values at this pointer can be read in one way only.
    #[cfg(feature = "json")]
    #[must_use]
    fn is_certain_at(&self, pointer: &Pointer) -> bool;

    /// Returns the content of the first element with this name, in the first 4 KiB of an XML body whose root is
    /// `Error`, `ErrorResponse` or `Response`. References are not expanded. Returns `None` if the element contains
    /// others.
    ///
    /// ```
    /// use http_retry::policy::ErrorBody;
    /// use http_retry::rules::ReadBody;
    ///
    /// let body = ErrorBody::read(b"<Error><Code>SlowDown</Code></Error>");
    /// assert_eq!(body.xml("Code"), Some("SlowDown"));
    /// ```
    #[must_use]
    fn xml(&self, tag: &str) -> Option<&str>;

    /// Returns `true` if all of the body was read, and the elements with this name can be read in one way only.
    #[must_use]
    fn is_certain_xml(&self, tag: &str) -> bool;

    /// Returns `true` if all of the body was read, and its tokens and messages can be read in one way only.
    #[must_use]
    fn is_unambiguous(&self) -> bool;

    /// Returns `true` if this is all of the body, and it is complete JSON (with the feature `json`) or XML. Only such a
    /// body may show that a success is a failure.
    #[must_use]
    fn is_understood(&self) -> bool;

    /// Returns the tokens under the keys that APIs use for them (`code`, `type`, `status`, `reason` and the like), at
    /// any depth. None contains whitespace. At most 256.
    #[cfg(feature = "json")]
    #[must_use]
    fn codes(&self) -> &[String];

    /// Returns the tokens that name the failure: codes that do not echo the request, phrases under such keys, and keys
    /// that name an exception. At most 256.
    #[cfg(feature = "json")]
    #[must_use]
    fn labels(&self) -> &[String];

    /// Returns the messages, one per line, or the text of a body that is not JSON.
    #[must_use]
    fn prose(&self) -> &str;

    /// Returns `true` if the whole text, or that of an error's message, contains this text, which is in lower case. Case
    /// is ignored.
    #[must_use]
    fn contains(&self, lower: &str) -> bool;

    /// Returns `true` if the JSON has the shape of an error: `{"error": ..}`, `{"type": "error"}`, `{"..Exception":
    /// ..}`.
    #[cfg(feature = "json")]
    #[must_use]
    fn is_error(&self) -> bool;

    /// Returns `true` if it names a quota that was exceeded and whose limit is zero, as Google APIs do.
    #[cfg(feature = "json")]
    #[must_use]
    fn has_zero_quota(&self) -> bool;

    /// Returns the longest delay that a field or the prose asks for, or else the longest until a limit is reset. A
    /// delay of zero, as in `reset after 0s`, does not count: it must not hide the delay in the headers.
    #[must_use]
    fn delay(&self) -> Option<Duration>;

    /// Returns the retry times that fields and the prose name: those at which the server asks to come back, or if there
    /// is none, those at which a limit is reset.
    ///
    /// ```
    /// use http_retry::policy::{ErrorBody, Unit};
    /// use http_retry::rules::ReadBody;
    ///
    /// let body = ErrorBody::read(br#"{"message": "limit reached, resets at 2026-08-21T15:00:00Z"}"#);
    /// assert!(body.retry_times().into_iter().eq(Unit::Iso.read("2026-08-21T15:00:00Z")));
    /// ```
    #[must_use]
    fn retry_times(&self) -> Vec<RetryTime>;

    /// Returns the times at which fields ask to come back. Those at which a limit is reset are not among them.
    #[must_use]
    fn asked_times(&self) -> Vec<RetryTime>;

    /// Returns the retry times in the prose: a delay, as in `try again in 20 s`, and a date with an offset, as in
    /// `retry after 2026-08-21T15:00:00Z`.
    #[must_use]
    fn prose_times(&self) -> Vec<RetryTime>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for http_retry_core::policy::ErrorBody {}
}

impl ReadBody for ErrorBody {
    #[cfg(feature = "json")]
    fn json(&self, pointer: &str) -> impl Iterator<Item = String> {
        let pointer = Pointer::parse(pointer).ok();
        let all = pointer.map_or_else(Vec::new, |pointer| self.at(&pointer));
        all.into_iter().flatten()
    }

    #[cfg(feature = "json")]
    fn at(&self, pointer: &Pointer) -> Vec<Option<String>> {
        self.keep(Findings::of).at(json_in(self.text()), pointer)
    }

    #[cfg(feature = "json")]
    fn is_certain_at(&self, pointer: &Pointer) -> bool {
        is_certain(self)
            && !self
                .keep(Findings::of)
                .is_doubtful(json_in(self.text()), pointer)
    }

    fn xml(&self, tag: &str) -> Option<&str> {
        xml::first(self.text(), tag)
    }

    fn is_certain_xml(&self, tag: &str) -> bool {
        is_certain(self) && xml::is_certain(self.text(), tag)
    }

    fn is_unambiguous(&self) -> bool {
        is_certain(self) && !content(self).has_doubtful_text
    }

    fn is_understood(&self) -> bool {
        self.keep(|body| Understood(is_closed(body))).0
    }

    #[cfg(feature = "json")]
    fn codes(&self) -> &[String] {
        &content(self).codes
    }

    #[cfg(feature = "json")]
    fn labels(&self) -> &[String] {
        &content(self).labels
    }

    fn prose(&self) -> &str {
        &content(self).prose
    }

    fn contains(&self, lower: &str) -> bool {
        let LowerCase(text) = self.keep(LowerCase::of);
        work::add(text.len());
        text.contains(lower)
    }

    #[cfg(feature = "json")]
    fn is_error(&self) -> bool {
        content(self).is_error
    }

    #[cfg(feature = "json")]
    fn has_zero_quota(&self) -> bool {
        content(self).has_zero_quota
    }

    fn delay(&self) -> Option<Duration> {
        let asked = asked_delay(self);
        asked.or(content(self).times.delay)
    }

    fn retry_times(&self) -> Vec<RetryTime> {
        let (asked, asked_date) = (asked_delay(self), content(self).times.asked().date);
        if asked.or(asked_date).is_some() {
            return times(asked, asked_date);
        }
        let Content {
            prose,
            times: of_fields,
            ..
        } = content(self);
        times(of_fields.delay, of_fields.date.max(date_in_prose(prose)))
    }

    fn asked_times(&self) -> Vec<RetryTime> {
        let asked = content(self).times.asked();
        times(asked.delay, asked.date)
    }

    fn prose_times(&self) -> Vec<RetryTime> {
        times(delay_in_prose(self.prose()), date_in_prose(self.prose()))
    }
}

/// Returns what a body contains. The first call reads it.
fn content(body: &ErrorBody) -> &Content {
    body.keep(Content::of)
}

/// The whole text in lower case, or that of an error's message.
struct LowerCase(String);

impl LowerCase {
    fn of(body: &ErrorBody) -> Self {
        let text = body.text();
        let text = if text.is_empty() { body.words() } else { text };
        work::add(text.len());
        Self(text.to_lowercase())
    }
}

/// The kept result of [`is_certain`].
struct Certain(bool);

/// Returns `true` if all of the body was read, and it is either not JSON, or one JSON document that can be read in one
/// way only.
fn is_certain(body: &ErrorBody) -> bool {
    let is_certain = |body: &ErrorBody| {
        let text = body.text();
        let is_like_json = json_in(text).starts_with(['{', '[']);
        // A byte that was not UTF-8 may have been any character.
        let is_text = body.is_whole() && !text.contains(char::REPLACEMENT_CHARACTER);
        Certain(is_text && (!is_like_json || is_one_document(text)))
    };
    body.keep(is_certain).0
}

/// The kept result of [`is_closed`].
struct Understood(bool);

/// Returns `true` if this is all of a body, and it is complete JSON or XML.
fn is_closed(body: &ErrorBody) -> bool {
    let text = body.text();
    work::add(text.len());
    let is_closed = || {
        if text.starts_with('<') {
            xml::is_closed(text)
        } else {
            is_json(json_in(text))
        }
    };
    body.is_whole() && is_closed()
}

/// Returns the longest delay that a field or the prose asks for.
fn asked_delay(body: &ErrorBody) -> Option<Duration> {
    let asked = content(body).times.asked().delay;
    let longest = asked.max(delay_in_prose(body.prose()));
    longest.filter(|delay| !delay.is_zero())
}

/// The tokens, messages and times in a text.
#[derive(Default)]
struct Content {
    /// The tokens under the keys that APIs use for them; none contains whitespace.
    codes: Vec<String>,
    /// The tokens that name the failure: codes that do not echo the request, phrases under such keys, and keys that
    /// name an exception.
    labels: Vec<String>,
    /// The messages, one per line, or the text of a body that is not JSON.
    prose: String,
    /// The times that fields name.
    times: FieldTimes,
    /// `true` if the limit of a quota that was exceeded is zero.
    #[cfg_attr(
        not(feature = "json"),
        expect(dead_code, reason = "only this feature reads JSON")
    )]
    has_zero_quota: bool,
    /// `true` if a message is JSON that is cut off or ambiguous.
    has_doubtful_text: bool,
    /// `true` if the JSON has the shape of an error: `{"error": ...}`, `{"type": "error"}`, `{"...Exception": ...}`.
    is_error: bool,
}

impl Content {
    fn of(body: &ErrorBody) -> Self {
        // The message of an error is only searched for texts.
        if body.text().is_empty() {
            return Self::default();
        }
        Self::read(body.text())
    }

    fn read(text: &str) -> Self {
        work::add(text.len());
        Self::of_json(json_in(text)).unwrap_or_else(|| {
            let mut prose = Self::default();
            prose.add_prose(without_cut_number(text));
            prose
        })
    }

    fn of_json(text: &str) -> Option<Self> {
        if !text.starts_with(['{', '[', '"']) {
            return None;
        }
        let (mut content, ended_early) = parsed(text);
        // Only a text that was cut off is copied and read again: the message at its cut may name the delay.
        if ended_early {
            content = parsed(&closed(text)).0;
        }
        (!content.is_empty()).then_some(content)
    }

    fn is_empty(&self) -> bool {
        let no_tokens = self.codes.is_empty() && self.labels.is_empty();
        let no_text = self.prose.is_empty() && self.times == FieldTimes::default();
        no_tokens && no_text && !self.is_error
    }

    fn add_prose(&mut self, text: &str) {
        // One byte stays free for the line break before the next message.
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

/// The latest delay and the latest date since 1970 that fields name: those at which a client is asked to come back, or
/// if there is none, those at which a limit is reset.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct FieldTimes {
    are_asked: bool,
    delay: Option<Duration>,
    date: Option<Duration>,
}

impl FieldTimes {
    /// Returns the times at which a client is asked to come back.
    fn asked(self) -> Self {
        if self.are_asked {
            self
        } else {
            Self::default()
        }
    }
}

fn times(delay: Option<Duration>, date: Option<Duration>) -> Vec<RetryTime> {
    let delay = delay.map(RetryTime::In);
    delay.into_iter().chain(date.map(RetryTime::At)).collect()
}

/// Returns the JSON that a text is or contains.
fn json_in(text: &str) -> &str {
    without_cut_number(event_data(text).unwrap_or(text))
}

/// Returns a list or an object without a number at its cut end, since more digits may have followed.
fn without_cut_number(text: &str) -> &str {
    // Digits at the end of a string or of prose are no JSON number, and stay.
    let before = text.trim_end_matches(|c: char| c.is_ascii_digit() || "+-.eE".contains(c));
    let is_value = before.trim_end().ends_with([':', ',', '[']);
    let is_cut = is_value && text.starts_with(['{', '[']);
    if is_cut { before } else { text }
}

/// Returns `true` if a text is one JSON document, alone or in one server-sent event, that can be read in one way only.
fn is_one_document(text: &str) -> bool {
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let is_event = event_data(text).is_some();
    // Services with the API of OpenAI end a stream with `[DONE]`, which is no second document.
    let is_one = !is_event || data.by_ref().skip(1).all(|data| data.trim() == "[DONE]");
    is_one && json::is_unambiguous(json_in(text))
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
fn closed(text: &str) -> String {
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

/// Counts the bytes of a body that are read and the pointers that are compared, in tests only: both must grow linearly
/// with the body, and not quadratically.
pub(crate) mod work {
    #[cfg(not(any(test, feature = "testing")))]
    #[inline]
    pub(crate) fn add(_: usize) {}

    #[cfg(any(test, feature = "testing"))]
    pub(crate) use counted::add;
    #[cfg(any(test, feature = "testing"))]
    pub use counted::of;

    #[cfg(any(test, feature = "testing"))]
    mod counted {
        use std::cell::Cell;

        thread_local! {
            static WORK: Cell<usize> = const { Cell::new(0) };
        }

        pub(crate) fn add(more: usize) {
            WORK.set(WORK.get().saturating_add(more));
        }

        /// Returns the bytes of error bodies that this thread reads during the call, plus the pointers that it
        /// compares. Use it to test that the work of a table or a classifier grows linearly with a body.
        ///
        /// ```
        /// use http_retry::policy::ErrorBody;
        /// use http_retry::testing::body_work;
        ///
        /// let read = |text: String| body_work(|| drop(ErrorBody::read(text.as_bytes())));
        /// let (small, large) = (read("[".repeat(100)), read("[".repeat(1_000)));
        /// assert!(large <= 11 * small.max(100));
        /// ```
        pub fn of(meanwhile: impl FnOnce()) -> usize {
            let before = WORK.get();
            meanwhile();
            WORK.get().saturating_sub(before)
        }
    }
}

#[cfg(all(test, feature = "json"))]
mod tests;
