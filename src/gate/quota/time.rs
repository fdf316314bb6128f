//! The forms in which a reset is written.

use crate::server_hints::{rfc3339, until_reset};
use std::time::Duration;

/// The time until a reset: seconds, a Unix time by its size, a duration with units (`1m2.5s`), or a date of RFC 3339.
/// What lies in the past is no reset.
pub(super) fn until(text: &str, now: Duration) -> Option<Duration> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return until_reset(text.parse().ok()?, now);
    }
    match text.contains(['T', 't']) {
        true => rfc3339(text)?.checked_sub(now),
        false => units(text).or_else(|| decimal(text, Duration::from_secs(1))),
    }
}

/// `6m0s`, `1h2m`, `59.7s`, `20ms`.
fn units(text: &str) -> Option<Duration> {
    const MOST_PARTS: usize = 6;
    let mut rest = text;
    let mut sum = Duration::ZERO;
    for _ in 0..MOST_PARTS {
        let number = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (value, behind) = rest.split_at_checked(number)?;
        let end = behind.find(|letter: char| letter.is_ascii_digit() || letter == '.');
        let (unit, next) = behind.split_at_checked(end.unwrap_or(behind.len()))?;
        sum = sum.checked_add(decimal(value, of(unit)?)?)?;
        rest = next;
        if rest.is_empty() {
            return Some(sum);
        }
    }
    None
}

fn of(unit: &str) -> Option<Duration> {
    const SECONDS: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];
    match unit.trim() {
        "ms" => Some(Duration::from_millis(1)),
        "us" | "µs" => Some(Duration::from_micros(1)),
        "ns" => Some(Duration::from_nanos(1)),
        unit => {
            let (_, seconds) = SECONDS.iter().find(|(name, _)| *name == unit)?;
            Some(Duration::from_secs(*seconds))
        }
    }
}

/// So many units, with at most nine decimal places.
fn decimal(text: &str, unit: Duration) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let mut sum = unit.checked_mul(whole.parse().ok()?)?;
    let mut place = unit;
    for digit in fraction.bytes().take(9) {
        place = place.checked_div(10)?;
        let digit = u32::from(digit.wrapping_sub(b'0'));
        sum = sum.checked_add(place.checked_mul(digit)?)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: Duration = Duration::from_secs(1_800_000_000);

    fn millis(text: &str) -> Option<u64> {
        until(text, WALL).map(|wait| u64::try_from(wait.as_millis()).unwrap())
    }

    #[test]
    fn durations_with_units() {
        for (text, expected) in [
            ("20s", 20_000),
            ("6m0s", 360_000),
            ("59.70175s", 59_701),
            ("2m59.56s", 179_560),
            ("20ms", 20),
            ("1h2m3s", 3_723_000),
            ("1.5", 1_500),
            ("0", 0),
            ("500us", 0),
            ("1d", 86_400_000),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "s",
            "1x",
            "1s2",
            ".5s",
            "1..5s",
            "1 hour",
            "+5",
            "99999999999h",
            "1s1s1s1s1s1s1s",
        ] {
            assert_eq!(millis(text), None, "{text}");
        }
    }

    #[test]
    fn dates_and_unix_times_are_measured_against_the_wall_clock() {
        for (text, expected) in [
            ("2027-01-15T08:00:12Z", 12_000),
            ("2027-01-15T08:00:12.250Z", 12_250),
            ("2027-01-15T09:00:12+01:00", 12_000),
            ("2027-01-15T03:00:12-05:00", 12_000),
            ("1800000007", 7_000),
            ("1800000007000", 7_000),
            ("2028-02-29T00:00:00Z", 35_395_200_000),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for text in [
            "2027-01-15T07:59:59Z",
            "1700000000",
            "2027-01-15T08:00:12",
            "2027-13-15T08:00:12Z",
            "T",
            "éT",
            "2027-01-15T08:00:12+0100",
            "2027-01-15 T8:00:12Z",
        ] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
