//! Points in time: their formats in headers, and the time until then.

mod calendar;
mod http_date;
mod iso;

pub(super) use http_date::{http_date, is_weekday};
pub(super) use iso::iso8601;

use super::duration::{bare, digits, spaced_duration};
use super::list::any_element;
use http::HeaderMap;
use http::header::{AGE, DATE};
use std::time::Duration;

/// A time at which a server allows a retry, as received. [`Verdict::asking_for`](crate::policy::Verdict::asking_for)
/// takes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryTime {
    /// After this delay.
    In(Duration),
    /// At this time since 1970-01-01T00:00:00Z.
    At(Duration),
}

/// As a delay.
impl From<Duration> for RetryTime {
    fn from(delay: Duration) -> Self {
        Self::In(delay)
    }
}

/// The number of seconds from which a number is a Unix time: 2001-09-09, or a wait of more than 31 years.
const UNIX_SECONDS: u64 = 1_000_000_000;
/// The number from which a Unix time is in milliseconds: 2001-09-09, or the year 33658 in seconds. Those in
/// microseconds and nanoseconds begin a thousand times later each.
const UNIX_MILLISECONDS: u64 = 1_000 * UNIX_SECONDS;
const UNIX_MICROSECONDS: u64 = 1_000 * UNIX_MILLISECONDS;
const UNIX_NANOSECONDS: u64 = 1_000 * UNIX_MICROSECONDS;

impl RetryTime {
    /// Reads a time in any form: a number in this unit, or a Unix time if it is as large as one; a duration with units,
    /// with or without blanks (`1m2.5s`, `1h 2m`); or a date.
    pub(super) fn read(text: &str, unit: u128) -> Option<Self> {
        let number = bare(text, unit).map(Self::by_size);
        let duration = || spaced_duration(text).map(Self::In);
        number.or_else(duration).or_else(|| Self::date(text))
    }

    /// Reads a date in any form.
    pub(super) fn date(text: &str) -> Option<Self> {
        iso8601(text).or_else(|| http_date(text)).map(Self::At)
    }

    /// Returns the time that a number of seconds names: a delay, or a Unix time from 1,000,000,000 on, in seconds,
    /// milliseconds, microseconds or nanoseconds. A number with too many digits stays a delay, the longest.
    #[inline(never)]
    pub(super) fn by_size(number: Duration) -> Self {
        let unix = match number.as_secs() {
            _ if number == Duration::MAX => None,
            0..UNIX_SECONDS => None,
            UNIX_SECONDS..UNIX_MILLISECONDS => Some(number),
            UNIX_MILLISECONDS..UNIX_MICROSECONDS => number.checked_div(1_000),
            UNIX_MICROSECONDS..UNIX_NANOSECONDS => number.checked_div(1_000_000),
            UNIX_NANOSECONDS.. => number.checked_div(1_000_000_000),
        };
        unix.map_or(Self::In(number), Self::At)
    }

    /// Returns the time left until then, or `None` if it is past.
    pub(super) fn until(self, now: impl FnOnce() -> Duration) -> Option<Duration> {
        match self {
            Self::In(delay) => Some(delay),
            Self::At(time) => time.checked_sub(now()),
        }
    }
}

/// Returns the time at the sender of a response: its own `date` and its `age` if the date is valid, else the wall clock.
pub(crate) fn time_of(headers: &HeaderMap, wall: Duration) -> Duration {
    let sent = date_of(headers);
    sent.map_or(wall, |sent| sent.saturating_add(age_of(headers)))
}

/// Returns the time of a response's `date`. A date that contradicts itself is none.
fn date_of(headers: &HeaderMap) -> Option<Duration> {
    let mut date = None;
    let contradicts = any_element(headers, &DATE, &mut |text| match RetryTime::date(text) {
        Some(RetryTime::At(time)) => *date.get_or_insert(time) != time,
        _ => false,
    });
    date.filter(|_| !contradicts)
}

/// Returns the time that a response has spent in caches (RFC 9111 section 4.2.3): its first value, as section 5.1
/// recommends.
fn age_of(headers: &HeaderMap) -> Duration {
    let mut seconds = None;
    any_element(headers, &AGE, &mut |text| {
        seconds = match digits(text) {
            ("", _) => None,
            (all, "") => Some(all.parse().unwrap_or(u64::MAX)),
            _ => None,
        };
        true
    });
    seconds.map_or(Duration::ZERO, Duration::from_secs)
}
