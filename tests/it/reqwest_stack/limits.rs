//! Time limits and cancellation.

use super::server::{Reply, Server};
use super::*;
use http_retry::policy::Decimal;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::{AttemptTimeout, ErrorKind, ReportSlot, RetryBudget, RetryOverride, StopReason};
use reqwest_middleware::{Error, RequestBuilder};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

type Outcome = reqwest_middleware::Result<reqwest::Response>;
type Answered = JoinHandle<Outcome>;

/// Retries at once, on a clock that the test moves; an attempt has ten seconds.
fn limited(max_retries: u32, clock: &ManualRuntime) -> RetryMiddleware {
    let policy = every_second(max_retries).to_builder();
    let policy = policy.backoff(Backoff::none()).attempt_timeout(SECOND * 10);
    of_policy(policy.build().unwrap()).runtime(clock.clone())
}

fn send(request: RequestBuilder) -> Answered {
    tokio::spawn(request.send())
}

/// What comes of a call that makes no further attempt.
async fn end_of(mut call: Answered, server: &mut Server) -> Outcome {
    tokio::select! {
        biased;
        outcome = &mut call => outcome.unwrap(),
        line = server.request() => panic!("another attempt: {line}"),
    }
}

#[tokio::test]
async fn an_attempt_without_an_answer_is_cut_and_another_one_made() {
    let mut server = Server::start([Reply::Silence, Reply::status(200)]).await;
    let clock = ManualRuntime::paused();
    let call = send(client(limited(1, &clock)).get(&server.url));
    server.request().await;
    clock.advance(SECOND * 10);

    let response = call.await.unwrap().unwrap();
    let report = report_of(&response);
    assert_eq!(statuses_of(&report), [None, Some(200)]);
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Timeout));
    assert_eq!(report.attempts[0].took, SECOND * 10);
    assert_eq!(
        report.tokens_left,
        Some(Decimal::from(18.1)),
        "a retry after a timeout costs two"
    );
    assert_eq!(server.other_requests().len(), 1);
}

#[tokio::test]
async fn the_last_attempt_that_is_cut_is_an_attempt_timeout() {
    let mut server = Server::start([Reply::Silence]).await;
    let clock = ManualRuntime::paused();
    let slot = ReportSlot::default();
    let request = client(limited(1, &clock)).get(&server.url);
    let call = send(request.with_extension(slot.clone()));
    for _ in 0..2 {
        server.request().await;
        clock.advance(SECOND * 10);
    }

    let error = end_of(call, &mut server).await.unwrap_err();
    assert!(AttemptTimeout::is(&error) && !error.is_timeout());
    let Error::Middleware(inner) = error else {
        panic!("not in Error::Middleware: {error:?}");
    };
    let timeout = inner.downcast_ref::<AttemptTimeout>().unwrap();
    assert_eq!(timeout.after(), SECOND * 10);
    let report = slot.take().unwrap();
    assert_eq!(report.stop, StopReason::AttemptsExhausted);
    assert_eq!(report.attempt_count, 2);
}

#[tokio::test]
async fn other_errors_are_no_attempt_timeouts() {
    let mut server = Server::start([Reply::Cut]).await;
    let error = client(retries(0))
        .get(&server.url)
        .send()
        .await
        .unwrap_err();
    assert!(!AttemptTimeout::is(&error), "{error:?}");
    server.request().await;
}

#[tokio::test]
async fn a_deadline_cuts_the_attempt_that_runs_into_it() {
    let mut server = Server::start([Reply::status(503), Reply::Silence]).await;
    let clock = ManualRuntime::paused();
    let slot = ReportSlot::default();
    let request = client(limited(4, &clock)).get(&server.url);
    let own = RetryOverride::new().deadline(SECOND * 3);
    let call = send(request.with_extension(own).with_extension(slot.clone()));
    server.request().await;
    server.request().await;
    clock.advance(SECOND * 3);
    let error = end_of(call, &mut server).await.unwrap_err();
    assert!(AttemptTimeout::is(&error));
    let report = slot.take().unwrap();
    assert_eq!(report.stop, StopReason::DeadlineExceeded);
    assert_eq!(statuses_of(&report), [Some(503), None]);
}

#[tokio::test]
async fn nobody_waits_for_a_retry_that_comes_after_the_deadline() {
    let mut server = Server::start([Reply::status(503)]).await;
    let clock = ManualRuntime::paused();
    let policy = every_second(4).to_builder().deadline(SECOND);
    let retries = of_policy(policy.build().unwrap()).runtime(clock.clone());
    let last = client(retries).get(&server.url).send().await.unwrap();
    assert_eq!(last.status(), 503);
    assert_eq!(report_of(&last).stop, StopReason::DeadlineExceeded);
    assert_eq!(server.other_requests().len(), 1);
    assert!(clock.sleeps().is_empty());
}

/// A middleware that tells when it goes to sleep before a retry.
fn telling(retries: RetryMiddleware) -> (RetryMiddleware, UnboundedReceiver<()>) {
    let (tell, told) = unbounded_channel();
    let retries = retries.observe(move |event: &RetryEvent<'_>| {
        if let RetryEventKind::RetryScheduled { .. } = event.kind {
            tell.send(()).unwrap();
        }
    });
    (retries, told)
}

async fn cancel(call: Answered) {
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn a_call_dropped_in_its_sleep_gives_the_token_back() {
    let mut server = Server::start([Reply::status(503)]).await;
    let (clock, budget) = (ManualRuntime::paused(), RetryBudget::default());
    let retries = retries(4).runtime(clock.clone()).budget(budget.clone());
    let (retries, mut told) = telling(retries);
    let call = send(client(retries).get(&server.url));
    told.recv().await.unwrap();
    assert_eq!(budget.available(Duration::ZERO), 19);

    cancel(call).await;
    assert_eq!(budget.available(Duration::ZERO), 20);
    clock.advance(SECOND * 60);
    tokio::task::yield_now().await;
    assert_eq!(server.other_requests().len(), 1);
}

#[tokio::test]
async fn a_call_dropped_after_its_retry_was_sent_has_spent_the_token() {
    let mut server = Server::start([Reply::status(503), Reply::Silence]).await;
    let budget = RetryBudget::default();
    let call = send(client(retries(4).budget(budget.clone())).get(&server.url));
    server.request().await;
    server.request().await;
    cancel(call).await;
    assert_eq!(budget.available(Duration::ZERO), 19);
    assert!(server.other_requests().is_empty());
}
