//! A response's body as the caller gets it.

mod whole;

pub(crate) use whole::Read;

use crate::policy::{Inspect, Inspected};
use bytes::Bytes;
use http::{HeaderMap, Version};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

pin_project! {
    /// A response's body: first what the layer has read of it, byte for byte and with its trailers, then the rest of
    /// the inner body.
    ///
    /// On a success the layer has read nothing, and every call goes to the inner body. It has read some if the policy reads
    /// whole answers or holds streams back, or if a dialect or a classifier looks into successes (64 KiB). Of a failure that comes back it has read at most what a rule looks at (64 KiB) and the
    /// layer's `drain_limit`.
    ///
    /// Its error is the inner body's. `size_hint` counts what was read and what is left.
    pub struct RetryBody<B>
    where
        B: Body,
    {
        read: Option<Box<Seen<B::Error>>>,
        // Nothing once it was read to its end, so that it can let go of what it holds.
        #[pin]
        rest: Option<B>,
    }
}

/// What was read, and the error that came after it.
///
/// Data is copied, since a frame of a few bytes may be a slice of a large buffer of the client, and would keep it
/// alive. So this takes less than twice the bytes read.
struct Seen<E> {
    data: Vec<u8>,
    trailers: Option<HeaderMap>,
    error: Option<E>,
    frames: usize,
}

/// The most frames that are read, however short they are.
const MOST_FRAMES: usize = 8 * 1024;

impl<E> Default for Seen<E> {
    fn default() -> Self {
        Self {
            data: Vec::new(),
            trailers: None,
            error: None,
            frames: 0,
        }
    }
}

impl<E> Seen<E> {
    fn push(&mut self, frame: Frame<Bytes>) {
        match frame.into_data() {
            Ok(data) => {
                self.frames = self.frames.saturating_add(1);
                self.data.extend_from_slice(&data);
            }
            Err(frame) => self.trailers = frame.into_trailers().ok(),
        }
    }

    /// Reads one frame, and tells whether it was the last.
    fn poll_more<B: Body<Data = Bytes, Error = E>>(
        &mut self,
        body: Pin<&mut B>,
        cx: &mut Context<'_>,
    ) -> Poll<bool> {
        match ready!(body.poll_frame(cx)) {
            Some(Ok(frame)) => self.push(frame),
            Some(Err(error)) => self.error = Some(error),
            None => return Poll::Ready(true),
        }
        Poll::Ready(self.error.is_some())
    }

    fn pop(&mut self) -> Option<Result<Frame<Bytes>, E>> {
        if !self.data.is_empty() {
            let data = std::mem::take(&mut self.data);
            return Some(Ok(Frame::data(data.into())));
        }
        let trailers = self.trailers.take().map(Frame::trailers).map(Ok);
        trailers.or_else(|| self.error.take().map(Err))
    }

    fn is_empty(&self) -> bool {
        self.data.is_empty() && self.trailers.is_none() && self.error.is_none()
    }

    fn is_over(&self, bytes: usize) -> bool {
        self.data.len() > bytes || self.frames > MOST_FRAMES
    }
}

/// How far a body was read.
enum Reached {
    End,
    Limit,
}

impl<B> RetryBody<B>
where
    B: Body<Data = Bytes>,
{
    pub(crate) fn untouched(rest: B) -> Self {
        Self {
            read: None,
            rest: Some(rest),
        }
    }

    /// A body that no server has sent.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut read = Seen::default();
        read.push(Frame::data(Bytes::copy_from_slice(text.as_bytes())));
        Self {
            read: Some(Box::new(read)),
            rest: None,
        }
    }
}

impl<B> RetryBody<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// The body, if it ends within a limit. On HTTP/1 reading it frees the connection; on HTTP/2 an unfinished body is
    /// dropped, which resets only its stream.
    pub(crate) async fn drained(mut self, version: Version, bytes: usize) -> Option<Self> {
        if version >= Version::HTTP_2 {
            let ended = self.rest.as_ref().is_none_or(B::is_end_stream);
            return (ended && !self.is_over(bytes)).then_some(self);
        }
        if self.rest.is_none() {
            return (!self.is_over(bytes)).then_some(self);
        }
        match poll_fn(|cx| self.poll_read(cx, bytes)).await {
            Reached::End if self.read.as_ref().is_none_or(|read| read.error.is_none()) => {
                Some(self)
            }
            _ => None,
        }
    }

    /// Shows an inspection the body from its start, and then each new piece, while it wants more and the time allows;
    /// the caller still gets all of the body.
    pub(crate) async fn look(
        &mut self,
        look: &mut Inspect<'_>,
        time: impl Future<Output = ()>,
    ) -> Inspected {
        let mut time = pin!(time);
        let mut shown = 0;
        poll_fn(|cx| match self.poll_look(cx, look, &mut shown) {
            Poll::Ready(looked) => Poll::Ready(looked),
            Poll::Pending => time.as_mut().poll(cx).map(|()| Inspected::TimeIsUp),
        })
        .await
    }

    fn poll_look(
        &mut self,
        cx: &mut Context<'_>,
        look: &mut Inspect<'_>,
        shown: &mut usize,
    ) -> Poll<Inspected> {
        loop {
            let read = self.read.get_or_insert_default();
            let new = read.data.get(*shown..).filter(|new| !new.is_empty());
            *shown = read.data.len();
            if new.is_some_and(|new| look(new).is_break()) || read.frames > MOST_FRAMES {
                return Poll::Ready(Inspected::Enough);
            }
            let Some(rest) = &mut self.rest else {
                return Poll::Ready(match read.error {
                    Some(_) => Inspected::AtAnError,
                    None => Inspected::AtTheEnd,
                });
            };
            if ready!(read.poll_more(Pin::new(rest), cx)) {
                self.rest = None;
            }
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, bytes: usize) -> Poll<Reached> {
        while let Some(rest) = &mut self.rest {
            let read = self.read.get_or_insert_default();
            if read.is_over(bytes) {
                return Poll::Ready(Reached::Limit);
            }
            if ready!(read.poll_more(Pin::new(rest), cx)) {
                self.rest = None;
            }
        }
        Poll::Ready(match self.is_over(bytes) {
            true => Reached::Limit,
            false => Reached::End,
        })
    }

    fn is_over(&self, bytes: usize) -> bool {
        self.read.as_ref().is_some_and(|read| read.is_over(bytes))
    }
}

impl<B: Body<Data = Bytes>> Body for RetryBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        if let Some(frame) = this.read.as_mut().and_then(|read| read.pop()) {
            return Poll::Ready(Some(frame));
        }
        *this.read = None;
        match this.rest.as_pin_mut() {
            Some(rest) => rest.poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.as_ref().is_none_or(|read| read.is_empty())
            && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let read = self.read.as_ref().map_or(0, |read| read.data.len());
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        let rest = self.rest.as_ref().map(Body::size_hint);
        let rest = rest.unwrap_or_else(|| SizeHint::with_exact(0));
        let mut hint = SizeHint::new();
        hint.set_lower(read.saturating_add(rest.lower()));
        if let Some(upper) = rest.upper() {
            hint.set_upper(read.saturating_add(upper));
        }
        hint
    }
}

impl<B: Body> fmt::Debug for RetryBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.read.as_ref().map_or(0, |read| read.data.len());
        f.debug_struct("RetryBody")
            .field("read_bytes", &read)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
