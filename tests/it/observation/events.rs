//! Every event, in order, with the right numbers.

use super::*;
use http::Method;
use http_retry::report::AttemptReport;
use http_retry::report::RetryEventKind::{AttemptEnded, Stopped};
use http_retry::{Class, RetryOverride};
use std::io;

/// What an observer of each stack sees of a GET.
fn seen(script: impl Fn() -> Script) -> [Vec<String>; 2] {
    let notebooks = [Notebook::default(), Notebook::default()];
    let [tower, reqwest] = notebooks.clone();
    by_tower(&layer().observer(tower), script());
    by_reqwest(middleware().observer(reqwest), script());
    notebooks.map(|notebook| notebook.lines())
}

#[test]
fn the_events_of_a_retry_come_in_order_on_both_stacks() {
    let lines = seen(|| Script::new().status(503).status(200));
    let wanted = [
        "0ns attempt 1 starts",
        "0ns attempt 1 ends: 503, transient",
        "0ns retry 1 in 1s, at 1s, by own",
        "1s attempt 2 starts",
        "1s attempt 2 ends: 200, success",
        "1s stops after 2: succeeded",
    ];
    assert_eq!(lines[0], wanted);
    assert_eq!(lines[1], wanted);
}

#[test]
fn a_success_at_once_has_three_events() {
    let wanted = [
        "0ns attempt 1 starts",
        "0ns attempt 1 ends: 200, success",
        "0ns stops after 1: succeeded",
    ];
    let lines = seen(|| Script::new().status(200));
    assert_eq!(lines, [wanted, wanted]);
}

#[test]
fn errors_and_the_reason_for_the_end_are_told() {
    let wanted = [
        "0ns attempt 1 starts",
        "0ns attempt 1 ends: reset, transient",
        "0ns retry 1 in 1s, at 1s, by own",
        "1s attempt 2 starts",
        "1s attempt 2 ends: 404, permanent",
        "1s stops after 2: not_retryable",
    ];
    let reset = io::ErrorKind::ConnectionReset;
    let lines = seen(|| Script::new().error(reset).status(404));
    assert_eq!(lines, [wanted, wanted]);
}

#[test]
fn a_delay_that_the_server_asked_for_is_told_as_its_own() {
    let busy = || {
        Script::new()
            .status(503)
            .header("retry-after", "5")
            .status(200)
    };
    let notebook = Notebook::default();
    let report = by_tower(&layer().observer(notebook.clone()), busy());
    let waited = report.waited;
    assert!(waited >= SECOND * 5 && waited <= SECOND * 6, "{waited:?}");
    let lines = notebook.lines();
    assert_eq!(lines[1], "0ns attempt 1 ends: 503, throttled");
    assert_eq!(
        lines[2],
        format!("0ns retry 1 in {waited:?}, at {waited:?}, by server")
    );
    assert_eq!(lines[3], format!("{waited:?} attempt 2 starts"));
    assert_eq!(seen(busy)[1], lines);
}

#[test]
fn several_observers_see_the_same_in_order() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let observer = |name: &'static str| {
        let order = Arc::clone(&order);
        move |_: &RetryEvent<'_>| order.lock().unwrap().push(name)
    };
    let layer = layer()
        .observe(observer("first"))
        .observe(observer("second"));
    by_tower(&layer, Script::new());
    assert_eq!(*order.lock().unwrap(), ["first", "second"].repeat(3));
    order.lock().unwrap().clear();
    let middleware = middleware()
        .observe(observer("first"))
        .observe(observer("second"));
    by_reqwest(middleware, Script::new());
    assert_eq!(*order.lock().unwrap(), ["first", "second"].repeat(3));
}

#[test]
fn each_event_names_the_service_and_the_method() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&seen);
    let observer = move |event: &RetryEvent<'_>| {
        let method = event.method.map(Method::to_string);
        names
            .lock()
            .unwrap()
            .push((event.service.to_owned(), method));
    };
    by_tower(&layer().observe(observer.clone()), Script::new());
    by_reqwest(middleware().observe(observer.clone()), Script::new());
    let host = ("api.example:8080".to_owned(), Some("GET".to_owned()));
    assert_eq!(*seen.lock().unwrap(), vec![host; 6]);

    seen.lock().unwrap().clear();
    let mut named = http::Request::put(URL).body(String::new()).unwrap();
    named
        .extensions_mut()
        .insert(RetryOverride::new().service("orders"));
    let call = layer()
        .observe(observer)
        .layer(Script::new())
        .oneshot(named);
    call.now_or_never().unwrap().unwrap();
    let named = ("orders".to_owned(), Some("PUT".to_owned()));
    assert_eq!(*seen.lock().unwrap(), vec![named; 3]);
}

#[test]
fn an_invalid_retry_after_is_in_the_event_and_the_report() {
    let said = |attempt: &AttemptReport| (attempt.asked, attempt.unreadable().next());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&asked);
    let observer = move |event: &RetryEvent<'_>| match event.kind {
        AttemptEnded(attempt) => listener.lock().unwrap().push(said(attempt)),
        Stopped(report) => listener.lock().unwrap().push(said(&report.attempts[0])),
        _ => {}
    };
    let script = || {
        Script::new()
            .status(503)
            .header("retry-after", "soon")
            .status(200)
    };
    let invalid = (None, Some("retry-after"));
    let wanted = [invalid, (None, None), invalid];
    let report = by_tower(&layer().observe(observer.clone()), script());
    assert_eq!(*asked.lock().unwrap(), wanted);
    assert_eq!(said(&report.attempts[0]), invalid);
    assert_eq!(report.attempts[0].class, Class::Transient);

    asked.lock().unwrap().clear();
    let report = by_reqwest(middleware().observe(observer), script());
    assert_eq!(*asked.lock().unwrap(), wanted);
    assert_eq!(report.waited, SECOND);
}

#[test]
fn a_call_that_is_refused_its_retry_schedules_none() {
    let lines = seen(|| {
        Script::new()
            .status(500)
            .status(500)
            .status(500)
            .status(500)
    });
    let scheduled = |lines: &[String]| lines.iter().filter(|line| line.contains("retry")).count();
    assert_eq!(scheduled(&lines[0]), 4);
    assert_eq!(
        lines[0].last().unwrap(),
        "4s stops after 5: attempts_exhausted"
    );
    assert_eq!(lines[0], lines[1]);
}
