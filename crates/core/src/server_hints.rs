//! The retry hints of a response's head, read once per attempt: the delay that it asks for, the quota, and the headers
//! that cannot be read.
//!
//! The delay, the gate and the report use the same [`ServerHints`], so they agree on every header.
//!
//! A head is read in one pass over its names: at most 64 lines of each header (64 in all for the headers that each name
//! one of several quotas), 1,024 bytes of a line, 64 items of a list, and 16 parameters of an item. A longer line or
//! name cannot be read. The work is therefore bounded, whatever a server sends.

mod date;
mod duration;
mod prose;
mod quota;
#[cfg(test)]
mod tests;
mod unit;

pub use quota::Quota;
pub use unit::Unit;

pub use date::RetryTime;
#[cfg(feature = "json")]
pub(crate) use duration::header_duration;
pub(crate) use prose::{date_in_prose, delay_in_prose};

use date::{Clock, http_date};
use duration::{millis, seconds};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use quota::Quotas;
use std::fmt;
use std::time::Duration;

/// The retry delay and the quota in a response's head.
///
/// The first readable one of these headers sets the delay:
///
/// 1. `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after`: milliseconds, rounded up to an integer.
/// 2. `retry-after`: seconds, with or without decimals (rounded up to a millisecond), or an HTTP-date. If there are
///    several lines, the latest time counts.
/// 3. If a quota is spent, its reset: `ratelimit` with `ratelimit-policy`, and `ratelimit-reset`, `x-ratelimit-reset`,
///    `x-ratelimit-reset-tokens` and similar. If several quotas are spent, the latest reset counts. A quota is spent if
///    nothing remains of it; on a 429 that names no spent quota, also if the head does not state the remainder.
///
/// A reset is a number of seconds (a Unix time from 1,000,000,000 on, in milliseconds from 1,000,000,000,000 on), a
/// duration with units (`1m30s`), an RFC 3339 date or an HTTP-date; `t` of `ratelimit` is never a Unix time. A spent
/// quota without a reset is back after its policy's window. A quota of calls in flight (`concurrent-requests`) has no
/// window: only its own `t` counts.
///
/// A header that cannot be read is skipped and listed in [`ServerHints::unreadable`]. A time in the past asks for no
/// wait. Dates are relative to the response's own `date` if that is valid, else to the wall clock.
///
/// # Source
///
/// RFC 9110 section 10.2.3 for `retry-after` and 5.6.7 for dates; draft-ietf-httpapi-ratelimit-headers for the quota
/// headers, and for the precedence of `retry-after`; Azure, AWS and OpenAI for the millisecond forms.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::policy::ServerHints;
/// use std::time::Duration;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("retry-after", HeaderValue::from_static("soon"));
/// headers.insert("x-ratelimit-remaining", HeaderValue::from_static("0"));
/// headers.insert("x-ratelimit-reset", HeaderValue::from_static("1m30s"));
///
/// let hints = ServerHints::read(StatusCode::TOO_MANY_REQUESTS, &headers, Duration::ZERO);
/// assert_eq!(hints.delay(), Some(Duration::from_secs(90)));
/// assert_eq!(hints.header(), Some("x-ratelimit-reset"));
/// assert_eq!(hints.quota().map(|quota| quota.remaining), Some(0));
/// assert!(hints.unreadable().eq(["retry-after"]));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerHints {
    asked: Option<RequestedDelay>,
    spent: Option<RequestedDelay>,
    quota: Option<Quota>,
    /// The headers that were skipped because they cannot be read.
    pub(crate) unreadable: HeaderSet,
}

impl ServerHints {
    /// Reads the head of a response with any status. `wall` is the time since 1970-01-01T00:00:00Z; dates are measured
    /// against it if the response has no valid `date` of its own.
    ///
    /// The work is bounded, whatever a server sends: 64 lines of a header, 1,024 bytes of a line.
    #[must_use]
    pub fn read(status: StatusCode, headers: &HeaderMap, wall: Duration) -> Self {
        let mut head = ResponseHead::new(headers, wall);
        let asked = head.delays.asked;
        // Most heads end here.
        if !head.has_quota() {
            return Self {
                asked,
                unreadable: head.unreadable,
                ..Self::default()
            };
        }
        let quotas = Quotas::read(&mut head);
        let quota = quotas.tightest();
        Self {
            asked,
            spent: quotas.spent(status == StatusCode::TOO_MANY_REQUESTS),
            quota: quota.map(|quota| quota.after(status, asked.map(|asked| asked.delay))),
            unreadable: head.unreadable,
        }
    }

    /// Returns the delay that the head asks for, if any: [`ServerHints::asked`], else [`ServerHints::reset`]. Zero is a
    /// delay: the server allows a retry now.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        self.asked().or(self.reset())
    }

    /// Returns the name of the header that sets [`ServerHints::delay`]. For an unusual header that names one of several
    /// quotas, only its prefix (`x-ratelimit-*`).
    #[must_use]
    pub fn header(&self) -> Option<&'static str> {
        let asked = self.asked.or(self.spent);
        asked.map(|asked| asked.header.name())
    }

    /// Returns the delay of `retry-after` or a millisecond header, if any; if there are several, the first in the order
    /// above.
    #[must_use]
    pub fn asked(&self) -> Option<Duration> {
        self.asked.map(|asked| asked.delay)
    }

    /// Returns the time until the spent quota is back, if one is spent and has a reset; if there are several, the
    /// latest.
    #[must_use]
    pub fn reset(&self) -> Option<Duration> {
        self.spent.map(|spent| spent.delay)
    }

    /// Returns the quota of requests; if there are several, the one with the least left. If a quota of requests or
    /// tokens is spent, nothing is left until the latest reset of the spent ones.
    ///
    /// Returns `None` if no header states both the remainder and its reset. On a refusal the reset is no later than
    /// [`ServerHints::asked`].
    #[must_use]
    pub fn quota(&self) -> Option<Quota> {
        self.quota
    }

    /// Returns the names of the headers that were skipped because they cannot be read, in order of precedence. An
    /// unusual header that names one of several quotas is listed by its prefix: `x-ratelimit-*`.
    pub fn unreadable(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.unreadable.names()
    }
}

/// Returns the time of a response: its own `date` if that is valid, else the wall clock.
pub(crate) fn time_of(headers: &HeaderMap, wall: Duration) -> Duration {
    Clock::new(headers, wall).now()
}

/// The headers that name a delay, read line by line.
#[derive(Default)]
struct Delays {
    /// The number of lines of each header that have been read.
    lines: [u8; DELAYS.len()],
    present: HeaderSet,
    readable: HeaderSet,
    /// The delay of the first header that is readable and not in the past; of several lines, the latest.
    asked: Option<RequestedDelay>,
}

/// Returns `true` if a server's own retry time is present and readable, even if it is past. This part of reading needs
/// no clock.
pub(crate) fn is_invitation(headers: &HeaderMap) -> bool {
    let delays = headers
        .keys()
        .filter_map(|name| Some((name, DELAYS.get(delay_index(name.as_str())?)?)));
    let mut lines = delays.flat_map(|(name, (_, read))| {
        let lines = headers.get_all(name).iter().take(MAX_HEADER_LINES);
        lines.filter_map(move |line| read(text(line)?))
    });
    lines.next().is_some()
}

impl Delays {
    /// Reads one more line of the header at this index of [`DELAYS`].
    fn read(&mut self, index: usize, line: &HeaderValue, clock: Clock<'_>) {
        let (Some(header), Some((_, read))) = (Header::of_delay(index), DELAYS.get(index)) else {
            return;
        };
        let Some(lines) = self.lines.get_mut(index) else {
            return;
        };
        if usize::from(*lines) >= MAX_HEADER_LINES {
            return;
        }
        *lines = lines.saturating_add(1);
        self.present.add(header);
        let Some(time) = text(line).and_then(read) else {
            return;
        };
        self.readable.add(header);
        // A time in the past is readable, and asks for no wait.
        let asked = time.until(|| clock.now());
        let asked = asked.map(|delay| RequestedDelay { delay, header });
        // The headers come in any order, but the first of `DELAYS` wins, and within one header the latest time.
        self.asked = match (self.asked, asked) {
            (Some(first), Some(asked)) if first.header == header => Some(first.max(asked)),
            (Some(first), Some(asked)) if first.header > header => Some(asked),
            (first, asked) => first.or(asked),
        };
    }

    /// Returns the headers that are present but have no readable line.
    fn unreadable(&self) -> HeaderSet {
        self.present.without(self.readable)
    }
}

/// Returns the index in [`DELAYS`] of the header with this name.
fn delay_index(name: &str) -> Option<usize> {
    DELAYS.iter().position(|(known, _)| *known == name)
}

/// The most lines that are read of one header, and of all the headers together that each name one of several quotas.
const MAX_HEADER_LINES: usize = 64;
/// The most bytes of a line; a longer one cannot be read.
const MAX_HEADER_BYTES: usize = 1024;

/// Returns the text of a line, without surrounding whitespace.
fn text(line: &HeaderValue) -> Option<&str> {
    let short = Some(line.as_bytes()).filter(|line| line.len() <= MAX_HEADER_BYTES)?;
    std::str::from_utf8(short).ok().map(str::trim_ascii)
}

/// A reader of the value of a header that names a delay.
type DelayReader = fn(&str) -> Option<RetryTime>;

/// The headers that name a delay, each with its reader. The first readable one counts.
const DELAYS: [(&str, DelayReader); 4] = [
    ("retry-after-ms", milliseconds),
    ("x-ms-retry-after-ms", milliseconds),
    ("x-amz-retry-after", milliseconds),
    ("retry-after", seconds_or_date),
];

/// The index of the first quota header among all headers.
#[expect(clippy::cast_possible_truncation, reason = "a handful")]
const FIRST_QUOTA: u8 = DELAYS.len() as u8;

/// The index of a header that carries a retry hint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Header(u8);

/// A delay, and the header that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RequestedDelay {
    delay: Duration,
    header: Header,
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

/// The quota headers, after those of [`DELAYS`]. The last ones match every other name with that prefix.
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

/// Returns `false` for most other names by their first letter.
fn may_be_a_hint(name: &str) -> bool {
    name.starts_with(['r', 'x', 'a'])
}

impl Header {
    const RATELIMIT: Self = Self(FIRST_QUOTA);
    const RATELIMIT_POLICY: Self = Self(FIRST_QUOTA.saturating_add(1));

    /// Returns the header at this index of [`DELAYS`].
    fn of_delay(index: usize) -> Option<Self> {
        let index = u8::try_from(index).ok()?;
        (index < FIRST_QUOTA).then_some(Self(index))
    }

    /// Returns the names of all headers, in order of precedence.
    fn names() -> impl Iterator<Item = &'static str> {
        DELAYS.iter().map(|(name, _)| *name).chain(QUOTAS)
    }

    /// Returns the header with this name, or the one for its prefix.
    fn named(name: &str) -> Option<Self> {
        let all = || (0..).zip(Self::names());
        // The exact name first, since `x-ratelimit-*` matches `x-ratelimit-reset` too.
        let known = all().find(|(_, known)| *known == name);
        let by_prefix = || {
            all().find(|(_, known)| {
                let prefix = known.strip_suffix('*');
                prefix.is_some_and(|prefix| name.starts_with(prefix))
            })
        };
        let (index, _) = known.or_else(by_prefix)?;
        Some(Self(index))
    }

    fn name(self) -> &'static str {
        Self::names().nth(self.0.into()).unwrap_or_default()
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of headers that carry retry hints: one bit for each of the 45.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeaderSet(u64);

impl HeaderSet {
    /// Returns their names, in order of precedence.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let Self(mut bits) = self;
        std::iter::from_fn(move || {
            let index = usize::try_from(bits.trailing_zeros()).ok()?;
            // Clears the lowest bit. Without one the index is 64, which no header has, so the iterator ends.
            bits &= bits.wrapping_sub(1);
            Header::names().nth(index)
        })
    }

    fn add(&mut self, header: Header) {
        self.0 |= 1_u64.checked_shl(header.0.into()).unwrap_or_default();
    }

    fn without(self, others: Self) -> Self {
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

/// The most bytes of a quota header's name; a header with a longer one is ignored.
const MAX_NAME_BYTES: usize = 128;

/// The prefixes of the headers that hold one number of a quota.
const QUOTA_PREFIXES: [&str; 6] = [
    "ratelimit-",
    "x-ratelimit-",
    "x-rate-limit-",
    "anthropic-ratelimit-",
    "ratelimitbysize-",
    "x-ratelimitbysize-",
];

/// A response's head, and the hints found so far.
struct ResponseHead<'a> {
    clock: Clock<'a>,
    unreadable: HeaderSet,
    /// The headers that name a delay.
    delays: Delays,
    headers: &'a HeaderMap,
    has_quota: bool,
}

impl<'a> ResponseHead<'a> {
    /// Checks each name once. For most heads that is all the work.
    fn new(headers: &'a HeaderMap, wall: Duration) -> Self {
        let clock = Clock::new(headers, wall);
        let (mut delays, mut has_quota) = (Delays::default(), false);
        for (name, line) in headers {
            let name = name.as_str();
            if !may_be_a_hint(name) {
                continue;
            }
            match delay_index(name) {
                Some(index) => delays.read(index, line, clock),
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

    /// Returns `true` if there is any quota header.
    fn has_quota(&self) -> bool {
        self.has_quota
    }

    /// Returns the lines of one header, with `None` for a line that cannot be read.
    fn lines(&self, name: &HeaderName) -> impl Iterator<Item = Option<&'a str>> {
        let lines = self.headers.get_all(name).iter();
        lines.take(MAX_HEADER_LINES).map(text)
    }

    /// Returns the lines of the headers that hold one number of a quota, with their names.
    fn quota_lines(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let lines = self.headers.iter();
        let lines = lines.map(|(name, line)| (name.as_str(), line));
        let lines = lines.filter(|(name, _)| after_prefix(name).is_some());
        // After the filter: other headers do not use up the lines.
        lines
            .take(MAX_HEADER_LINES)
            .map(|(name, line)| (name, text(line)))
    }
}

/// Returns the index of the name's prefix in [`QUOTA_PREFIXES`], and the rest of the name.
fn after_prefix(name: &str) -> Option<(usize, &str)> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let prefixes = QUOTA_PREFIXES.iter().enumerate();
    let mut found =
        prefixes.filter_map(|(index, prefix)| Some((index, name.strip_prefix(prefix)?)));
    found.next()
}

/// Returns `true` if a head has a quota header. Reads the names only.
#[inline]
pub fn has_quota_header(headers: &HeaderMap) -> bool {
    let mut names = headers.keys().map(HeaderName::as_str);
    names.any(|name| may_be_a_hint(name) && names_a_quota(name))
}

fn names_a_quota(name: &str) -> bool {
    name == "ratelimit" || after_prefix(name).is_some()
}
