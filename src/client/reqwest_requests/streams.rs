//! The bodies of requests: streams, which are recorded while they are sent, and bytes.

use crate::client::ReplayBody;
use ::reqwest::{Body, Request};
use bytes::Bytes;
use http_body::Body as _;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A stream, as far as it was recorded.
pub(super) type Stream = ReplayBody<Body>;

/// Returns the body to send, which is recorded up to `limit` bytes, and the record.
pub(super) fn record(body: Body, limit: usize) -> (Body, Option<Stream>) {
    let stream = ReplayBody::with_limit(body, limit);
    let later = stream.later();
    (Body::wrap(stream), later)
}

pub(super) fn body_of(stream: Stream) -> Body {
    Body::wrap(stream)
}

/// Copies only the parts of a request that are sent, but for the headers: without the extensions that an inner middleware
/// could read.
pub(super) fn copy_sent_parts(request: &mut Request) -> Option<Request> {
    let body = match request.body_mut() {
        Some(body) => Some(copy_of_bytes(body)?),
        None => None,
    };
    let mut copy = Request::new(request.method().clone(), request.url().clone());
    *copy.version_mut() = request.version();
    *copy.body_mut() = body;
    // Writing `None` would allocate room for a timeout.
    if let Some(timeout) = request.timeout() {
        *copy.timeout_mut() = Some(*timeout);
    }
    Some(copy)
}

/// Copies a body that is bytes; both share the memory.
fn copy_of_bytes(body: &mut Body) -> Option<Body> {
    let mut cx = Context::from_waker(Waker::noop());
    // A body of bytes is ready at once. reqwest has no other way to share its memory.
    let bytes = match Pin::new(&mut *body).poll_frame(&mut cx) {
        // This is the body's only frame, so nothing is left of it.
        Poll::Ready(Some(frame)) => frame.ok()?.into_data().ok()?,
        Poll::Ready(None) => Bytes::new(),
        Poll::Pending => return None,
    };
    *body = Body::from(bytes.clone());
    Some(Body::from(bytes))
}
