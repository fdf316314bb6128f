//! The retry hints of a response's head, read once per attempt: the delay that it asks for, the quota, and the headers
//! that cannot be read.
//!
//! The delay, the gate and the report use the same [`ServerHints`], so they agree on every header.
//!
//! One header is one list (RFC 9110 section 5.3): `a: 6` twice and `a: 6, 6` are read alike.
//!
//! A head is read in one pass over its names: at most 64 lines and 64 elements of each header (64 lines in all for the
//! headers that each name one of several quotas), 1,024 bytes of a line, 64 items of a list, and 16 parameters of an
//! item. A longer line or name cannot be read. The work is therefore bounded, whatever a server sends.

mod date;
mod duration;
mod list;
mod names;
pub(crate) mod prose;
mod quota;
#[cfg(test)]
mod tests;
mod unit;

pub use quota::Quota;
pub use unit::Unit;

pub use date::RetryTime;
pub(crate) use date::time_of;
pub(crate) use list::{any_element, holds, split};
pub(crate) use names::HeaderSet;

use duration::{millis, seconds};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use list::MAX_ELEMENTS;
use names::{DELAYS, DelayForm, Header, after_prefix, may_be_a_hint, names_a_quota};
use std::cell::OnceCell;
use std::time::Duration;

/// The retry delay and the quota in a response's head.
///
/// The first readable one of these headers sets the delay:
///
/// 1. `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after`: milliseconds, rounded up to an integer.
/// 2. `retry-after`: seconds, with or without decimals (rounded up to a millisecond), a Unix time, or a date.
/// 3. `x-retry-after`, `x-retry-in`, and others whose names say what they hold: `x-retry-after-milliseconds`,
///    `retry-after-seconds`, `x-throttle-wait-seconds`.
/// 4. The retry time of a limit that was met: `x-ratelimit-retry-after`, `x-rate-limit-retry-after-seconds` and
///    similar. Some servers send it with every response, so it counts on a 429, and elsewhere if the quota is spent.
/// 5. If a quota is spent, its reset: `ratelimit` with `ratelimit-policy`, and `ratelimit-reset`, `x-ratelimit-reset`,
///    `x-ratelimit-reset-tokens`, `ratelimit-resettime`, `x-ratelimit-next` and similar. If several quotas are spent,
///    the latest reset counts. A quota is spent if nothing remains of it; on a 429 that names no spent quota, also if
///    the head does not state the remainder.
///
/// If a header has several values, in several lines or folded into one, the latest time counts.
///
/// A number is a Unix time from 1,000,000,000 on: in seconds, and in milliseconds, microseconds or nanoseconds if it is
/// as large as one of today. The headers from 3 on hold a number in the unit that their name states (`-ms`,
/// `-milliseconds`, `-seconds`, `-minutes`; else seconds), a duration with units (`1m30s`), or a date; `t` of
/// `ratelimit` is never a Unix time, and `x-ratelimit-next` is always a point in time. A spent quota without a reset is
/// back after its policy's window. A quota of calls in flight (`concurrent-requests`) has no window: only its own `t`
/// counts.
///
/// A date is an HTTP-date, also with `UTC` or an offset in place of `GMT` or without a weekday, or an ISO 8601 date
/// with an offset.
///
/// A header that cannot be read is skipped and listed in [`ServerHints::unreadable`]. A time in the past asks for no
/// wait. Dates are relative to the time at the sender, which is the response's own `date` plus its `age`; if `date` is
/// missing, invalid or contradicts itself, to the wall clock.
///
/// # Source
///
/// RFC 9110 section 10.2.3 for `retry-after`, 5.3 for lists and 5.6.7 for dates; RFC 9111 section 4.2.3 for `age`;
/// draft-ietf-httpapi-ratelimit-headers for the quota headers, and for the precedence of `retry-after`; Azure, AWS and
/// OpenAI for the millisecond forms; Docker Hub and Cloud Foundry for Unix times; Traefik, Symfony, OpenSky,
/// BigCommerce, GitLab and Akamai for names of the third to the fifth kind.
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
/// assert_eq!(hints.header, Some("x-ratelimit-reset"));
/// assert_eq!(hints.quota.map(|quota| quota.remaining), Some(0));
/// assert!(hints.unreadable().eq(["retry-after"]));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerHints {
    /// The delay of `retry-after` or another header of the first four kinds, if any; if there are several, the first in
    /// the order above. It may be zero: the server allows a retry now.
    pub asked: Option<Duration>,
    /// The time until the spent quota is back, if one is spent and has a reset; if there are several, the latest.
    pub reset: Option<Duration>,
    /// The quota of requests; if there are several, the one with the least left. If a quota of requests or tokens is
    /// spent, nothing is left until the latest reset of the spent ones.
    ///
    /// `None` if no header states both the remainder and its reset. On a refusal the reset is no later than
    /// [`asked`](Self::asked).
    pub quota: Option<Quota>,
    /// The name of the header that sets [`ServerHints::delay`]. For an unusual header that names one of several quotas,
    /// only its prefix (`x-ratelimit-*`).
    pub header: Option<&'static str>,
    /// The headers that were skipped because they cannot be read.
    pub(crate) unreadable: HeaderSet,
}

impl ServerHints {
    /// Reads the head of a response with any status. `wall` is the time since 1970-01-01T00:00:00Z; dates are measured
    /// against it if the response has no valid `date` of its own.
    ///
    /// The work is bounded, whatever a server sends: 64 lines and values of a header, 1,024 bytes of a line.
    #[must_use]
    pub fn read(status: StatusCode, headers: &HeaderMap, wall: Duration) -> Self {
        let mut head = ResponseHead::new(headers, wall);
        // Most heads end here.
        if !head.has_quota {
            return Self {
                asked: head.asked.map(|asked| asked.delay),
                header: head.asked.map(|asked| asked.header.name()),
                unreadable: head.unreadable,
                ..Self::default()
            };
        }
        let quotas = quota::read(&mut head);
        let quota = quota::tightest(&quotas);
        let throttled = status == StatusCode::TOO_MANY_REQUESTS;
        let asked = head.asked.or(quota::asked(&quotas, throttled));
        let spent = quota::spent(&quotas, throttled);
        let delay = asked.map(|asked| asked.delay);
        Self {
            asked: delay,
            reset: spent.map(|spent| spent.delay),
            quota: quota.map(|quota| quota.after(status, delay)),
            // A quota that is back already asks for nothing.
            header: asked
                .or(spent.filter(|spent| !spent.delay.is_zero()))
                .map(|by| by.header.name()),
            unreadable: head.unreadable,
        }
    }

    /// Returns the delay that the head asks for, if any: [`ServerHints::asked`], else [`ServerHints::reset`] if that is
    /// not zero.
    #[must_use]
    pub fn delay(&self) -> Option<Duration> {
        self.asked.or(self.reset.filter(|reset| !reset.is_zero()))
    }

    /// Returns the names of the headers that were skipped because they cannot be read, in order of precedence. An
    /// unusual header that names one of several quotas is listed by its prefix: `x-ratelimit-*`.
    pub fn unreadable(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.unreadable.names()
    }
}

/// Returns `true` if a server's own retry time is present and readable, even if it is past. This part of reading needs
/// no clock.
pub(crate) fn is_invitation(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let known = Some(name_of(name)).filter(|name| may_be_a_hint(name));
        let form = known.and_then(names::delay).map(|(_, form)| form);
        form.is_some_and(|form| any_element(headers, name, &mut |text| form.read(text).is_some()))
    })
}

impl DelayForm {
    fn read(self, text: &str) -> Option<RetryTime> {
        match self {
            Self::RetryAfter => {
                let number = seconds(text).map(RetryTime::by_size);
                number.or_else(|| RetryTime::date(text))
            }
            Self::Milliseconds => millis(text).map(RetryTime::by_size),
            Self::Any(unit) => RetryTime::read(text, unit),
        }
    }
}

/// The most lines that are read of one header, and of all the headers together that each name one of several quotas.
const MAX_HEADER_LINES: usize = 64;
/// The most bytes of a line; a longer one cannot be read.
const MAX_HEADER_BYTES: usize = 1024;

/// Returns the text of a line, without surrounding whitespace.
#[inline(never)]
fn text(line: &HeaderValue) -> Option<&str> {
    let short = Some(line.as_bytes()).filter(|line| line.len() <= MAX_HEADER_BYTES)?;
    std::str::from_utf8(short).ok().map(str::trim_ascii)
}

/// A delay, and the header that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RequestedDelay {
    delay: Duration,
    header: Header,
}

/// A response's head, and the hints found so far.
struct ResponseHead<'a> {
    headers: &'a HeaderMap,
    wall: Duration,
    /// The time at the sender, once a point in time is met.
    now: OnceCell<Duration>,
    /// The number of elements that have been read of each header that names a delay.
    elements: [u8; DELAYS.len()],
    /// The delay of the first header that is readable and not in the past; of several elements, the latest.
    asked: Option<RequestedDelay>,
    readable: HeaderSet,
    unreadable: HeaderSet,
    has_quota: bool,
}

impl<'a> ResponseHead<'a> {
    /// Checks each name once. For most heads that is all the work.
    fn new(headers: &'a HeaderMap, wall: Duration) -> Self {
        let mut head = Self {
            headers,
            wall,
            now: OnceCell::new(),
            elements: [0; DELAYS.len()],
            asked: None,
            readable: HeaderSet::default(),
            unreadable: HeaderSet::default(),
            has_quota: false,
        };
        for (name, line) in headers {
            let name = name_of(name);
            if !may_be_a_hint(name) {
                continue;
            }
            match names::delay(name) {
                Some((header, form)) => head.read_delay(header, form, line),
                None => head.has_quota = head.has_quota || names_a_quota(name),
            }
        }
        // Those that are present but have no readable element.
        head.unreadable = head.unreadable.without(head.readable);
        head
    }

    /// Reads one more line of a header that names a delay.
    fn read_delay(&mut self, header: Header, form: DelayForm, line: &HeaderValue) {
        let before = self
            .elements
            .get(header.index())
            .copied()
            .unwrap_or_default();
        let left = MAX_ELEMENTS.saturating_sub(before.into());
        if left == 0 {
            return;
        }
        self.unreadable.add(header);
        let mut read = 0_u8;
        for text in text(line).into_iter().flat_map(split).take(left) {
            read = read.saturating_add(1);
            let Some(time) = form.read(text) else {
                continue;
            };
            self.readable.add(header);
            // A time in the past is readable, and asks for no wait.
            let asked = time.until(|| self.now());
            let asked = asked.map(|delay| RequestedDelay { delay, header });
            // The headers come in any order, but the first of `DELAYS` wins, and within one header the latest time.
            self.asked = match (self.asked, asked) {
                (Some(first), Some(asked)) if first.header == header => Some(first.max(asked)),
                (Some(first), Some(asked)) if first.header > header => Some(asked),
                (first, asked) => first.or(asked),
            };
        }
        // A line without an element counts too, so that the work is bounded.
        if let Some(all) = self.elements.get_mut(header.index()) {
            *all = before.saturating_add(read.max(1));
        }
    }

    /// Returns the time at the sender, which points in time are measured against.
    fn now(&self) -> Duration {
        *self.now.get_or_init(|| time_of(self.headers, self.wall))
    }

    /// Returns the lines of one header, with `None` for a line that cannot be read.
    fn lines(&self, name: &HeaderName) -> impl Iterator<Item = Option<&'a str>> {
        let lines = self.headers.get_all(name).iter();
        lines.take(MAX_HEADER_LINES).map(text)
    }

    /// Returns the lines of the headers that hold one number of a quota, with their names.
    fn quota_lines(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let lines = self.headers.iter();
        let lines = lines.map(|(name, line)| (name_of(name), line));
        let lines = lines.filter(|(name, _)| after_prefix(name).is_some());
        // After the filter: other headers do not use up the lines.
        lines
            .take(MAX_HEADER_LINES)
            .map(|(name, line)| (name, text(line)))
    }
}

/// Returns the text of a name. The table of the standard names, of 3 KB, is then in a program once, and not at each place
/// that reads a name.
#[inline(never)]
pub(crate) fn name_of(name: &HeaderName) -> &str {
    name.as_str()
}

/// Returns `true` if a head has a quota header. Reads the names only.
#[inline]
pub(crate) fn has_quota_header(headers: &HeaderMap) -> bool {
    let mut names = headers.keys().map(name_of);
    names.any(|name| may_be_a_hint(name) && names_a_quota(name))
}
