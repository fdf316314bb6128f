//! Any header lines: what is read of them is never longer than what is written, the delay and the quota say the same, and
//! the work is bounded however many lines there are.
//!
//! The input is a status, a time in seconds since 1970, and header lines, all as text.
#![no_main]

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_retry::policy::ServerHints;
use http_retry::{Class, Outcome};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fuzz_target!(|input: &[u8]| {
    let mut lines = input.split(|byte| *byte == b'\n');
    let status = lines
        .next()
        .and_then(|line| StatusCode::from_bytes(line).ok());
    let wall = lines.next().map_or(0, number);
    let read = Read {
        status: status.unwrap_or(StatusCode::TOO_MANY_REQUESTS),
        wall: Duration::from_secs(wall),
        lines: lines.filter_map(header).collect(),
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
    lines: Vec<(HeaderName, HeaderValue)>,
}

const MILLISECONDS: [&str; 3] = ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"];

/// The last second of the year 9999, which is the last that an HTTP-date can name.
const LAST_DATE: Duration = Duration::from_secs(253_402_300_799);

/// What is read of a header, as is documented.
const MOST_LINES: usize = 64;
const MOST_BYTES: usize = 1024;

/// A large head has as many lines, and its reading takes no more memory than this: lines that are not read take none.
const MANY_LINES: usize = 20_000;
const MOST_MEMORY: u64 = 256 * 1024;

impl Read {
    fn check(&self) {
        let headers = self.lines.iter().cloned().collect();
        let hints = self.at(&headers, self.wall);
        assert_eq!(hints, self.at(&headers, self.wall), "it repeats");
        self.check_names(&headers, hints);
        self.check_agreement(hints);
        self.check_asked(&headers, hints);
        self.check_later(&headers, hints);
        self.check_outcome(&headers, hints);
        self.check_work();
    }

    fn at(&self, headers: &HeaderMap, wall: Duration) -> ServerHints {
        ServerHints::read(self.status, headers, wall)
    }

    /// Who is told to have said something, or to be unreadable, is there.
    fn check_names(&self, headers: &HeaderMap, hints: ServerHints) {
        assert_eq!(hints.header.is_some(), hints.delay().is_some());
        for name in hints.unreadable().chain(hints.header) {
            let is_there = match name.strip_suffix('*') {
                Some(start) => headers.keys().any(|own| own.as_str().starts_with(start)),
                None => headers.contains_key(name),
            };
            assert!(is_there, "{name}");
        }
    }

    /// A spent quota is not back before the call that was refused for it may come again, nor after.
    fn check_agreement(&self, hints: ServerHints) {
        let Some(quota) = hints.quota else { return };
        let refused = self.status == StatusCode::TOO_MANY_REQUESTS;
        match hints.asked {
            Some(asked) if refused => assert!(quota.reset <= asked),
            // A quota that is back at once asks for no wait.
            None if quota.remaining == 0 => {
                assert!(hints.delay().unwrap_or_default() >= quota.reset);
            }
            _ => {}
        }
    }

    /// No longer than the numbers in the lines that count can stand for, or than until a date in one; and never shorter
    /// than a number of seconds alone.
    fn check_asked(&self, headers: &HeaderMap, hints: ServerHints) {
        let lines = headers.iter().filter(|(name, _)| asks(name.as_str()));
        let most = lines.map(|(name, value)| longest(name.as_str(), value.as_bytes()));
        let most = most.max();
        assert!(hints.asked <= most, "{hints:?} is more than {most:?}");
        if MILLISECONDS.iter().any(|name| headers.contains_key(*name)) {
            return;
        }
        let lines: Vec<&[u8]> = headers
            .get_all("retry-after")
            .iter()
            .map(HeaderValue::as_bytes)
            .collect();
        let commas = lines
            .iter()
            .copied()
            .flatten()
            .filter(|byte| **byte == b',');
        if lines.len().saturating_add(commas.count()) > MOST_LINES {
            return;
        }
        for text in lines {
            let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
            // A larger number is a point in time.
            if digits && text.len() <= MOST_BYTES && number(text) < 1_000_000_000 {
                assert!(hints.asked >= Some(Duration::from_secs(number(text))));
            }
        }
    }

    /// At a later time nobody waits longer for what the same header asks.
    fn check_later(&self, headers: &HeaderMap, hints: ServerHints) {
        let later = self.at(headers, self.wall.saturating_add(Duration::from_secs(1)));
        if later.asked.is_some() && later.header == hints.header {
            assert!(later.asked <= hints.asked, "{later:?} after {hints:?}");
        }
    }

    /// A success asks for nothing, and everything else for what its headers say.
    fn check_outcome(&self, headers: &HeaderMap, hints: ServerHints) {
        let outcome = Outcome::response(self.status, headers);
        let delay = match outcome.class() {
            Class::Success => None,
            _ => hints.delay(),
        };
        assert_eq!(outcome.server_delay(self.wall), delay);
    }

    /// The same lines again and again, each name with many of them.
    fn check_work(&self) {
        if self.lines.is_empty() {
            return;
        }
        let mut headers = HeaderMap::new();
        let lines = self.lines.iter().cycle().take(MANY_LINES);
        for (name, value) in lines {
            if headers.try_append(name, value.clone()).is_err() {
                break;
            }
        }
        let work = allocation_counter::measure(|| {
            self.at(&headers, self.wall);
        });
        assert!(work.bytes_total <= MOST_MEMORY, "{work:?}");
    }
}

/// Whether a header may set the delay that is asked for, and not only the reset of a quota.
fn asks(name: &str) -> bool {
    let own = ["retry-", "x-retry-", "x-throttle-wait-"];
    MILLISECONDS.contains(&name)
        || own.iter().any(|start| name.starts_with(start))
        || (name.contains("limit-") && name.contains("retry"))
}

/// The longest time that a header's text can stand for.
fn longest(name: &str, text: &[u8]) -> Duration {
    let runs = text.split(|byte| !byte.is_ascii_digit());
    // What stands behind a point adds less than one.
    let runs = runs.filter(|run| !run.is_empty());
    let runs: Vec<u64> = runs.map(|run| number(run).saturating_add(1)).collect();
    let most = runs.iter().copied().max().unwrap_or(1);
    // Too many digits ask for the longest time there is.
    if most == u64::MAX {
        return Duration::MAX;
    }
    if MILLISECONDS.contains(&name) {
        return Duration::from_millis(most);
    }
    // With a time of day it may be a date.
    let is_date = text.contains(&b':') || text.contains(&b'T') || text.contains(&b't');
    let until = if is_date { LAST_DATE } else { Duration::ZERO };
    if name == "retry-after" {
        return until.max(Duration::from_secs(most));
    }
    // A duration with units, none longer than a day.
    let days = runs.iter().fold(1_u64, |sum, run| sum.saturating_add(*run));
    until.max(Duration::from_secs(days.saturating_mul(86_400)))
}
