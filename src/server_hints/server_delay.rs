//! The headers that say when to come back.

use super::date::{When, http_date};
use super::duration::{millis, seconds};
use super::head::{Head, MOST_LINES, text};
use super::names::{Asked, DELAYS, Header, delay_place};
use http::HeaderMap;
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

/// How each of the headers that name a delay is told and read.
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
            .filter_map(|name| Some((name, FORMS.get(delay_place(name)?)?)));
        let mut lines = places.flat_map(|(name, form)| {
            let lines = headers.get_all(name).iter().take(MOST_LINES);
            lines.filter_map(move |line| form.1(text(line)?))
        });
        lines.next().is_some()
    }
}

/// What the first of the headers asks for that can be read and does not lie in the past; of its lines the latest.
pub(super) fn asked(head: &mut Head<'_>) -> Option<Asked> {
    let mut first = None;
    for (place, (name, (header, read))) in DELAYS.iter().zip(FORMS).enumerate() {
        if !head.has_delay(place) {
            continue;
        }
        let lines = head.lines(name).flatten().filter_map(read);
        let latest = lines.map(|when| when.until(|| head.clock.now())).max();
        match latest {
            None => head.unreadable.add(header),
            Some(delay) => first = first.or(delay.map(|delay| Asked { delay, header })),
        }
    }
    first
}

fn milliseconds(text: &str) -> Option<When> {
    millis(text).map(When::In)
}

fn seconds_or_date(text: &str) -> Option<When> {
    let delay = seconds(text).map(When::In);
    delay.or_else(|| http_date(text).map(When::At))
}
