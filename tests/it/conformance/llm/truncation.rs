//! Requests that are too long, and what is sent after them.

use super::super::fields::same;
use super::call::{Answer, Sent, call, call_with};
use super::{Fields, policy};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::llm::Truncation;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{ReplayBody, RetryPolicyBuilder, RetryReport};
use http_retry_core::report::TextCut;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

/// What came of a call, and the requests that were sent.
type Called = Result<(RetryReport, Vec<Sent>), String>;

fn too_long(error: Option<&Value>) -> Result<Answer, String> {
    let default = json!({"error": {"code": "context_length_exceeded", "message": "too long"}});
    Answer::of(400, &json!({}), error.unwrap_or(&default))
}

fn cutting() -> RetryPolicyBuilder {
    policy().rewrite(Truncation::keep_head())
}

pub(in crate::conformance) fn request(case: &Value) -> Result<(), String> {
    let fields = ["api", "mode", "ratio", "request", "error", "expect", "note"];
    let case = Fields::of_case(case, &fields)?;
    let truncation = keep(case.text("mode")?)?.share(case.decimal("ratio")?);
    let before = case.value("request")?.to_string();
    let answer = too_long(case.optional("error"))?;
    let (report, sent) = call(policy().rewrite(truncation), &before, &[answer])?;
    let known = [
        "changed",
        "pointer",
        "chars_before",
        "chars_after",
        "request_after",
    ];
    let wanted = Fields::of(case.value("expect")?, &known)?;
    if !wanted.truth("changed")? {
        return same("requests sent", &1, &sent.len());
    }
    let cut = cut(&report).ok_or("nothing was cut")?;
    same(
        "characters before",
        &(wanted.count("chars_before")? as usize),
        &cut.before,
    )?;
    same(
        "characters after",
        &(wanted.count("chars_after")? as usize),
        &cut.after,
    )?;
    let after = second(&sent)?;
    let parsed: Value = serde_json::from_str(after).map_err(|error| error.to_string())?;
    same("request", wanted.value("request_after")?, &parsed)?;
    let pointer = wanted.text("pointer")?;
    let text = parsed.pointer(pointer).and_then(Value::as_str);
    let length = text.map(|text| text.chars().count());
    same("characters there", &Some(cut.after), &length)?;
    one_run_is_gone(&before, after)
}

fn keep(mode: &str) -> Result<Truncation, String> {
    match mode {
        "keep_head" => Ok(Truncation::keep_head()),
        "keep_tail" => Ok(Truncation::keep_tail()),
        "keep_ends" => Ok(Truncation::keep_ends()),
        other => Err(format!("mode: {other} is not known")),
    }
}

fn cut(report: &RetryReport) -> Option<TextCut> {
    report.attempts.get(1)?.cut
}

fn second(sent: &[Sent]) -> Result<&str, String> {
    let second = sent.get(1).ok_or("the request was sent once")?;
    Ok(&second.body)
}

/// Every other byte is as it was.
fn one_run_is_gone(before: &str, after: &str) -> Result<(), String> {
    let same = |(a, b): &(u8, u8)| a == b;
    let start = before.bytes().zip(after.bytes()).take_while(same).count();
    let ends = before.bytes().rev().zip(after.bytes().rev());
    let end = ends.take_while(same).count();
    if start + end >= after.len() {
        Ok(())
    } else {
        Err(format!("more than one run of bytes changed: {after}"))
    }
}

/// The counts that an error states show in what is kept of a text.
pub(in crate::conformance) fn counts(case: &Value) -> Result<(), String> {
    const LENGTH: u64 = 100_000;
    let case = Fields::of_case(case, &["case"])?;
    let known = ["message", "input_tokens", "output_tokens", "limit"];
    let case = Fields::of(case.value("case")?, &known)?;
    let error = json!({"error": {"message": case.text("message")?}});
    let text = "x".repeat(usize::try_from(LENGTH).unwrap());
    let body = json!({"messages": [{"role": "user", "content": text}]}).to_string();
    let answer = too_long(Some(&error))?;
    let (report, _) = call(cutting(), &body, &[answer])?;
    let number = |name| case.value(name).map(Value::as_u64);
    let input = number("input_tokens")?;
    let wanted = match (input, number("limit")?) {
        (Some(input), Some(limit)) => {
            let actual = input + number("output_tokens")?.unwrap_or_default();
            LENGTH * limit * 9 / (actual * 10)
        }
        _ => LENGTH * 3 / 4,
    };
    let got = cut(&report).map(|cut| cut.after as u64);
    same("characters kept", &Some(wanted), &got)
}

pub(in crate::conformance) fn raw(case: &Value) -> Result<(), String> {
    let known = [
        "request_text",
        "request_headers",
        "decoded_content_after",
        "changed",
        "replayable",
        "note",
    ];
    let case = Fields::of_case(case, &known)?;
    if case.optional("replayable").is_some() {
        return once();
    }
    let own = r#"{"messages":[{"role":"user","content":"0123456789"}]}"#;
    let text = case.value("request_text")?.as_str().unwrap_or(own);
    let mut request = Request::post("http://api.example/").body(text.to_owned());
    if let (Ok(request), Some(headers)) = (&mut request, case.optional("request_headers")) {
        for (name, value) in headers.as_object().into_iter().flatten() {
            let name: http::HeaderName = name.parse().map_err(|_| "no header")?;
            let value = value.as_str().unwrap_or_default().parse();
            request
                .headers_mut()
                .insert(name, value.map_err(|_| "no value")?);
        }
    }
    let request = request.map_err(|error| error.to_string())?;
    let (_, sent) = call_with(cutting(), request, &[too_long(None)?])?;
    match case.optional("decoded_content_after") {
        None => same("requests sent", &1, &sent.len()),
        Some(wanted) => {
            let after: Value = serde_json::from_str(second(&sent)?).map_err(|e| e.to_string())?;
            same("content", wanted, &after["messages"][0]["content"])
        }
    }
}

/// A body that is sent once is not cut either.
fn once() -> Result<(), String> {
    let policy = cutting().build().map_err(|error| error.to_string())?;
    let client = service_fn(|_: Request<ReplayBody<Full<Bytes>>>| async {
        let error = r#"{"error": {"code": "context_length_exceeded"}}"#;
        let mut response = Response::new(Full::new(Bytes::from_static(error.as_bytes())));
        *response.status_mut() = StatusCode::BAD_REQUEST;
        Ok::<_, Infallible>(response)
    });
    let layer = RetryLayer::new(policy).runtime(ManualRuntime::new());
    let slot = RetryReport::slot();
    let body = r#"{"messages":[{"role":"user","content":"0123456789"}]}"#;
    let body = ReplayBody::with_limit(Full::new(Bytes::from_static(body.as_bytes())), 0);
    let mut request = Request::new(body);
    request.extensions_mut().insert(slot.clone());
    let _ = layer.layer(client).oneshot(request).now_or_never();
    let report = slot.take().ok_or("no report")?;
    same("attempts", &1, &report.attempt_count)
}

pub(in crate::conformance) fn side_condition(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &["case"])?;
    let text = case.text("case")?;
    let mut known = SIDE_CONDITIONS.iter();
    let found = known.find(|(begins, _)| text.starts_with(begins));
    let (_, check) = found.ok_or_else(|| format!("case: {text:?} is not known"))?;
    check()
}

type Check = fn() -> Result<(), String>;

/// How the text of a case begins, and what it comes to.
const SIDE_CONDITIONS: [(&str, Check); 7] = [
    ("content-length", the_length_is_that_of_the_shorter_body),
    ("an Idempotency-Key", a_shorter_request_has_no_key),
    ("a signature", a_signed_request_is_not_cut),
    (
        "each cut uses one attempt",
        a_cut_is_an_attempt_without_a_wait,
    ),
    (
        "at most max_attempts",
        attempts_are_cut_until_there_are_no_more,
    ),
    ("the caller can see", the_report_tells_of_a_cut),
    ("off unless", nothing_is_cut_unless_asked_for),
];

fn long_body() -> String {
    json!({"messages": [{"role": "user", "content": "x".repeat(100)}]}).to_string()
}

/// A request with these headers that is too long each time.
fn run_by(policy: RetryPolicyBuilder, headers: &[(&'static str, &str)]) -> Called {
    let request = Request::post("http://api.example/");
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    let answers = vec![too_long(None)?; 9];
    call_with(policy, request.body(long_body()).unwrap(), &answers)
}

fn run(headers: &[(&'static str, &str)]) -> Called {
    run_by(cutting(), headers)
}

fn the_length_is_that_of_the_shorter_body() -> Result<(), String> {
    let length = long_body().len().to_string();
    let (_, sent) = run(&[("content-length", &length)])?;
    for sent in &sent {
        let told = sent.headers.get("content-length").cloned();
        let told = told.and_then(|told| told.to_str().ok()?.parse().ok());
        same("content-length", &Some(sent.body.len()), &told)?;
    }
    Ok(())
}

fn a_shorter_request_has_no_key() -> Result<(), String> {
    let (_, sent) = run(&[("idempotency-key", "k")])?;
    let keys = sent
        .iter()
        .map(|sent| sent.headers.contains_key("idempotency-key"));
    same("keys", &vec![true, false, false], &keys.collect())
}

fn a_signed_request_is_not_cut() -> Result<(), String> {
    let signed = [
        ("authorization", "AWS4-HMAC-SHA256 Credential=x"),
        ("content-digest", "sha-256=:x=:"),
        ("digest", "SHA-256=x"),
    ];
    signed.iter().try_for_each(|header| {
        let (_, sent) = run(&[*header])?;
        same("requests sent", &1, &sent.len())
    })
}

fn a_cut_is_an_attempt_without_a_wait() -> Result<(), String> {
    let (report, _) = run(&[])?;
    same("attempts", &3, &report.attempt_count)?;
    same("waited", &Duration::ZERO, &report.waited)
}

fn attempts_are_cut_until_there_are_no_more() -> Result<(), String> {
    let (report, _) = run(&[])?;
    let cuts = report.attempts.iter().filter_map(|attempt| attempt.cut);
    let cuts: Vec<_> = cuts.map(|cut| (cut.before, cut.after)).collect();
    same("cuts", &vec![(100, 75), (75, 56)], &cuts)
}

fn the_report_tells_of_a_cut() -> Result<(), String> {
    let (report, _) = run(&[])?;
    same("a cut in the report", &true, &cut(&report).is_some())
}

fn nothing_is_cut_unless_asked_for() -> Result<(), String> {
    let (_, sent) = run_by(policy(), &[])?;
    same("requests sent", &1, &sent.len())
}
