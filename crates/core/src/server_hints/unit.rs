//! The units of a service's own numbers and dates.

use super::date::{RetryTime, http_date, iso8601};
use super::duration::{MILLISECOND, MINUTE, SECOND, bare, header_duration};

/// The unit of a number or a date that names a retry time.
///
/// A row of a dialect states it for a location that its service uses (`Interpretation::delay`). Decimals count, and are
/// rounded up to the millisecond. A duration with its own units, such as `1m30s`, is read as such with [`Unit::S`],
/// [`Unit::Ms`], [`Unit::Min`] and [`Unit::Auto`]. A number with a sign or an exponent, and any other word, cannot be
/// read. A time in the past asks for no wait.
///
/// ```
/// use http_retry::dialect::{Interpretation, Location};
/// use http_retry::policy::Unit;
///
/// // {"error": {"wait_ms": 1500}}
/// let slow = Interpretation::throttled().delay(Location::json("/error/wait_ms"), Unit::Ms);
/// ```
///
/// # Source
///
/// RFC 3339 for ISO 8601 dates, RFC 9110 section 5.6.7 for HTTP dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Seconds from now.
    S,
    /// Milliseconds from now.
    Ms,
    /// Minutes from now.
    Min,
    /// Seconds since 1970-01-01T00:00:00Z.
    Unix,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    UnixMs,
    /// An ISO 8601 date with an offset, such as `2026-08-21T12:00:12Z`; the seconds may be omitted.
    Iso,
    /// An HTTP-date, such as `Fri, 21 Aug 2026 12:00:12 GMT`, also with `UTC` or an offset, or without a weekday.
    HttpDate,
    /// Any format that is accepted for the reset of a quota: a number, depending on its size (seconds; a Unix time from
    /// 1,000,000,000 on, also in milliseconds, microseconds or nanoseconds), a duration with units, or a date of either
    /// kind.
    Auto,
}

impl Unit {
    /// All units by name, for parsers of documents: `s`, `ms`, `min`, `unix`, `unix_ms`, `iso`, `http_date`, `auto`.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("s", Self::S),
        ("ms", Self::Ms),
        ("min", Self::Min),
        ("unix", Self::Unix),
        ("unix_ms", Self::UnixMs),
        ("iso", Self::Iso),
        ("http_date", Self::HttpDate),
        ("auto", Self::Auto),
    ];

    /// Parses a retry time. Returns `None` if the text cannot be read in this unit.
    ///
    /// ```
    /// use http_retry::policy::Unit;
    /// use http_retry_core::reading::RetryTime;
    /// use std::time::Duration;
    ///
    /// let delay = Duration::from_millis(1500);
    /// assert_eq!(Unit::Ms.read("1500"), Some(RetryTime::In(delay)));
    /// assert_eq!(Unit::S.read("soon"), None);
    /// ```
    #[must_use]
    pub fn read(self, text: &str) -> Option<RetryTime> {
        let text = text.trim_ascii();
        let within = |unit| bare(text, unit).or_else(|| header_duration(text));
        match self {
            Self::S => within(SECOND).map(RetryTime::In),
            Self::Ms => within(MILLISECOND).map(RetryTime::In),
            Self::Min => within(MINUTE).map(RetryTime::In),
            Self::Unix => bare(text, SECOND).map(RetryTime::At),
            Self::UnixMs => bare(text, MILLISECOND).map(RetryTime::At),
            Self::Iso => iso8601(text).map(RetryTime::At),
            Self::HttpDate => http_date(text).map(RetryTime::At),
            Self::Auto => RetryTime::read(text, SECOND),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_number_counts_in_its_unit_and_is_rounded_up() {
        let ms = Duration::from_millis;
        for (unit, text, wanted) in [
            (Unit::S, "64.57", RetryTime::In(ms(64_570))),
            (Unit::S, "34s", RetryTime::In(ms(34_000))),
            (Unit::S, " 2 ", RetryTime::In(ms(2_000))),
            (Unit::Ms, "600000", RetryTime::In(ms(600_000))),
            (Unit::Ms, "0.1", RetryTime::In(ms(1))),
            (Unit::Ms, "1.5s", RetryTime::In(ms(1_500))),
            (Unit::Min, "2", RetryTime::In(ms(120_000))),
            (
                Unit::Unix,
                "1787313700",
                RetryTime::At(ms(1_787_313_700_000)),
            ),
            (
                Unit::UnixMs,
                "1787313700250",
                RetryTime::At(ms(1_787_313_700_250)),
            ),
            (
                Unit::Iso,
                "2026-08-21T12:00Z",
                RetryTime::At(ms(1_787_313_600_000)),
            ),
            (
                Unit::HttpDate,
                "Fri, 21 Aug 2026 12:00:12 GMT",
                RetryTime::At(ms(1_787_313_612_000)),
            ),
            (
                Unit::Auto,
                "1787313700250",
                RetryTime::At(ms(1_787_313_700_250)),
            ),
            (Unit::Auto, "90", RetryTime::In(ms(90_000))),
        ] {
            assert_eq!(unit.read(text), Some(wanted), "{unit:?} {text}");
        }
    }

    #[test]
    fn text_that_is_no_time_in_the_unit_is_rejected() {
        for (_, unit) in Unit::NAMES {
            for text in ["", "-1", "+1", "soon", "1e3", "null", "1 2"] {
                assert_eq!(unit.read(text), None, "{unit:?} {text}");
            }
        }
        assert_eq!(Unit::Unix.read("12s"), None);
    }
}
