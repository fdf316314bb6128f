//! The delay before each retry: equal, or uniform within a range, or the u-th part of it.

mod tests;

use super::fields::{Fields, count, decimal, milliseconds, number};
use http_retry::policy::Decimal;
use http_retry::{Backoff, Jitter};
use serde_json::Value;
use std::time::Duration;

const FIELDS: [&str; 6] = [
    "policy",
    "retries",
    "delays_ms",
    "ranges_ms",
    "draws",
    "tolerance_ms",
];
const POLICY: [&str; 7] = [
    "growth",
    "base_ms",
    "factor",
    "first_step",
    "max_delay_ms",
    "jitter",
    "cap",
];

/// A delay that is no whole number of milliseconds may be rounded in a case, up or down.
const ROUNDING: Duration = Duration::from_nanos(999_999);
const DRAWS: u64 = 1_000;

pub(super) fn check(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &FIELDS)?;
    let policy = Fields::of(case.value("policy")?, &POLICY)?;
    let under_test = Subject {
        backoff: backoff(&policy)?,
        slack: slack(&case, &policy)?,
    };
    let retries = case.all("retries", count)?;
    let has = |name| case.optional(name).is_some();
    match (has("delays_ms"), has("ranges_ms"), has("draws")) {
        (true, false, false) => {
            let delays = case.all("delays_ms", milliseconds)?;
            each(&retries, &delays, |n, delay| under_test.always(n, *delay))
        }
        (true, false, true) => {
            let delays = case.all("delays_ms", milliseconds)?;
            let draws = case.all("draws", draw)?;
            let drawn: Vec<_> = pairs(&draws, &delays)?.collect();
            each(&retries, &drawn, |n, (draw, delay)| {
                under_test.drawn(n, **draw, **delay)
            })
        }
        (false, true, false) => {
            let ranges = case.all("ranges_ms", range)?;
            each(&retries, &ranges, |n, range| under_test.within(n, *range))
        }
        _ => Err("wanted delays_ms, ranges_ms, or draws with delays_ms".to_owned()),
    }
}

struct Subject {
    backoff: Backoff,
    slack: Duration,
}

impl Subject {
    fn always(&self, n: u32, wanted: Duration) -> Result<(), String> {
        [0, 1 << 63, u64::MAX]
            .into_iter()
            .try_for_each(|random| self.drawn(n, random, wanted))
    }

    fn drawn(&self, n: u32, random: u64, wanted: Duration) -> Result<(), String> {
        let got = self.backoff.delay(n, random);
        if got.abs_diff(wanted) <= self.slack {
            Ok(())
        } else {
            Err(format!("retry {n}: wanted {wanted:?}, got {got:?}"))
        }
    }

    fn within(&self, n: u32, (least, most): (Duration, Duration)) -> Result<(), String> {
        let near = (most.saturating_sub(least) / 100).max(self.slack);
        let (low, high) = (self.backoff.delay(n, 0), self.backoff.delay(n, u64::MAX));
        if low.abs_diff(least) > near || high.abs_diff(most) > near {
            return Err(format!(
                "retry {n}: wanted {least:?} to {most:?}, got {low:?} to {high:?}"
            ));
        }
        let inside = least.saturating_sub(self.slack)..=most.saturating_add(self.slack);
        let outside = draws()
            .map(|random| self.backoff.delay(n, random))
            .find(|delay| !inside.contains(delay));
        match outside {
            Some(got) => Err(format!(
                "retry {n}: wanted {least:?} to {most:?}, got {got:?}"
            )),
            None => Ok(()),
        }
    }
}

fn draws() -> impl Iterator<Item = u64> {
    (0..=DRAWS)
        .map(|step| u64::MAX / DRAWS * step)
        .chain([u64::MAX])
}

fn backoff(policy: &Fields<'_>) -> Result<Backoff, String> {
    let mut backoff = growth(policy)?;
    if policy.optional("factor").is_some() {
        backoff = backoff.factor(policy.decimal("factor")?);
    }
    if policy.optional("first_step").is_some() {
        backoff = backoff.first_step(policy.count("first_step")?);
    }
    if let Some(most) = policy.optional("max_delay_ms") {
        let most = match most {
            Value::Null => None,
            most => Some(milliseconds(most)?),
        };
        backoff = backoff.max_delay(most);
    }
    if let Some(value) = policy.optional("jitter") {
        backoff = backoff.jitter(jitter(value)?);
    }
    match policy.optional("cap") {
        Some(value) => capped(backoff, value),
        None => Ok(backoff),
    }
}

fn growth(policy: &Fields<'_>) -> Result<Backoff, String> {
    if policy.value("growth")?.is_array() {
        return Ok(Backoff::schedule(policy.all("growth", milliseconds)?));
    }
    match policy.text("growth")? {
        "none" => Ok(Backoff::none()),
        "fixed" => Ok(Backoff::fixed(policy.milliseconds("base_ms")?)),
        "linear" => Ok(Backoff::linear(policy.milliseconds("base_ms")?)),
        "exponential" => Ok(Backoff::exponential(policy.milliseconds("base_ms")?)),
        other => Err(format!("growth: {other:?} is not known")),
    }
}

pub(super) fn jitter(value: &Value) -> Result<Jitter, String> {
    match value.as_str() {
        Some("none") => Ok(Jitter::None),
        Some("full") => Ok(Jitter::Full),
        Some("equal") => Ok(Jitter::Equal),
        Some(other) => Err(format!("jitter: {other:?} is not known")),
        None => {
            let interval = Fields::of(value, &["min", "max"])?;
            Ok(Jitter::Between {
                min: interval.decimal("min")?,
                max: interval.decimal("max")?,
            })
        }
    }
}

fn capped(backoff: Backoff, cap: &Value) -> Result<Backoff, String> {
    match cap.as_str() {
        Some("both") => Ok(backoff),
        Some("before") => Ok(backoff.cap_before_jitter()),
        Some("after") => Ok(backoff.cap_after_jitter()),
        _ => Err(format!("cap: {cap} is not known")),
    }
}

/// How far a delay may be off: as far as the case says, else by its rounding where the factor is not whole.
fn slack(case: &Fields<'_>, policy: &Fields<'_>) -> Result<Duration, String> {
    if case.optional("tolerance_ms").is_some() {
        return case.milliseconds("tolerance_ms");
    }
    let factor = policy
        .optional("factor")
        .map_or(Ok(Decimal::from(2)), decimal)?;
    if factor.to_string().contains('.') {
        Ok(ROUNDING)
    } else {
        Ok(Duration::ZERO)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a draw is 0 to 1, and the cast saturates"
)]
fn draw(value: &Value) -> Result<u64, String> {
    let draw = number(value)?;
    if (0.0..=1.0).contains(&draw) {
        Ok((draw * 2_f64.powi(64)) as u64)
    } else {
        Err(format!("wanted a number from 0 to 1, got {draw}"))
    }
}

fn range(value: &Value) -> Result<(Duration, Duration), String> {
    match value.as_array().map(Vec::as_slice) {
        Some([least, most]) => Ok((milliseconds(least)?, milliseconds(most)?)),
        _ => Err(format!("wanted two ends, got {value}")),
    }
}

fn each<T>(
    retries: &[u32],
    wanted: &[T],
    holds: impl Fn(u32, &T) -> Result<(), String>,
) -> Result<(), String> {
    pairs(retries, wanted)?.try_for_each(|(n, wanted)| holds(*n, wanted))
}

fn pairs<'a, A, B>(
    left: &'a [A],
    right: &'a [B],
) -> Result<impl Iterator<Item = (&'a A, &'a B)>, String> {
    if left.len() == right.len() {
        Ok(left.iter().zip(right))
    } else {
        Err(format!(
            "its lists differ in length: {} and {}",
            left.len(),
            right.len()
        ))
    }
}
