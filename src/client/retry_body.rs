//! The body of a response, as the caller gets it.

mod whole;

use http_retry_core::adapter::Inspect;
pub(crate) use whole::ReadEnd;

use crate::error::IncompleteBody;
use bytes::Bytes;
use http::{HeaderMap, Version};
use http_body::{Body, Frame, SizeHint};
use http_retry_core::adapter::Inspected;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

pin_project! {
    /// The body of a response: first the part that the layer has read, byte for byte and with its trailers, then the
    /// rest of the inner body.
    ///
    /// Of a success the layer reads nothing, and every call goes to the inner body, unless the policy reads whole
    /// responses or holds streams back, or a dialect or a classifier inspects successes (64 KiB). Of a failure that is
    /// returned it reads at most the part that a rule inspects (64 KiB) and the layer's `drain_before_retry`.
    ///
    /// Its error is the inner body's. `size_hint` counts the bytes that were read and those that are left; for a body
    /// that ended before its announced length, also the missing ones. If the policy [reads responses
    /// whole](crate::RetryPolicyBuilder::whole_answers) and the error is a `Box<dyn Error + Send + Sync>`, such a body
    /// ends with an [`IncompleteBody`].
    pub struct RetryBody<B>
    where
        B: Body,
    {
        read: Option<Box<ReadSoFar<B::Error>>>,
        // `None` once it was read to its end, so that it releases its resources.
        #[pin]
        rest: Option<B>,
    }
}

/// The data that was read, and the error that came after it.
///
/// Data is copied, since a frame of a few bytes may be a slice of a large buffer of the client, and would keep it
/// alive. So this takes less than twice the bytes read.
struct ReadSoFar<E> {
    data: Vec<u8>,
    trailers: Option<HeaderMap>,
    error: Option<E>,
    frames: usize,
    /// The number of bytes received, including those that the caller has taken.
    received: u64,
    /// The number of bytes that the body announced before the first one; 0 if it announced none.
    expected: u64,
    /// Creates the error of a body that ends early; `None` if such an end is not an error.
    early_end: Option<EarlyEnd<E>>,
}

/// A function that creates the error of a body that ends early, if the body's error type can hold it.
type EarlyEnd<E> = fn(IncompleteBody) -> Option<E>;

/// The result of reading one frame.
enum FrameRead {
    Frame,
    End,
    Error,
}

/// The maximum number of frames that are read, however short they are.
const MAX_FRAMES: usize = 8 * 1024;

impl<E> Default for ReadSoFar<E> {
    fn default() -> Self {
        Self {
            data: Vec::new(),
            trailers: None,
            error: None,
            frames: 0,
            received: 0,
            expected: 0,
            early_end: None,
        }
    }
}

impl<E> ReadSoFar<E> {
    /// Creates the state of an unread body. A body at its end may still announce a length, such as that of a response
    /// to HEAD.
    fn before<B: Body>(body: Option<&B>) -> Box<Self> {
        let body = body.filter(|body| !body.is_end_stream());
        Box::new(Self {
            expected: body.map_or(0, |body| body.size_hint().lower()),
            ..Self::default()
        })
    }

    fn push(&mut self, frame: Frame<Bytes>) {
        self.count(&frame);
        match frame.into_data() {
            Ok(data) => {
                self.frames = self.frames.saturating_add(1);
                self.data.extend_from_slice(&data);
            }
            Err(frame) => self.trailers = frame.into_trailers().ok(),
        }
    }

    fn count(&mut self, frame: &Frame<Bytes>) {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.received = self.received.saturating_add(bytes);
    }

    /// Reads one frame.
    fn poll_more<B: Body<Data = Bytes, Error = E>>(
        &mut self,
        body: Pin<&mut B>,
        cx: &mut Context<'_>,
    ) -> Poll<FrameRead> {
        Poll::Ready(match ready!(body.poll_frame(cx)) {
            Some(Ok(frame)) => {
                self.push(frame);
                FrameRead::Frame
            }
            Some(Err(error)) => {
                self.error = Some(error);
                FrameRead::Error
            }
            None => {
                self.error = self.early_end_error();
                FrameRead::End
            }
        })
    }

    /// Passes one frame of the rest on to the caller.
    fn poll_rest<B: Body<Data = Bytes, Error = E>>(
        &mut self,
        mut rest: Pin<&mut Option<B>>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        let Some(body) = rest.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        let frame = ready!(body.poll_frame(cx));
        // A body must not be polled after its end or an error.
        if let Some(Ok(frame)) = &frame {
            self.count(frame);
        } else {
            rest.set(None);
        }
        Poll::Ready(frame.or_else(|| self.early_end_error().map(Err)))
    }

    /// Returns the number of bytes that are missing if the body is at its end.
    fn missing(&self) -> u64 {
        self.expected.saturating_sub(self.received)
    }

    /// Returns `None` if nothing is missing.
    fn incomplete(&self) -> Option<IncompleteBody> {
        let Self {
            received, expected, ..
        } = *self;
        (received < expected).then(|| IncompleteBody::new(received, expected))
    }

    /// Returns `None` if nothing is missing, or if an early end is not an error.
    fn early_end_error(&self) -> Option<E> {
        let early_end = self.early_end?;
        self.incomplete().and_then(early_end)
    }

    fn pop(&mut self) -> Option<Result<Frame<Bytes>, E>> {
        if !self.data.is_empty() {
            let data = std::mem::take(&mut self.data);
            return Some(Ok(Frame::data(data.into())));
        }
        // In the order in which the caller would have got them from the client.
        let trailers = self.trailers.take().map(Frame::trailers).map(Ok);
        trailers.or_else(|| self.error.take().map(Err))
    }

    fn is_empty(&self) -> bool {
        self.data.is_empty() && self.trailers.is_none() && self.error.is_none()
    }

    /// Returns `true` if the caller has everything that was read, and the rest may end as it does.
    fn is_done(&self) -> bool {
        self.is_empty() && self.missing() == 0
    }

    fn is_over(&self, bytes: usize) -> bool {
        self.data.len() > bytes || self.frames > MAX_FRAMES
    }
}

/// The end of a bounded read: that of the body, or the limit.
enum ReadLimit {
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

    /// Creates a body from text, for a response that no server has sent.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut read = ReadSoFar::default();
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
    /// Reads the body up to a limit. Returns `true` if it has ended and can be handed over. On HTTP/1 that frees the
    /// connection; on HTTP/2 nothing is read, since dropping an unfinished body resets only its stream.
    pub(crate) async fn drain(&mut self, version: Version, bytes: usize) -> bool {
        if version >= Version::HTTP_2 || self.rest.is_none() {
            let ended = self.rest.as_ref().is_none_or(B::is_end_stream);
            return ended && !self.is_over(bytes);
        }
        let reached = poll_fn(|cx| self.poll_read(cx, bytes)).await;
        let has_failed = self.read.as_ref().is_some_and(|read| read.error.is_some());
        matches!(reached, ReadLimit::End) && !has_failed
    }

    /// Shows the body to an inspection, from its start and then each new chunk, while it wants more and the time
    /// allows. The caller still gets the whole body.
    pub(crate) async fn inspect(
        &mut self,
        inspect: &mut Inspect<'_>,
        time: impl Future<Output = ()>,
    ) -> Inspected {
        let mut time = pin!(time);
        let mut shown = 0;
        poll_fn(|cx| match self.poll_inspect(cx, inspect, &mut shown) {
            Poll::Ready(inspected) => Poll::Ready(inspected),
            Poll::Pending => time.as_mut().poll(cx).map(|()| Inspected::TimeIsUp),
        })
        .await
    }

    fn poll_inspect(
        &mut self,
        cx: &mut Context<'_>,
        inspect: &mut Inspect<'_>,
        shown: &mut usize,
    ) -> Poll<Inspected> {
        loop {
            let Self { read, rest } = &mut *self;
            let read = read.get_or_insert_with(|| ReadSoFar::before(rest.as_ref()));
            // Show the data at hand first: the inspection may not need another frame.
            let new = read.data.get(*shown..).filter(|new| !new.is_empty());
            *shown = read.data.len();
            if new.is_some_and(|new| inspect(new).is_break()) || read.frames > MAX_FRAMES {
                return Poll::Ready(Inspected::Enough);
            }
            let Some(body) = rest else {
                return Poll::Ready(if read.error.is_some() || read.missing() > 0 {
                    Inspected::AtAnError
                } else {
                    Inspected::AtTheEnd
                });
            };
            if !matches!(ready!(read.poll_more(Pin::new(body), cx)), FrameRead::Frame) {
                *rest = None;
            }
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, bytes: usize) -> Poll<ReadLimit> {
        let Self { read, rest } = &mut *self;
        while let Some(body) = rest {
            let read = read.get_or_insert_with(|| ReadSoFar::before(Some(body)));
            if read.is_over(bytes) {
                return Poll::Ready(ReadLimit::Limit);
            }
            if !matches!(ready!(read.poll_more(Pin::new(body), cx)), FrameRead::Frame) {
                *rest = None;
            }
        }
        Poll::Ready(if self.is_over(bytes) {
            ReadLimit::Limit
        } else {
            ReadLimit::End
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
        if let Some(read) = this.read {
            if let Some(frame) = read.pop() {
                return Poll::Ready(Some(frame));
            }
            // Bytes are still missing: the rest goes through `read`, which counts them.
            if !read.is_done() {
                return read.poll_rest(this.rest, cx);
            }
            *this.read = None;
        }
        match this.rest.as_pin_mut() {
            Some(rest) => rest.poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.as_ref().is_none_or(|read| read.is_done())
            && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let read = self.read.as_ref();
        // Missing bytes stay in the hint of a finished body, so that a layer around this one notices the early end too.
        let missing = || read.map_or(0, |read| read.missing());
        let rest = self.rest.as_ref().map(Body::size_hint);
        let rest = rest.unwrap_or_else(|| SizeHint::with_exact(missing()));
        let read = read.map_or(0, |read| read.data.len());
        let read = u64::try_from(read).unwrap_or(u64::MAX);
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
