//! The lines of a head that are read, and how many of them.

use super::date::http_date;
use super::names::UnreadableHeaders;
use super::server_delay::{Delays, place};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

/// As many lines of one header as are read, and of all the headers that name one quota of several together.
pub(super) const MOST_LINES: usize = 64;
/// As many bytes of a line as are read; a longer one is not readable.
pub(super) const MOST_BYTES: usize = 1024;
/// As many bytes of a quota header's name as are read; a header with a longer one is none.
pub(super) const MOST_NAME: usize = 128;

/// How the names of the headers begin that hold one number of a quota.
pub(super) const QUOTA_PREFIXES: [&str; 6] = [
    "ratelimit-",
    "x-ratelimit-",
    "x-rate-limit-",
    "anthropic-ratelimit-",
    "ratelimitbysize-",
    "x-ratelimitbysize-",
];

/// A response's head, and what has been noted while it was read.
pub(super) struct Head<'a> {
    pub(super) clock: Clock<'a>,
    pub(super) unreadable: UnreadableHeaders,
    /// What the headers that name a delay say.
    pub(super) delays: Delays,
    headers: &'a HeaderMap,
    has_quota: bool,
}

/// What a point in time is measured against.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    headers: &'a HeaderMap,
    wall: Duration,
}

impl<'a> Head<'a> {
    /// Looks at each name once, so that most heads are done with after it.
    pub(super) fn new(headers: &'a HeaderMap, wall: Duration) -> Self {
        let clock = Clock::new(headers, wall);
        let (mut delays, mut has_quota) = (Delays::default(), false);
        for (name, line) in headers {
            let name = name.as_str();
            if !may_be_a_hint(name) {
                continue;
            }
            match place(name) {
                Some(place) => delays.read(place, line, clock),
                None => has_quota = has_quota || names_a_quota(name),
            }
        }
        Self {
            clock,
            unreadable: delays.unreadable(),
            delays,
            headers,
            has_quota,
        }
    }

    /// Whether any header is there that tells of a quota.
    pub(super) fn has_quota(&self) -> bool {
        self.has_quota
    }

    /// The lines of one header; nothing in the place of one that is not readable.
    pub(super) fn lines(&self, name: &HeaderName) -> impl Iterator<Item = Option<&'a str>> {
        let lines = self.headers.get_all(name).iter();
        lines.take(MOST_LINES).map(text)
    }

    /// The lines of the headers that hold one number of a quota, with their names.
    pub(super) fn quota_lines(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let lines = self.headers.iter();
        let lines = lines.map(|(name, line)| (name.as_str(), line));
        let lines = lines.filter(|(name, _)| after_prefix(name).is_some());
        lines
            .take(MOST_LINES)
            .map(|(name, line)| (name, text(line)))
    }
}

impl<'a> Clock<'a> {
    pub(super) fn new(headers: &'a HeaderMap, wall: Duration) -> Self {
        Self { headers, wall }
    }

    /// The response's own `date` where that is valid, else the wall clock.
    pub(super) fn now(&self) -> Duration {
        let own = self.headers.get(http::header::DATE).and_then(text);
        own.and_then(http_date).unwrap_or(self.wall)
    }
}

/// The text of a line without the blanks around it.
pub(super) fn text(line: &HeaderValue) -> Option<&str> {
    let short = Some(line.as_bytes()).filter(|line| line.len() <= MOST_BYTES)?;
    std::str::from_utf8(short).ok().map(str::trim_ascii)
}

/// The prefix of the name of a header that holds one number of a quota, and what follows it.
pub(super) fn after_prefix(name: &str) -> Option<(usize, &str)> {
    if name.len() > MOST_NAME {
        return None;
    }
    let prefixes = QUOTA_PREFIXES.iter().enumerate();
    let mut found =
        prefixes.filter_map(|(place, prefix)| Some((place, name.strip_prefix(prefix)?)));
    found.next()
}

/// Whether a head tells of a quota: what most heads are done with after one look at their names.
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) fn tells_of_a_quota(headers: &HeaderMap) -> bool {
    let mut names = headers.keys().map(HeaderName::as_str);
    names.any(|name| may_be_a_hint(name) && names_a_quota(name))
}

/// One look at the first letter is enough for most names.
fn may_be_a_hint(name: &str) -> bool {
    name.starts_with(['r', 'x', 'a'])
}

fn names_a_quota(name: &str) -> bool {
    name == "ratelimit" || after_prefix(name).is_some()
}
