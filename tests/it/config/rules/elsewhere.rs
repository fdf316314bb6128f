//! At the gate of the service that a request fails over to.

use super::super::config;
use futures_util::FutureExt;
use http::Request;
use http_retry::config::RetryConfig;
use http_retry::gate::Gate;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryOverride, RetryReport, StopReason};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// The second service refuses everybody for a minute, and answers 203 in its own place.
fn two() -> RetryConfig {
    config(
        "
version: 1
services:
  first:
    match: {host: first.example}
    retry: {max_retries: 0, deadline: 30s, on_exhausted: {failover: second}}
  second:
    base_url: http://second.example
    gate: {max_wait: 10m}
    retry: {max_retries: 0, on_exhausted: {respond: {status: 203}}}
",
    )
}

type Lines = Arc<Mutex<Vec<String>>>;

fn seen_by(lines: &Lines) -> impl Fn(&RetryEvent<'_>) + Send + Sync + 'static {
    let lines = Arc::clone(lines);
    move |event| {
        let what = match event.kind {
            RetryEventKind::AttemptStarted { .. } => "starts".to_owned(),
            RetryEventKind::WaitedAtGate { waited, .. } => format!("waited {waited:?}"),
            RetryEventKind::Stopped(report) => report.stop.to_string(),
            _ => return,
        };
        let line = format!("{} {what}", event.service);
        lines.lock().unwrap().push(line);
    }
}

#[test]
fn a_request_has_moved_when_the_other_gate_lets_it_through() {
    let lines = Lines::default();
    let refused = |server: Script| server.status(429).header("retry-after", "60");
    let server = (0..4).fold(Script::new(), |server, _| refused(server));
    let server = server.status(503).status(200);
    let layer = RetryLayer::from_config(&two())
        .runtime(ManualRuntime::new())
        .observe(seen_by(&lines));
    let service = layer.layer(server.clone());

    for _ in 0..4 {
        let own = RetryOverride::new().service("second");
        let refused = Request::get("http://second.example/").extension(own);
        let refused = refused.body(String::new()).unwrap();
        let answer = service.clone().oneshot(refused).now_or_never().unwrap();
        assert_eq!(answer.unwrap().status(), 203);
    }
    lines.lock().unwrap().clear();

    let request = Request::get("http://first.example/")
        .body(String::new())
        .unwrap();
    let answer = service.oneshot(request).now_or_never().unwrap().unwrap();
    assert_eq!(answer.status(), 503, "the first service's last word");
    let report = answer.extensions().get::<RetryReport>().unwrap();
    assert_eq!(report.stop, StopReason::DeadlineExceeded);
    assert_eq!(server.calls().len(), 5);
    let told = lines.lock().unwrap().clone();
    // The second service's gate does not open in time.
    assert_eq!(told, ["first starts", "first deadline_exceeded"]);
}

const TWO_GATES: &str = "
version: 1
services:
  first:
    match: {host: first.example}
    gate: on
    rules:
      - when: 503
        failover: second
        set: {headers: {x-tenant: two}}
  second: {base_url: \"http://second.example/v2\", gate: on}
";

#[test]
fn the_other_gate_sees_the_request_as_it_comes_there() {
    let calls = Lines::default();
    let own = Arc::clone(&calls);
    let gate = Gate::new().key_by(move |head, headers, extensions| {
        let header = |name| {
            headers
                .get(name)
                .map_or("none", |value| value.to_str().unwrap())
        };
        let tenant = extensions.and_then(|all| all.get::<u8>());
        let line = format!(
            "{}{} {tenant:?} {} {}",
            head.authority().unwrap(),
            head.path(),
            header("authorization"),
            header("x-tenant")
        );
        own.lock().unwrap().push(line.clone());
        line
    });
    let layer = RetryLayer::from_config(&config(TWO_GATES))
        .runtime(ManualRuntime::new())
        .gate(gate);
    let service = layer.layer(Script::new().status(503).status(200));
    let request = Request::get("http://first.example/a")
        .header("authorization", "mine")
        .header("x-tenant", "one")
        .extension(7_u8)
        .body(String::new())
        .unwrap();
    let answer = service.oneshot(request).now_or_never().unwrap();
    assert_eq!(answer.unwrap().status(), 200);
    let expected = [
        "first.example/a Some(7) mine one",
        "second.example/v2/a Some(7) none two",
    ];
    assert_eq!(*calls.lock().unwrap(), expected);
}

/// 40 s are waited at the first gate; of the 50 s that the second allows, 10 are left.
const FIFTY_SECONDS: &str = "
version: 1
services:
  first:
    match: {host: first.example}
    gate: {max_wait: 10m}
    retry: {max_retries: 1, max_refused: 1, backoff: none, on_exhausted: {failover: second}}
  second:
    base_url: http://second.example
    gate: {max_wait: 50s}
    retry: {max_retries: 0}
";

#[test]
fn what_was_waited_at_one_gate_is_not_waited_at_the_next() {
    let lines = Lines::default();
    let server = Script::new()
        .status(429)
        .header("retry-after", "100")
        .status(429)
        .header("retry-after", "40");
    let server = server.status(503).status(503).status(200);
    let layer = RetryLayer::from_config(&config(FIFTY_SECONDS))
        .runtime(ManualRuntime::new())
        .observe(seen_by(&lines));
    let service = layer.layer(server);
    let mut refused = Request::get("http://second.example/")
        .body(String::new())
        .unwrap();
    let own = RetryOverride::new().service("second");
    refused.extensions_mut().insert(own);
    service
        .clone()
        .oneshot(refused)
        .now_or_never()
        .unwrap()
        .unwrap();

    let request = Request::get("http://first.example/")
        .body(String::new())
        .unwrap();
    let answer = service.oneshot(request).now_or_never().unwrap().unwrap();
    assert_eq!(answer.status(), 200);
    let report = answer.extensions().get::<RetryReport>().unwrap();
    let waited = report.waited;
    // Who has waited as long as it may goes within the next seconds.
    let most = Duration::from_secs(55);
    assert!(waited <= most, "{waited:?} {:?}", lines.lock().unwrap());
    assert!(waited >= Duration::from_secs(40), "{waited:?}");
}
