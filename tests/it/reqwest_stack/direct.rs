//! The tower layer on a `reqwest::Client`, without any middleware between.

use super::server::refusing;
use super::*;
use http_retry::StopReason;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::tower::RetryLayer;
use reqwest::{Method, Request as Sent, Response};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tower::{BoxError, Layer, ServiceExt};

fn layer(max_retries: u32) -> RetryLayer {
    RetryLayer::new(every_second(max_retries)).runtime(ManualRuntime::new())
}

async fn send(layer: &RetryLayer, method: Method, url: &str) -> Result<Response, BoxError> {
    let request = Sent::new(method, url.parse().unwrap());
    layer.layer(plain_client()).oneshot(request).await
}

#[tokio::test]
async fn the_layer_on_a_client_answers_with_its_own_responses() {
    let server = answering_statuses([503, 200]).await;
    let url = format!("{}/a?b=c", server.uri());
    let response = send(&layer(4), Method::GET, &url).await.unwrap();
    assert_eq!(response.url().as_str(), url);
    assert_eq!(statuses_of(&report_of(&response)), [Some(503), Some(200)]);
    assert_eq!(requests(&server).await.len(), 2);
}

#[tokio::test]
async fn the_layer_on_a_client_leaves_the_last_answer_as_it_was() {
    let sorry = ResponseTemplate::new(502).set_body_string("sorry");
    let server = answering([sorry]).await;
    let last = send(&layer(1), Method::GET, &server.uri()).await.unwrap();
    assert_eq!(report_of(&last).stop, StopReason::AttemptsExhausted);
    assert_eq!(last.text().await.unwrap(), "sorry");
}

/// How many attempts a POST to a closed port makes.
async fn attempts_at_a_closed_port(layer: RetryLayer) -> usize {
    let (_socket, closed) = refusing();
    let counted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&counted);
    let layer = layer.observe(move |event: &RetryEvent<'_>| {
        if let RetryEventKind::AttemptStarted { .. } = event.kind {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    let error = send(&layer, Method::POST, &closed).await.unwrap_err();
    let error = error.downcast_ref::<reqwest::Error>().unwrap();
    assert!(error.is_connect());
    assert_eq!(error.url().unwrap().as_str(), closed);
    counted.load(Ordering::SeqCst)
}

#[tokio::test]
async fn the_layer_on_a_client_expects_redirects_unless_told() {
    assert_eq!(attempts_at_a_closed_port(layer(2)).await, 1);
    assert_eq!(
        attempts_at_a_closed_port(layer(2).redirects_watched()).await,
        3
    );
    assert_eq!(attempts_at_a_closed_port(layer(2).redirects_off()).await, 3);
}
