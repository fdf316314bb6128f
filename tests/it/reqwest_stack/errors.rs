//! Errors come back as they were, and what they mean decides whether there is a retry.

use super::server::{Reply, Server, refusing};
use super::*;
use async_trait::async_trait;
use http::Extensions;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::{Class, ErrorKind, Reach, ReportSlot, StopReason};
use reqwest::dns::{Name, Resolve, Resolving};
use reqwest_middleware::{Error, Next, Result};
use std::io;
use std::sync::Arc;

fn reqwest_error(error: Error) -> reqwest::Error {
    match error {
        Error::Reqwest(error) => error,
        Error::Middleware(error) => panic!("wrapped: {error:?}"),
    }
}

#[tokio::test]
async fn a_refused_connection_stays_the_error_it_was() {
    let (_socket, url) = refusing();
    let slot = ReportSlot::default();
    let request = client(retries(2)).get(&url).with_extension(slot.clone());
    let error = reqwest_error(request.send().await.unwrap_err());
    assert!(error.is_connect() && !error.is_timeout());
    assert_eq!(error.url().unwrap().as_str(), url);

    let report = slot.take().unwrap();
    assert_eq!(report.stop, StopReason::AttemptsExhausted);
    assert_eq!(report.attempt_count, 3);
    for attempt in &report.attempts {
        assert_eq!(
            (attempt.status, attempt.error),
            (None, Some(ErrorKind::Connect))
        );
        assert_eq!(
            (attempt.class, attempt.reach),
            (Class::Transient, Reach::Unsent)
        );
    }
    assert!(slot.take().is_none());
}

#[tokio::test]
async fn a_server_that_comes_up_is_reached_by_the_retry() {
    let (socket, url) = refusing();
    let socket = Mutex::new(Some(socket));
    let come_up = move |event: &RetryEvent<'_>| {
        if let RetryEventKind::RetryScheduled { .. } = event.kind {
            let socket = socket.lock().unwrap().take().unwrap();
            Server::on(socket.listen(8).unwrap(), [Reply::status(200)]);
        }
    };
    let response = client(retries(2).observe(come_up))
        .get(url)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(statuses_of(&report_of(&response)), [None, Some(200)]);
}

#[tokio::test]
async fn a_request_that_cannot_be_sent_is_tried_once() {
    let slot = ReportSlot::default();
    let request = client(retries(2)).get("ftp://127.0.0.1/a");
    let error = request
        .with_extension(slot.clone())
        .send()
        .await
        .unwrap_err();
    let error = reqwest_error(error);
    assert!(error.is_builder());
    assert_eq!(error.url().unwrap().as_str(), "ftp://127.0.0.1/a");
    let report = slot.take().unwrap();
    assert_eq!(report.attempt_count, 1);
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Request));
    assert_eq!(report.stop, StopReason::NotRetryable);
}

#[tokio::test]
async fn a_cut_connection_retries_a_get_and_ends_a_post() {
    let mut server = Server::start([Reply::Cut, Reply::Cut, Reply::status(200)]).await;
    let client = client(retries(4));
    let error = client
        .post(&server.url)
        .body("order")
        .send()
        .await
        .unwrap_err();
    assert!(reqwest_error(error).is_request());
    assert_eq!(server.other_requests(), ["POST / HTTP/1.1"]);

    let response = client.get(&server.url).send().await.unwrap();
    let report = report_of(&response);
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Incomplete));
    assert_eq!(report.attempts[0].reach, Reach::Ambiguous);
    assert_eq!(server.other_requests().len(), 2);
}

#[tokio::test]
async fn a_time_limit_of_reqwest_itself_stays_the_error_it_was() {
    let mut server = Server::start([Reply::Silence]).await;
    let slot = ReportSlot::default();
    let request = client(retries(1))
        .get(&server.url)
        .timeout(Duration::from_millis(50))
        .with_extension(slot.clone());
    let error = reqwest_error(request.send().await.unwrap_err());
    assert!(error.is_timeout());
    assert_eq!(error.url().unwrap().as_str(), server.url);
    let report = slot.take().unwrap();
    let kinds: Vec<_> = report
        .attempts
        .iter()
        .map(|attempt| attempt.error)
        .collect();
    assert_eq!(kinds, [Some(ErrorKind::Timeout); 2]);
    assert!(server.other_requests().len() <= 2);
}

/// Knows no name.
struct NoNames;

impl Resolve for NoNames {
    fn resolve(&self, _: Name) -> Resolving {
        Box::pin(async { Err(io::Error::other("no such name").into()) })
    }
}

#[tokio::test]
async fn a_name_that_is_not_known_is_asked_for_again() {
    let lost = reqwest::Client::builder()
        .no_proxy()
        .dns_resolver(Arc::new(NoNames));
    let client = ClientBuilder::new(lost.build().unwrap()).with(retries(2));
    let slot = ReportSlot::default();
    let request = client.build().get("http://nowhere.example/");
    let error = request
        .with_extension(slot.clone())
        .send()
        .await
        .unwrap_err();
    assert!(reqwest_error(error).is_connect());
    let report = slot.take().unwrap();
    assert_eq!(report.attempts[2].error, Some(ErrorKind::Dns));
    assert_eq!(report.attempts[2].reach, Reach::Unsent);
}

/// Fails before anything is sent, and says by which error.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NoTicket(u32);

impl std::fmt::Display for NoTicket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no ticket")
    }
}

impl std::error::Error for NoTicket {}

struct TicketDesk;

#[async_trait]
impl Middleware for TicketDesk {
    async fn handle(
        &self,
        _: reqwest::Request,
        _: &mut Extensions,
        _: Next<'_>,
    ) -> Result<reqwest::Response> {
        Err(Error::middleware(NoTicket(7)))
    }
}

async fn attempts_without_ticket(policy: RetryPolicy) -> u32 {
    let retries = of_policy(policy);
    let client = stack(retries).with(TicketDesk).build();
    let slot = ReportSlot::default();
    let request = client
        .post("http://api.example/")
        .with_extension(slot.clone());
    match request.send().await.unwrap_err() {
        Error::Middleware(error) => assert_eq!(error.downcast_ref(), Some(&NoTicket(7))),
        error => panic!("another error: {error:?}"),
    }
    slot.take().unwrap().attempt_count
}

#[tokio::test]
async fn an_error_of_another_middleware_means_what_was_taught() {
    assert_eq!(attempts_without_ticket(every_second(2)).await, 1);
    let taught = every_second(2).to_builder();
    let taught = taught.classify_error(|error: &NoTicket| match error.0 {
        7 => (Class::Transient, Reach::Unsent),
        _ => (Class::Permanent, Reach::Unsent),
    });
    assert_eq!(attempts_without_ticket(taught.build().unwrap()).await, 3);
}
