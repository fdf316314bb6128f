//! A server of HTTP/1 and HTTP/2 on a port of the loopback.

use crate::Result;
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

pub type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

type Respond = dyn Fn(usize, &Request<Bytes>) -> Answer + Send + Sync;

/// A server that keeps every request with its whole body. It ends with the program.
pub struct Server {
    /// `http://127.0.0.1:PORT`, without a slash.
    pub url: String,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

struct Shared {
    respond: Box<Respond>,
    seen: Mutex<Vec<Request<Bytes>>>,
}

impl Server {
    /// Answers each request by its number, from 0, and by what it is.
    pub async fn start(
        respond: impl Fn(usize, &Request<Bytes>) -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            respond: Box::new(respond),
            seen: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            // Dropped with the task, it ends the connections too.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&serving)));
                while connections.try_join_next().is_some() {}
            }
        });
        let accepting = accepting.abort_handle();
        Ok(Self {
            url,
            shared,
            accepting,
        })
    }

    /// Fails so many times, and then answers this: a POST with 429, which says that it was not processed, and any other
    /// request with 503.
    pub async fn failing(
        times: usize,
        then: impl Fn() -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::start(move |number, request| {
            if number >= times {
                then()
            } else if request.method() == http::Method::POST {
                status(429)
            } else {
                status(503)
            }
        })
        .await
    }

    /// Answers 503 so many times, whatever the method, and then this.
    pub async fn unavailable(
        times: usize,
        then: impl Fn() -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::start(move |number, _| if number < times { status(503) } else { then() }).await
    }

    /// Ends the server and its connections in the midst of whatever they do.
    pub fn die(&self) {
        self.accepting.abort();
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// The requests since the last look, in their order.
    pub fn take(&self) -> Vec<Request<Bytes>> {
        let mut seen = self
            .shared
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *seen)
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let request = Request::from_parts(head, body);
            let mut seen = shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = (shared.respond)(seen.len(), &request);
            seen.push(request);
            Ok::<_, hyper::Error>(answer)
        }
    });
    let connection = auto::Builder::new(TokioExecutor::new());
    // A client that goes away ends its connection; what was sent stands in the list all the same.
    let _ = connection
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// A failure with a body, which is no answer to anything.
pub fn status(status: u16) -> Answer {
    answer(status, "text/plain", "not now")
}

pub fn json(status: u16, text: &'static str) -> Answer {
    answer(status, "application/json", text)
}

pub fn answer(status: u16, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()).boxed_unsync());
    *answer.status_mut() = http::StatusCode::from_u16(status).expect("a status");
    let kind = HeaderValue::from_static(kind);
    answer
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, kind);
    answer
}

/// An answer of a unary call of gRPC: a message with the status in the trailers, or the status alone in the head.
pub fn grpc(code: u8, message: Option<&[u8]>) -> Answer {
    let code = HeaderValue::from(u16::from(code));
    let Some(message) = message else {
        let mut failed = answer(200, "application/grpc", "");
        failed.headers_mut().insert("grpc-status", code);
        return failed;
    };
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len().try_into().expect("a short message"));
    framed.put_slice(message);
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", code);
    answer(200, "application/grpc", "").map(|_| {
        let body = Full::new(framed.freeze());
        body.with_trailers(async { Some(Ok(trailers)) })
            .boxed_unsync()
    })
}
