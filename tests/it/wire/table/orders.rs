//! The requests that the table tells apart, and their bodies.

use bytes::Bytes;
use http::{Method, Request};
use http_body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

/// What a request's body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// A word with POST and PUT, nothing with GET.
    Usual,
    /// Nothing, whatever the method.
    Empty,
    /// More than the sockets' buffers hold.
    Large,
    /// A stream that fails after its first piece.
    Breaking,
}

/// The four kinds of requests that the table tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Get,
    Post,
    PostWithKey,
    Put,
}

impl Order {
    pub(crate) const ALL: [Self; 4] = [Self::Get, Self::Post, Self::PostWithKey, Self::Put];

    pub(crate) fn method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Post | Self::PostWithKey => Method::POST,
            Self::Put => Method::PUT,
        }
    }

    pub(crate) fn request<B>(self, url: &str, body: B) -> Request<B> {
        let request = Request::builder().method(self.method()).uri(url);
        let request = match self {
            Self::PostWithKey => request.header("idempotency-key", "order-7"),
            _ => request,
        };
        request.body(body).unwrap()
    }
}

impl Load {
    pub(crate) fn has_body(self, order: Order) -> bool {
        match self {
            Self::Usual => order != Order::Get,
            Self::Empty => false,
            Self::Large | Self::Breaking => true,
        }
    }
}

/// A body for hyper, and for reqwest where it is a stream.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    pub(crate) next: Option<Bytes>,
    breaks: bool,
}

static LARGE: LazyLock<Bytes> = LazyLock::new(|| vec![b'x'; 32 * 1024 * 1024].into());

impl Payload {
    pub(crate) fn of(load: Load, order: Order) -> Self {
        let next = match load {
            Load::Large => LARGE.clone(),
            _ => Bytes::from_static(b"order"),
        };
        Self {
            next: load.has_body(order).then_some(next),
            breaks: load == Load::Breaking,
        }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let next = self.next.take().map(|bytes| Ok(Frame::data(bytes)));
        let broken = || {
            self.breaks
                .then(|| Err(io::Error::other("the caller's own")))
        };
        Poll::Ready(next.or_else(broken))
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none() && !self.breaks
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.next.as_ref().map_or(0, Bytes::len);
        // A length is promised even so, since hyper sends no GET with a body of unknown length.
        let missing = if self.breaks { 1 } else { 0 };
        SizeHint::with_exact(u64::try_from(length).unwrap() + missing)
    }
}
