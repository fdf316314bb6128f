//! Dead letters of the requests that were given up.

use super::super::super::server::{Act, FaultServer, Received};
use super::super::stacks::{Kit, STACKS, is_connect};
use super::{Way, assert_last_answer, document, each};
use crate::listening::nobody;
use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_retry::RetryReport;
use http_retry::config::RetryConfig;
use http_retry::report::DeadLetter;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A dead letter, as an observer may keep it.
#[derive(Debug, Clone, PartialEq)]
struct Letter {
    service: String,
    method: Method,
    uri: String,
    headers: HeaderMap,
    report: RetryReport,
}

/// A document whose dead letters are kept.
fn with_letters(document: Value) -> (Kit, Arc<Mutex<Vec<Letter>>>) {
    let letters = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&letters);
    let builder = RetryConfig::builder().dead_letters("outbox", move |letter: &DeadLetter<'_>| {
        to.lock().unwrap().push(Letter {
            service: letter.service.to_owned(),
            method: letter.method.clone(),
            uri: letter.uri.to_owned(),
            headers: letter.headers.clone(),
            report: letter.report.clone(),
        });
    });
    (Kit::with(builder, document), letters)
}

fn order(url: &str) -> Request<Bytes> {
    Request::put(url)
        .header("authorization", "Bearer secret")
        .body(Bytes::from_static(b"order"))
        .unwrap()
}

fn assert_letter(letters: &Mutex<Vec<Letter>>, service: &str, uri: &str, way: Way, why: &str) {
    let letters = letters.lock().unwrap();
    assert_eq!(letters.len(), 1, "{why}");
    let letter = &letters[0];
    assert_eq!((&letter.method, &*letter.uri), (&Method::PUT, uri), "{why}");
    assert_eq!(letter.service, service, "{why}");
    assert_eq!(letter.headers["authorization"], "Bearer secret", "{why}");
    assert_eq!(letter.report.stop, way.stop(), "{why}");
}

#[tokio::test]
async fn a_dead_letter_has_the_head_and_the_caller_the_answer() {
    for (stack, way) in each() {
        let why = format!("{stack:?} {way:?}");
        let (kit, letters) = with_letters(document(way, &json!({"dead_letter": "outbox"})));
        let server = FaultServer::start(way.acts()).await;
        let url = server.url("/a/b?c=d");
        let told = kit.send(stack, order(&url)).await;
        assert_letter(&letters, &server.address().to_string(), &url, way, &why);
        let report = letters.lock().unwrap()[0].report.clone();
        assert_eq!(told.report, Some(report), "{why}");
        assert_last_answer(told, &server, &why).await;
        assert!(server.received().iter().all(is_order), "{why}");
    }
}

fn is_order(request: &Received) -> bool {
    request.method() == "PUT" && request.body == b"order"
}

#[tokio::test]
async fn a_dead_letter_is_written_of_a_request_that_found_nobody() {
    for stack in STACKS {
        let (_socket, address) = nobody();
        let url = format!("http://{address}/a/b?c=d");
        let (kit, letters) =
            with_letters(document(Way::Attempts, &json!({"dead_letter": "outbox"})));
        let told = kit.send(stack, order(&url)).await;
        assert!(is_connect(&told.result.unwrap_err()), "{stack:?}");
        let host = address.to_string();
        assert_letter(&letters, &host, &url, Way::Attempts, &format!("{stack:?}"));
    }
}

#[tokio::test]
async fn no_dead_letter_is_written_of_what_was_not_exhausted() {
    let ends = [Act::status(200), Act::status(404), Act::status(501)];
    for (stack, act) in STACKS
        .into_iter()
        .flat_map(|stack| ends.clone().map(|act| (stack, act)))
    {
        let (kit, letters) =
            with_letters(document(Way::Attempts, &json!({"dead_letter": "outbox"})));
        let server = FaultServer::start([act]).await;
        kit.send(stack, order(&server.url("/")))
            .await
            .result
            .unwrap();
        assert!(letters.lock().unwrap().is_empty(), "{stack:?}");
    }
}
