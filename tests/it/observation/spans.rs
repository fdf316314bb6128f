//! One span per attempt and one log line per retry, with the names of OpenTelemetry.

use super::journal::Journal;
use super::*;
use http_retry::RetryPolicyBuilder;
use http_retry::policy::Moment;
use http_retry::rules::{Condition, ErrorGroup, Rule};
use http_retry::runtime::{Runtime, Sleep};
use std::convert::Infallible;
use std::io;
use tower::util::MapRequest;
use tracing::Level;
use tracing::level_filters::LevelFilter;

fn troubled() -> Script {
    let script = Script::new().status(503);
    script.error(io::ErrorKind::ConnectionReset).status(200)
}

const ATTEMPTS: [&str; 3] = [
    "http.attempt: error.type=503 http.request.method=GET http.response.status_code=503 otel.kind=client \
     otel.name=GET server.address=api.example server.port=8080",
    "http.attempt: error.type=reset http.request.method=GET http.request.resend_count=1 otel.kind=client \
     otel.name=GET server.address=api.example server.port=8080",
    "http.attempt: http.request.method=GET http.request.resend_count=2 http.response.status_code=200 \
     otel.kind=client otel.name=GET server.address=api.example server.port=8080",
];

const RETRIES: [&str; 2] = [
    "WARN will retry the request: class=transient delay_ms=1000 delay_source=own http.request.method=GET \
     http.request.resend_count=1 http.response.status_code=503 max_attempts=5 reach=answered \
     server.address=api.example server.port=8080 service=api.example:8080 took_ms=0",
    "WARN will retry the request: class=transient delay_ms=1000 delay_source=own error.type=reset \
     http.request.method=GET http.request.resend_count=2 max_attempts=5 reach=ambiguous \
     server.address=api.example server.port=8080 service=api.example:8080 took_ms=0",
];

/// The lines of the spans, and those of the log.
fn sorted(lines: Vec<String>) -> (Vec<String>, Vec<String>) {
    lines
        .into_iter()
        .partition(|line| line.starts_with("http.attempt:"))
}

#[test]
fn each_attempt_is_a_span_and_each_retry_a_warning() {
    let (by_tower, _) = Journal::of(|| by_tower(&layer(), troubled()));
    let (by_reqwest, _) = Journal::of(|| by_reqwest(middleware(), troubled()));
    for lines in [by_tower, by_reqwest] {
        let (spans, logged) = sorted(lines);
        assert_eq!(spans, ATTEMPTS);
        assert_eq!(logged, RETRIES);
    }
}

#[test]
fn a_request_that_asks_for_nothing_has_the_same_spans() {
    let (lines, ()) = Journal::of(|| {
        let request = http::Request::get(URL).body(String::new()).unwrap();
        let call = layer().layer(troubled()).oneshot(request);
        call.now_or_never().unwrap().unwrap();
    });
    let (spans, logged) = sorted(lines);
    assert_eq!(spans, ATTEMPTS);
    assert_eq!(logged, RETRIES);
}

#[test]
fn the_events_spans_and_log_lines_of_a_call_have_its_number() {
    let mut earlier = 0;
    let down = || Script::new().status(503).status(503);
    let run_by_tower: fn(Numbers, Script) = |numbers, script| {
        by_tower(&layer().observer(numbers), script);
    };
    let run_by_reqwest: fn(Numbers, Script) = |numbers, script| {
        by_reqwest(middleware().observer(numbers), script);
    };
    for run in [run_by_tower, run_by_reqwest] {
        // Three attempts, two retries; the other fails after five attempts and four retries.
        for (script, of_events, of_lines) in [
            (troubled(), 9, 5),
            (down().status(503).status(503).status(503), 15, 10),
        ] {
            let (numbers, journal) = (Numbers::default(), Journal::default());
            journal.listen(|| run(numbers.clone(), script));
            let numbers = numbers.0.lock().unwrap().clone();
            let call = numbers[0].unwrap();
            assert!(call > earlier, "{call} after {earlier}");
            assert_eq!(numbers, vec![Some(call); of_events]);
            assert_eq!(journal.calls(), vec![call.to_string(); of_lines]);
            earlier = call;
        }
    }
}

/// The number of the call of each event.
#[derive(Clone, Default)]
struct Numbers(Arc<Mutex<Vec<Option<u64>>>>);

impl Observer for Numbers {
    fn on_event(&self, event: &RetryEvent<'_>) {
        self.0.lock().unwrap().push(event.call);
    }
}

#[test]
fn a_success_at_once_is_one_span_and_no_log_line() {
    let (lines, _) = Journal::of(|| by_reqwest(middleware(), Script::new().status(204)));
    let only = "http.attempt: http.request.method=GET http.response.status_code=204 otel.kind=client otel.name=GET \
                server.address=api.example server.port=8080";
    assert_eq!(lines, [only]);
}

#[test]
fn an_answer_of_404_is_an_error_of_its_span_and_no_retry() {
    let (lines, _) = Journal::of(|| by_tower(&layer(), Script::new().status(404)));
    let only = "http.attempt: error.type=404 http.request.method=GET http.response.status_code=404 \
                otel.kind=client otel.name=GET server.address=api.example server.port=8080";
    assert_eq!(lines, [only]);
}

/// The span of a request with this method and URL.
fn span(method: &str, url: &str) -> String {
    let (lines, ()) = Journal::of(|| {
        let request = http::Request::builder().method(method).uri(url);
        let call = layer().layer(Script::new());
        let call = call.oneshot(request.body(String::new()).unwrap());
        call.now_or_never().unwrap().unwrap();
    });
    lines.into_iter().next().unwrap()
}

#[test]
fn a_port_that_the_url_does_not_name_is_that_of_its_scheme() {
    for (url, end) in [
        (
            "http://api.example/a",
            "server.address=api.example server.port=80",
        ),
        (
            "https://api.example/a",
            "server.address=api.example server.port=443",
        ),
        (
            "https://api.example:444/a",
            "server.address=api.example server.port=444",
        ),
        ("/a", "server.address="),
    ] {
        let span = span("GET", url);
        assert!(span.ends_with(end), "{url}: {span}");
    }
}

#[test]
fn a_method_that_nobody_knows_is_not_the_name_of_a_span() {
    let span = span("PURGE", "https://api.example/a");
    let words = "http.request.method=_OTHER http.request.method_original=PURGE";
    assert!(
        span.contains(words) && span.contains("otel.name=HTTP"),
        "{span}"
    );
}

#[test]
fn a_warning_says_when_the_server_set_the_delay() {
    let busy = Script::new()
        .status(503)
        .header("retry-after", "5")
        .status(200);
    let (lines, report) = Journal::of(|| by_tower(&layer(), busy));
    let waited = report.waited.as_millis();
    let warning = format!(
        "WARN will retry the request: class=throttled delay_ms={waited} delay_source=server http.request.method=GET \
         http.request.resend_count=1 http.response.status_code=503 max_attempts=5 reach=answered \
         server.address=api.example server.port=8080 service=api.example:8080 took_ms=0"
    );
    assert!(lines.contains(&warning), "{lines:?}");
}

#[test]
fn a_warning_has_the_attempts_duration_and_the_most_attempts() {
    let slow = Duration::from_millis(250);
    let limited = every_second().to_builder().max_retries(2).build().unwrap();
    let busy = Rule::when(Condition::status([429]).unwrap()).retry(limited);
    let ruled = every_second().to_builder().rule(busy);
    let unlimited = every_second().to_builder().max_retries(u32::MAX);
    for (policy, status, most) in [
        (every_second().to_builder(), 503, Some("max_attempts=5")),
        (ruled.clone(), 429, Some("max_attempts=3")),
        (ruled, 503, Some("max_attempts=5")),
        (unlimited, 503, None),
    ] {
        let runtime = ManualRuntime::new();
        let layer = RetryLayer::new(policy.build().unwrap()).runtime(runtime.clone());
        let script = Script::new().status(status).status(200);
        let server = MapRequest::new(script, move |request: http::Request<String>| {
            runtime.advance(slow);
            request
        });
        let (lines, ()) = Journal::of(|| {
            let request = http::Request::get(URL).body(String::new()).unwrap();
            let call = layer.layer(server).oneshot(request);
            call.now_or_never().unwrap().unwrap();
        });
        let (_, logged) = sorted(lines);
        assert_eq!(logged.len(), 1, "{logged:?}");
        assert!(logged[0].ends_with(" took_ms=250"), "{logged:?}");
        let mut words = logged[0].split(' ');
        let found = words.find(|word| word.starts_with("max_attempts"));
        assert_eq!(found, most, "{logged:?}");
    }
}

#[test]
fn retries_are_logged_at_the_level_that_is_set() {
    let down = || {
        let twice = Script::new().status(503).status(503);
        twice.status(503).status(503).status(503)
    };
    for level in [
        Level::ERROR,
        Level::WARN,
        Level::INFO,
        Level::DEBUG,
        Level::TRACE,
    ] {
        let (by_tower, _) = Journal::of(|| by_tower(&layer().retry_level(level), down()));
        let (by_reqwest, _) = Journal::of(|| by_reqwest(middleware().retry_level(level), down()));
        for lines in [by_tower, by_reqwest] {
            let (_, logged) = sorted(lines);
            let retry = format!("{level} will retry the request:");
            let retries = logged.iter().take_while(|line| line.starts_with(&retry));
            assert_eq!(retries.count(), 4, "{logged:?}");
            assert!(logged[4].starts_with("WARN stopped"), "{logged:?}");
        }
    }
}

#[test]
fn a_call_that_stops_without_success_is_one_warning() {
    let down = Script::new().status(503).status(503).status(503);
    let wanted = "WARN stopped without success: class=transient http.request.method=GET \
                  http.request.resend_count=2 http.response.status_code=503 reach=answered \
                  server.address=api.example server.port=8080 service=orders stop=attempts_exhausted";
    let (lines, ()) = Journal::of(|| {
        let mut request = http::Request::get("http://api.example:8080/orders?key=hunter2")
            .body(String::new())
            .unwrap();
        let own = RetryOverride::new().service("orders").max_retries(2);
        request.extensions_mut().insert(own);
        let call = layer().layer(down).oneshot(request);
        call.now_or_never().unwrap().unwrap();
    });
    let (_, logged) = sorted(lines);
    assert_eq!(logged.len(), 3, "{logged:?}");
    assert_eq!(logged[2], wanted);
    let of_a_port = "server.address=api.example server.port=8080 service=orders took_ms=0";
    assert!(logged[0].ends_with(of_a_port), "{}", logged[0]);
}

/// The log line of a POST whose body can be sent once, to a log that takes warnings alone.
fn warned_of(policy: RetryPolicyBuilder, client: Script) -> Vec<String> {
    let layer = RetryLayer::new(policy.build().unwrap()).runtime(ManualRuntime::new());
    let layer = layer.copy_body(|_: &String| None);
    let request = http::Request::post(URL).body(String::new()).unwrap();
    let journal = Journal::default();
    journal.listen_at(LevelFilter::WARN, || {
        let _sent = layer.layer(client).oneshot(request).now_or_never().unwrap();
    });
    journal.lines()
}

#[test]
fn a_warning_says_what_a_refused_retry_was_about() {
    let refused = "WARN stopped without success: class=transient http.request.method=POST \
                   http.response.status_code=502 reach=answered server.address=api.example server.port=8080 \
                   service=api.example:8080 stop=body_not_replayable";
    let policy = || every_second().to_builder();
    let down = || Script::new().status(502);
    assert_eq!(warned_of(policy(), down()), [refused]);
    let ruled = Rule::when(Condition::status([502]).unwrap()).named("down");
    let lines = warned_of(policy().rule(ruled.stop()), down());
    assert!(lines[0].contains("http.request.method=POST"), "{lines:?}");
    assert!(lines[0].contains("rule=down"), "{lines:?}");
    assert!(
        lines[0].ends_with("stop=stopped stopped_by=down"),
        "{lines:?}"
    );
    // After a retry, since a first response that the settings give up on is as wanted.
    let done = Condition::status([504]).unwrap();
    let late = Script::new().status(502).status(504);
    let policy = policy().stop_on([done]);
    let layer = RetryLayer::new(policy.build().unwrap()).runtime(ManualRuntime::new());
    let (lines, report) = Journal::of(|| by_tower(&layer, late));
    let end = "stop=not_retryable stopped_by=stop_on";
    assert!(lines.iter().any(|line| line.ends_with(end)), "{lines:?}");
    assert!(
        report
            .to_string()
            .contains("not_retryable: stop_on allows no other attempt."),
        "{report}"
    );
}

#[test]
fn a_warning_names_the_type_of_an_unknown_error() {
    let policy = every_second().to_builder();
    let unknown = Rule::when(Condition::error(ErrorGroup::Any)).stop();
    let layer = RetryLayer::new(policy.rule(unknown).build().unwrap());
    let client = tower::service_fn(|_: http::Request<String>| {
        let error: Result<http::Response<String>, _> = Err(std::fmt::Error);
        std::future::ready(error)
    });
    let (lines, report) = Journal::of(|| {
        let slot = ReportSlot::default();
        let mut request = http::Request::get(URL).body(String::new()).unwrap();
        request.extensions_mut().insert(slot.clone());
        let sent = layer.layer(client).oneshot(request).now_or_never();
        assert!(sent.unwrap().unwrap_err().is::<std::fmt::Error>());
        slot.take().unwrap()
    });
    let name = std::any::type_name::<std::fmt::Error>();
    assert_eq!(report.attempts[0].error_type, Some(name));
    let line = format!("other error of the type {name} after");
    assert!(report.to_string().contains(&line), "{report}");
    let (_, logged) = sorted(lines);
    assert!(
        logged[0].contains(&format!("exception.type={name}")),
        "{logged:?}"
    );
}

#[test]
fn a_call_with_its_retries_off_warns_of_nothing() {
    let (lines, _) = Journal::of(|| {
        let never = RetryLayer::new(RetryPolicy::never());
        by_tower(&never, Script::new().status(503))
    });
    let (_, logged) = sorted(lines);
    assert_eq!(logged, [""; 0]);
}

#[test]
fn listening_to_spans_changes_nothing_of_the_report() {
    let (_, listened) = Journal::of(|| by_tower(&layer(), troubled()));
    assert_eq!(listened, by_tower(&layer(), troubled()));
}

#[test]
fn what_is_logged_further_in_is_inside_its_attempts_span() {
    let inner = tower::service_fn(|_: http::Request<String>| {
        tracing::info!(target: "inner", "sent");
        std::future::ready(Ok::<_, Infallible>(http::Response::new(String::new())))
    });
    let (lines, ()) = Journal::of(|| {
        let request = http::Request::get(URL).body(String::new()).unwrap();
        let call = layer().layer(inner).oneshot(request);
        call.now_or_never().unwrap().unwrap();
    });
    assert_eq!(lines[0], "INFO inside http.attempt sent:");
}

/// Writes each wait into a journal.
#[derive(Clone)]
struct Diary(ManualRuntime, Journal);

impl Runtime for Diary {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn moment(&self) -> Moment {
        self.0.moment()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let (sleep, journal) = (self.0.sleep(duration), self.1.clone());
        Box::pin(async move {
            journal.write("wait");
            sleep.await;
        })
    }
}

/// The first words of what happens, in order.
fn order_of(journal: &Journal) -> Vec<String> {
    let lines = journal.lines();
    let words = lines.iter().map(|line| line.split([' ', ':']).next());
    words.map(|word| word.unwrap().to_owned()).collect()
}

#[test]
fn the_span_of_an_attempt_ends_before_the_wait_for_the_next() {
    let script = || Script::new().status(503).status(200);
    let journal = Journal::default();
    let diary = Diary(ManualRuntime::new(), journal.clone());
    journal.listen(|| by_tower(&layer().runtime(diary), script()));
    let mut order = order_of(&journal);
    order.retain(|word| word != "WARN");
    assert_eq!(order, ["http.attempt", "wait", "http.attempt"]);

    let journal = Journal::default();
    let diary = Diary(ManualRuntime::new(), journal.clone());
    journal.listen(|| by_reqwest(middleware().runtime(diary), script()));
    let mut order = order_of(&journal);
    order.retain(|word| word != "WARN");
    assert_eq!(order, ["http.attempt", "wait", "http.attempt"]);
}
