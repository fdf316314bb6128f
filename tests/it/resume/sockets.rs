//! Resumed downloads on real sockets, on both stacks: each byte at which an answer can be cut, each way to answer the
//! request for the rest, and what a middleware sees of it.

use super::clients::{Stack, layer, middleware, reqwest_client};
use super::raw::{Reply, server};
use super::script::bytes;
use super::steered::Steered;
use super::world::{End, File, file_server, proxy};
use async_trait::async_trait;
use bytes::Bytes;
use http::{Extensions, Request};
use http_body_util::{BodyExt, Full};
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::reqwest::SendResumed;
use http_retry::resume::ResumeProgress;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tower::{Layer, ServiceExt};

const STACKS: [Stack; 2] = [Stack::Middleware, Stack::Tower];
const SOON: Duration = Duration::from_millis(5);

#[tokio::test]
async fn an_answer_can_be_cut_at_each_of_its_bytes() {
    // Long enough to be cut where there is more than the kibibyte to compare on both sides.
    let file = File {
        start: 77,
        length: 2 * 1024 + 256,
    };
    let server = file_server(false).await;
    let steered = Steered::new(SOON);
    for (at, stack) in (0..file.length + 300).zip(STACKS.into_iter().cycle()) {
        // Each stack meets each byte in one of two runs, with another end.
        let ends = [End::Close, End::Reset];
        for (stack, end) in [(stack, ends[at % 2]), (other(stack), ends[(at / 2) % 2])] {
            let proxy = proxy(server.address, vec![(at, end)], &steered).await;
            let url = format!("http://{}{}", proxy.address, file.path());
            let (read, error) = stack.get(&url, None, &steered).await;
            assert!(error.is_none(), "{at} {stack:?} {end:?}: {error:?}");
            assert!(read == file.bytes(0..file.length), "{at} {stack:?} {end:?}");
        }
    }
}

#[tokio::test]
async fn a_stall_on_http2_is_not_resumed_on_its_connection() {
    let file = File {
        start: 77,
        length: 100_000,
    };
    let server = file_server(true).await;
    let steered = Steered::new(SOON);
    let proxy = proxy(server.address, vec![(30_000, End::Stall)], &steered).await;
    let failed = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&failed);
    let layer = layer(&steered).observe(move |event: &RetryEvent<'_>| match event.kind {
        RetryEventKind::AttemptEnded(attempt) if attempt.error.is_some() => {
            count.fetch_add(1, Ordering::Relaxed);
        }
        _ => {}
    });
    let mut client = Client::builder(TokioExecutor::new());
    let client = client.http2_only(true).build_http();
    let request = Request::get(format!("http://{}{}", proxy.address, file.path()));
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let sent = layer.resume_downloads().layer(client).oneshot(request);
    let response = sent.await.unwrap();
    let progress: ResumeProgress = response.extensions().get().cloned().unwrap();
    let read = response.into_body().collect().await.unwrap().to_bytes();
    assert!(read == file.bytes(0..file.length));
    let failed = failed.load(Ordering::Relaxed);
    assert_eq!((progress.resumes(), failed), (1, 0));
}

fn other(stack: Stack) -> Stack {
    match stack {
        Stack::Tower => Stack::Middleware,
        _ => Stack::Tower,
    }
}

/// Signs each request by its number.
struct Signs(AtomicU32);

#[async_trait]
impl Middleware for Signs {
    async fn handle(
        &self,
        mut request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        request.headers_mut().insert("x-signature", number.into());
        next.run(request, extensions).await
    }
}

#[tokio::test]
async fn a_middleware_signs_each_continuation_anew() {
    let rest = |from: usize| {
        let range = format!(
            "content-range: bytes {from}-99/100\r\netag: \"a\"\r\ncontent-length: {}",
            100 - from
        );
        Reply::new("206 Partial", &range)
    };
    let first = Reply::new("200 OK", "content-length: 100\r\netag: \"a\"");
    let server = server([
        first.sends(&bytes(0..10)),
        rest(0).sends(&bytes(0..20)),
        rest(0).sends(&bytes(0..100)),
    ])
    .await;
    // Before the retries and after them.
    for before in [true, false] {
        let steered = Steered::new(SOON);
        let client = ClientBuilder::new(reqwest_client());
        let signs = || Signs(AtomicU32::new(0));
        let client = if before {
            client.with(signs()).with(middleware(&steered))
        } else {
            client.with(middleware(&steered)).with(signs())
        };
        server.begin();
        let request = client.build().get(server.url());
        let response = request.send_resumed().await.unwrap();
        let progress = response
            .extensions()
            .get::<ResumeProgress>()
            .unwrap()
            .clone();
        assert_eq!(response.bytes().await.unwrap(), bytes(0..100));
        assert_eq!((progress.resumes(), progress.read_twice()), (2, 30));
        assert_eq!(server.received("x-signature"), ["0", "1", "2"], "{before}");
        assert_eq!(server.received("range"), ["", "bytes=0-99", "bytes=0-99"]);
    }
}

#[tokio::test]
async fn a_length_that_chunks_override_promises_nothing() {
    for length in [3, 7] {
        let head = format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\netag: \"a\"");
        let reply = Reply::new("200 OK", &head).sends(b"5\r\nhello\r\n0\r\n\r\n");
        let server = server([reply]).await;
        let steered = Steered::new(SOON);
        for stack in STACKS {
            server.begin();
            let (read, error) = stack.get(&server.url(), None, &steered).await;
            assert!(error.is_none(), "{stack:?} {length}: {error:?}");
            assert_eq!((&*read, server.received("host").len()), (&b"hello"[..], 1));
        }
    }
}

#[tokio::test]
async fn an_interruption_tells_no_url() {
    let file = Reply::new("200 OK", "content-length: 9\r\netag: \"a\"").sends(b"hello");
    let server = server([file, Reply::raw(b"no HTTP\r\n\r\n")]).await;
    let url = server.url().replace("//", "//me:secret@") + "?token=secret";
    let steered = Steered::new(SOON);
    for stack in [Stack::Middleware, Stack::Tower, Stack::Direct] {
        server.begin();
        let (read, error) = stack.get(&url, None, &steered).await;
        assert_eq!(&*read, b"hello", "{stack:?}");
        let error = error.unwrap();
        let links = std::iter::successors(Some(&*error as &dyn Error), |&error| error.source());
        let told: String = links.map(|link| format!("{link} {link:?}, ")).collect();
        assert!(
            told.contains("Interrupted") && !told.contains("secret"),
            "{stack:?}: {told}"
        );
    }
}

#[tokio::test]
async fn a_client_without_the_middleware_is_an_error() {
    let server = server([Reply::new("200 OK", "content-length: 0")]).await;
    let client = ClientBuilder::new(reqwest_client()).build();
    let error = client.get(server.url()).send_resumed().await.unwrap_err();
    let reqwest_middleware::Error::Middleware(error) = error else {
        panic!("{error:?}");
    };
    let text = "send_resumed needs a client with a RetryMiddleware that sees every request";
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn within_another_layer_a_download_is_plain() {
    let file = || Reply::new("200 OK", "content-length: 10\r\netag: \"a\"").sends(&bytes(0..10));
    let server = server([file()]).await;
    let steered = Steered::new(SOON);
    let client = ClientBuilder::new(reqwest_client());
    let client = client.with(middleware(&steered)).build();
    let url = server.url();
    let runner = http_retry::run::Runner::new(http_retry::RetryPolicy::background());
    let watched = runner.run_by_policy(|_| {
        let sent = client.get(&url).send_resumed();
        async move {
            let response = sent.await?;
            let progress = response.extensions().get::<ResumeProgress>();
            Ok::<_, reqwest_middleware::Error>(progress.is_some())
        }
    });
    assert!(!watched.await.unwrap());
    server.begin();
    let response = client.get(&url).send_resumed().await.unwrap();
    assert!(response.extensions().get::<ResumeProgress>().is_some());
    assert_eq!(response.content_length(), Some(10));
    assert_eq!(response.url().as_str(), format!("{url}"));
}
