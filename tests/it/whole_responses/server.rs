//! A server in memory whose bodies break as a test says, as a tower service and as a middleware.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Extensions, HeaderMap, HeaderValue, Request, Response};
use http_body::{Frame, SizeHint};
use http_body_util::StreamBody;
use http_body_util::combinators::BoxBody;
use reqwest_middleware::{Middleware, Next};
use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tower::{BoxError, Service};

pub(super) type Body = BoxBody<Bytes, BoxError>;

/// What comes after the data of a body.
#[derive(Debug, Clone, Copy)]
pub(super) enum Then {
    Ends,
    /// With less than it has told.
    EndsEarly,
    Fails(io::ErrorKind),
    Trailers,
    /// Nothing more, ever.
    Stalls,
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    status: u16,
    headers: HeaderMap,
    data: Vec<&'static str>,
    then: Then,
}

impl Reply {
    pub(super) fn new(data: &[&'static str], then: Then) -> Self {
        Self {
            status: 200,
            headers: HeaderMap::new(),
            data: data.to_vec(),
            then,
        }
    }

    /// One that is reset after some of it.
    pub(super) fn broken() -> Self {
        Self::new(&["al", "l of"], Then::Fails(io::ErrorKind::ConnectionReset))
    }

    /// `all of it`.
    pub(super) fn fine() -> Self {
        Self::new(&["all", " of it"], Then::Ends)
    }

    pub(super) fn stalled() -> Self {
        Self::new(&["al", "l of"], Then::Stalls)
    }

    pub(super) fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(super) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    fn response(self) -> Response<Body> {
        let data = self.data.into_iter().map(Bytes::from);
        let data = stream::iter(data.map(|data| Ok(Frame::data(data))));
        let end = match self.then {
            Then::Ends | Then::EndsEarly => stream::empty().boxed(),
            Then::Fails(kind) => stream::iter([Err(BoxError::from(io::Error::from(kind)))]).boxed(),
            Then::Trailers => {
                let mut trailers = HeaderMap::new();
                trailers.insert("checksum", HeaderValue::from_static("7"));
                stream::iter([Ok(Frame::trailers(trailers))]).boxed()
            }
            Then::Stalls => stream::pending().boxed(),
        };
        let body = StreamBody::new(SyncStream::new(data.chain(end).boxed()));
        let body = match self.then {
            Then::EndsEarly => BoxBody::new(Told { body, left: 1_000 }),
            _ => BoxBody::new(body),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status.try_into().unwrap();
        *response.headers_mut() = self.headers;
        response
    }
}

/// A body that tells its length.
struct Told {
    body: StreamBody<SyncStream>,
    left: u64,
}

impl http_body::Body for Told {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.left -= frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        frame
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// A stream that is `Sync`, as reqwest wants it.
struct SyncStream(Mutex<Items>);

type Items = stream::BoxStream<'static, Result<Frame<Bytes>, BoxError>>;

impl SyncStream {
    fn new(items: Items) -> Self {
        Self(Mutex::new(items))
    }
}

impl futures_util::Stream for SyncStream {
    type Item = Result<Frame<Bytes>, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.get_mut().unwrap().poll_next_unpin(cx)
    }
}

/// Gives its replies in order, and then the last one for ever.
#[derive(Debug, Clone)]
pub(super) struct Server(Arc<Mutex<VecDeque<Reply>>>);

impl Server {
    pub(super) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self(Arc::new(Mutex::new(replies.into_iter().collect())))
    }

    fn answer(&self) -> Response<Body> {
        let mut replies = self.0.lock().unwrap();
        let reply = match replies.len() {
            1 => replies[0].clone(),
            _ => replies.pop_front().unwrap(),
        };
        reply.response()
    }
}

impl Service<Request<String>> for Server {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Ready<Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<String>) -> Self::Future {
        ready(Ok(self.answer()))
    }
}

#[async_trait]
impl Middleware for Server {
    async fn handle(
        &self,
        _: reqwest::Request,
        _: &mut Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        Ok(self.answer().map(reqwest::Body::wrap).into())
    }
}
