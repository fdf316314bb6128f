//! The family's facts about other systems and services, by what an agent is seen to do: the cases that go through a
//! client. Their README is beside them, in `tests/it/conformance`; `HTTP_RETRY_CASES` names another folder.

use crate::server::{Server, Step};
use http_retry_config::{Document, RetryConfig};
use http_retry_core::RetryPolicyBuilder;
use http_retry_core::report::AttemptReport;
use http_retry_dialects::dialect::Dialect;
use http_retry_dialects::llm::LlmPreset;
use http_retry_testing::ManualRuntime;
use http_retry_ureq::{Retries, RetryOverride, RetryPolicy, RetryReport, StopReason};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::http::Request;

/// 2026-08-21T12:00:00Z.
const NOW: Duration = Duration::from_secs(1_787_313_600);

type Checked = Result<(), String>;

fn same<T: PartialEq + std::fmt::Debug>(what: &str, wanted: &T, got: &T) -> Checked {
    if wanted == got {
        return Ok(());
    }
    Err(format!("{what}: wanted {wanted:?}, got {got:?}"))
}

fn cases(file: &str) -> Vec<Value> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/it/conformance/cases");
    let folder = std::env::var_os("HTTP_RETRY_CASES").map_or(own, PathBuf::from);
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Checks each case of a file that applies.
fn check_all(file: &str, check: impl Fn(&Value) -> Checked) {
    let cases = cases(file);
    assert!(cases.len() > 10, "{file}: {} cases", cases.len());
    let checked = cases.iter().filter_map(|case| {
        let wrong = check(case).err()?;
        Some(format!("{}: {wrong}", case["id"]))
    });
    let wrong: Vec<_> = checked.collect();
    assert!(
        wrong.is_empty(),
        "{file}: {} wrong: {wrong:#?}",
        wrong.len()
    );
}

fn count(value: &Value) -> u16 {
    u16::try_from(value.as_u64().unwrap()).unwrap()
}

fn millis(value: &Value) -> Option<Duration> {
    value
        .as_f64()
        .map(|millis| Duration::from_secs_f64(millis / 1_000.0))
}

fn body(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The headers of a case: pairs, or an object.
fn pairs(value: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match value {
        Value::Array(list) => list
            .iter()
            .map(|pair| (text(&pair[0]), text(&pair[1])))
            .collect(),
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
        _ => Vec::new(),
    }
}

/// A response of a server as a case gives it.
fn response(status: u16, headers: &Value, text: &str) -> Step {
    let headers = pairs(headers).into_iter();
    let step = Step::status(status).body(text);
    headers.fold(step, |step, (name, value)| step.header(&name, value))
}

/// The report of a request that meets this step, and then successes.
fn report_of(
    retries: Retries,
    request: Request<&str>,
    script: Vec<Step>,
    wall: Duration,
) -> RetryReport {
    let server = Server::new(script);
    let server = server.with_clock(ManualRuntime::new().with_wall(wall));
    let slot = RetryReport::slot();
    let mut request = request;
    request.extensions_mut().insert(slot.clone());
    let _ = server.agent(retries).run(request);
    slot.take().unwrap()
}

/// A method that ureq does not send leaves nothing to see.
fn is_sent_by_ureq(method: &str) -> bool {
    !matches!(method, "QUERY" | "PURGE" | "CONNECT")
}

#[test]
fn the_default_policy_retries_what_the_cases_say() {
    check_all("classify.json", |case| {
        let method = case["method"].as_str().unwrap();
        if !is_sent_by_ureq(method) {
            return Ok(());
        }
        let request = Request::builder().method(method).uri("http://a.example/");
        // A key of idempotency among the headers can only be the request's.
        let keys = pairs(&case["headers"]).into_iter();
        let keys = keys.filter(|(name, _)| name.to_lowercase().contains("idempotency"));
        let request = keys.fold(request, |request, (name, value)| {
            request.header(name, value)
        });
        let retries = Retries::new(RetryPolicy::default());
        let status = count(&case["status"]);
        if status < 200 {
            return Ok(());
        }
        let step = response(status, &case["headers"], "");
        let report = report_of(retries, request.body("").unwrap(), vec![step], NOW);
        same(
            "retry",
            &case["retry"].as_bool().unwrap(),
            &(report.retries() > 0),
        )
    });
}

#[test]
fn a_response_asks_for_the_delay_that_the_cases_say() {
    check_all("server_delay.json", |case| {
        let now = Duration::from_secs_f64(case["now_unix"].as_f64().unwrap());
        let step = response(429, &case["headers"], "");
        let request = Request::get("http://a.example/").body("").unwrap();
        let report = report_of(
            Retries::new(RetryPolicy::default()),
            request,
            vec![step],
            now,
        );
        let asked = report.attempts[0].asked;
        match &case["delay_ms"] {
            Value::String(_) => {
                let year = Duration::from_secs(365 * 24 * 3_600);
                same(
                    "at least a year",
                    &true,
                    &asked.is_some_and(|asked| asked >= year),
                )
            }
            // A past date is no wish.
            Value::Null => same("delay", &Duration::ZERO, &asked.unwrap_or_default()),
            wanted => same(
                "delay",
                &millis(wanted).unwrap(),
                &asked.unwrap_or_default(),
            ),
        }
    });
}

fn retried(wanted: &Value, report: &RetryReport) -> Checked {
    let first: &AttemptReport = &report.attempts[0];
    same(
        "retry",
        &wanted["retry"].as_bool().unwrap(),
        &(report.retries() > 0),
    )?;
    let asked = millis(&wanted["delay_ms"]);
    // The cases state whole milliseconds; a date may have a finer fraction.
    let whole = |delay: Duration| Duration::from_millis(delay.as_millis().try_into().unwrap());
    same("delay", &asked, &first.asked.map(whole))?;
    let waited = report.attempts.get(1).map(|second| second.delay);
    let least = asked
        .max(millis(&wanted["min_delay_ms"]))
        .unwrap_or_default();
    same(
        "waited long enough",
        &true,
        &waited.is_none_or(|waited| waited >= least),
    )
}

/// The request of a case of a service.
fn asked(case: &Value) -> Request<&'static str> {
    let asked = &case["request"];
    let uri = format!("http://api.example{}", asked["path"].as_str().unwrap());
    let request = Request::builder().method(asked["method"].as_str().unwrap());
    let headers = pairs(&asked["headers"]).into_iter();
    let request = headers.fold(request.uri(uri), |request, (name, value)| {
        request.header(name, value)
    });
    let own = asked["idempotent"].as_bool();
    let own = own.map(|own| RetryOverride::new().idempotent(own));
    request.extension(own.unwrap_or_default()).body("").unwrap()
}

/// The policy for a service: with its own dialect, if there is one. `llm` means the preset of that name.
fn policy_of(service: &str) -> RetryPolicyBuilder {
    let policy = RetryPolicy::background().to_builder();
    match Dialect::get(service) {
        _ if service == "llm" => RetryPolicy::llm().to_builder(),
        Ok(dialect) => policy.dialect(dialect),
        Err(_) => policy,
    }
}

/// The meaning of a response by the dialect of its service.
fn by_its_dialect(case: &Value, step: Step) -> Checked {
    let policy = policy_of(case["service"].as_str().unwrap());
    let retries = Retries::new(policy.build().unwrap());
    let report = report_of(retries, asked(case), vec![step], NOW);
    let (first, expect) = (&report.attempts[0], &case["expect"]);
    let (class, reach) = (first.class.as_str(), first.reach.as_str());
    same("class", &expect["class"].as_str().unwrap(), &class)?;
    same("reach", &expect["reach"].as_str().unwrap(), &reach)?;
    retried(expect, &report)
}

/// Its meaning without one.
fn by_default(case: &Value, step: Step) -> Checked {
    let plain = Retries::new(RetryPolicy::background());
    let report = report_of(plain, asked(case), vec![step], NOW);
    let wanted = &case["with_default_policy"];
    retried(wanted, &report).map_err(|wrong| format!("plainly: {wrong}"))
}

#[test]
fn services_mean_what_the_cases_say() {
    for file in ["services.json", "services_2026.json"] {
        check_all(file, |case| {
            let status = count(&case["status"]);
            let step = response(status, &case["headers"], &body(&case["body"]));
            by_its_dialect(case, step.clone())?;
            by_default(case, step)
        });
    }
}

/// A retry block with durations instead of milliseconds.
fn put_retry(block: &mut Value, given: &Map<String, Value>) {
    for (key, value) in given {
        match key.strip_suffix("_ms") {
            Some(key) if value.is_null() => block[key] = json!("none"),
            Some(key) => block[key] = json!(format!("{value}ms")),
            None => block[key] = value.clone(),
        }
    }
}

fn rule(given: &Value) -> Value {
    let (mut own, mut retry) = (json!({}), Map::new());
    for (key, value) in given.as_object().unwrap() {
        match key.as_str() {
            "else" => {}
            "when" => {
                let tests = value.as_object().unwrap().iter().map(|(key, value)| {
                    (
                        key.strip_suffix("_contains").unwrap_or(key).to_owned(),
                        value.clone(),
                    )
                });
                own["when"] = tests.collect::<Map<_, _>>().into();
            }
            "do" if value == "retry" => own["retry"] = json!({}),
            "do" | "name" => own[key] = value.clone(),
            _ => {
                retry.insert(key.clone(), value.clone());
            }
        }
    }
    if own.get("retry").is_some() {
        put_retry(&mut own["retry"], &retry);
    }
    own
}

fn document(case: &Value) -> Value {
    let mut retry = json!({"jitter": "none", "max_delay": "none", "methods": "all"});
    if let Some(own) = case["retry"].as_object() {
        put_retry(&mut retry, own);
    }
    let mut document = json!({"version": 1, "gate": "off", "retry": retry});
    if let Some(counter) = case.get("counter") {
        document["retry"]["counter"] = counter.clone();
    }
    if let Some(rules) = case["rules"].as_array() {
        document["rules"] = rules.iter().map(rule).collect();
    }
    if let Some(otherwise) = case.get("otherwise") {
        document["otherwise"] = otherwise.clone();
    }
    document
}

fn outcome(outcome: &Value) -> Step {
    if outcome.get("error").is_some() {
        return Step::Fails(outcome["message"].as_str().unwrap().to_owned());
    }
    let mut text = json!({});
    for key in ["code", "message"] {
        if let Some(value) = outcome.get(key) {
            text[key] = value.clone();
        }
    }
    response(count(&outcome["status"]), &Value::Null, &text.to_string())
}

/// The end of a request is that of its case.
fn ended(end: &Value, report: &RetryReport) -> Checked {
    let action = match report.stop {
        StopReason::Succeeded | StopReason::Accepted | StopReason::NotRetryable => "continue",
        StopReason::Failed => "fail",
        StopReason::Stopped => "break",
        StopReason::AttemptsExhausted | StopReason::WaitsExhausted => "exhausted",
        other => other.as_str(),
    };
    same("action", &end["action"].as_str().unwrap(), &action)?;
    let last = report.attempts.last().unwrap();
    if let Some(status) = end["status"].as_u64() {
        let own = last.status.map(|status| status.as_u16().into());
        same("status", &Some(status), &own)?;
    }
    match end["rule"].as_u64() {
        Some(rule) => {
            let rule = format!("rules[{rule}]");
            same("rule", &Some(&*rule), &last.rule.as_deref())
        }
        None => Ok(()),
    }
}

#[test]
fn rules_of_a_document_do_what_the_cases_say() {
    check_all("rules.json", |case| {
        let document: Document = serde_json::from_value(document(case)).unwrap();
        let config = RetryConfig::load(&document).map_err(|errors| errors.to_string())?;
        let outcomes = case["outcomes"].as_array().unwrap();
        let outcomes: Vec<Step> = outcomes.iter().map(outcome).collect();
        // The last one repeats.
        let last = outcomes.last().unwrap().clone();
        let script = outcomes.into_iter().chain(std::iter::repeat_n(last, 60));
        let request = Request::get("http://a.example/").body("").unwrap();
        let report = report_of(Retries::routed(config), request, script.collect(), NOW);
        let attempts = report.attempt_count.into();
        same("attempts", &case["attempts"].as_u64().unwrap(), &attempts)?;
        let delays = case["delays_ms"].as_array().unwrap().iter();
        let delays = delays.map(|value| millis(value).unwrap());
        let waited = report.attempts.iter().skip(1).map(|one| one.delay);
        same("delays", &delays.collect::<Vec<_>>(), &waited.collect())?;
        ended(&case["final"], &report)
    });
}
