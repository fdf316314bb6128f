//! What a response says about the quota: headers and the wall clock in, numbers out.

mod time;

use crate::server_hints;
use http::HeaderMap;
use std::time::Duration;

/// What is left of a quota of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) limit: Option<u64>,
    pub(crate) remaining: u64,
    pub(crate) reset: Duration,
}

/// What a quota counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Requests,
    /// Tokens or bytes: how many of them a call will take is not known before.
    Other,
}

/// Longer names of the header lines that hold one quota.
struct Names {
    limit: &'static str,
    remaining: &'static str,
    reset: &'static str,
    unit: Unit,
}

macro_rules! names {
    ($unit:ident, $before:literal, $after:literal) => {
        Names {
            limit: concat!($before, "limit", $after),
            remaining: concat!($before, "remaining", $after),
            reset: concat!($before, "reset", $after),
            unit: Unit::$unit,
        }
    };
}

const NAMES: [Names; 10] = [
    names!(Requests, "ratelimit-", ""),
    names!(Requests, "x-ratelimit-", ""),
    names!(Requests, "x-rate-limit-", ""),
    names!(Requests, "x-ratelimit-", "-requests"),
    names!(Requests, "x-rate-limit-", "-requests"),
    names!(Requests, "anthropic-ratelimit-requests-", ""),
    names!(Other, "x-ratelimit-", "-tokens"),
    names!(Other, "anthropic-ratelimit-tokens-", ""),
    names!(Other, "anthropic-ratelimit-input-tokens-", ""),
    names!(Other, "anthropic-ratelimit-output-tokens-", ""),
];

/// As much of a line as is read.
const MOST_BYTES: usize = 1024;
/// As many lines of a name, and quotas of a line, as are read.
const MOST_ITEMS: usize = 8;
/// A reset further away than the longest month is nonsense.
const MOST_RESET: Duration = Duration::from_secs(31 * 24 * 60 * 60);
/// A spent quota whose reset is nought seconds away comes back within the second.
const LEAST_RESET: Duration = Duration::from_secs(1);

impl Quota {
    /// Reads the quota that counts requests; of several, the one with the least left. A spent quota of any kind leaves
    /// nothing, until the latest reset of the spent ones.
    ///
    /// `wall` is the time since 1970-01-01T00:00:00Z, against which a date is measured where the response has no valid
    /// `date` of its own.
    pub(crate) fn read(headers: &HeaderMap, wall: Duration) -> Option<Self> {
        let now = server_hints::server_clock(headers, wall);
        let mut all = structured(headers);
        let lines = NAMES.iter();
        all.extend(lines.filter_map(|names| Some((names.read(headers, now)?, names.unit))));
        all.retain(|(quota, _)| quota.reset <= MOST_RESET);
        let requests = || all.iter().filter(|(_, unit)| *unit == Unit::Requests);
        let limit = requests().filter_map(|(quota, _)| quota.limit).min();
        let quotas = all.iter().map(|(quota, _)| quota);
        let spent = quotas.filter(|quota| quota.remaining == 0);
        if let Some(reset) = spent.map(|quota| quota.reset).max() {
            return Some(Self {
                limit,
                remaining: 0,
                reset: if reset.is_zero() { LEAST_RESET } else { reset },
            });
        }
        let least = requests()
            .map(|(quota, _)| quota)
            .min_by_key(|quota| (quota.remaining, std::cmp::Reverse(quota.reset)));
        least.map(|quota| Self { limit, ..*quota })
    }
}

impl Names {
    fn read(&self, headers: &HeaderMap, now: Duration) -> Option<Quota> {
        let remaining = digits(line(headers, self.remaining)?)?;
        let reset = time::until(line(headers, self.reset)?, now)?;
        let limit = line(headers, self.limit).and_then(|text| {
            // One of the drafts lists windows behind the limit: `100, 100;w=60`.
            digits(text.split([',', ';']).next()?)
        });
        Some(Quota {
            limit,
            remaining,
            reset,
        })
    }
}

/// The quotas of `RateLimit` in both of its forms: `limit=100, remaining=50, reset=30`, and a list of
/// `"name";r=50;t=30` whose limits and units `RateLimit-Policy` holds.
fn structured(headers: &HeaderMap) -> Vec<(Quota, Unit)> {
    let policies = items(headers, "ratelimit-policy");
    let quotas = items(headers, "ratelimit");
    if quotas
        .iter()
        .any(|item| parameter(item, "remaining").is_some())
    {
        return older(&quotas)
            .map(|quota| (quota, Unit::Requests))
            .into_iter()
            .collect();
    }
    let read = |item: &&str| {
        let remaining = parameter(item, "r").and_then(digits)?;
        let policy = policies.iter().find(|policy| name(policy) == name(item));
        let of_policy = |key| policy.and_then(|policy| parameter(policy, key));
        let reset = parameter(item, "t").or_else(|| of_policy("w"));
        let unit = match of_policy("qu").map(|unit| unit.trim_matches('"')) {
            None | Some("requests") => Unit::Requests,
            // What counts calls in flight comes back when they end, not at a time.
            Some("concurrent-requests") => return None,
            Some(_) => Unit::Other,
        };
        let quota = Quota {
            limit: of_policy("q").and_then(digits),
            remaining,
            reset: reset.and_then(digits).map(Duration::from_secs)?,
        };
        Some((quota, unit))
    };
    quotas.iter().filter_map(read).collect()
}

fn older(items: &[&str]) -> Option<Quota> {
    let find = |key| {
        items
            .iter()
            .find_map(|item| parameter(item, key))
            .and_then(digits)
    };
    Some(Quota {
        limit: find("limit"),
        remaining: find("remaining")?,
        reset: find("reset").map(Duration::from_secs)?,
    })
}

/// The items of a list, in all lines of a header.
fn items<'a>(headers: &'a HeaderMap, header: &str) -> Vec<&'a str> {
    let lines = headers.get_all(header).iter().take(MOST_ITEMS);
    let lines = lines.filter_map(|line| line.to_str().ok());
    let lines = lines.filter(|line| line.len() <= MOST_BYTES);
    let items = lines.flat_map(|line| split(line, ','));
    items.take(MOST_ITEMS).collect()
}

fn name(item: &str) -> &str {
    split(item, ';').next().unwrap_or_default().trim()
}

fn parameter<'a>(item: &'a str, key: &str) -> Option<&'a str> {
    split(item, ';').take(MOST_ITEMS).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case(key)
            .then_some(value.trim())
    })
}

/// The parts between separators outside of quotes.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |letter: char| {
        quoted ^= letter == '"';
        letter == separator && !quoted
    })
}

fn line<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let text = headers.get(name)?.to_str().ok()?;
    (text.len() <= MOST_BYTES).then_some(text.trim())
}

fn digits(text: &str) -> Option<u64> {
    server_hints::digits(text.trim().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    const WALL: Duration = Duration::from_secs(1_800_000_000);

    fn read(lines: &[(&'static str, &str)]) -> Option<Quota> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let value = HeaderValue::from_str(value).unwrap();
            headers.append(HeaderName::from_static(name), value);
        }
        Quota::read(&headers, WALL)
    }

    fn quota(limit: impl Into<Option<u64>>, remaining: u64, millis: u64) -> Option<Quota> {
        Some(Quota {
            limit: limit.into(),
            remaining,
            reset: Duration::from_millis(millis),
        })
    }

    #[test]
    fn the_drafts_in_their_forms() {
        let of = |line| read(&[("ratelimit", line)]);
        assert_eq!(
            of("limit=100, remaining=50, reset=30"),
            quota(100, 50, 30_000)
        );
        assert_eq!(of(r#""default";r=50;t=30"#), quota(None, 50, 30_000));
        assert_eq!(
            of(r#""a;r=9,t=9"; r=50; t=30;pk=:abc=:"#),
            quota(None, 50, 30_000)
        );
        assert_eq!(
            of(r#""day";r=900;t=9000, "burst";r=3;t=1"#),
            quota(None, 3, 1_000)
        );
        assert_eq!(
            of(r#""day";r=0;t=9000, "burst";r=0;t=1"#),
            quota(None, 0, 9_000_000)
        );
        let policy = (
            "ratelimit-policy",
            r#""d";q=100;w=60, "b";q=10;w=1;qu="content-bytes""#,
        );
        assert_eq!(
            read(&[("ratelimit", r#""d";r=50"#), policy]),
            quota(100, 50, 60_000)
        );
        assert_eq!(read(&[("ratelimit", r#""b";r=5;t=1"#), policy]), None);
        assert_eq!(
            read(&[("ratelimit", r#""b";r=0;t=1"#), policy]),
            quota(None, 0, 1_000)
        );
        let lines = [
            ("ratelimit-limit", "100, 100;w=60"),
            ("ratelimit-remaining", " 7 "),
            ("ratelimit-reset", "12"),
        ];
        assert_eq!(read(&lines), quota(100, 7, 12_000));
    }

    #[test]
    fn the_headers_of_providers() {
        let lines = [
            ("x-ratelimit-limit-requests", "14400"),
            ("x-ratelimit-remaining-requests", "14370"),
            ("x-ratelimit-reset-requests", "2m59.56s"),
            ("x-ratelimit-limit-tokens", "18000"),
            ("x-ratelimit-remaining-tokens", "17997"),
            ("x-ratelimit-reset-tokens", "7.66s"),
        ];
        assert_eq!(read(&lines), quota(14_400, 14_370, 179_560));
        let lines = [
            ("anthropic-ratelimit-requests-limit", "5"),
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2027-01-15T08:00:12Z"),
            ("anthropic-ratelimit-tokens-remaining", "16000"),
            ("anthropic-ratelimit-tokens-reset", "2027-01-15T08:01:00Z"),
        ];
        assert_eq!(read(&lines), quota(5, 0, 12_000));
        let lines = [
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", "4999"),
            ("x-ratelimit-reset", "1800000060"),
        ];
        assert_eq!(read(&lines), quota(5_000, 4_999, 60_000));
    }

    #[test]
    fn a_reset_is_measured_against_the_responses_own_clock() {
        for (date, reset) in [
            ("Fri, 15 Jan 2027 07:59:00 GMT", "1799999970"),
            ("Fri, 15 Jan 2027 09:00:00 GMT", "2027-01-15T09:00:30Z"),
        ] {
            let lines = [
                ("date", date),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", reset),
            ];
            assert_eq!(read(&lines), quota(None, 0, 30_000), "{date}");
        }
    }

    #[test]
    fn tokens_count_only_when_none_is_left() {
        let tokens = |left| {
            [
                ("x-ratelimit-remaining-tokens", left),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ]
        };
        assert_eq!(read(&tokens("149984")), None);
        assert_eq!(read(&tokens("0")), quota(None, 0, 360_000));
        let mut lines = tokens("0").to_vec();
        lines.extend([
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "1s"),
        ]);
        assert_eq!(read(&lines), quota(60, 0, 360_000));
    }

    #[test]
    fn a_spent_quota_is_never_back_at_once() {
        assert_eq!(
            read(&[("ratelimit", "remaining=0, reset=0")]),
            quota(None, 0, 1_000)
        );
        assert_eq!(
            read(&[("ratelimit", "remaining=1, reset=0")]),
            quota(None, 1, 0)
        );
    }

    #[test]
    fn nonsense_is_no_quota() {
        let long = format!("remaining=1, reset=1{}", " ".repeat(2_000));
        for line in [
            "",
            ",",
            ";;;",
            "=",
            "remaining",
            "remaining=, reset=",
            "remaining=-1, reset=3",
            "remaining=1",
            "remaining=5, reset=soon",
            "remaining=0, reset=99999999999999999999999",
            r#""d";r=1"#,
            r#""d";t=1"#,
            r#""d;r=1;t=1"#,
            &long,
        ] {
            assert_eq!(read(&[("ratelimit", line)]), None, "{line}");
        }
        for reset in [
            "",
            "never",
            "-1",
            "1e3",
            "2026-99-99T00:00:00Z",
            "1700000000",
            "9s8",
            "1.2.3s",
        ] {
            let lines = [("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", reset)];
            assert_eq!(read(&lines), None, "{reset}");
        }
    }
}
