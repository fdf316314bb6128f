//! When a spent quota is full again, by the headers that name it.

use super::date::rfc3339;
use super::duration::header_duration;
use super::server_delay::{UNIX_MILLISECONDS, UNIX_SECONDS};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::time::Duration;

/// The longest time to a reset among the quotas of which nothing remains, from `x-ratelimit-reset-tokens`,
/// `anthropic-ratelimit-requests-reset` and the like; none where no quota is spent.
///
/// The reset of a quota that is not spent is the time until it is full, and nothing to wait for. A 429 that does not say
/// what remains of any quota means all those that it names.
pub(super) fn quota_reset(
    status: StatusCode,
    headers: &HeaderMap,
    now: Duration,
) -> Option<Duration> {
    headers.keys().find_map(reset_name)?;
    let longest = |wanted: Level| {
        let resets = headers.iter().filter_map(|(name, value)| {
            let stem = reset_name(name)?;
            (level(headers, stem) == wanted).then(|| until(value, now))?
        });
        resets.max()
    };
    longest(Level::Spent).or_else(|| {
        let throttled = status == StatusCode::TOO_MANY_REQUESTS;
        throttled.then(|| longest(Level::Unknown))?
    })
}

const RESET: &str = "reset";
/// What is left of a quota.
#[derive(PartialEq, Eq)]
enum Level {
    Spent,
    Left,
    Unknown,
}

fn reset_name(name: &HeaderName) -> Option<&str> {
    const PREFIXES: [&str; 5] = [
        "x-ratelimit-",
        "x-rate-limit-",
        "anthropic-ratelimit-",
        "ratelimitbysize-",
        "x-ratelimitbysize-",
    ];
    let name = name.as_str();
    // The standard header is read as digits alone.
    let is_quota =
        name != "x-ratelimit-reset" && PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    (is_quota && name.split('-').any(|part| part == RESET)).then_some(name)
}

/// What the headers beside a reset say: `...-remaining-...`, or `...-status-...` where a quota has no number.
fn level(headers: &HeaderMap, reset: &str) -> Level {
    let beside = |part: &str| {
        let parts = reset
            .split('-')
            .map(|own| if own == RESET { part } else { own });
        let name = parts.collect::<Vec<_>>().join("-");
        let text = headers.get(name)?.to_str().ok()?;
        Some(text.trim().to_ascii_lowercase())
    };
    let remaining = beside("remaining").filter(|text| !text.is_empty());
    match (remaining, beside("status")) {
        (Some(count), _) if count.bytes().all(|digit| digit == b'0') => Level::Spent,
        (Some(_), _) => Level::Left,
        (None, Some(status)) if status == "rejected" => Level::Spent,
        (None, Some(status)) if status.starts_with("allowed") => Level::Left,
        (None, _) => Level::Unknown,
    }
}

/// The time to a reset; one that is past is none.
fn until(value: &HeaderValue, now: Duration) -> Option<Duration> {
    let text = std::str::from_utf8(value.as_bytes()).ok()?.trim();
    if let Some(time) = rfc3339(text) {
        return time.checked_sub(now);
    }
    let delay = header_duration(text)?;
    let bare = text.bytes().all(|b| b == b'.' || b.is_ascii_digit());
    match delay.as_secs() {
        count @ UNIX_MILLISECONDS.. if bare => Duration::from_millis(count).checked_sub(now),
        UNIX_SECONDS.. if bare => delay.checked_sub(now),
        _ => Some(delay),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_787_313_600);

    fn at(status: u16, lines: &[(&'static str, &'static str)]) -> Option<u128> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let status = StatusCode::from_u16(status).unwrap();
        quota_reset(status, &headers, NOW).map(|delay| delay.as_millis())
    }

    #[test]
    fn only_spent_quotas_are_waited_for_and_of_these_the_last() {
        let lines = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "7"),
            ("x-ratelimit-reset-tokens", "6m0s"),
            ("x-ratelimit-remaining-requests-day", "00"),
            ("x-ratelimit-reset-requests-day", "90"),
        ];
        assert_eq!(at(429, &lines), Some(90_000));
        assert_eq!(at(503, &lines), Some(90_000));
    }

    #[test]
    fn a_quota_that_does_not_say_what_remains_counts_on_a_429_alone() {
        let unknown = ("x-rate-limit-reset-tokens", "55");
        assert_eq!(at(429, &[unknown]), Some(55_000));
        assert_eq!(at(503, &[unknown]), None);
        let full = ("x-rate-limit-remaining-tokens", "-1");
        assert_eq!(at(429, &[unknown, full]), None);
        let spent = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "2s"),
        ];
        assert_eq!(at(429, &[unknown, spent[0], spent[1]]), Some(2_000));
    }

    #[test]
    fn a_status_speaks_where_no_number_does() {
        let short = [
            ("anthropic-ratelimit-unified-5h-status", "rejected"),
            ("anthropic-ratelimit-unified-5h-reset", "1787313700"),
        ];
        let long = [
            ("anthropic-ratelimit-unified-7d-status", "allowed_warning"),
            ("anthropic-ratelimit-unified-7d-reset", "1787913600"),
        ];
        assert_eq!(
            at(429, &[short[0], short[1], long[0], long[1]]),
            Some(100_000)
        );
        assert_eq!(at(429, &long), None);
    }

    #[test]
    fn a_reset_has_many_forms() {
        let read = |text| at(429, &[("anthropic-ratelimit-tokens-reset", text)]);
        assert_eq!(read("2026-08-21T12:00:12Z"), Some(12_000));
        assert_eq!(read("2026-08-21T14:00:12.5+02:00"), Some(12_500));
        assert_eq!(read("1787313607"), Some(7_000));
        assert_eq!(read("1787313607.5"), Some(7_500));
        assert_eq!(read("1787313607250"), Some(7_250));
        assert_eq!(read("2m59.56s"), Some(179_560));
        assert_eq!(read("2020-01-01T00:00:00Z"), None);
        assert_eq!(read("1487313607"), None);
        assert_eq!(read("soon"), None);
        assert_eq!(read("-1"), None);
    }
}
