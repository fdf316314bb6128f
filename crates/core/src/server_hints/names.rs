//! The headers that are read, and which of them could not be.

use super::date::{Clock, RetryTime, http_date};
use super::duration::{millis, seconds};
use super::{Delays, MOST_LINES, place, text};
use http::{HeaderMap, HeaderName};
use std::fmt;
use std::time::Duration;

/// Reads the value of a header that names a delay.
type DelayReader = fn(&str) -> Option<RetryTime>;

/// The headers that name a delay, with the reader of each. The first one that can be read counts.
pub(super) const DELAYS: [(&str, DelayReader); 4] = [
    ("retry-after-ms", milliseconds),
    ("x-ms-retry-after-ms", milliseconds),
    ("x-amz-retry-after", milliseconds),
    ("retry-after", seconds_or_date),
];

/// The place of the first quota header among all headers.
#[expect(clippy::cast_possible_truncation, reason = "a handful")]
const FIRST_QUOTA: u8 = DELAYS.len() as u8;

/// One of the headers that say something about coming back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Header(u8);

/// A delay, and the header that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Asked {
    pub(super) delay: Duration,
    pub(super) header: Header,
}

macro_rules! names {
    ($($before:literal $after:literal,)*) => {
        [
            "ratelimit",
            "ratelimit-policy",
            $(
                concat!($before, "limit", $after),
                concat!($before, "remaining", $after),
                concat!($before, "reset", $after),
            )*
            "ratelimit-*",
            "x-ratelimit-*",
            "x-rate-limit-*",
            "anthropic-ratelimit-*",
            "ratelimitbysize-*",
            "x-ratelimitbysize-*",
        ]
    };
}

/// The headers that tell of a quota, after those of [`DELAYS`]. The last ones stand for every other name that begins so.
const QUOTAS: [&str; 41] = names![
    "ratelimit-" "",
    "x-ratelimit-" "",
    "x-rate-limit-" "",
    "x-ratelimit-" "-requests",
    "x-rate-limit-" "-requests",
    "x-ratelimit-" "-tokens",
    "x-rate-limit-" "-tokens",
    "anthropic-ratelimit-requests-" "",
    "anthropic-ratelimit-tokens-" "",
    "anthropic-ratelimit-input-tokens-" "",
    "anthropic-ratelimit-output-tokens-" "",
];

/// Whether a name may be one of them: one look at its first letter is enough for most.
pub(super) fn may_be_a_hint(name: &str) -> bool {
    name.starts_with(['r', 'x', 'a'])
}

impl Header {
    pub(super) const RATELIMIT: Self = Self(FIRST_QUOTA);
    pub(super) const RATELIMIT_POLICY: Self = Self(FIRST_QUOTA.saturating_add(1));

    /// The header in this place of [`DELAYS`].
    pub(super) fn of_delay(place: usize) -> Option<Self> {
        let place = u8::try_from(place).ok()?;
        (place < FIRST_QUOTA).then_some(Self(place))
    }

    /// The names of all headers, in the order in which they count.
    fn names() -> impl Iterator<Item = &'static str> {
        DELAYS.iter().map(|(name, _)| *name).chain(QUOTAS)
    }

    /// The header of this name, or the one that stands for all that begin as it does.
    pub(super) fn of(name: &str) -> Option<Self> {
        let places = || (0..).zip(Self::names());
        let known = places().find(|(_, known)| *known == name);
        let alike = || {
            places().find(|(_, known)| {
                let start = known.strip_suffix('*');
                start.is_some_and(|start| name.starts_with(start))
            })
        };
        let (place, _) = known.or_else(alike)?;
        Some(Self(place))
    }

    pub(super) fn name(self) -> &'static str {
        Self::names().nth(self.0.into()).unwrap_or_default()
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Some of the headers that say something about coming back.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeaderSet(u64);

impl HeaderSet {
    /// Their names, in the order in which they would have counted.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let Self(mut left) = self;
        std::iter::from_fn(move || {
            let place = usize::try_from(left.trailing_zeros()).ok()?;
            left &= left.wrapping_sub(1);
            Header::names().nth(place)
        })
    }

    pub(super) fn add(&mut self, header: Header) {
        self.0 |= 1_u64.checked_shl(header.0.into()).unwrap_or_default();
    }

    pub(super) fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
}

impl fmt::Debug for HeaderSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

fn milliseconds(text: &str) -> Option<RetryTime> {
    millis(text).map(RetryTime::In)
}

fn seconds_or_date(text: &str) -> Option<RetryTime> {
    let delay = seconds(text).map(RetryTime::In);
    delay.or_else(|| http_date(text).map(RetryTime::At))
}

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
