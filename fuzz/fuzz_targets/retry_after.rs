//! Any header lines: the delay that they ask for is never longer than what is written in them.
//!
//! The input is a status, a time in seconds since 1970, and header lines, all as text.
#![no_main]

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_retry::policy::ServerDelay;
use http_retry::{Class, Outcome};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fuzz_target!(|input: &[u8]| {
    let mut lines = input.split(|byte| *byte == b'\n');
    let status = lines
        .next()
        .and_then(|line| StatusCode::from_bytes(line).ok());
    let wall = lines.next().map_or(0, number);
    let headers: HeaderMap = lines.filter_map(header).collect();
    let read = Read {
        status: status.unwrap_or(StatusCode::TOO_MANY_REQUESTS),
        wall: Duration::from_secs(wall),
        headers,
    };
    read.check();
});

fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(colon);
    let name = HeaderName::from_bytes(name).ok()?;
    HeaderValue::from_bytes(&value[1..])
        .ok()
        .map(|value| (name, value))
}

/// The digits of a text as a number that saturates; other characters count as nothing.
fn number(text: &[u8]) -> u64 {
    text.iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0, |number: u64, digit| {
            number
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'))
        })
}

struct Read {
    status: StatusCode,
    wall: Duration,
    headers: HeaderMap,
}

const MILLISECONDS: [&str; 3] = ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"];
const QUOTA: [&str; 3] = ["ratelimit", "ratelimit-reset", "x-ratelimit-reset"];

/// The last second of the year 9999, which is the last that an HTTP-date can name.
const LAST_DATE: Duration = Duration::from_secs(253_402_300_799);

impl Read {
    fn check(&self) {
        let asked = self.at(self.wall);
        assert_eq!(asked, self.at(self.wall), "it repeats");
        match asked {
            ServerDelay::Asked(delay) => self.check_bounds(delay),
            ServerDelay::Invalid(name) => assert!(self.headers.contains_key(name)),
            _ => {}
        }
        if self.speaking().is_none() && !self.names_one_quota_of_several() {
            assert_eq!(asked, ServerDelay::None);
        }
        self.check_seconds(asked);
        self.check_later(asked);
        self.check_outcome(asked);
    }

    fn at(&self, wall: Duration) -> ServerDelay {
        ServerDelay::read(self.status, &self.headers, wall)
    }

    /// The header that is read, if there is one.
    fn speaking(&self) -> Option<&'static str> {
        let all = MILLISECONDS.into_iter().chain(["retry-after"]).chain(QUOTA);
        all.into_iter()
            .find(|name| self.headers.contains_key(*name))
    }

    /// Headers such as `x-ratelimit-reset-tokens`, whose values may have units.
    fn names_one_quota_of_several(&self) -> bool {
        let mut names = self.headers.keys().map(http::HeaderName::as_str);
        names.any(|name| name.contains("reset") && !QUOTA.contains(&name))
    }

    /// No longer than the largest number in any of the lines that count, or than until the date in one.
    fn check_bounds(&self, delay: Duration) {
        if self.names_one_quota_of_several() {
            return;
        }
        let all = MILLISECONDS.into_iter().chain(["retry-after"]).chain(QUOTA);
        let lines = all.flat_map(|name| {
            let values = self.headers.get_all(name).iter();
            values.map(move |value| longest(name, value.as_bytes()))
        });
        let most = lines.max();
        assert!(Some(delay) <= most, "{delay:?} is more than {most:?}");
    }

    /// A number of seconds alone is kept as it is, and the greatest of several.
    fn check_seconds(&self, asked: ServerDelay) {
        if self.speaking() != Some("retry-after") {
            return;
        }
        for value in self.headers.get_all("retry-after") {
            let text = value.as_bytes();
            if !text.is_empty() && text.iter().all(u8::is_ascii_digit) {
                assert!(asked.delay() >= Some(Duration::from_secs(number(text))));
            }
        }
    }

    /// At a later time nobody waits longer.
    fn check_later(&self, asked: ServerDelay) {
        let later = self.at(self.wall.saturating_add(Duration::from_secs(1)));
        let delay = |asked: ServerDelay| asked.delay().unwrap_or_default();
        assert!(delay(later) <= delay(asked), "{later:?} after {asked:?}");
    }

    /// A success asks for nothing, and everything else for what its headers say.
    fn check_outcome(&self, asked: ServerDelay) {
        let outcome = Outcome::response(self.status, &self.headers);
        let expected = match outcome.class() {
            Class::Success => ServerDelay::None,
            _ => asked,
        };
        assert_eq!(outcome.server_delay(self.wall), expected);
    }
}

/// The longest time that a header's text can stand for.
fn longest(name: &str, text: &[u8]) -> Duration {
    let runs = text.split(|byte| !byte.is_ascii_digit());
    let most = runs.map(number).max().unwrap_or_default();
    if MILLISECONDS.contains(&name) {
        return Duration::from_millis(most);
    }
    let date = std::str::from_utf8(text.trim_ascii())
        .ok()
        .and_then(|text| httpdate::parse_http_date(text).ok());
    let until = date.map_or(Duration::ZERO, |_| LAST_DATE);
    until.max(Duration::from_secs(most))
}
