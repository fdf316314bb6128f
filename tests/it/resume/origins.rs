//! Files of two servers that begin alike and have the same tag: no download is made of both.

use super::clients::{Stack, middleware, reqwest_client, why};
use super::raw::{Raw, Reply, server};
use super::steered::Steered;
use async_trait::async_trait;
use bytes::Bytes;
use http::Extensions;
use http_body_util::{BodyExt, Full};
use http_retry::config::{Document, RetryConfig};
use http_retry::reqwest::SendResumed;
use http_retry::resume::{Interrupted, ResumeFailure};
use http_retry::tower::RetryLayer;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::time::Duration;
use tower::{Layer, ServiceExt};

const START: &[u8] = b"alike";
const A: &[u8] = b"alike AAAA";
const B: &[u8] = b"alike BBBB";

fn start() -> Reply {
    Reply::new("200 OK", "etag: \"1\"\r\ncontent-length: 10").sends(START)
}

fn rest(of: &[u8]) -> Reply {
    let head = "etag: \"1\"\r\ncontent-range: bytes 0-9/10\r\ncontent-length: 10";
    Reply::new("206 Partial Content", head).sends(of)
}

fn moved(to: &Raw) -> Reply {
    let head = format!("location: {}\r\ncontent-length: 0", to.url());
    Reply::new("302 Found", &head)
}

fn steered() -> Steered {
    Steered::new(Duration::from_millis(5))
}

#[tokio::test]
async fn the_rest_is_asked_for_where_a_redirect_led() {
    for stack in [Stack::Middleware, Stack::Direct] {
        let a = server([start(), rest(A)]).await;
        let b = server([rest(B)]).await;
        let front = server([moved(&a), moved(&b)]).await;
        let (read, error) = stack.get(&front.url(), None, &steered()).await;
        assert!(error.is_none(), "{stack:?}: {error:?}");
        assert_eq!(read, A, "{stack:?}");
        assert_eq!(b.received("range"), Vec::<String>::new(), "{stack:?}");
        assert_eq!(a.received("range"), ["", "bytes=0-9"], "{stack:?}");
    }
}

#[tokio::test]
async fn a_rest_that_moved_to_another_server_is_another_file() {
    for stack in [Stack::Middleware, Stack::Direct] {
        let b = server([rest(B)]).await;
        let a = server([start(), moved(&b)]).await;
        let (read, error) = stack.get(&a.url(), None, &steered()).await;
        assert_eq!(why(&error.unwrap()), "changed", "{stack:?}");
        assert_eq!(read, START, "{stack:?}");
    }
}

#[tokio::test]
async fn credentials_are_not_sent_where_a_redirect_led() {
    let a = server([start(), rest(A)]).await;
    let front = server([moved(&a)]).await;
    let client = ClientBuilder::new(reqwest_client()).with(middleware(&steered()));
    let request = client.build().get(front.url());
    let request = request
        .header("authorization", "secret")
        .header("x-own", "1");
    let read = request.send_resumed().await.unwrap().bytes().await;
    assert_eq!(read.unwrap(), A);
    assert_eq!(front.received("authorization"), ["secret"]);
    assert_eq!(a.received("authorization"), ["", ""]);
    assert_eq!(a.received("x-own"), ["1", "1"]);
}

/// Adds a key to the URL of each request, as some services take it.
struct AddsKey;

#[async_trait]
impl Middleware for AddsKey {
    async fn handle(
        &self,
        mut request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        request.url_mut().query_pairs_mut().append_pair("key", "k");
        next.run(request, extensions).await
    }
}

#[tokio::test]
async fn a_key_that_a_middleware_adds_to_the_url_is_no_redirect() {
    let a = server([start(), rest(A)]).await;
    // Before the retries and after them.
    for before in [true, false] {
        a.begin();
        let (client, retries) = (ClientBuilder::new(reqwest_client()), middleware(&steered()));
        let client = if before {
            client.with(AddsKey).with(retries)
        } else {
            client.with(retries).with(AddsKey)
        };
        let request = client.build().get(a.url());
        let read = request.send_resumed().await.unwrap().bytes().await;
        assert_eq!(read.unwrap(), A, "{before}");
    }
}

#[tokio::test]
async fn a_rest_of_another_query_is_another_file() {
    for stack in [Stack::Middleware, Stack::Direct] {
        let to = |query: &str| {
            Reply::new(
                "302 Found",
                &format!("location: /?{query}\r\ncontent-length: 0"),
            )
        };
        let a = server([to("v=1"), start(), to("v=2"), rest(B)]).await;
        let (read, error) = stack.get(&a.url(), None, &steered()).await;
        assert_eq!(why(&error.unwrap()), "changed", "{stack:?}");
        assert_eq!(read, START, "{stack:?}");
    }
}

/// What a tower stack reads whose service `first` fails over to `second`, and why it ends.
async fn read(first: &Raw, second: &Raw, rule: &str) -> (Vec<u8>, Option<ResumeFailure>) {
    let text = format!(
        "
version: 1
retry: background
gate: off
services:
  first:
    match: {{host: \"{}\"}}
    base_url: \"{}\"
    rules: [{rule}]
  second: {{base_url: \"{}\"}}
",
        first.authority(),
        first.url(),
        second.url()
    );
    let document: Document = serde_yaml_ng::from_str(&text).unwrap();
    let config = RetryConfig::load(&document).unwrap();
    let layer = RetryLayer::from_config(&config).runtime(steered());
    let client = Client::builder(TokioExecutor::new()).build_http();
    let service = layer.resume_downloads().layer(client);
    let request = http::Request::get(first.url()).body(Full::<Bytes>::default());
    let mut body = service.oneshot(request.unwrap()).await.unwrap().into_body();
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => read.extend_from_slice(&frame.into_data().unwrap_or_default()),
            Err(error) => return (read, Interrupted::of(&*error).map(Interrupted::reason)),
        }
    }
    (read, None)
}

const FAILOVER: &str = "{when: {status: 503}, failover: second}";

fn busy() -> Reply {
    Reply::new("503 Service Unavailable", "content-length: 0")
}

#[tokio::test]
async fn a_start_by_failover_is_not_joined_with_the_first_service() {
    let first = server([busy(), rest(A)]).await;
    let second = server([start(), rest(B)]).await;
    let ended = read(&first, &second, FAILOVER).await;
    assert_eq!(ended, (START.to_vec(), Some(ResumeFailure::Changed)));
}

#[tokio::test]
async fn a_rest_from_another_service_is_not_joined_with_the_start() {
    let first = server([start(), busy()]).await;
    let second = server([rest(B)]).await;
    let ended = read(&first, &second, FAILOVER).await;
    assert_eq!(ended, (START.to_vec(), Some(ResumeFailure::Changed)));
}

#[tokio::test]
async fn a_rest_that_a_document_made_up_is_not_joined_with_the_start() {
    let first = server([start(), busy()]).await;
    let second = server([rest(B)]).await;
    let rule = "{when: {status: 503}, retry: {max_retries: 0, on_exhausted: {respond: {status: 200, \
                headers: {etag: '\"1\"', content-length: \"10\"}, body: \"alike BBBB\"}}}}";
    let ended = read(&first, &second, rule).await;
    assert_eq!(ended, (START.to_vec(), Some(ResumeFailure::Changed)));
}
