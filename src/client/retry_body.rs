//! The body of a response, as the caller gets it.

mod length;

use super::errors::{Boxed, Errors};
use crate::error::{IncompleteBody, LayerError};
use bytes::Bytes;
use http::{HeaderMap, Version};
use http_body::{Body, Frame, SizeHint};
use http_retry_core::adapter::{BodyPart, Inspected};
use length::BodyLength;
use pin_project_lite::pin_project;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The body of a response: first the part that the layer has read, byte for byte and with its trailers, then the
    /// rest of the inner body.
    ///
    /// Of a success the layer reads nothing, and every call goes to the inner body, unless the policy reads whole
    /// responses or holds streams back, or a dialect or a classifier inspects successes (64 KiB). Of a failure that is
    /// returned it reads at most the part that a rule inspects (64 KiB) and the layer's `drain_before_retry`.
    ///
    /// `size_hint` counts the bytes that were read and those that are left; for a body that ended before its announced
    /// length without an error, also the missing ones.
    ///
    /// # Errors
    ///
    /// The inner body's error, in a `Box<dyn Error + Send + Sync>`. A body that ends before the length that it
    /// announced, or without the end of its HTTP/2 stream, ends with an [`IncompleteBody`] in such a box: hyper ends it
    /// as if it were complete.
    ///
    /// <div class="warning">
    ///
    /// With [`unchanged_errors`](crate::tower::RetryLayer::unchanged_errors) the error is the inner body's own type,
    /// `RetryBody<B, Unchanged>`, which cannot hold an `IncompleteBody`: **a truncated body then ends as the inner one
    /// does, perhaps as if it were complete**.
    ///
    /// </div>
    pub struct RetryBody<B, X = Boxed>
    where
        B: Body,
    {
        read: Option<Box<ReadSoFar<B::Error>>>,
        // `None` once it was read to its end, so that it releases its resources.
        #[pin]
        rest: Option<B>,
        length: BodyLength,
        form: PhantomData<fn() -> X>,
    }
}

/// The data that was read, and the error that came after it.
///
/// Data is copied, since a frame of a few bytes may be a slice of a large buffer of the client, and would keep it
/// alive. So this takes less than twice the bytes read.
struct ReadSoFar<E> {
    data: Vec<u8>,
    trailers: Option<HeaderMap>,
    failure: Option<BodyFailure<E>>,
    frames: usize,
}

/// The failure at the end of a body.
pub(crate) enum BodyFailure<E> {
    Error(E),
    /// It ended early, without an error.
    Incomplete(IncompleteBody),
}

/// The maximum number of frames that are read, however short they are.
const MAX_FRAMES: usize = 8 * 1024;

impl<E> Default for ReadSoFar<E> {
    fn default() -> Self {
        Self {
            data: Vec::new(),
            trailers: None,
            failure: None,
            frames: 0,
        }
    }
}

impl<E> ReadSoFar<E> {
    fn push(&mut self, frame: Frame<Bytes>) {
        match frame.into_data() {
            Ok(data) => {
                self.frames = self.frames.saturating_add(1);
                self.data.extend_from_slice(&data);
            }
            Err(frame) => self.trailers = frame.into_trailers().ok(),
        }
    }

    fn pop(&mut self) -> Option<Result<Frame<Bytes>, BodyFailure<E>>> {
        if !self.data.is_empty() {
            let data = std::mem::take(&mut self.data);
            return Some(Ok(Frame::data(data.into())));
        }
        // In the order in which the caller would have got them from the client.
        let trailers = self.trailers.take().map(Frame::trailers).map(Ok);
        trailers.or_else(|| self.failure.take().map(Err))
    }

    fn is_empty(&self) -> bool {
        self.data.is_empty() && self.trailers.is_none() && self.failure.is_none()
    }

    fn is_over(&self, bytes: usize) -> bool {
        self.data.len() > bytes || self.frames > MAX_FRAMES
    }
}

impl<E> BodyFailure<E> {
    /// Returns the error for the caller, or `None` if its type cannot hold one.
    fn error<X: Errors<E>>(self) -> Option<X::Error> {
        match self {
            Self::Error(error) => Some(X::from_inner(error)),
            Self::Incomplete(body) => X::from_own().map(|own| own(LayerError::Incomplete(body))),
        }
    }
}

impl<B: Body, X> RetryBody<B, X> {
    /// Creates a body that the layer has not read. `shows_end` is `true` if its `is_end_stream` tells a body that has
    /// ended from one that was cut.
    #[inline]
    pub(crate) fn untouched(rest: B, shows_end: bool) -> Self {
        Self {
            read: None,
            length: BodyLength::of(&rest, shows_end),
            rest: Some(rest),
            form: PhantomData,
        }
    }

    /// Creates a body from text, for a response that no server has sent.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut read = ReadSoFar::default();
        read.push(Frame::data(Bytes::copy_from_slice(text.as_bytes())));
        Self {
            read: Some(Box::new(read)),
            rest: None,
            length: BodyLength::default(),
            form: PhantomData,
        }
    }
}

impl<B, X> RetryBody<B, X>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// Reads a part of the body; the caller still gets all of it. `seen` is 0 at first, and then counts the bytes that a
    /// probe has seen.
    ///
    /// To read the rest frees the connection of HTTP/1 once the body has ended. On HTTP/2 nothing is read for that,
    /// since dropping an unfinished body resets only its stream.
    pub(crate) fn poll_part(
        &mut self,
        part: &mut BodyPart,
        seen: &mut usize,
        version: Version,
        cx: &mut Context<'_>,
    ) -> Poll<Inspected> {
        let has_ended = self.rest.as_ref().is_none_or(B::is_end_stream);
        match part {
            BodyPart::Rest(most) if version >= Version::HTTP_2 || self.rest.is_none() => {
                return Poll::Ready(if has_ended && !self.is_over(*most) {
                    Inspected::AtTheEnd
                } else {
                    Inspected::Enough
                });
            }
            // A finished body, such as that of a response to HEAD, may still announce a length.
            BodyPart::Whole(_) if has_ended => self.rest = None,
            _ => {}
        }
        while !self.has(part, seen) {
            if self.rest.is_none() {
                return Poll::Ready(match self.failure() {
                    Some(_) => Inspected::AtAnError,
                    None => Inspected::AtTheEnd,
                });
            }
            ready!(self.poll_more(cx));
        }
        Poll::Ready(Inspected::Enough)
    }

    /// Returns `true` if as much was read as the part needs, or as may be read of it.
    fn has(&mut self, part: &mut BodyPart, seen: &mut usize) -> bool {
        let read = self.read.get_or_insert_default();
        match part {
            BodyPart::Start(most) => read.data.len() >= *most || read.frames > MAX_FRAMES,
            BodyPart::Probe(probe) => {
                // Show the data at hand first: the probe may not need another frame.
                let new = read.data.get(*seen..).filter(|new| !new.is_empty());
                *seen = read.data.len();
                new.is_some_and(|new| probe.push(new).is_break()) || read.frames > MAX_FRAMES
            }
            BodyPart::Whole(most) => {
                let Some(rest) = &self.rest else {
                    return false;
                };
                let announced = rest.size_hint().lower();
                let so_far = u64::try_from(read.data.len()).unwrap_or(u64::MAX);
                // Empty frames bring the end no nearer.
                let is_idle = read.frames.saturating_sub(read.data.len()) > MAX_FRAMES;
                if so_far.saturating_add(announced) > *most || is_idle {
                    return true;
                }
                // At most the limit, which was checked above, whatever length a server announces.
                if read.data.is_empty() {
                    read.data
                        .reserve_exact(usize::try_from(announced).unwrap_or_default());
                }
                false
            }
            BodyPart::Rest(most) => read.is_over(*most),
        }
    }

    /// Returns at most this many bytes of what was read.
    pub(crate) fn start(&self, most: usize) -> &[u8] {
        let data = self.read.as_ref().map_or(&[][..], |read| &read.data);
        data.get(..most).unwrap_or(data)
    }

    /// Reads one frame, or the end, after which there is no rest.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(rest) = &mut self.rest else {
            return Poll::Ready(());
        };
        let frame = ready!(Pin::new(&mut *rest).poll_frame(cx));
        let read = self.read.get_or_insert_default();
        match frame {
            Some(Ok(frame)) => {
                self.length.count(&frame);
                read.push(frame);
            }
            end => {
                read.failure = failure(&self.length, rest, end);
                self.rest = None;
            }
        }
        Poll::Ready(())
    }

    fn is_over(&self, bytes: usize) -> bool {
        self.read.as_ref().is_some_and(|read| read.is_over(bytes))
    }

    /// Returns the failure that the body has ended with.
    pub(crate) fn failure(&self) -> Option<&BodyFailure<B::Error>> {
        self.read.as_ref()?.failure.as_ref()
    }

    /// Returns all bytes of a body that was read to a regular end, without trailers.
    ///
    /// # Errors
    ///
    /// The body itself, if it is any other.
    #[cfg(all(
        feature = "reqwest",
        not(all(target_arch = "wasm32", target_os = "unknown"))
    ))]
    pub(crate) fn into_bytes(mut self) -> Result<Bytes, Self> {
        if self.rest.is_some() {
            return Err(self);
        }
        match self.read.take() {
            None => Ok(Bytes::new()),
            Some(read) if read.failure.is_none() && read.trailers.is_none() => Ok(read.data.into()),
            read => Err(Self { read, ..self }),
        }
    }
}

/// Returns the failure of a body at its end, if it is one.
fn failure<B: Body, T>(
    length: &BodyLength,
    body: &B,
    end: Option<Result<T, B::Error>>,
) -> Option<BodyFailure<B::Error>> {
    match end {
        Some(Err(error)) => Some(BodyFailure::Error(error)),
        _ => length.incomplete(body).map(BodyFailure::Incomplete),
    }
}

impl<B, X> Body for RetryBody<B, X>
where
    B: Body<Data = Bytes>,
    X: Errors<B::Error>,
{
    type Data = Bytes;
    type Error = X::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, X::Error>>> {
        let mut this = self.project();
        let failure = match this.read.as_mut().and_then(|read| read.pop()) {
            Some(Ok(frame)) => return Poll::Ready(Some(Ok(frame))),
            Some(Err(failure)) => Some(failure),
            None => {
                *this.read = None;
                let Some(mut rest) = this.rest.as_mut().as_pin_mut() else {
                    return Poll::Ready(None);
                };
                match ready!(rest.as_mut().poll_frame(cx)) {
                    Some(Ok(frame)) => {
                        this.length.count(&frame);
                        return Poll::Ready(Some(Ok(frame)));
                    }
                    end => failure(this.length, &*rest, end),
                }
            }
        };
        // A body must not be polled after its end or an error.
        this.rest.set(None);
        *this.read = None;
        let error = failure.and_then(BodyFailure::error::<X>);
        if error.is_some() {
            // Nothing more is expected.
            *this.length = BodyLength::default();
        }
        Poll::Ready(error.map(Err))
    }

    fn is_end_stream(&self) -> bool {
        self.read.as_ref().is_none_or(|read| read.is_empty())
            && self.length.missing() == 0
            && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        // Missing bytes stay in the hint of a finished body, so that a layer around this one notices the early end too.
        let rest = self.rest.as_ref().map(Body::size_hint);
        let rest = rest.unwrap_or_else(|| SizeHint::with_exact(self.length.missing()));
        let read = self.read.as_ref().map_or(0, |read| read.data.len());
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        let mut hint = SizeHint::new();
        hint.set_lower(read.saturating_add(rest.lower()));
        if let Some(upper) = rest.upper() {
            hint.set_upper(read.saturating_add(upper));
        }
        hint
    }
}

impl<B: Body, X> fmt::Debug for RetryBody<B, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.read.as_ref().map_or(0, |read| read.data.len());
        f.debug_struct("RetryBody")
            .field("read_bytes", &read)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
