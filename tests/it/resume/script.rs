//! A client without a network: it answers from a list, byte by byte as the list says, and keeps what it was asked.

use bytes::Bytes;
use futures_util::future::Either;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_retry::resume::{Interrupted, ResumeFailure, ResumeProgress};
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, RetryBudget, RetryPolicy, RetryPolicyBuilder};
use std::collections::VecDeque;
use std::future::{Pending, Ready, pending, ready};
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{BoxError, Layer, Service, ServiceExt};

/// The bytes of every file: they repeat only after 251.
pub(crate) fn bytes(range: Range<usize>) -> Bytes {
    range.map(|at| u8::try_from(at % 251).unwrap()).collect()
}

/// What a body does next.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Data(Bytes),
    Trailers,
    Reset,
    /// Nothing at the first look.
    Later,
    /// Nothing more, and nobody is told.
    Stall,
}

#[derive(Debug, Clone)]
pub(crate) struct Pieces(VecDeque<Piece>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(Piece::Stall) = self.0.front() {
            return Poll::Pending;
        }
        if let Some(Piece::Later) = self.0.front() {
            self.0.pop_front();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
        Poll::Ready(self.0.pop_front().map(|piece| match piece {
            Piece::Data(data) => Ok(Frame::data(data)),
            Piece::Trailers => Ok(Frame::trailers(HeaderMap::new())),
            Piece::Reset | Piece::Later | Piece::Stall => Err(reset()),
        }))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// An answer of the list.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<Piece>,
}

impl Turn {
    const NO_HEAD: u16 = 0;

    /// A head that never comes.
    pub(crate) fn no_head() -> Self {
        Self::of(Self::NO_HEAD)
    }

    pub(crate) fn of(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// The start of a file of so many bytes with a strong tag.
    pub(crate) fn file(total: usize) -> Self {
        Self::of(200)
            .header("content-length", total.to_string())
            .header("etag", "\"a\"")
    }

    /// The rest of such a file.
    pub(crate) fn rest(from: usize, total: usize) -> Self {
        Self::of(206)
            .header(
                "content-range",
                format!("bytes {from}-{}/{total}", total - 1),
            )
            .header("etag", "\"a\"")
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn then(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }

    pub(crate) fn sends(self, range: Range<usize>) -> Self {
        self.then(Piece::Data(bytes(range)))
    }

    fn response(self) -> Response<Pieces> {
        let mut response = Response::new(Pieces(self.pieces.into()));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap();
        for (name, value) in self.headers {
            response.headers_mut().append(name, value.parse().unwrap());
        }
        response
    }
}

/// The client, and what it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Scripted {
    turns: Arc<Mutex<VecDeque<Turn>>>,
    asked: Arc<Mutex<Vec<HeaderMap>>>,
}

impl Scripted {
    pub(crate) fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self {
            turns: Arc::new(Mutex::new(turns.into_iter().collect())),
            asked: Arc::default(),
        }
    }

    /// The values of a header, one for each request.
    pub(crate) fn asked(&self, name: &str) -> Vec<Option<String>> {
        let asked = self.asked.lock().unwrap();
        let value = |headers: &HeaderMap| {
            let value = headers.get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        asked.iter().map(value).collect()
    }

    /// The ranges of the requests after the first.
    pub(crate) fn ranges(&self) -> Vec<String> {
        let ranges = self.asked("range").into_iter().skip(1);
        ranges.map(Option::unwrap).collect()
    }
}

impl Service<Request<String>> for Scripted {
    type Response = Response<Pieces>;
    type Error = io::Error;
    type Future =
        Either<Ready<io::Result<Response<Pieces>>>, Pending<io::Result<Response<Pieces>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        self.asked.lock().unwrap().push(request.headers().clone());
        let turn = self.turns.lock().unwrap().pop_front();
        if turn
            .as_ref()
            .is_some_and(|turn| turn.status == Turn::NO_HEAD)
        {
            return Either::Right(pending());
        }
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        Either::Left(ready(turn.map(Turn::response).ok_or_else(refused)))
    }
}

pub(crate) fn get() -> Request<String> {
    Request::get("http://files.example/a")
        .body(String::new())
        .unwrap()
}

/// A wait of a second before each retry.
pub(crate) fn policy() -> RetryPolicyBuilder {
    let second = Backoff::fixed(Duration::from_secs(1));
    RetryPolicy::background().to_builder().backoff(second)
}

/// A budget that successes add nothing to.
pub(crate) fn budget(capacity: u32) -> RetryBudget {
    let budget = RetryBudget::builder().capacity(capacity).per_success(0);
    budget.build().unwrap()
}

pub(crate) fn layer(policy: RetryPolicyBuilder) -> RetryLayer {
    RetryLayer::new(policy.build().unwrap())
}

/// What came of a download.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) read: Vec<u8>,
    pub(crate) trailers: bool,
    pub(crate) error: Option<BoxError>,
    /// Whether the layer watches the body.
    pub(crate) progress: Option<ResumeProgress>,
}

impl Ended {
    /// Where it broke for good, and why.
    pub(crate) fn interrupted(&self) -> Option<(u64, u64, ResumeFailure)> {
        let cut = Interrupted::of(self.error.as_deref()?)?;
        Some((cut.at(), cut.length(), cut.reason()))
    }
}

pub(crate) async fn download<L, B>(layer: L, client: &Scripted, request: Request<String>) -> Ended
where
    L: Layer<Scripted>,
    L::Service: Service<Request<String>, Response = Response<B>, Error: std::fmt::Debug>,
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    let response = layer.layer(client.clone()).oneshot(request).await.unwrap();
    let progress = response.extensions().get().cloned();
    let mut body = response.into_body();
    let (mut read, mut trailers, mut error) = (Vec::new(), false, None);
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => read.extend_from_slice(&data),
            Ok(Err(_)) => trailers = true,
            Err(broken) => error = Some(broken),
        }
    }
    Ended {
        read,
        trailers,
        error,
        progress,
    }
}
