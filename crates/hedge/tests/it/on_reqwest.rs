//! The layer as a middleware of reqwest, and on a client of reqwest.

use crate::server::{Answer, Server};
use bytes::Bytes;
use http::{Extensions, Method};
use http_body_util::{BodyExt, Full};
use http_retry::hedge::{Hedge, HedgeMiddleware};
use http_retry::reqwest::RetryMiddleware;
use http_retry::runtime::TokioRuntime;
use http_retry::{RetryBudget, RetryOverride, RetryPolicy, RetryReport};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use std::time::Duration;
use tower::Service;

/// The server at the end of a chain. It leaves its number of the request in the extensions.
struct End(Server);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Number(usize);

#[async_trait::async_trait]
impl Middleware for End {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let request: http::Request<reqwest::Body> = request.try_into()?;
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        extensions.insert(Number(self.0.count()));
        let request = http::Request::from_parts(parts, Full::new(body));
        let sent = self.0.clone().call(request).await;
        let response = sent.map_err(reqwest_middleware::Error::middleware)?;
        let (parts, body) = response.into_parts();
        let body: Bytes = body.collect().await.unwrap_or_default().to_bytes();
        Ok(http::Response::from_parts(parts, body).into())
    }
}

fn hedge() -> HedgeMiddleware {
    HedgeMiddleware::new(Hedge::after(Duration::from_millis(50))).unwrap()
}

fn client(retries: RetryMiddleware, server: &Server) -> ClientWithMiddleware {
    let builder = ClientBuilder::new(reqwest::Client::new()).with(retries);
    builder.with(hedge()).with(End(server.clone())).build()
}

fn retries() -> RetryMiddleware {
    RetryMiddleware::new(RetryPolicy::background())
}

const URL: &str = "http://api.example/orders";

#[tokio::test(start_paused = true)]
async fn only_what_may_be_sent_twice_is_hedged() {
    let server = || Server::script(&[Answer::ok(200)]);
    for (name, method, keyed, requests) in [
        ("get", Method::GET, false, 2),
        ("post", Method::POST, false, 1),
        ("keyed post", Method::POST, true, 2),
    ] {
        let server = server();
        let request = client(retries().redirects_off(), &server).request(method, URL);
        let request = if keyed {
            request.header("idempotency-key", "one")
        } else {
            request
        };
        request.body("an order").send().await.unwrap();
        assert_eq!(server.count(), requests, "{name}");
        assert!(
            server
                .arrivals()
                .iter()
                .all(|arrival| arrival.body == "an order")
        );
    }
    // An unseen redirect may lead to another server, where a key does not hold.
    let server = server();
    let request = client(retries(), &server)
        .post(URL)
        .header("idempotency-key", "one");
    request.send().await.unwrap();
    assert_eq!(server.count(), 1, "redirects unknown");
}

#[tokio::test(start_paused = true)]
async fn a_stream_and_a_request_that_forbids_it_are_sent_once() {
    let server = Server::script(&[Answer::ok(200)]);
    let client = client(retries().redirects_off(), &server);
    let stream = reqwest::Body::wrap(Full::new(Bytes::from("an order")));
    client.put(URL).body(stream).send().await.unwrap();
    assert_eq!(server.count(), 1);
    let own = RetryOverride::new().hedge(false);
    client.get(URL).with_extension(own).send().await.unwrap();
    assert_eq!(server.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_extensions_of_the_winner_are_the_callers() {
    for (answers, winner) in [
        ([Answer::ok(500), Answer::ok(10)], 1),
        ([Answer::ok(60), Answer::ok(500)], 0),
    ] {
        let server = Server::script(&answers);
        let client = client(retries(), &server);
        let request = client.get(URL).build().unwrap();
        let mut extensions = Extensions::new();
        let sent = client.execute_with_extensions(request, &mut extensions);
        let response = sent.await.unwrap();
        assert_eq!(extensions.get(), Some(&Number(winner)));
        let report = response.extensions().get::<RetryReport>().unwrap();
        assert_eq!(report.attempts[0].copies, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_hedged_too_and_each_copy_is_paid_for() {
    let answers = [Answer::status(503, 10), Answer::ok(500), Answer::ok(10)];
    let server = Server::script(&answers);
    let budget = RetryBudget::builder()
        .capacity(10)
        .per_success(0)
        .build()
        .unwrap();
    let client = client(retries().budget(budget.clone()), &server);
    let response = client.get(URL).send().await.unwrap();
    let report = response.extensions().get::<RetryReport>().unwrap();
    let copies = report.attempts.iter().map(|attempt| attempt.copies);
    assert_eq!(copies.collect::<Vec<_>>(), [1, 2]);
    assert_eq!((server.count(), budget.tokens()), (3, Some(8.into())));
}

#[tokio::test(start_paused = true)]
async fn alone_it_pays_from_its_own_budget() {
    let server = Server::script(&[Answer::ok(200), Answer::ok(10)]);
    let budget = RetryBudget::builder()
        .capacity(10)
        .per_success(0)
        .build()
        .unwrap();
    let hedge = Hedge::after(Duration::from_millis(50));
    let hedge = HedgeMiddleware::alone(hedge, RetryPolicy::background(), TokioRuntime);
    let hedge = hedge.unwrap().budget(budget.clone());
    let client = ClientBuilder::new(reqwest::Client::new()).with(hedge);
    let client = client.with(End(server.clone())).build();
    client.get(URL).send().await.unwrap();
    assert_eq!((server.count(), budget.tokens()), (2, Some(9.into())));
}
