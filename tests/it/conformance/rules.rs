//! Rules of a document, by what a client under them is seen to do.

use super::fields::{Fields, milliseconds, same};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::config::{Document, RetryConfig};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{RetryReport, StopReason};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tower::{BoxError, ServiceBuilder, ServiceExt, service_fn};

const FIELDS: [&str; 8] = [
    "rules",
    "outcomes",
    "otherwise",
    "retry",
    "counter",
    "attempts",
    "delays_ms",
    "final",
];

pub(super) fn check(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &FIELDS)?;
    let config = config(&case)?;
    let outcomes = case.all("outcomes", Outcome::read)?;
    let report = run(&config, &outcomes)?;
    let attempts = case.count("attempts")?;
    same("attempts", &attempts, &report.attempt_count)?;
    let delays = match case.value("delays_ms")? {
        Value::Array(list) if list.is_empty() => Vec::new(),
        _ => case.all("delays_ms", milliseconds)?,
    };
    let waited: Vec<Duration> = report.attempts.iter().skip(1).map(|a| a.delay).collect();
    same("delays", &delays, &waited)?;
    last(&case, &report)
}

fn last(case: &Fields<'_>, report: &RetryReport) -> Result<(), String> {
    let wanted = Fields::of(case.value("final")?, &["action", "status", "rule"])?;
    let action = match report.stop {
        StopReason::Succeeded | StopReason::Accepted | StopReason::NotRetryable => "continue",
        StopReason::Failed => "fail",
        StopReason::Stopped => "break",
        StopReason::AttemptsExhausted | StopReason::WaitsExhausted => "exhausted",
        other => other.as_str(),
    };
    same("action", &wanted.text("action")?, &action)?;
    let last = report.attempts.last().ok_or("no attempt was made")?;
    if let Some(status) = wanted.optional("status") {
        let got = last.status.map(|status| status.as_u16().into());
        same("status", &Some(status.clone()), &got)?;
    }
    match wanted.optional("rule") {
        Some(rule) => {
            let place = format!("rules[{rule}]");
            same("rule", &Some(place.as_str()), &last.rule.as_deref())
        }
        None => Ok(()),
    }
}

/// The rules as a document: without jitter and without a gate, since the cases are.
fn config(case: &Fields<'_>) -> Result<RetryConfig, String> {
    let mut retry = json!({"jitter": "none", "max_delay": "none", "methods": "all"});
    if let Some(own) = case.optional("retry") {
        put_retry(&mut retry, own)?;
    }
    if let Some(counter) = case.optional("counter") {
        retry["counter"] = counter.clone();
    }
    let mut document = json!({"version": 1, "gate": "off", "retry": retry});
    if let Value::Array(_) = case.value("rules")? {
        document["rules"] = case.all("rules", rule)?.into();
    }
    if let Some(otherwise) = case.optional("otherwise") {
        document["otherwise"] = otherwise.clone();
    }
    let document: Document = serde_json::from_value(document).map_err(|error| error.to_string())?;
    RetryConfig::load(&document).map_err(|errors| errors.to_string())
}

fn rule(rule: &Value) -> Result<Value, String> {
    let given = rule.as_object().ok_or("a rule is no object")?;
    let mut own = Map::new();
    let mut retry = Map::new();
    for (key, value) in given {
        match key.as_str() {
            "else" => {}
            "when" => {
                own.insert("when".into(), when(value)?);
            }
            "do" | "name" => {
                own.insert(key.clone(), value.clone());
            }
            _ => {
                retry.insert(key.clone(), value.clone());
            }
        }
    }
    if own.get("do") == Some(&json!("retry")) {
        own.remove("do");
        let mut block = json!({});
        put_retry(&mut block, &retry.into())?;
        own.insert("retry".into(), block);
    }
    Ok(own.into())
}

fn when(when: &Value) -> Result<Value, String> {
    let given = when.as_object().ok_or("a condition is no object")?;
    let renamed = given.iter().map(|(key, value)| {
        let key = key.strip_suffix("_contains").unwrap_or(key);
        (key.to_owned(), value.clone())
    });
    Ok(renamed.collect::<Map<_, _>>().into())
}

/// Milliseconds become durations with a unit.
fn put_retry(block: &mut Value, given: &Value) -> Result<(), String> {
    let given = given.as_object().ok_or("a retry block is no object")?;
    for (key, value) in given {
        match key.strip_suffix("_ms") {
            Some(key) if value.is_null() => block[key] = json!("none"),
            Some(key) => block[key] = json!(format!("{value}ms")),
            None => block[key] = value.clone(),
        }
    }
    Ok(())
}

/// What an attempt meets.
enum Outcome {
    Answer(StatusCode, String),
    Error(String),
}

impl Outcome {
    fn read(outcome: &Value) -> Result<Self, String> {
        let fields = Fields::of(outcome, &["status", "error", "message", "code"])?;
        if fields.optional("error").is_some() {
            return Ok(Self::Error(fields.text("message")?.to_owned()));
        }
        let status = u16::try_from(fields.count("status")?).map_err(|error| error.to_string())?;
        let mut body = json!({});
        for key in ["code", "message"] {
            if let Some(value) = fields.optional(key) {
                body[key] = value.clone();
            }
        }
        let status = StatusCode::from_u16(status).map_err(|error| error.to_string())?;
        Ok(Self::Answer(status, body.to_string()))
    }

    fn result(&self) -> Result<Response<Full<Bytes>>, String> {
        match self {
            Self::Error(words) => Err(words.clone()),
            Self::Answer(status, body) => {
                let mut response = Response::new(Full::new(Bytes::from(body.clone())));
                *response.status_mut() = *status;
                Ok(response)
            }
        }
    }
}

/// The report of a request whose attempts meet these outcomes, the last of which repeats.
fn run(config: &RetryConfig, outcomes: &[Outcome]) -> Result<RetryReport, String> {
    let made = Arc::new(AtomicUsize::new(0));
    let results: Vec<_> = outcomes.iter().map(Outcome::result).collect();
    let client = service_fn(move |_: Request<String>| {
        let number = made.fetch_add(1, Ordering::Relaxed).min(results.len() - 1);
        let result = results[number].clone();
        async move { result.map_err(BoxError::from) }
    });
    let layer = RetryLayer::from_config(config).runtime(ManualRuntime::new());
    let service = ServiceBuilder::new().layer(layer).service(client);
    let slot = RetryReport::slot();
    let mut request = Request::new(String::new());
    request.extensions_mut().insert(slot.clone());
    let call = service.oneshot(request);
    let _ = call
        .now_or_never()
        .ok_or("the request is still under way")?;
    slot.take().ok_or_else(|| "no report".into())
}
