//! Points in time: their formats in headers, and the time until then.

use super::duration::{bare_seconds, spaced_duration};
use super::text;
use http::HeaderMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time at which a server allows a retry, as received. [`Verdict::asking`](crate::policy::Verdict::asking) takes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryTime {
    /// After this delay.
    In(Duration),
    /// At this time since 1970-01-01T00:00:00Z.
    At(Duration),
}

/// The number from which a reset is a Unix time in seconds: 2001-09-09, or a wait of more than 31 years.
const UNIX_SECONDS: u64 = 1_000_000_000;
/// The number from which a reset is a Unix time in milliseconds: 2001-09-09, or the year 33658 in seconds.
const UNIX_MILLISECONDS: u64 = 1_000_000_000_000;

impl RetryTime {
    /// Reads the reset of a quota: a number of seconds, or a Unix time, depending on its size; a duration with units,
    /// with or without blanks (`1m2.5s`, `1h 2m`); or a date.
    pub(super) fn reset(text: &str) -> Option<Self> {
        if let Some(delay) = bare_seconds(text) {
            return Some(match delay.as_secs() {
                count @ UNIX_MILLISECONDS.. => Self::At(Duration::from_millis(count)),
                UNIX_SECONDS.. => Self::At(delay),
                _ => Self::In(delay),
            });
        }
        let date = || rfc3339(text).or_else(|| http_date(text)).map(Self::At);
        spaced_duration(text).map(Self::In).or_else(date)
    }

    /// Returns the time left until then, or `None` if it is past.
    pub(super) fn until(self, now: impl FnOnce() -> Duration) -> Option<Duration> {
        match self {
            Self::In(delay) => Some(delay),
            Self::At(time) => time.checked_sub(now()),
        }
    }
}

/// The reference for points in time. It parses the response's `date` only if one of them is met.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    headers: &'a HeaderMap,
    wall: Duration,
}

impl<'a> Clock<'a> {
    pub(super) fn new(headers: &'a HeaderMap, wall: Duration) -> Self {
        Self { headers, wall }
    }

    /// Returns the response's own `date` if that is valid, else the wall clock.
    pub(super) fn now(&self) -> Duration {
        let own = self.headers.get(http::header::DATE).and_then(text);
        own.and_then(http_date).unwrap_or(self.wall)
    }
}

/// Parses an HTTP-date in any of its three_numbers forms into the time since 1970.
pub(super) fn http_date(text: &str) -> Option<Duration> {
    let time = httpdate::parse_http_date(text).ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    names_its_weekday(text, time).then_some(since)
}

/// Returns `true` if the weekday in a date is right. httpdate does not check it in all forms.
fn names_its_weekday(text: &str, time: SystemTime) -> bool {
    let right = httpdate::fmt_http_date(time);
    matches!((text.get(..3), right.get(..3)), (Some(own), Some(right)) if own == right)
}

/// Parses `2026-08-21T12:00:12Z`, with an optional fraction or offset, into the time since 1970. Returns `None` for
/// earlier times. Unlike RFC 3339, ISO 8601 allows the seconds to be omitted: `2026-08-21T12:00Z`.
pub(super) fn rfc3339(text: &str) -> Option<Duration> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let has_seconds = rest.get(6..7) == Some(":");
    let (clock, rest) = rest.split_at_checked(if has_seconds { 9 } else { 6 })?;
    let day = days(date)?;
    let clock = clock.strip_prefix(['T', 't', ' '])?;
    let [hour, minute, second] = if has_seconds {
        three_numbers(clock, ':', [2, 2, 2])?
    } else {
        three_numbers(&format!("{clock}:00"), ':', [2, 2, 2])?
    };
    // RFC 3339, section 5.7, allows second 60 for a leap second; it counts as the second after it.
    let valid = hour < 24 && minute < 60 && second <= 60;
    let (fraction, offset) = fraction(rest)?;
    let local = seconds_of_day(hour, minute)?
        .checked_add(second)?
        .checked_add(day.checked_mul(86_400)?)?;
    let utc = local.checked_add_signed(offset.checked_neg()?)?;
    valid.then(|| Duration::new(utc, fraction))
}

/// Returns the days since 1970.
fn days(date: &str) -> Option<u64> {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    const LENGTH: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let [year, month, day] = three_numbers(date, '-', [4, 2, 2])?;
    let index = usize::try_from(month.checked_sub(1)?).ok()?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = LENGTH
        .get(index)?
        .checked_add(u64::from(leap && month == 2))?;
    if day == 0 || day > length {
        return None;
    }
    let leaps = leap_years(year.checked_sub(1)?)?.checked_sub(leap_years(1969)?)?;
    let in_year = BEFORE
        .get(index)?
        .checked_add(u64::from(leap && month > 2))?;
    // Fails for earlier years, since a `Duration` is not negative.
    let years = year.checked_sub(1970)?.checked_mul(365)?;
    years
        .checked_add(leaps)?
        .checked_add(in_year)?
        .checked_add(day.checked_sub(1)?)
}

/// Returns the number of leap years up to and including this one.
fn leap_years(year: u64) -> Option<u64> {
    (year / 4).checked_sub(year / 100)?.checked_add(year / 400)
}

fn seconds_of_day(hour: u64, minute: u64) -> Option<u64> {
    hour.checked_mul(3_600)?
        .checked_add(minute.checked_mul(60)?)
}

/// Parses the nanoseconds of `.25` and the seconds of the offset after it.
fn fraction(text: &str) -> Option<(u32, i64)> {
    let Some(digits) = text.strip_prefix('.') else {
        return Some((0, offset(text)?));
    };
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    let (places, rest) = digits.split_at_checked(end)?;
    let nine: String = places.chars().chain("000000000".chars()).take(9).collect();
    let fraction = nine.parse().ok().filter(|_| end > 0)?;
    Some((fraction, offset(rest)?))
}

fn offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let sign = match text.get(..1)? {
        "+" => 1_i64,
        "-" => -1,
        _ => return None,
    };
    let zone = text.get(1..)?;
    // RFC 3339 requires the colon, ISO 8601 does not.
    let (hour, minute) = zone.split_once(':').or_else(|| zone.split_at_checked(2))?;
    let (hour, minute) = (number(hour, 2)?, number(minute, 2)?);
    let seconds = i64::try_from(seconds_of_day(hour, minute)?).ok()?;
    (hour < 24 && minute < 60).then(|| seconds.saturating_mul(sign))
}

fn three_numbers(text: &str, between: char, widths: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let [first, second, third] = widths;
    let all = [
        number(parts.next()?, first)?,
        number(parts.next()?, second)?,
        number(parts.next()?, third)?,
    ];
    parts.next().is_none().then_some(all)
}

fn number(text: &str, width: usize) -> Option<u64> {
    // `parse` alone accepts a sign, as in `+026`.
    let fits = text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> Option<u128> {
        rfc3339(text).map(|time| time.as_millis())
    }

    #[test]
    fn a_time_is_read_with_its_fraction_and_offset() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-08-21T12:00:12Z", 1_787_313_612_000),
            ("2026-08-21t12:00:12.25z", 1_787_313_612_250),
            ("2026-08-21 14:00:12+02:00", 1_787_313_612_000),
            ("2026-08-21T06:30:12-05:30", 1_787_313_612_000),
            ("2026-08-21T06:30:12-0530", 1_787_313_612_000),
            ("2026-08-21T12:00Z", 1_787_313_600_000),
            ("2026-08-21T14:00+02:00", 1_787_313_600_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("2100-03-01T00:00:00Z", 4_107_542_400_000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("9999-12-31T23:59:59.9999999999999Z", 253_402_300_799_999),
        ] {
            assert_eq!(millis(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn an_invalid_date_is_rejected() {
        for text in [
            "",
            "2026-08-21",
            "2026-08-21T12:00:12",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-08-32T00:00:00Z",
            "2026-08-21T24:00:00Z",
            "2026-08-21T12:60:00Z",
            "2026-08-21T12:00:61Z",
            "2026-08-21T12:00:12.Z",
            "2026-08-21T12:00:12.5",
            "2026-08-21T12:00:12+2:00",
            "2026-08-21T12:00:12+02",
            "2026-08-21T12:00:12+02000",
            "2026-08-21T12:00:12+24:00",
            "2026-08-21T12:00:12ZZ",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+01:00",
            "+026-08-21T12:00:12Z",
            "2026-08-2\u{e9}T12:00:12Z",
        ] {
            assert_eq!(rfc3339(text), None, "{text}");
        }
    }
}
