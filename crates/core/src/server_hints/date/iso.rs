//! ISO 8601 dates.

use super::calendar::{days, leading, offset, second_of_day, utc};
use std::time::Duration;

/// Parses a date of RFC 3339, `2026-08-21T12:00:12Z`, with an optional fraction or offset, into the time since 1970.
/// Returns `None` for earlier times, and without an offset, since the local time of a server is not known.
///
/// It also reads what ISO 8601 and programs in use write: no seconds (`2026-08-21T12:00Z`), no separators
/// (`20260821T120012Z`), a blank before the offset or the name of UTC (`2026-08-21 12:00:12 +0000`), and the name of
/// the zone behind its offset (`+0800 CST`, as Go writes a time).
pub(in crate::server_hints) fn iso8601(text: &str) -> Option<Duration> {
    let (year, rest) = leading(text, 4)?;
    let separated = rest.starts_with('-');
    let (dash, colon) = if separated { ("-", ":") } else { ("", "") };
    let (month, rest) = part(rest, dash)?;
    let (day, rest) = part(rest, dash)?;
    let (hour, rest) = leading(rest.strip_prefix(['T', 't', ' '])?, 2)?;
    let (minute, rest) = part(rest, colon)?;
    let (second, rest) = part(rest, colon).unwrap_or((0, rest));
    let (fraction, zone) = fraction(rest)?;
    let offset = offset(without_name(zone.trim_ascii_start()))?;
    let second = second_of_day(hour, minute, second)?;
    let seconds = utc(days(year, month, day)?, second, offset)?;
    Some(Duration::new(seconds, fraction))
}

/// Splits off a separator and two digits.
fn part<'a>(text: &'a str, separator: &str) -> Option<(u64, &'a str)> {
    leading(text.strip_prefix(separator)?, 2)
}

/// Removes the name of a zone behind its offset.
fn without_name(zone: &str) -> &str {
    let named = zone.split_once(' ');
    let named = named.filter(|(_, name)| name.bytes().all(|byte| byte.is_ascii_uppercase()));
    named.map_or(zone, |(offset, _)| offset)
}

/// Splits off the nanoseconds of `.25`.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(digits) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let end = digits.find(|c: char| !c.is_ascii_digit())?;
    let (places, rest) = digits.split_at_checked(end)?;
    let nine: String = places.chars().chain("000000000".chars()).take(9).collect();
    let fraction = nine.parse().ok().filter(|_| end > 0)?;
    Some((fraction, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> Option<u128> {
        iso8601(text).map(|time| time.as_millis())
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
            ("2026-08-21T14:00:12+02", 1_787_313_612_000),
            ("2026-08-21T12:00Z", 1_787_313_600_000),
            ("2026-08-21T14:00+02:00", 1_787_313_600_000),
            ("20260821T120012Z", 1_787_313_612_000),
            ("20260821T1200Z", 1_787_313_600_000),
            ("20260821T140012.5+0200", 1_787_313_612_500),
            ("2026-08-21 12:00:12 UTC", 1_787_313_612_000),
            ("2026-08-21 14:00:12.25 +0200", 1_787_313_612_250),
            ("2026-08-21 12:00:12 +0000 UTC", 1_787_313_612_000),
            ("2026-08-21 20:00:12.5 +0800 CST", 1_787_313_612_500),
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
            "2026-08-21T12:00:12+020",
            "2026-08-21T12:00:12+02000",
            "2026-08-21T12:00:12+24:00",
            "2026-08-21T12:00:12ZZ",
            "2026-08-21 12:00:12 UTC 1",
            "2026-08-21 12:00:12 CST",
            "2026-08-21 12:00:12 +0000 utc or so",
            "2026-08-21T1200Z",
            "20260821T12:00Z",
            "2026-0821T12:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+01:00",
            "+026-08-21T12:00:12Z",
            "2026-08-2\u{e9}T12:00:12Z",
        ] {
            assert_eq!(iso8601(text), None, "{text}");
        }
    }
}
