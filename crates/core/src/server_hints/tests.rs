//! Whole heads, and the hints that are read from them.

mod agreement;
mod bounds;
mod delays;
mod quotas;

use super::{Quota, ServerHints};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::time::Duration;

/// Fri, 15 Jan 2027 08:00:00 GMT.
const WALL: Duration = Duration::from_secs(1_800_000_000);

type Lines<'a> = &'a [(&'static str, &'a str)];

fn head(lines: Lines<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        headers.append(HeaderName::from_static(name), value);
    }
    headers
}

fn read(status: u16, lines: Lines<'_>) -> ServerHints {
    let status = StatusCode::from_u16(status).unwrap();
    ServerHints::read(status, &head(lines), WALL)
}

fn delay(status: u16, lines: Lines<'_>) -> Option<u128> {
    read(status, lines).delay().map(|delay| delay.as_millis())
}

/// Returns the remainder, and the milliseconds until its reset.
fn quota(lines: Lines<'_>) -> Option<(u64, u128)> {
    let quota = read(200, lines).quota;
    quota.map(|quota| (quota.remaining, quota.reset.as_millis()))
}

fn unreadable(lines: Lines<'_>) -> Vec<&'static str> {
    read(429, lines).unreadable().collect()
}

fn whole(limit: u64, remaining: u64, reset: u64, window: u64) -> Quota {
    let seconds = |seconds| (seconds > 0).then(|| Duration::from_secs(seconds));
    Quota {
        limit: (limit > 0).then_some(limit),
        remaining,
        reset: Duration::from_secs(reset),
        window: seconds(window),
    }
}
