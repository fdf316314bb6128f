//! The part of an outcome beyond its head: the start of an error body, or the message of an error.

pub(crate) mod pointer;
mod problem;

pub use pointer::Pointer;

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

/// The part of an outcome that was read beyond its head: the start of the response's body, or the message of an error.
///
/// A classifier that asks for it ([`Classify::reads_body`](crate::policy::Classify::reads_body)) gets it from
/// [`Outcome::body`](crate::Outcome::body). It is bounded to 64 KiB of a body. `Debug` shows none of it, since a
/// server's text may be confidential. The trait `ReadBody` of http-retry-rules finds JSON, XML and prose in it:
///
/// ```
/// use http_retry::policy::ErrorBody;
/// use http_retry::rules::ReadBody;
///
/// let body = ErrorBody::read(br#"{"errors": [{"code": "busy"}, {"code": 7}]}"#);
/// assert!(body.json("/errors/*/code").eq(["busy", "7"])); // with the feature dialects
/// assert!(body.text().starts_with("{"));
/// ```
#[derive(Clone, Default)]
pub struct ErrorBody {
    /// The whole text as received.
    text: String,
    /// `true` if more of the body may follow.
    is_cut: bool,
    /// The message of an error, which is not part of a response.
    words: String,
    /// The locations that classifiers named in advance.
    pointers: Vec<Pointer>,
    /// The values that readers keep, one for each type.
    kept: KeptValues,
}

impl ErrorBody {
    /// Reads the start of a body, regardless of its content type.
    ///
    /// Layers read bodies on their own; this is for tests of a classifier or a dialect. It keeps all of its input, so
    /// pass at most 64 KiB.
    #[must_use]
    pub fn read(start: &[u8]) -> Self {
        // Lossy, so that one invalid byte does not hide the rest. Readers look for the replacement.
        let text = match std::str::from_utf8(start) {
            // Quicker than the other, and nearly always so.
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(start),
        };
        // RFC 8259, section 8.1, lets a reader ignore a byte order mark.
        let text = text.trim_start_matches('\u{feff}').trim();
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// Creates a body from the message of an error.
    #[must_use]
    pub(crate) fn of_words(message: &str) -> Self {
        Self {
            words: message.to_owned(),
            ..Self::default()
        }
    }

    /// Names the locations that are looked up in one walk over the text.
    #[must_use]
    pub fn with_pointers(self, pointers: &[Pointer]) -> Self {
        Self {
            pointers: pointers.to_vec(),
            kept: KeptValues::default(),
            ..self
        }
    }

    /// Sets whether more of the body may follow.
    pub fn cut(self, is_cut: bool) -> Self {
        Self {
            is_cut,
            // They may depend on `is_cut`.
            kept: KeptValues::default(),
            ..self
        }
    }

    /// Returns the text without surrounding whitespace; invalid UTF-8 is replaced. Empty for an error, whose message is
    /// not part of a response.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the message of an error; empty for a response.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Returns the locations that classifiers named in advance
    /// ([`Classify::pointers`](crate::policy::Classify::pointers)).
    #[must_use]
    pub fn pointers(&self) -> &[Pointer] {
        &self.pointers
    }

    /// Returns `true` if this is all of the body. If not, it was longer than 64 KiB, did not arrive in time, or broke
    /// off.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.is_cut
    }

    /// Returns `true` if it is an error page of Cloudflare that rules out that a retry can help. Only its first 4 KiB
    /// count.
    pub(crate) fn rules_out_retry(&self) -> bool {
        problem::rules_out_retry(&self.text)
    }

    /// Returns the result of `make`, and keeps it for the next call with the same type. Use it for work that several
    /// rows of a table or several classifiers need; two threads at once may both call `make`.
    ///
    /// ```
    /// use http_retry::policy::ErrorBody;
    ///
    /// struct Lines(usize);
    ///
    /// let body = ErrorBody::read(b"slow down\nplease");
    /// let lines: &Lines = body.keep(|body| Lines(body.text().lines().count()));
    /// assert_eq!(lines.0, 2);
    /// ```
    pub fn keep<T: Send + Sync + 'static>(&self, make: impl Fn(&Self) -> T) -> &T {
        self.kept.get_or_make(|| make(self))
    }
}

/// Shows nothing, since a server's text may be confidential.
impl fmt::Debug for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorBody").finish_non_exhaustive()
    }
}

/// A list of values of different types, which only grows. A clone begins anew.
#[derive(Default)]
struct KeptValues(OnceLock<Box<(Box<dyn Any + Send + Sync>, KeptValues)>>);

impl KeptValues {
    fn get_or_make<T: Send + Sync + 'static>(&self, make: impl Fn() -> T) -> &T {
        loop {
            match self.find() {
                Some(value) => return value,
                // Made before it has a place, since `make` may keep values of its own.
                None => self.push(Box::new(make())),
            }
        }
    }

    fn find<T: 'static>(&self) -> Option<&T> {
        let (value, rest) = &**self.0.get()?;
        value.downcast_ref().or_else(|| rest.find())
    }

    fn push(&self, value: Box<dyn Any + Send + Sync>) {
        let (mut last, mut new) = (self, Box::new((value, Self::default())));
        while let Err(taken) = last.0.set(new) {
            new = taken;
            if let Some(kept) = last.0.get() {
                last = &kept.1;
            }
        }
    }
}

impl Clone for KeptValues {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorBody;
    use std::cell::Cell;

    #[test]
    fn each_type_of_value_is_made_once() {
        let body = ErrorBody::read(b"abc");
        let made = Cell::new(0);
        let count = |body: &ErrorBody| {
            made.set(made.get() + 1);
            body.text().len()
        };
        for _ in 0..2 {
            assert_eq!(*body.keep(count), 3);
            assert_eq!(*body.keep(|body| body.text().to_uppercase()), "ABC");
        }
        assert_eq!(made.get(), 1);
        assert_eq!(*body.clone().cut(true).keep(count), 3);
        assert_eq!(made.get(), 2);
    }

    #[test]
    fn a_value_may_be_made_of_another_one() {
        struct Twice(usize);

        let body = ErrorBody::read(b"abc");
        let twice = body.keep(|body| Twice(2 * body.keep(|body| body.text().len())));
        assert_eq!(twice.0, 6);
    }
}
