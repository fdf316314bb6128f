//! The presets' numbers, by what the presets do.

use super::fields::{Fields, milliseconds, same};
use http::{HeaderMap, Method, StatusCode};
use http_retry::llm::LlmPreset;
use http_retry::policy::Moment;
use http_retry::{Outcome, RequestFacts, RetryBudget, RetryPolicy};
use http_retry_core::settings::PolicyExt;
use serde_json::Value;
use std::time::Duration;

const FIELDS: [&str; 6] = [
    "preset",
    "max_attempts",
    "max_retries",
    "base_ms",
    "max_delay_ms",
    "jitter",
];
/// Enough retries to meet any cap.
const RETRIES: u32 = 60;

pub(super) fn check(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &FIELDS)?;
    let policy = preset(case.text("preset")?)?;
    limit(&case, &policy)?;
    match case.value("base_ms")? {
        Value::Null => Ok(()),
        base => schedule(&case, &policy, milliseconds(base)?),
    }
}

fn preset(name: &str) -> Result<RetryPolicy, String> {
    match name {
        "user_facing" => Ok(RetryPolicy::user_facing()),
        "background" => Ok(RetryPolicy::background()),
        "llm" => Ok(RetryPolicy::llm()),
        "rate_limited" => Ok(RetryPolicy::rate_limited()),
        "never" => Ok(RetryPolicy::never()),
        other => Err(format!("preset: {other:?} is not known")),
    }
}

fn limit(case: &Fields<'_>, policy: &RetryPolicy) -> Result<(), String> {
    let retries = case.count("max_retries")?;
    let granted = delays(policy, 0).len();
    same("max_retries", &retries, &policy.retry_limit())?;
    same("retries made", &(retries as usize), &granted)?;
    let attempts = case.count("max_attempts")? as usize;
    same("attempts made", &attempts, &(granted + 1))
}

fn schedule(case: &Fields<'_>, policy: &RetryPolicy, base: Duration) -> Result<(), String> {
    let policy = policy.to_builder().max_retries(RETRIES).build();
    let policy = policy.map_err(|error| error.to_string())?;
    let most = match case.value("max_delay_ms")? {
        Value::Null => Duration::MAX,
        most => milliseconds(most)?,
    };
    let ceilings = (0..RETRIES).map(|step| {
        let doubled = 2_u32.saturating_pow(step);
        base.saturating_mul(doubled).min(most)
    });
    let ceilings: Vec<Duration> = ceilings.collect();
    let floors: Vec<Duration> = match case.text("jitter")? {
        "none" => ceilings.clone(),
        "equal" => ceilings.iter().map(|ceiling| *ceiling / 2).collect(),
        "full" => vec![Duration::ZERO; ceilings.len()],
        other => return Err(format!("jitter: {other:?} is not known")),
    };
    same("longest delays", &ceilings, &delays(&policy, u64::MAX))?;
    same("shortest delays", &floors, &delays(&policy, 0))
}

/// The delays of a request that always gets a 503, for one random number.
fn delays(policy: &RetryPolicy, random: u64) -> Vec<Duration> {
    let headers = HeaderMap::new();
    let unavailable = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
    let facts = RequestFacts::of(&Method::GET, &headers);
    let mut session = policy.session(facts, Duration::ZERO);
    let moment = Moment::default().with_random(random);
    let budget = RetryBudget::unlimited();
    std::iter::from_fn(|| {
        let plan = session.plan(&unavailable, moment).ok()?;
        let paid = budget.withdraw(plan, Duration::ZERO).ok()?;
        session.apply(&paid);
        Some(paid.delay())
    })
    .collect()
}

mod tests {
    use super::*;
    use serde_json::json;

    fn case(change: &str, value: Value) -> Result<(), String> {
        let mut case = json!({"id": "a", "source": "b", "preset": "user_facing", "max_attempts": 2,
            "max_retries": 1, "base_ms": 500, "max_delay_ms": 2000, "jitter": "full"});
        case[change] = value;
        check(&case)
    }

    #[test]
    fn every_number_that_is_wrong_is_seen() {
        assert_eq!(case("id", json!("right")), Ok(()));
        for (field, value) in [
            ("preset", json!("background")),
            ("preset", json!("nobody")),
            ("max_attempts", json!(3)),
            ("max_retries", json!(2)),
            ("base_ms", json!(501)),
            ("max_delay_ms", json!(2001)),
            ("max_delay_ms", json!(null)),
            ("jitter", json!("equal")),
            ("jitter", json!("none")),
            ("methods", json!("all")),
        ] {
            assert!(case(field, value.clone()).is_err(), "{field} {value}");
        }
    }

    #[test]
    fn a_preset_without_retries_has_no_delays() {
        let never = json!({"id": "a", "source": "b", "preset": "never", "max_attempts": 1,
            "max_retries": 0, "base_ms": null, "max_delay_ms": null, "jitter": null});
        assert_eq!(check(&never), Ok(()));
    }
}
