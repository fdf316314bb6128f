//! Answers of LLM APIs, by what a client under the `llm` preset is seen to do.

pub(super) mod call;
pub(super) mod delays;
pub(super) mod streams;
pub(super) mod truncation;

use super::fields::{Fields, milliseconds, same};
use call::{Answer, call};
use http_retry::llm::LlmClassifier;
use http_retry::llm::LlmPreset;
use http_retry::policy::DelaySource;
use http_retry::{RetryPolicy, RetryPolicyBuilder, RetryReport};
use serde_json::Value;
use std::time::Duration;

const FIELDS: [&str; 7] = [
    "provider", "status", "headers", "body", "expect", "note", "requires",
];
const EXPECTED: [&str; 6] = [
    "retry",
    "reason",
    "delay_ms",
    "remedy",
    "fallback",
    "shared_cooldown",
];

/// The preset without its gate, so that each call's own delay is seen.
pub(super) fn policy() -> RetryPolicyBuilder {
    RetryPolicy::llm().to_builder().max_gate_wait(None)
}

pub(super) fn check(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &FIELDS)?;
    let answer = Answer::of(
        case.count("status")?,
        case.value("headers")?,
        case.value("body")?,
    )?;
    let inspect = match case.optional("requires") {
        None => false,
        Some(Value::String(what)) if what == "inspect_2xx_body" => true,
        Some(other) => return Err(format!("requires: {other} is not known")),
    };
    let classifier = LlmClassifier::new().inspect_success(inspect);
    let policy = policy().classifier(classifier);
    let (report, _) = call(policy.clone(), "{}", std::slice::from_ref(&answer))?;
    let wanted = Fields::of(case.value("expect")?, &EXPECTED)?;
    judged(&wanted, &report)?;
    if answer.is_rate_limit() && wanted.optional("delay_ms").is_some() {
        let (gated, _) = call(
            policy.max_gate_wait(Duration::from_secs(300)),
            "{}",
            &[answer],
        )?;
        shared(&wanted, &gated)?;
    }
    Ok(())
}

fn judged(wanted: &Fields<'_>, report: &RetryReport) -> Result<(), String> {
    let first = report.attempts.first().ok_or("no attempt was made")?;
    same("retry", &wanted.truth("retry")?, &(report.retries() > 0))?;
    let reason = first.reason.map_or("success", |reason| reason.as_str());
    same("reason", &wanted.text("reason")?, &reason)?;
    if let Some(delay) = wanted.optional("delay_ms") {
        let wanted = milliseconds(delay)?;
        same("delay", &Some(wanted), &first.asked)?;
        let waited = report.attempts.get(1).map(|second| second.delay);
        if waited.is_some_and(|waited| waited < wanted) {
            return Err(format!("sent again after {waited:?}, before {wanted:?}"));
        }
    }
    let too_long = ["context_length", "request_too_large"];
    let remedy = if too_long.contains(&reason) {
        "truncate"
    } else {
        "none"
    };
    same("remedy", &wanted.text("remedy")?, &remedy)
}

/// Whether all callers wait together, which shows in who set the delay.
fn shared(wanted: &Fields<'_>, report: &RetryReport) -> Result<(), String> {
    let Some(second) = report.attempts.get(1) else {
        return Ok(());
    };
    match wanted.optional("shared_cooldown").and_then(Value::as_bool) {
        Some(shared) => {
            let gated = second.delay_source == Some(DelaySource::Gate);
            same("shared_cooldown", &shared, &gated)
        }
        None => Ok(()),
    }
}
