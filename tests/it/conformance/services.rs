//! What services mean by their responses, by what a client under the `background` preset is seen to do.

use super::fields::{Fields, milliseconds, same};
use super::llm::call::{Answer, call_with};
use http::{HeaderName, HeaderValue, Method, Request};
use http_retry::dialect::Dialect;
use http_retry::llm::LlmPreset;
use http_retry::policy::Scope;
use http_retry::report::AttemptReport;
use http_retry::{RetryOverride, RetryPolicy, RetryPolicyBuilder, RetryReport};
use serde_json::Value;
use std::time::Duration;

const FIELDS: [&str; 9] = [
    "service",
    "request",
    "status",
    "headers",
    "body",
    "expect",
    "with_default_policy",
    "inferred",
    "note",
];
const EXPECTED: [&str; 6] = [
    "retry",
    "class",
    "reach",
    "delay_ms",
    "min_delay_ms",
    "scope",
];
const BY_DEFAULT: [&str; 3] = ["retry", "delay_ms", "why"];

/// The preset; its gate waits as long as a call itself would.
fn policy() -> RetryPolicyBuilder {
    RetryPolicy::background().to_builder()
}

/// The policy for a service: with its own dialect, if the crate has one. `llm` means the preset of that name.
fn policy_of(service: &str) -> RetryPolicyBuilder {
    if service == "llm" {
        return RetryPolicy::llm().to_builder();
    }
    match Dialect::get(service) {
        Ok(dialect) => policy().dialect(dialect),
        Err(_) => policy(),
    }
}

pub(super) fn check(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &FIELDS)?;
    let answer = Answer::of(
        case.count("status")?,
        case.value("headers")?,
        case.value("body")?,
    )?;
    let request = || request(&case);
    let of_service = policy_of(case.text("service")?);
    let (report, _) = call_with(of_service, request()?, std::slice::from_ref(&answer))?;
    let expect = expected(&Fields::of(case.value("expect")?, &EXPECTED)?, &report);
    let (report, _) = call_with(policy(), request()?, &[answer])?;
    let wanted = Fields::of(case.value("with_default_policy")?, &BY_DEFAULT)?;
    let default = by_default(&wanted, &report);
    let halves = [("expect", expect), ("default", default)].into_iter();
    let wrong = halves.filter_map(|(half, held)| Some(format!("{half}: {}", held.err()?)));
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("; "))
    }
}

fn request(case: &Fields<'_>) -> Result<Request<String>, String> {
    let known = ["method", "path", "headers", "idempotent"];
    let asked = Fields::of(case.value("request")?, &known)?;
    let method = Method::from_bytes(asked.text("method")?.as_bytes());
    let mut request = Request::builder()
        .method(method.map_err(|error| error.to_string())?)
        .uri(format!("http://api.example{}", asked.text("path")?))
        .body(String::new())
        .map_err(|error| error.to_string())?;
    for (name, value) in asked
        .optional("headers")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
        let value = HeaderValue::from_str(value.as_str().ok_or("headers: wanted texts")?);
        let value = value.map_err(|error| error.to_string())?;
        request.headers_mut().insert(name, value);
    }
    if let Some(idempotent) = asked.optional("idempotent") {
        let idempotent = idempotent
            .as_bool()
            .ok_or("idempotent: wanted true or false")?;
        let own = RetryOverride::new().idempotent(idempotent);
        request.extensions_mut().insert(own);
    }
    Ok(request)
}

fn expected(wanted: &Fields<'_>, report: &RetryReport) -> Result<(), String> {
    let first = first(report)?;
    same("class", &wanted.text("class")?, &first.class.as_str())?;
    same("reach", &wanted.text("reach")?, &first.reach.as_str())?;
    retried(wanted, report)?;
    if let Some(scope) = wanted.optional("scope") {
        let wanted = scope.as_str().and_then(scope_of);
        same(
            "scope",
            &Some(wanted.ok_or("scope: not known")?),
            &first.scope,
        )?;
    }
    let least = wanted.optional("min_delay_ms").map(milliseconds);
    let least = least.transpose()?.unwrap_or_default();
    match report.attempts.get(1) {
        Some(second) if second.delay < least => Err(format!(
            "sent again after {:?}, before {least:?}",
            second.delay
        )),
        _ => Ok(()),
    }
}

fn by_default(wanted: &Fields<'_>, report: &RetryReport) -> Result<(), String> {
    wanted.text("why")?;
    retried(wanted, report)
}

/// Whether the request was sent again, and no earlier than the server asked for.
fn retried(wanted: &Fields<'_>, report: &RetryReport) -> Result<(), String> {
    let first = first(report)?;
    same("retry", &wanted.truth("retry")?, &(report.retries() > 0))?;
    let asked = match wanted.value("delay_ms")? {
        Value::Null => None,
        delay => Some(milliseconds(delay)?),
    };
    // The cases state whole milliseconds; a date may have a finer fraction.
    let whole = |delay: Duration| {
        Duration::from_millis(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX))
    };
    same("delay", &asked, &first.asked.map(whole))?;
    let waited = report.attempts.get(1).map(|second| second.delay);
    match (waited, asked) {
        (Some(waited), Some(asked)) if waited < asked => {
            Err(format!("sent again after {waited:?}, before {asked:?}"))
        }
        _ => Ok(()),
    }
}

fn first(report: &RetryReport) -> Result<&AttemptReport, String> {
    report
        .attempts
        .first()
        .ok_or_else(|| "no attempt was made".to_owned())
}

fn scope_of(text: &str) -> Option<Scope> {
    Some(match text {
        "account" => Scope::Account,
        "route" => Scope::Route,
        "method_route" => Scope::MethodRoute,
        "request" => Scope::Request,
        text => Scope::named(text.strip_prefix("named:")?)?,
    })
}

mod tests {
    use super::*;
    use serde_json::json;

    fn case(expect: &Value) -> Result<(), String> {
        check(&json!({
            "id": "a", "source": "b", "service": "none of them",
            "request": {"method": "GET", "path": "/"},
            "status": 429, "headers": {"retry-after": "2"}, "body": "",
            "expect": expect,
            "with_default_policy": {"retry": true, "delay_ms": 2000, "why": "plain_http"},
        }))
    }

    #[test]
    fn what_is_not_as_expected_is_seen() {
        let right =
            json!({"retry": true, "class": "throttled", "reach": "refused", "delay_ms": 2000});
        assert_eq!(case(&right), Ok(()));
        for (field, value) in [
            ("retry", json!(false)),
            ("class", json!("transient")),
            ("reach", json!("answered")),
            ("delay_ms", json!(null)),
            ("delay_ms", json!(2001)),
            ("min_delay_ms", json!(600_000)),
            ("scope", json!("route")),
            ("scope", json!("nobody")),
        ] {
            let mut wrong = right.clone();
            wrong[field] = value;
            assert!(case(&wrong).is_err(), "{field}");
        }
        let least = Duration::from_millis(2000);
        let mut both = right;
        both["min_delay_ms"] = json!(least.as_millis());
        assert_eq!(case(&both), Ok(()));
    }
}
