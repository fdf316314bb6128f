//! `reqwest::build`: the redirect policy and the middleware's setting in one call.

use super::{answering, answering_statuses, report_of, requests};
use http_retry::reqwest::{RetryMiddleware, build};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::{RetryPolicy, StopReason};
use reqwest::redirect::Policy;
use reqwest_middleware::ClientWithMiddleware;
use wiremock::ResponseTemplate;

fn retries() -> RetryMiddleware {
    RetryMiddleware::new(RetryPolicy::background()).runtime(ManualRuntime::new())
}

fn client(redirects: Policy, retries: RetryMiddleware) -> ClientWithMiddleware {
    let builder = reqwest::Client::builder().no_proxy();
    build(builder, redirects, retries).unwrap().build()
}

#[tokio::test]
async fn a_post_is_repeated_after_a_429() {
    let server = answering_statuses([429, 200]).await;
    let client = client(Policy::default(), retries());
    // Not the path of other tests, whose redirects may count as this one's.
    let response = client
        .post(format!("{}/repeated", server.uri()))
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
    let client = client(Policy::default(), retries());
    // Not the path of other tests: this redirect might then be one of theirs.
    let response = client
        .post(format!("{}/moved", server.uri()))
        .body("order")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(report_of(&response).stop, StopReason::NotIdempotent);
    let posts = requests(&server).await.into_iter();
    assert_eq!(posts.filter(|request| request.method == "POST").count(), 1);
}

#[tokio::test]
async fn a_policy_that_follows_nothing_is_obeyed() {
    for retries in [retries(), retries().redirects_off()] {
        let elsewhere = answering_statuses([200]).await;
        for status in [301, 302, 303, 307, 308] {
            let redirect = ResponseTemplate::new(status).insert_header("location", elsewhere.uri());
            let server = answering([redirect]).await;
            let client = client(Policy::none(), retries.clone());
            // Not the path of other tests, which might take this redirect for one of theirs.
            let request = client.get(format!("{}/unfollowed", server.uri()));
            assert_eq!(request.send().await.unwrap().status(), status);
        }
        assert_eq!(requests(&elsewhere).await.len(), 0);
    }
}

#[tokio::test]
async fn the_given_policy_decides_whatever_the_middleware_had() {
    let moved = ResponseTemplate::new(302).insert_header("location", "/here");
    let too_many = [
        moved.clone(),
        moved.clone(),
        moved,
        ResponseTemplate::new(200),
    ];
    let server = answering(too_many).await;
    let client = client(Policy::limited(2), retries().redirects_off());
    let request = client.get(format!("{}/limited", server.uri()));
    let error = request.send().await.unwrap_err();
    assert!(error.is_redirect(), "{error:?}");
    assert_eq!(requests(&server).await.len(), 3);
}

#[tokio::test]
async fn a_redirected_post_is_sent_once_whatever_was_said() {
    let to_itself = ResponseTemplate::new(303).insert_header("location", "/said-off");
    let server = answering([to_itself, ResponseTemplate::new(429)]).await;
    let client = client(Policy::default(), retries().redirects_off());
    let order = client.post(format!("{}/said-off", server.uri()));
    let response = order.body("order").send().await.unwrap();
    assert_eq!(report_of(&response).stop, StopReason::NotIdempotent);
}

#[tokio::test]
async fn a_middleware_added_later_runs_for_each_attempt() {
    let server = Script::new().status(429).status(503).status(200);
    let client = build(reqwest::Client::builder(), Policy::default(), retries()).unwrap();
    let client = client.with(server.clone()).build();
    let response = client.put("http://a.example/").send().await.unwrap();
    assert_eq!((response.status().as_u16(), server.calls().len()), (200, 3));
}
