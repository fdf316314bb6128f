//! The headers that say when to come back.

use super::date::{Clock, When, http_date};
use super::duration::{millis, seconds};
use super::line::{MOST_LINES, text};
use super::names::{Asked, Header, HeaderSet, UnreadableHeaders};
use http::{HeaderMap, HeaderValue};
use std::time::Duration;

/// The delay that a response asks for, as [`ServerHints`](super::ServerHints) reads it.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::policy::ServerDelay;
/// use std::time::Duration;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("retry-after", HeaderValue::from_static("20"));
/// let asked = ServerDelay::read(StatusCode::TOO_MANY_REQUESTS, &headers, Duration::ZERO);
/// assert_eq!(asked.delay(), Some(Duration::from_secs(20)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerDelay {
    /// No header that names a time, or one that lies in the past.
    None,
    /// The named header is there, but what it holds cannot be read, and no other header asks for a delay.
    Invalid(&'static str),
    /// The server asks for this much time.
    Asked(Duration),
}

type Reader = fn(&str) -> Option<When>;

/// What the headers that name a delay say, line by line.
#[derive(Default)]
pub(super) struct Delays {
    /// How many lines of each have been read.
    lines: [u8; FORMS.len()],
    there: HeaderSet,
    readable: HeaderSet,
    /// What the first of them asks for that can be read and does not lie in the past; of its lines the latest.
    pub(super) asked: Option<Asked>,
}

/// How each of the headers that name a delay is told and read; the first one counts first.
const FORMS: [(Header, Reader); 4] = [
    (Header::RETRY_AFTER_MS, milliseconds),
    (Header::X_MS_RETRY_AFTER_MS, milliseconds),
    (Header::X_AMZ_RETRY_AFTER, milliseconds),
    (Header::RETRY_AFTER, seconds_or_date),
];

impl ServerDelay {
    /// The time that the server asks for, where it asks for some.
    #[must_use]
    pub fn delay(self) -> Option<Duration> {
        match self {
            Self::Asked(delay) => Some(delay),
            Self::None | Self::Invalid(_) => None,
        }
    }

    /// Whether a server's own invitation to come back is there and readable, even if its time is past: the part of reading
    /// that needs no clock.
    pub(crate) fn is_invitation(headers: &HeaderMap) -> bool {
        let places = headers
            .keys()
            .filter_map(|name| Some((name, FORMS.get(place(name.as_str())?)?)));
        let mut lines = places.flat_map(|(name, form)| {
            let lines = headers.get_all(name).iter().take(MOST_LINES);
            lines.filter_map(move |line| form.1(text(line)?))
        });
        lines.next().is_some()
    }
}

impl Delays {
    /// Reads one more line of the header in this place of the [`FORMS`].
    pub(super) fn read(&mut self, place: usize, line: &HeaderValue, clock: Clock<'_>) {
        let Some((header, read)) = FORMS.get(place).copied() else {
            return;
        };
        let Some(lines) = self.lines.get_mut(place) else {
            return;
        };
        if usize::from(*lines) >= MOST_LINES {
            return;
        }
        *lines = lines.saturating_add(1);
        self.there.add(header);
        let Some(when) = text(line).and_then(read) else {
            return;
        };
        self.readable.add(header);
        let asked = when.until(|| clock.now());
        let asked = asked.map(|delay| Asked { delay, header });
        self.asked = match (self.asked, asked) {
            (Some(first), Some(asked)) if first.header == header => Some(first.max(asked)),
            (Some(first), Some(asked)) if first.header > header => Some(asked),
            (first, asked) => first.or(asked),
        };
    }

    /// Those that are there and hold nothing that can be read.
    pub(super) fn unreadable(&self) -> UnreadableHeaders {
        self.there.without(self.readable)
    }
}

/// The place in [`FORMS`] of the header of this name.
pub(super) fn place(name: &str) -> Option<usize> {
    match name {
        "retry-after-ms" => Some(0),
        "x-ms-retry-after-ms" => Some(1),
        "x-amz-retry-after" => Some(2),
        "retry-after" => Some(3),
        _ => None,
    }
}

fn milliseconds(text: &str) -> Option<When> {
    millis(text).map(When::In)
}

fn seconds_or_date(text: &str) -> Option<When> {
    let delay = seconds(text).map(When::In);
    delay.or_else(|| http_date(text).map(When::At))
}
