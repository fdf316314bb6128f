//! Gates, on both stacks: what a call holds there while its attempt is cut, and while its answer is read.

#![expect(
    clippy::disallowed_methods,
    reason = "its server and its callers live on tokio's paused clock"
)]

mod cut;
mod provisional;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Frame;
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{RetryOverride, RetryPolicy, RetryPolicyBuilder};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, ServiceExt, service_fn};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stack {
    Tower,
    Reqwest,
}

const STACKS: [Stack; 2] = [Stack::Tower, Stack::Reqwest];

/// An answer of the server in memory.
#[derive(Debug, Clone)]
struct Answer {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: &'static str,
    /// The times until its head and, from there, until its body.
    after: [Duration; 2],
}

impl Answer {
    fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: "",
            after: [Duration::ZERO; 2],
        }
    }
}

type AnswerOf = dyn Fn(&str, usize) -> Answer + Send + Sync;

/// A server that answers each request by its path and its number, and writes down when which came.
#[derive(Clone)]
struct Server {
    answer: Arc<AnswerOf>,
    received: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Server {
    fn new(answer: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            answer: Arc::new(answer),
            received: Arc::default(),
        }
    }

    fn received(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    async fn respond(&self, path: &str) -> Response<Late> {
        let number = {
            let mut received = self.received.lock().unwrap();
            received.push((Instant::now(), path.to_owned()));
            received.len()
        };
        let answer = (self.answer)(path, number);
        sleep(answer.after[0]).await;
        let mut response = Response::builder().status(answer.status);
        for (name, value) in answer.headers {
            response = response.header(name, value);
        }
        let body = Late(Box::pin(sleep(answer.after[1])), answer.body);
        response.body(body).unwrap()
    }
}

/// A body that comes later.
struct Late(Pin<Box<Sleep>>, &'static str);

impl http_body::Body for Late {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.1.is_empty() {
            return Poll::Ready(None);
        }
        ready!(self.0.as_mut().poll(cx));
        let text = std::mem::take(&mut self.1);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(text.as_bytes())))))
    }
}

#[async_trait::async_trait]
impl Middleware for Server {
    async fn handle(
        &self,
        request: reqwest::Request,
        _: &mut http::Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let response = self.respond(request.url().path()).await;
        Ok(response.map(reqwest::Body::wrap).into())
    }
}

type TowerClient = BoxCloneSyncService<Request<String>, u16, BoxError>;

/// A client with retries; its clones share a gate.
#[derive(Clone)]
enum Client {
    Tower(TowerClient),
    Reqwest(ClientWithMiddleware),
}

impl Client {
    fn new(stack: Stack, policy: RetryPolicy, server: &Server) -> Self {
        match stack {
            Stack::Tower => {
                let server = server.clone();
                let respond = service_fn(move |request: Request<String>| {
                    let server = server.clone();
                    async move {
                        let path = request.uri().path().to_owned();
                        Ok::<_, Infallible>(server.respond(&path).await)
                    }
                });
                let respond = respond.map_future(Box::pin);
                let service = RetryLayer::new(policy).layer(respond);
                let status = service.map_response(|response| response.status().as_u16());
                Self::Tower(BoxCloneSyncService::new(status))
            }
            Stack::Reqwest => {
                let retries = RetryMiddleware::new(policy).redirects_off();
                let client = ClientBuilder::new(reqwest::Client::new()).with(retries);
                Self::Reqwest(client.with(server.clone()).build())
            }
        }
    }

    /// The status of a GET, if the call ends with one.
    async fn get(self, path: &str, own: RetryOverride) -> Option<u16> {
        let url = format!("http://a.test{path}");
        match self {
            Self::Tower(service) => {
                let request = Request::builder().method(Method::GET).uri(url);
                let request = request.extension(own).body(String::new()).unwrap();
                service.oneshot(request).await.ok()
            }
            Self::Reqwest(client) => {
                let response = client.get(url).with_extension(own).send().await;
                Some(response.ok()?.status().as_u16())
            }
        }
    }

    /// Sends a GET that is not repeated.
    async fn once(&self, path: &str) -> Option<u16> {
        self.clone()
            .get(path, RetryOverride::new().max_retries(0))
            .await
    }
}

/// A policy with a gate, whose calls wait as long as it takes.
fn patient() -> RetryPolicyBuilder {
    let policy = RetryPolicy::background().to_builder();
    policy.max_gate_wait(SECOND * 3_600).deadline(None)
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_no_refusal_does_not_open_a_gate() {
    for stack in STACKS {
        let server = Server::new(|_, number| match number {
            1..=4 => Answer {
                headers: vec![("retry-after", "60")],
                ..Answer::status(429)
            },
            _ => Answer::status(500),
        });
        let client = Client::new(stack, patient().build().unwrap(), &server);
        for _ in 0..4 {
            assert_eq!(client.once("/").await, Some(429));
        }
        // Two calls go as probes. Successes would have opened the gate for the third.
        let closed = Instant::now();
        for _ in 0..3 {
            assert_eq!(client.once("/").await, Some(500));
        }
        let waited = closed.elapsed();
        assert!(waited >= SECOND * 59, "{stack:?}: {waited:?}");
    }
}
