//! Delays in header values and in prose.

use super::super::fields::same;
use super::call::{Answer, call};
use super::{Fields, milliseconds, policy};
use http_retry::{RetryReport, StopReason};
use serde_json::{Value, json};
use std::time::Duration;

pub(in crate::conformance) fn duration(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &["text", "ms", "note"])?;
    let headers = json!({
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": case.text("text")?,
    });
    asked(&headers, &json!("{}"), case.value("ms")?)
}

pub(in crate::conformance) fn message(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &["message", "ms", "note"])?;
    let body = json!({"error": {"message": case.text("message")?}});
    asked(&json!({}), &body, case.value("ms")?)
}

fn asked(headers: &Value, body: &Value, wanted: &Value) -> Result<(), String> {
    let answer = Answer::of(429, headers, body)?;
    let any_wait = policy().max_server_delay(Duration::from_secs(86_400 * 365));
    let (report, _) = call(any_wait, "{}", &[answer])?;
    match wanted {
        Value::String(over) if over == "over_cap" => {
            same("stop", &StopReason::ServerDelayTooLong, &report.stop)
        }
        Value::Null => same("delay", &None, &first(&report)?),
        ms => {
            let none = Duration::ZERO;
            let got = first(&report)?.unwrap_or(none);
            same("delay", &milliseconds(ms)?, &got)
        }
    }
}

fn first(report: &RetryReport) -> Result<Option<Duration>, String> {
    let first = report.attempts.first().ok_or("no attempt was made")?;
    Ok(first.asked)
}
