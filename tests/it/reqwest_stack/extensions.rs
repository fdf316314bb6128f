//! What travels in the extensions of a request: options inwards, findings outwards.

use super::*;
use async_trait::async_trait;
use http::Extensions;
use http_retry::report::RetryEvent;
use http_retry::{Attempt, AttemptTimeout, ReportSlot, RetryOverride, StopReason};
use reqwest::{Method, Request as Sent, Response};
use reqwest_middleware::{Next, Result};
use std::sync::Arc;

/// What one attempt found in the extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    attempt: Option<u32>,
    note: Option<Note>,
    only_on_the_first: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Note(usize);

#[derive(Debug, Clone)]
struct OnlyOnTheFirst;

/// A middleware further in, which writes down what it finds and leaves a note in each attempt.
#[derive(Debug, Clone, Default)]
struct Clerk(Arc<Mutex<Vec<Found>>>);

impl Clerk {
    fn found(&self) -> Vec<Found> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl Middleware for Clerk {
    async fn handle(
        &self,
        request: Sent,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let mark = |found: &mut Vec<Found>, extensions: &mut Extensions| {
            found.push(Found {
                attempt: extensions.get().map(|attempt: &Attempt| attempt.number),
                note: extensions.get().cloned(),
                only_on_the_first: extensions.get::<OnlyOnTheFirst>().is_some(),
            });
            if found.len() == 1 {
                extensions.insert(OnlyOnTheFirst);
            }
            extensions.insert(Note(found.len()));
        };
        mark(&mut self.0.lock().unwrap(), extensions);
        next.run(request, extensions).await
    }
}

fn get(server: &MockServer) -> Sent {
    Sent::new(Method::GET, server.uri().parse().unwrap())
}

#[tokio::test]
async fn an_inner_middleware_starts_with_what_the_caller_gave() {
    let server = answering_statuses([503, 503, 200]).await;
    let clerk = Clerk::default();
    let client = stack(retries(4)).with(clerk.clone()).build();
    let mut extensions = Extensions::new();
    extensions.insert(Note(100));
    let request = client.execute_with_extensions(get(&server), &mut extensions);
    request.await.unwrap();

    let clean = |attempt| Found {
        attempt,
        note: Some(Note(100)),
        only_on_the_first: false,
    };
    assert_eq!(clerk.found(), [clean(None), clean(Some(2)), clean(Some(3))]);
    assert_eq!(extensions.get(), Some(&Note(3)));
    assert!(extensions.get::<OnlyOnTheFirst>().is_none());
}

#[tokio::test]
async fn what_an_only_attempt_leaves_reaches_the_caller() {
    let server = answering_statuses([200]).await;
    let client = stack(retries(4)).with(Clerk::default()).build();
    let mut extensions = Extensions::new();
    let request = client.execute_with_extensions(get(&server), &mut extensions);
    request.await.unwrap();
    assert_eq!(extensions.get(), Some(&Note(1)));
    assert!(extensions.get::<OnlyOnTheFirst>().is_some());
}

#[tokio::test]
async fn the_same_extensions_serve_a_second_call() {
    let server = answering_statuses([503, 200, 503, 200]).await;
    let client = client(retries(4));
    let mut extensions = Extensions::new();
    for _ in 0..2 {
        let request = client.execute_with_extensions(get(&server), &mut extensions);
        assert_eq!(request.await.unwrap().status(), 200);
    }
    assert_eq!(requests(&server).await.len(), 4);
}

/// Never answers.
struct Hanging;

#[async_trait]
impl Middleware for Hanging {
    async fn handle(&self, _: Sent, _: &mut Extensions, _: Next<'_>) -> Result<Response> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn the_same_extensions_serve_a_call_after_one_that_was_cut() {
    let policy = every_second(1).to_builder().attempt_timeout(SECOND);
    let hurried = RetryMiddleware::new(policy.build().unwrap()).runtime(ManualRuntime::new());
    let hanging = stack(hurried).with(Hanging).build();
    let server = answering_statuses([503, 200]).await;
    let mut extensions = Extensions::new();
    let request = hanging.execute_with_extensions(get(&server), &mut extensions);
    assert!(AttemptTimeout::is(&request.await.unwrap_err()));

    let client = client(retries(4));
    let request = client.execute_with_extensions(get(&server), &mut extensions);
    assert_eq!(request.await.unwrap().status(), 200);
}

#[tokio::test]
async fn first_attempts_are_marked_where_the_middleware_was_told_to() {
    let server = answering_statuses([200]).await;
    let clerk = Clerk::default();
    let client = stack(retries(4).across_tasks()).with(clerk.clone()).build();
    client.execute(get(&server)).await.unwrap();
    assert_eq!(clerk.found()[0].attempt, Some(1));
}

/// Sends a request with these settings of its own, once by each of the two ways to give them.
async fn attempts_with(own: RetryOverride, method: Method, status: u16) -> [(u32, StopReason); 2] {
    let server = answering_statuses([status]).await;
    let client = client(retries(4));
    let request = client.request(method.clone(), server.uri());
    let sent = request.with_extension(own.clone()).send().await.unwrap();

    let mut extensions = Extensions::new();
    extensions.insert(own);
    let request = Sent::new(method, server.uri().parse().unwrap());
    let executed = client.execute_with_extensions(request, &mut extensions);
    let reports = [report_of(&sent), report_of(&executed.await.unwrap())];
    reports.map(|report| (report.attempt_count, report.stop))
}

#[tokio::test]
async fn a_requests_settings_go_before_the_policy_either_way() {
    let own = RetryOverride::new;
    let off = attempts_with(RetryOverride::off(), Method::GET, 503).await;
    assert_eq!(off, [(1, StopReason::Disabled); 2]);
    let fewer = attempts_with(own().max_retries(1), Method::GET, 503).await;
    assert_eq!(fewer, [(2, StopReason::AttemptsExhausted); 2]);
    let harmless = attempts_with(own().idempotent(true), Method::POST, 500).await;
    assert_eq!(harmless, [(5, StopReason::AttemptsExhausted); 2]);
    let harmful = attempts_with(own().idempotent(false), Method::GET, 500).await;
    assert_eq!(harmful, [(1, StopReason::NotIdempotent); 2]);
}

#[tokio::test]
async fn the_events_bear_the_name_of_the_service_else_host_and_port() {
    let server = answering_statuses([200]).await;
    let names = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&names);
    let listen = move |event: &RetryEvent<'_>| {
        listener.lock().unwrap().push(event.service.to_owned());
    };
    let client = client(retries(4).observe(listen));
    let named = RetryOverride::new().service("payments");
    client
        .get(server.uri())
        .with_extension(named)
        .send()
        .await
        .unwrap();
    client.get(server.uri()).send().await.unwrap();
    let mut names = names.lock().unwrap().clone();
    names.dedup();
    assert_eq!(names, ["payments".to_owned(), server.address().to_string()]);
}

#[tokio::test]
async fn a_slot_has_the_report_of_a_success_too() {
    let server = answering_statuses([200]).await;
    let slot = ReportSlot::default();
    let request = client(retries(4)).get(server.uri());
    request.with_extension(slot.clone()).send().await.unwrap();
    let report = slot.take().unwrap();
    assert_eq!(
        (report.attempt_count, report.stop),
        (1, StopReason::Succeeded)
    );
}
