//! A simulated server, which counts the requests that reach it.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::Service;

/// A request that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The answer to one request: after this time a status, with a `retry-after` of so many seconds, or a reset without one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) after: Duration,
    pub(crate) status: Option<u16>,
    pub(crate) retry_after: Option<u32>,
    /// The requests that are left of a quota for the next minute.
    pub(crate) left: Option<u32>,
}

impl Answer {
    pub(crate) fn ok(millis: u64) -> Self {
        Self::status(200, millis)
    }

    pub(crate) fn status(status: u16, millis: u64) -> Self {
        Self {
            after: Duration::from_millis(millis),
            status: Some(status),
            retry_after: None,
            left: None,
        }
    }
}

type Answers = dyn Fn(u64) -> Answer + Send + Sync;

/// The server, as a client of one connection for each request.
#[derive(Clone)]
pub(crate) struct Server {
    answers: Arc<Answers>,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl Server {
    /// Answers the nth request, counted from 0, by a function.
    pub(crate) fn new(answers: impl Fn(u64) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            answers: Arc::new(answers),
            arrivals: Arc::default(),
        }
    }

    /// Answers the first requests like this, and later ones like the last.
    pub(crate) fn script(answers: &[Answer]) -> Self {
        let answers = answers.to_vec();
        Self::new(move |n| answers[usize::try_from(n).unwrap().min(answers.len() - 1)])
    }

    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.arrivals.lock().unwrap().len()
    }
}

impl Service<Request<Full<Bytes>>> for Server {
    type Response = Response<Full<Bytes>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let n = {
                let mut arrivals = server.arrivals.lock().unwrap();
                arrivals.push(Arrival {
                    method: parts.method,
                    headers: parts.headers,
                    body,
                });
                u64::try_from(arrivals.len()).unwrap() - 1
            };
            let answer = (server.answers)(n);
            tokio::time::sleep(answer.after).await;
            let Some(status) = answer.status else {
                return Err(io::ErrorKind::ConnectionReset.into());
            };
            let mut response = Response::builder().status(status);
            if let Some(seconds) = answer.retry_after {
                response = response.header("retry-after", seconds);
            }
            if let Some(left) = answer.left {
                response = response.header("x-ratelimit-limit", 100);
                response = response.header("x-ratelimit-remaining", left);
                response = response.header("x-ratelimit-reset", 60);
            }
            Ok(response.body(Full::default()).unwrap())
        })
    }
}

pub(crate) fn request(method: Method) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method);
    let request = request.uri("http://api.example/orders");
    request.body(Full::from("an order")).unwrap()
}

pub(crate) fn get() -> Request<Full<Bytes>> {
    request(Method::GET)
}

/// A random number of a stream, by SplitMix64.
pub(crate) fn random(seed: u64, n: u64) -> u64 {
    http_retry::policy::splitmix64(seed ^ http_retry::policy::splitmix64(n))
}
