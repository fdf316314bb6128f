//! A body is sent whole or not again: never empty, never in part.

use super::*;
use futures_util::stream;
use http_retry::{ErrorKind, ReportSlot, StopReason};
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method};
use std::io;

const TEXT: &str = "all of it";

fn stream() -> Body {
    let parts = TEXT.split_inclusive(' ').map(Ok::<_, io::Error>);
    Body::wrap_stream(stream::iter(parts))
}

#[tokio::test]
async fn a_stream_within_its_limit_is_sent_whole_each_time() {
    for (method, status) in [(Method::PUT, 503), (Method::POST, 429)] {
        let server = answering_statuses([status, status, 200]).await;
        // A path of its own: a redirect of another test on the same path might be one of this request.
        let url = format!("{}/a_stream_within_its_limit", server.uri());
        let request = client(retries(4)).request(method, url).body(stream());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{}", report_of(&response));
        let received = requests(&server).await;
        assert_eq!(received.len(), 3);
        assert!(
            received
                .iter()
                .all(|request| request.body == TEXT.as_bytes())
        );
    }
}

#[tokio::test]
async fn a_stream_over_its_limit_is_sent_once_whatever_the_answer() {
    for (method, status) in [(Method::PUT, 503), (Method::POST, 503), (Method::POST, 429)] {
        let server = answering_statuses([status]).await;
        let request = client(retries(4).replay_limit(TEXT.len() - 1))
            .request(method, server.uri())
            .body(stream());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(report_of(&response).stop, StopReason::BodyNotReplayable);
        let [only] = &requests(&server).await[..] else {
            panic!("one request");
        };
        assert_eq!(only.body, TEXT.as_bytes());
    }
}

#[tokio::test]
async fn a_stream_that_is_accepted_is_whole() {
    let server = answering_statuses([200]).await;
    let request = client(retries(4)).post(server.uri()).body(stream());
    assert_eq!(request.send().await.unwrap().status(), 200);
    assert_eq!(requests(&server).await[0].body, TEXT.as_bytes());
}

#[tokio::test]
async fn a_multipart_stream_is_sent_whole_each_time() {
    let server = answering_statuses([503, 200]).await;
    let form = Form::new()
        .text("name", "report")
        .part("file", Part::stream(stream()));
    let request = plain_client().put(server.uri()).multipart(form);
    let response = client(retries(4))
        .execute(request.build().unwrap())
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let [first, second] = &requests(&server).await[..] else {
        panic!("two requests");
    };
    let sent = String::from_utf8_lossy(&first.body);
    assert!(sent.contains("report") && sent.contains(TEXT), "{sent}");
    assert_eq!(second.body, first.body);
}

#[tokio::test]
async fn a_body_in_memory_is_sent_whole_each_time() {
    let server = answering_statuses([503, 503, 200]).await;
    let long = "0123456789".repeat(100_000);
    let request = client(retries(4)).put(server.uri()).body(long.clone());
    assert_eq!(request.send().await.unwrap().status(), 200);
    let received = requests(&server).await;
    assert_eq!(received.len(), 3);
    assert!(
        received
            .iter()
            .all(|request| request.body == long.as_bytes())
    );
}

#[tokio::test]
async fn a_stream_that_fails_by_itself_is_the_callers_error() {
    let server = answering_statuses([200]).await;
    let broken = [Ok("a"), Err(io::Error::other("the disk is gone"))];
    let slot = ReportSlot::default();
    let request = client(retries(4))
        .put(server.uri())
        .body(Body::wrap_stream(stream::iter(broken)))
        .with_extension(slot.clone());
    let error = request.send().await.unwrap_err();
    assert!(matches!(error, reqwest_middleware::Error::Reqwest(_)));
    let report = slot.take().unwrap();
    assert_eq!(report.attempts[0].error, Some(ErrorKind::Body));
    assert_eq!(report.stop, StopReason::NotRetryable);
}
