//! `reqwest::build`: the redirect policy and the middleware's setting in one call.

use super::{answering, answering_statuses, report_of, requests};
use http_retry::reqwest::{RetryMiddleware, build};
use http_retry::testing::ManualRuntime;
use http_retry::{RetryPolicy, StopReason};
use wiremock::ResponseTemplate;

fn retries() -> RetryMiddleware {
    RetryMiddleware::new(RetryPolicy::background()).runtime(ManualRuntime::new())
}

#[tokio::test]
async fn a_post_is_repeated_after_a_429() {
    let server = answering_statuses([429, 200]).await;
    let client = build(reqwest::Client::builder(), retries()).unwrap();
    let response = client
        .post(server.uri())
        .body("order")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(report_of(&response).retries(), 1);
}

#[tokio::test]
async fn a_redirected_post_is_sent_once() {
    let to_itself = ResponseTemplate::new(303).insert_header("location", "/moved");
    let server = answering([to_itself, ResponseTemplate::new(429)]).await;
    let client = build(reqwest::Client::builder(), retries()).unwrap();
    // Not the path of other tests: this redirect might then be one of theirs.
    let response = client
        .post(format!("{}/moved", server.uri()))
        .body("order")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(report_of(&response).stop(), StopReason::NotIdempotent);
    let posts = requests(&server).await.into_iter();
    assert_eq!(posts.filter(|request| request.method == "POST").count(), 1);
}

#[tokio::test]
async fn with_redirects_off_the_client_follows_none() {
    let to_itself = ResponseTemplate::new(303).insert_header("location", "/");
    let server = answering([to_itself, ResponseTemplate::new(200)]).await;
    let client = build(reqwest::Client::builder(), retries().redirects_off()).unwrap();
    let response = client.get(server.uri()).send().await.unwrap();
    assert_eq!(response.status(), 303);
    assert_eq!(requests(&server).await.len(), 1);
}
