//! A script below the middleware, as tests of other programs have it: no client, and so no redirects.

use super::of_policy;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::{RetryPolicy, RetryReport, StopReason};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use std::io::ErrorKind;

/// The middlewares of the guide's recipe: nothing is said of redirects, or that they are watched.
fn middlewares() -> [RetryMiddleware; 2] {
    let untold = RetryMiddleware::new(RetryPolicy::background()).runtime(ManualRuntime::new());
    [untold, of_policy(RetryPolicy::background())]
}

fn client(retries: RetryMiddleware, server: &Script) -> ClientWithMiddleware {
    let client = ClientBuilder::new(reqwest::Client::new());
    client.with(retries).with(server.clone()).build()
}

async fn order(client: &ClientWithMiddleware) -> (u16, StopReason) {
    let slot = RetryReport::slot();
    let request = client.post("http://api.example/orders").body("order");
    let response = request.with_extension(slot.clone()).send().await;
    let status = response.map_or(0, |response| response.status().as_u16());
    (status, slot.take().unwrap().stop)
}

#[tokio::test]
async fn a_post_that_was_not_processed_is_repeated() {
    for retries in middlewares() {
        let scripts = [
            Script::new().status(429),
            Script::new().error(ErrorKind::ConnectionRefused),
        ];
        for server in scripts.map(|script| script.status(201)) {
            let client = client(retries.clone(), &server);
            assert_eq!(order(&client).await, (201, StopReason::Succeeded));
            assert_eq!(server.bodies(), ["order", "order"]);
        }
    }
}

#[tokio::test]
async fn a_post_that_may_be_processed_is_sent_once() {
    for retries in middlewares() {
        let server = Script::new().status(503).status(201);
        let client = client(retries, &server);
        assert_eq!(order(&client).await, (503, StopReason::NotIdempotent));
        assert_eq!(server.calls().len(), 1);
    }
}
