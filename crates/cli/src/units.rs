//! Numbers with units, as arguments: durations, rates and quotas, each within its bounds.

use std::fmt;
use std::time::Duration;

pub(crate) const RATE: (f64, f64) = (5.0, 5_000.0);
pub(crate) const OUTAGE: (Duration, Duration) =
    (Duration::from_millis(100), Duration::from_secs(300));
pub(crate) const AFTER: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1_800));
pub(crate) const TIMEOUT: (Duration, Duration) =
    (Duration::from_millis(10), Duration::from_secs(60));
const LOOP_WAIT: (Duration, Duration) = (Duration::ZERO, Duration::from_secs(60));
const WINDOW: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3_600));
const QUOTA: (u64, u64) = (1, 1_000_000);

/// Calls in a time: `800/s`, `50/10s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
}

/// A number of attempts in each window: `500/10s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) calls: u64,
    pub(crate) length: Duration,
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.per_second)
    }
}

pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let number = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
    };
    let parts = text.split_once('/').and_then(|(calls, time)| {
        let time = unit(time).filter(|time| !time.is_zero())?;
        Some(number(calls)? / time.as_secs_f64())
    });
    let per_second = parts.ok_or("it is no rate: write 800/s or 50/10s")?;
    if (RATE.0..=RATE.1).contains(&per_second) {
        Ok(Rate { per_second })
    } else {
        Err(format!("it must be {}/s to {}/s", RATE.0, RATE.1))
    }
}

pub(crate) fn quota(text: &str) -> Result<Quota, String> {
    let parts = text.split_once('/');
    let parts = parts.and_then(|(calls, time)| Some((calls.trim().parse().ok()?, unit(time)?)));
    let (calls, length) = parts.ok_or("it is no quota: write 500/10s")?;
    if !(QUOTA.0..=QUOTA.1).contains(&calls) {
        return Err(format!("it must allow {} to {} attempts", QUOTA.0, QUOTA.1));
    }
    within(length, WINDOW).map(|length| Quota { calls, length })
}

pub(crate) fn outage(text: &str) -> Result<Duration, String> {
    bounded(text, OUTAGE)
}

pub(crate) fn after(text: &str) -> Result<Duration, String> {
    bounded(text, AFTER)
}

pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    bounded(text, TIMEOUT)
}

pub(crate) fn loop_wait(text: &str) -> Result<Duration, String> {
    bounded(text, LOOP_WAIT)
}

fn bounded(text: &str, bounds: (Duration, Duration)) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text);
    let duration = duration.map_err(|_| "it is no duration: write 10s or 500ms".to_owned())?;
    within(duration, bounds)
}

fn within(duration: Duration, (least, most): (Duration, Duration)) -> Result<Duration, String> {
    if (least..=most).contains(&duration) {
        Ok(duration)
    } else {
        Err(format!("it must be {} to {}", short(least), short(most)))
    }
}

/// `s`, `min` or `10s`.
fn unit(text: &str) -> Option<Duration> {
    let text = text.trim();
    let text = if text.starts_with(|c: char| c.is_ascii_digit()) {
        text.to_owned()
    } else {
        format!("1{text}")
    };
    humantime::parse_duration(&text).ok()
}

/// A duration in its two largest units: `500ms`, `30s`, `1m 40s`.
pub(crate) fn short(duration: Duration) -> String {
    const THOUSAND_YEARS: Duration = Duration::from_secs(1_000 * 365 * 86_400);
    if duration > THOUSAND_YEARS {
        return "no limit".to_owned();
    }
    if duration >= Duration::from_secs(1) && duration < Duration::from_secs(60) {
        let text = format!("{}.{:03}", duration.as_secs(), duration.subsec_millis());
        return format!("{}s", text.trim_end_matches('0').trim_end_matches('.'));
    }
    let precise = if duration < Duration::from_secs(1) {
        Duration::from_millis(duration.subsec_millis().into())
    } else {
        Duration::from_secs(duration.as_secs())
    };
    let text = humantime::format_duration(precise).to_string();
    let parts: Vec<&str> = text.split(' ').take(2).collect();
    // As a document and an explanation write it.
    parts.join(" ").replace("days", "d").replace("day", "d")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_in_any_time() {
        for (text, per_second) in [("800/s", 800.0), ("600/min", 10.0), ("50/10s", 5.0)] {
            assert_eq!(rate(text).unwrap().per_second, per_second, "{text}");
        }
        for text in [
            "", "800", "/s", "x/s", "inf/s", "NaN/s", "-5/s", "800/0s", "1/s", "5001/s",
        ] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn quotas_and_durations_keep_their_bounds() {
        let window = Duration::from_secs(10);
        assert_eq!(
            quota("500/10s").unwrap(),
            Quota {
                calls: 500,
                length: window
            }
        );
        for text in ["0/10s", "500", "5/0s", "5/2h", "1000001/s", "-1/s"] {
            assert!(quota(text).is_err(), "{text}");
        }
        assert_eq!(outage("10s"), Ok(window));
        assert_eq!(outage("6m").unwrap_err(), "it must be 100ms to 5m");
        assert!(outage("10").is_err());
    }

    #[test]
    fn durations_have_at_most_two_units() {
        let cases = [
            (0, "0s"),
            (500, "500ms"),
            (1_500, "1.5s"),
            (3_962, "3.962s"),
            (30_000, "30s"),
            (133_000, "2m 13s"),
            (90_061_000, "1d 1h"),
        ];
        for (millis, text) in cases {
            assert_eq!(short(Duration::from_millis(millis)), text);
        }
        assert_eq!(short(Duration::MAX), "no limit");
    }
}
