//! HTTP-dates.

use super::calendar::{days, leading, number, offset, second_of_day, utc};
use std::time::Duration;

const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The most words of a date.
const MAX_WORDS: usize = 6;

/// Parses an HTTP-date into the time since 1970, or `None` for an earlier one and if its weekday is wrong.
///
/// It reads the three forms of RFC 9110 section 5.6.7, and what servers in use write besides: `UTC` or an offset in
/// place of `GMT`, no weekday, one digit for the day, four for the year of the form with dashes, and a time zone in the
/// form of `asctime`. Without a time zone only that form is a date.
pub(in crate::server_hints) fn http_date(text: &str) -> Option<Duration> {
    let mut words = text.split_ascii_whitespace();
    let first = words.next()?;
    let weekday = weekday(first.strip_suffix(',').unwrap_or(first));
    // Without a weekday, the first word is a part of the date. A text with more words than places is none.
    let mut all = [""; MAX_WORDS];
    let mut places = all.iter_mut();
    if weekday.is_none() {
        *places.next()? = first;
    }
    for word in words {
        *places.next()? = word;
    }
    let (date, time, zone) = match all {
        [dashed, time, zone, "", ..] => {
            let mut parts = dashed.splitn(3, '-');
            let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
            let year = full_year(year).or_else(|| short_year(year));
            (date(day, month, year)?, time, zone)
        }
        [month, day, time, year, "", _] if weekday.is_some() => {
            (date(day, month, full_year(year))?, time, "GMT")
        }
        [month, day, time, zone, year, ""] if weekday.is_some() && time.contains(':') => {
            (date(day, month, full_year(year))?, time, zone)
        }
        [day, month, year, time, zone, ""] => (date(day, month, full_year(year))?, time, zone),
        _ => return None,
    };
    // 1970 began on a Thursday.
    let own = usize::try_from(date.checked_add(4)? % 7).ok()?;
    let is_right = weekday.is_none_or(|weekday| weekday == own);
    let seconds = utc(date, time_of_day(time)?, offset(zone)?)?;
    is_right.then(|| Duration::from_secs(seconds))
}

/// Returns `true` if a text is the name of a weekday, after which a date has a comma.
pub(in crate::server_hints) fn is_weekday(text: &str) -> bool {
    WEEKDAYS
        .iter()
        .any(|name| text.eq_ignore_ascii_case(name) || text.eq_ignore_ascii_case(short(name)))
}

/// Returns the number of a weekday from its full or its short name.
fn weekday(name: &str) -> Option<usize> {
    WEEKDAYS
        .iter()
        .position(|full| name == *full || name == short(full))
}

fn short(weekday: &str) -> &str {
    weekday.get(..3).unwrap_or(weekday)
}

/// Returns the days since 1970.
fn date(day: &str, month: &str, year: Option<u64>) -> Option<u64> {
    let month = MONTHS.iter().position(|name| *name == month)?;
    let month = u64::try_from(month).ok()?.checked_add(1)?;
    let day = number(day, 2).or_else(|| number(day, 1))?;
    days(year?, month, day)
}

fn full_year(year: &str) -> Option<u64> {
    number(year, 4)
}

/// Returns the year of two digits. The form is obsolete, and so are its dates: none is later than 2069.
fn short_year(year: &str) -> Option<u64> {
    let year = number(year, 2)?;
    year.checked_add(if year < 70 { 2000 } else { 1900 })
}

/// Parses `12:00:12`. As in mail, the seconds may be omitted.
fn time_of_day(time: &str) -> Option<u64> {
    let (hour, rest) = leading(time, 2)?;
    let (minute, rest) = leading(rest.strip_prefix(':')?, 2)?;
    let second = match rest {
        "" => 0,
        rest => number(rest.strip_prefix(':')?, 2)?,
    };
    second_of_day(hour, minute, second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn a_date_is_read_in_every_form() {
        for text in [
            "Fri, 21 Aug 2026 12:00:12 GMT",
            "Friday, 21-Aug-26 12:00:12 GMT",
            "Fri Aug 21 12:00:12 2026",
            "Fri, 21 Aug 2026 12:00:12 UTC",
            "Fri Aug 21 12:00:12 UTC 2026",
            "Fri Aug 21 14:00:12 +0200 2026",
            "Fri, 21 Aug 2026 12:00:12 +0000",
            "Fri, 21 Aug 2026 12:00:12 -0000",
            "Fri, 21 Aug 2026 14:00:12 +0200",
            "Fri, 21 Aug 2026 12:00:12 Z",
            "Fri 21 Aug 2026 12:00:12 GMT",
            "21 Aug 2026 12:00:12 GMT",
            "21 Aug 2026 12:00:12 UTC",
            "Fri, 21-Aug-2026 12:00:12 GMT",
            "21-Aug-26 12:00:12 UTC",
        ] {
            let read = http_date(text).map(|time| time.as_secs());
            assert_eq!(read, Some(1_787_313_612), "{text}");
        }
        for (text, seconds) in [
            ("Mon, 3 Jun 2019 12:00:00 UTC", 1_559_563_200),
            ("Mon Jun  3 11:30:12 2019", 1_559_561_412),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Fri, 21 Aug 2026 12:00 GMT", 1_787_313_600),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thursday, 01-Jan-70 00:00:00 GMT", 0),
            ("Tuesday, 31-Dec-69 23:59:59 GMT", 3_155_759_999),
        ] {
            let read = http_date(text).map(|time| time.as_secs());
            assert_eq!(read, Some(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_rejected() {
        for text in [
            "",
            "GMT",
            "Fri,",
            "Sat, 21 Aug 2026 12:00:12 GMT",
            "Saturday, 21-Aug-26 12:00:12 GMT",
            "Sat Aug 21 12:00:12 2026",
            "Fri, 21 Aug 2026 12:00:12",
            "21 Aug 2026 12:00:12",
            "Aug 21 12:00:12 2026",
            "Fri Aug 21 2026 12:00:12 GMT",
            "Fri, 32 Aug 2026 12:00:12 GMT",
            "Mon, 29 Feb 2027 00:00:00 GMT",
            "Fri, 21 aug 2026 12:00:12 GMT",
            "fri, 21 Aug 2026 12:00:12 GMT",
            "Fri, 21 Aug 26 12:00:12 GMT",
            "Fri, 21 Aug 2026 24:00:00 GMT",
            "Fri, 21 Aug 2026 12:00:12 CET",
            "Fri Aug 21 12:00:12 CEST 2026",
            "Aug 21 12:00:12 UTC 2026",
            "Fri, 21 Aug 2026 12:00:12 GMT more",
            "Fri, 21 Aug 2026 12:00:12 GMT and more",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Thu, 01 Jan 1970 00:00:00 +0100",
            "Fri, 2\u{e9} Aug 2026 12:00:12 GMT",
        ] {
            assert_eq!(http_date(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_has_its_weekday() {
        for day in 0..100_000_u64 {
            let time = Duration::from_secs(day.saturating_mul(86_400));
            let text = httpdate::fmt_http_date(UNIX_EPOCH + time);
            assert_eq!(http_date(&text), Some(time), "{text}");
        }
    }
}
