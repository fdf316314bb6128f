//! What a number or a date of a service's own counts in.

use super::date::{When, http_date, rfc3339};
use super::duration::{MILLISECOND, MINUTE, SECOND, bare, header_duration};
use std::time::Duration;

/// What a number or a date counts in that says when to come back.
///
/// A row of a dialect says it of a place that its service uses ([`Meaning::delay`](crate::dialect::Meaning::delay)).
/// Decimals count, and are rounded up to the millisecond. A duration that names its own units, such as `1m30s`, is read
/// as such under [`Unit::S`], [`Unit::Ms`], [`Unit::Min`] and [`Unit::Auto`]. A number with a sign or an
/// exponent, and any other word, cannot be read. A time that is past asks for no wait.
///
/// ```
/// use http_retry::dialect::{At, Meaning};
/// use http_retry::policy::Unit;
///
/// // {"error": {"wait_ms": 1500}}
/// let slow = Meaning::throttled().delay(At::json("/error/wait_ms"), Unit::Ms);
/// ```
///
/// # Source
///
/// RFC 3339 for dates of ISO 8601, RFC 9110 section 5.6.7 for those of HTTP.
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
    /// A date of ISO 8601 with its offset, such as `2026-08-21T12:00:12Z`; the seconds may be left out.
    Iso,
    /// A date as HTTP writes it, such as `Fri, 21 Aug 2026 12:00:12 GMT`.
    HttpDate,
    /// A number by its size (seconds; a Unix time from 1,000,000,000 on, in milliseconds from 1,000,000,000,000 on), a
    /// duration with units, or a date of either kind: what the reset of a quota is read as.
    Auto,
}

impl Unit {
    /// All units by their names, for a reader of documents: `s`, `ms`, `min`, `unix`, `unix_ms`, `iso`, `http_date`, `auto`.
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

    /// When a text says to come back, if it can be read in this unit.
    pub(crate) fn read(self, text: &str) -> Option<When> {
        let text = text.trim_ascii();
        let within = |unit| bare(text, unit).or_else(|| header_duration(text));
        match self {
            Self::S => within(SECOND).map(When::In),
            Self::Ms => within(MILLISECOND).map(When::In),
            Self::Min => within(MINUTE).map(When::In),
            Self::Unix => bare(text, SECOND).map(When::At),
            Self::UnixMs => bare(text, MILLISECOND).map(When::At),
            Self::Iso => rfc3339(text).map(When::At),
            Self::HttpDate => http_date(text).map(When::At),
            Self::Auto => When::reset(text),
        }
    }
}

impl When {
    /// The time from now and the time since 1970, of which it is one.
    pub(crate) fn parts(self) -> (Option<Duration>, Option<Duration>) {
        match self {
            Self::In(delay) => (Some(delay), None),
            Self::At(time) => (None, Some(time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_in_its_unit_and_is_rounded_up() {
        let ms = Duration::from_millis;
        for (unit, text, wanted) in [
            (Unit::S, "64.57", When::In(ms(64_570))),
            (Unit::S, "34s", When::In(ms(34_000))),
            (Unit::S, " 2 ", When::In(ms(2_000))),
            (Unit::Ms, "600000", When::In(ms(600_000))),
            (Unit::Ms, "0.1", When::In(ms(1))),
            (Unit::Ms, "1.5s", When::In(ms(1_500))),
            (Unit::Min, "2", When::In(ms(120_000))),
            (Unit::Unix, "1787313700", When::At(ms(1_787_313_700_000))),
            (
                Unit::UnixMs,
                "1787313700250",
                When::At(ms(1_787_313_700_250)),
            ),
            (
                Unit::Iso,
                "2026-08-21T12:00Z",
                When::At(ms(1_787_313_600_000)),
            ),
            (
                Unit::HttpDate,
                "Fri, 21 Aug 2026 12:00:12 GMT",
                When::At(ms(1_787_313_612_000)),
            ),
            (Unit::Auto, "1787313700250", When::At(ms(1_787_313_700_250))),
            (Unit::Auto, "90", When::In(ms(90_000))),
        ] {
            assert_eq!(unit.read(text), Some(wanted), "{unit:?} {text}");
        }
    }

    #[test]
    fn what_is_no_such_number_says_nothing() {
        for (_, unit) in Unit::NAMES {
            for text in ["", "-1", "+1", "soon", "1e3", "null", "1 2"] {
                assert_eq!(unit.read(text), None, "{unit:?} {text}");
            }
        }
        assert_eq!(Unit::Unix.read("12s"), None);
    }
}
