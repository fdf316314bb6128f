//! The lines of a head that are read, and how many of them.

use super::date::Clock;
use super::line::{MOST_LINES, text};
use super::names::{HeaderSet, may_be_a_hint};
use super::server_delay::{Delays, place};
use http::{HeaderMap, HeaderName};
use std::time::Duration;

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
    pub(super) unreadable: HeaderSet,
    /// What the headers that name a delay say.
    pub(super) delays: Delays,
    headers: &'a HeaderMap,
    has_quota: bool,
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
pub fn tells_of_a_quota(headers: &HeaderMap) -> bool {
    let mut names = headers.keys().map(HeaderName::as_str);
    names.any(|name| may_be_a_hint(name) && names_a_quota(name))
}

fn names_a_quota(name: &str) -> bool {
    name == "ratelimit" || after_prefix(name).is_some()
}
