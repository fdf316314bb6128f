//! What a response asks for: headers and the wall clock in, a delay out.

use super::quota::quota_reset;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a response says about when to come back.
///
/// Read from the first of these headers that is present; one that is present but not valid is ignored and does not
/// fall through to the next: `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after` (all milliseconds),
/// `retry-after` (whole seconds or an HTTP-date), then, where the quota is spent, `ratelimit`, `ratelimit-reset` and
/// `x-ratelimit-reset` (seconds, or a Unix time by its size). A quota is spent when the response says that nothing
/// remains of it, or is a 429 that does not say what remains.
///
/// # Source
///
/// RFC 9110 section 10.2.3 for `retry-after` and 5.6.7 for dates; draft-ietf-httpapi-ratelimit-headers for the quota
/// headers; Azure, AWS and OpenAI for the millisecond forms.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::policy::ServerDelay;
/// use std::time::Duration;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("retry-after", HeaderValue::from_static("20"));
/// let asked = ServerDelay::read(StatusCode::TOO_MANY_REQUESTS, &headers, Duration::ZERO);
/// assert_eq!(asked.delay(), Some(Duration::from_secs(20)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerDelay {
    /// No header that names a time, or one that lies in the past.
    None,
    /// The named header is there, but what it holds is not valid; it is ignored.
    Invalid(&'static str),
    /// The server asks for this much time.
    Asked(Duration),
}

/// What names a delay, first the one that counts first: all but the last in milliseconds.
static DELAYS: [HeaderName; 4] = [
    HeaderName::from_static("retry-after-ms"),
    HeaderName::from_static("x-ms-retry-after-ms"),
    HeaderName::from_static("x-amz-retry-after"),
    http::header::RETRY_AFTER,
];
/// How the name of every quota header begins, so that most responses are done with after one look at their names.
const QUOTA_BEGINNINGS: [&str; 3] = ["ratelimit", "x-rate", "anthropic-ratelimit-"];
static QUOTA: HeaderName = HeaderName::from_static("ratelimit");
/// Each reset, and what remains until then.
static QUOTAS: [(HeaderName, HeaderName); 2] = [
    (
        HeaderName::from_static("ratelimit-reset"),
        HeaderName::from_static("ratelimit-remaining"),
    ),
    (
        HeaderName::from_static("x-ratelimit-reset"),
        HeaderName::from_static("x-ratelimit-remaining"),
    ),
];
/// From this many on, a reset counts as a Unix time in seconds: 2001-09-09, or a wait of more than 31 years.
pub(super) const UNIX_SECONDS: u64 = 1_000_000_000;
/// From this many on, a reset counts as a Unix time in milliseconds: 2001-09-09, or the year 33658 in seconds.
pub(super) const UNIX_MILLISECONDS: u64 = 1_000_000_000_000;

impl ServerDelay {
    /// Reads the headers of a response; `wall` is the time since 1970-01-01T00:00:00Z, against which a date is
    /// measured where the response has no valid `date` of its own.
    #[must_use]
    pub fn read(status: StatusCode, headers: &HeaderMap, wall: Duration) -> Self {
        Self::read_with(status, headers, None, wall)
    }

    /// The same, with what the answer's body asks for: after the headers that say when to come back, and before those
    /// that only say when a quota is whole again.
    pub(crate) fn read_with(
        status: StatusCode,
        headers: &HeaderMap,
        body: Option<Duration>,
        wall: Duration,
    ) -> Self {
        let named = named(headers, wall);
        if let (Some(named @ Self::Asked(_)), _) | (Some(named), None) = (named, body) {
            return named;
        }
        match body {
            Some(asked) => Self::Asked(asked),
            None if headers.keys().any(names_a_quota) => spent_quota(status, headers, wall),
            None => Self::None,
        }
    }

    /// The time that the server asks for, where it asks for some.
    #[must_use]
    pub fn delay(self) -> Option<Duration> {
        match self {
            Self::Asked(delay) => Some(delay),
            Self::None | Self::Invalid(_) => None,
        }
    }

    /// Whether a server's own invitation to come back is there and valid, even if its time is past: the part of
    /// [`ServerDelay::read`] that needs no clock.
    pub(crate) fn is_invitation(headers: &HeaderMap) -> bool {
        delay_header(headers).is_some_and(|name| {
            let valid = |text: &[u8]| {
                let date = || *name == http::header::RETRY_AFTER && date(text).is_some();
                digits(text).is_some() || date()
            };
            headers
                .get_all(name)
                .iter()
                .any(|line| valid(trimmed(line)))
        })
    }
}

fn names_a_quota(name: &HeaderName) -> bool {
    let name = name.as_str();
    QUOTA_BEGINNINGS.iter().any(|start| name.starts_with(start))
}

/// The header that names a delay, of several the first.
fn delay_header(headers: &HeaderMap) -> Option<&'static HeaderName> {
    let places = headers
        .keys()
        .filter_map(|name| DELAYS.iter().position(|known| known == name));
    DELAYS.get(places.min()?)
}

/// What the first header that names a delay asks for, if there is one.
fn named(headers: &HeaderMap, wall: Duration) -> Option<ServerDelay> {
    let name = delay_header(headers)?;
    let milliseconds = |text: &[u8]| Some(ServerDelay::Asked(Duration::from_millis(digits(text)?)));
    let now = || server_clock(headers, wall);
    Some(match *name == http::header::RETRY_AFTER {
        true => latest(headers, name, |text| seconds_or_date(text, now)),
        false => latest(headers, name, milliseconds),
    })
}

/// The latest of the valid lines of one header.
fn latest(
    headers: &HeaderMap,
    name: &'static HeaderName,
    read: impl Fn(&[u8]) -> Option<ServerDelay>,
) -> ServerDelay {
    let lines = headers.get_all(name).iter();
    lines
        .filter_map(|line| read(trimmed(line)))
        .max_by_key(|asked| asked.delay())
        .unwrap_or(ServerDelay::Invalid(name.as_str()))
}

fn seconds_or_date(text: &[u8], now: impl Fn() -> Duration) -> Option<ServerDelay> {
    if let Some(seconds) = digits(text) {
        return Some(ServerDelay::Asked(Duration::from_secs(seconds)));
    }
    let until = date(text)?;
    Some(
        until
            .checked_sub(now())
            .map_or(ServerDelay::None, ServerDelay::Asked),
    )
}

/// The later of what the resets of spent quotas ask for: of the standard headers, and of those that name one quota among
/// several.
fn spent_quota(status: StatusCode, headers: &HeaderMap, wall: Duration) -> ServerDelay {
    let now = server_clock(headers, wall);
    let several = quota_reset(status, headers, now);
    match (quota(status, headers, now), several) {
        (ServerDelay::Asked(one), Some(other)) => ServerDelay::Asked(one.max(other)),
        (_, Some(other)) => ServerDelay::Asked(other),
        (one, None) => one,
    }
}

/// What a spent quota's reset asks for, from the first of the quota headers that is there.
fn quota(status: StatusCode, headers: &HeaderMap, now: Duration) -> ServerDelay {
    let throttled = status == StatusCode::TOO_MANY_REQUESTS;
    if headers.contains_key(&QUOTA) {
        return structured_quota(headers, throttled);
    }
    for (reset, remaining) in &QUOTAS {
        if headers.contains_key(reset) {
            let left = headers
                .get(remaining)
                .and_then(|line| digits(trimmed(line)));
            if left.map_or(throttled, |left| left == 0) {
                return latest(headers, reset, |text| {
                    let until = until_reset(digits(text)?, now);
                    Some(until.map_or(ServerDelay::None, ServerDelay::Asked))
                });
            }
        }
    }
    ServerDelay::None
}

/// `"policy";r=0;t=30`, a list of such, or the older `limit=100, remaining=0, reset=30`: the latest reset of those of
/// which nothing remains.
fn structured_quota(headers: &HeaderMap, throttled: bool) -> ServerDelay {
    let spent = |text: &str| {
        let remaining = parameter(text, "r").or_else(|| parameter(text, "remaining"));
        let reset = parameter(text, "t").or_else(|| parameter(text, "reset"))?;
        remaining
            .map_or(throttled, |left| left == 0)
            .then_some(reset)
    };
    let lines = headers
        .get_all(&QUOTA)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let resets = lines.flat_map(|line| match line.contains(';') {
        true => line.split(',').filter_map(spent).max(),
        false => spent(line),
    });
    resets.max().map_or(ServerDelay::None, |seconds| {
        ServerDelay::Asked(Duration::from_secs(seconds))
    })
}

fn parameter(text: &str, name: &str) -> Option<u64> {
    text.split([';', ',']).find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        digits(value.trim().as_bytes()).filter(|_| key.trim() == name)
    })
}

/// The time until a reset that is a number: of seconds, or a Unix time by its size; none where that is past.
pub(crate) fn until_reset(reset: u64, now: Duration) -> Option<Duration> {
    match reset {
        UNIX_MILLISECONDS.. => Duration::from_millis(reset).checked_sub(now),
        UNIX_SECONDS.. => Duration::from_secs(reset).checked_sub(now),
        _ => Some(Duration::from_secs(reset)),
    }
}

/// The time that a response's dates are measured against: its own `date` where that is valid, else the wall clock.
pub(crate) fn server_clock(headers: &HeaderMap, wall: Duration) -> Duration {
    let own = headers.get(http::header::DATE);
    own.and_then(|line| date(trimmed(line))).unwrap_or(wall)
}

/// An HTTP-date in any of its three forms, as time since 1970.
fn date(text: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(text).ok()?;
    let time = httpdate::parse_http_date(text).ok()?;
    let whole = time.duration_since(UNIX_EPOCH).ok()?;
    names_its_weekday(text, time).then_some(whole)
}

/// Whether a date's own weekday, which httpdate leaves unread in part, is the right one.
fn names_its_weekday(text: &str, time: SystemTime) -> bool {
    let right = httpdate::fmt_http_date(time);
    matches!((text.get(..3), right.get(..3)), (Some(own), Some(right)) if own == right)
}

fn trimmed(line: &HeaderValue) -> &[u8] {
    line.as_bytes().trim_ascii()
}

/// A number of nothing but digits; too many of them saturate.
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_at(status: u16, lines: &[(&'static str, &'static str)], wall: u64) -> ServerDelay {
        let status = StatusCode::from_u16(status).unwrap();
        ServerDelay::read(status, &map(lines), Duration::from_secs(wall))
    }

    fn map(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn seconds(seconds: u64) -> ServerDelay {
        ServerDelay::Asked(Duration::from_secs(seconds))
    }

    #[test]
    fn the_first_header_present_decides_and_a_bad_one_does_not_fall_through() {
        let lines = [("retry-after-ms", "1500"), ("retry-after", "9")];
        assert_eq!(
            read_at(503, &lines, 0),
            ServerDelay::Asked(Duration::from_millis(1500))
        );
        let lines = [("retry-after-ms", "soon"), ("retry-after", "9")];
        assert_eq!(
            read_at(503, &lines, 0),
            ServerDelay::Invalid("retry-after-ms")
        );
        let lines = [
            ("retry-after", "1.5"),
            ("ratelimit-reset", "9"),
            ("ratelimit-remaining", "0"),
        ];
        assert_eq!(read_at(429, &lines, 0), ServerDelay::Invalid("retry-after"));
    }

    #[test]
    fn of_several_lines_the_latest_valid_one_counts() {
        let lines = [
            ("retry-after", "3"),
            ("retry-after", "x"),
            ("retry-after", "2"),
        ];
        assert_eq!(read_at(503, &lines, 0), seconds(3));
    }

    #[test]
    fn a_date_is_measured_against_the_responses_own_clock() {
        let date = ("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT");
        let own = ("date", "Fri, 31 Dec 1999 23:59:49 GMT");
        assert_eq!(read_at(503, &[date, own], 0), seconds(10));
        assert_eq!(
            read_at(503, &[date, ("date", "today")], 946_684_797),
            seconds(2)
        );
    }

    #[test]
    fn a_past_date_is_no_wish_but_still_an_invitation() {
        let lines = [("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")];
        assert_eq!(read_at(503, &lines, 2_000_000_000), ServerDelay::None);
        assert!(ServerDelay::is_invitation(&map(&lines)));
    }

    #[test]
    fn an_invitation_is_what_the_server_wrote_and_nothing_else() {
        assert!(ServerDelay::is_invitation(&map(&[("retry-after-ms", "0")])));
        assert!(!ServerDelay::is_invitation(&map(&[(
            "retry-after",
            "soon"
        )])));
        assert!(!ServerDelay::is_invitation(&map(&[(
            "ratelimit-reset",
            "9"
        )])));
        assert!(!ServerDelay::is_invitation(&map(&[])));
    }

    #[test]
    fn dates_in_all_three_forms_and_with_the_right_weekday() {
        for form in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(
                read_at(503, &[("retry-after", form)], 784_111_767),
                seconds(10),
                "{form}"
            );
        }
        for form in [
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Monday, 06-Nov-94 08:49:37 GMT",
            "Mon Nov  6 08:49:37 1994",
        ] {
            let read = read_at(503, &[("retry-after", form)], 0);
            assert_eq!(read, ServerDelay::Invalid("retry-after"), "{form}");
        }
    }

    #[test]
    fn a_quota_speaks_only_when_it_is_spent() {
        let reset = ("x-ratelimit-reset", "30");
        assert_eq!(read_at(500, &[reset], 0), ServerDelay::None);
        assert_eq!(read_at(429, &[reset], 0), seconds(30));
        assert_eq!(
            read_at(500, &[reset, ("x-ratelimit-remaining", "0")], 0),
            seconds(30)
        );
        assert_eq!(
            read_at(429, &[reset, ("x-ratelimit-remaining", "1")], 0),
            ServerDelay::None
        );
    }

    #[test]
    fn a_reset_is_a_delta_or_a_unix_time_by_its_size() {
        let read = |reset| read_at(429, &[("x-ratelimit-reset", reset)], 1_800_000_000);
        assert_eq!(read("60"), seconds(60));
        assert_eq!(read("1800000060"), seconds(60));
        assert_eq!(read("1800000060000"), seconds(60));
        assert_eq!(read("1700000000"), ServerDelay::None);
        assert_eq!(read("-3"), ServerDelay::Invalid("x-ratelimit-reset"));
    }

    #[test]
    fn a_reset_is_measured_against_the_responses_own_clock() {
        let own = ("date", "Fri, 15 Jan 2027 08:00:00 GMT");
        for reset in [
            ("x-ratelimit-reset", "1800000030"),
            ("x-ratelimit-reset", "1800000030000"),
            ("anthropic-ratelimit-tokens-reset", "2027-01-15T08:00:30Z"),
        ] {
            for wall in [1_800_000_060, 1_799_996_400] {
                assert_eq!(read_at(429, &[own, reset], wall), seconds(30), "{reset:?}");
            }
            let lines = [("date", "today"), reset];
            assert_eq!(read_at(429, &lines, 1_800_000_000), seconds(30));
        }
    }

    #[test]
    fn structured_quotas_give_the_latest_reset_of_the_spent_ones() {
        let read = |field| read_at(503, &[("ratelimit", field)], 0);
        assert_eq!(
            read(r#""day";r=0;t=30, "hour";r=0;t=7, "burst";r=9;t=99"#),
            seconds(30)
        );
        assert_eq!(read("limit=100, remaining=0, reset=50"), seconds(50));
        assert_eq!(read("limit=100, remaining=3, reset=50"), ServerDelay::None);
        assert_eq!(read(r#""day";r=x;t=y"#), ServerDelay::None);
    }
}
