//! A body that is read to its end before the caller gets it.

use super::{MOST_FRAMES, RetryBody};
use crate::client::error_chain::own;
use bytes::Bytes;
use http_body::Body;
#[cfg(feature = "reqwest")]
use http_body::{Frame, SizeHint};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

#[cfg(feature = "reqwest")]
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How far a body was read.
pub(crate) enum Read<'a, E> {
    ToTheEnd,
    /// It is longer.
    ToTheLimit,
    WhileTimeAllowed,
    /// The caller gets the error too, after what came before it.
    ToAnError(&'a E),
    /// It has ended, and less has come than it told. The caller gets an error for that, if its type can hold one.
    ToAnEarlyEnd(EndedEarly),
}

/// A body that ended well by its frames, and before the length that it told. hyper ends a body so whose stream is reset
/// with `NO_ERROR`, or whose connection goes away without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndedEarly {
    came: u64,
    told: u64,
}

impl EndedEarly {
    fn error(self) -> io::Error {
        io::Error::new(io::ErrorKind::UnexpectedEof, self.to_string())
    }
}

impl fmt::Display for EndedEarly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { came, told } = self;
        write!(f, "the response body ended after {came} of {told} bytes")
    }
}

/// Why the reading has ended.
enum Ended {
    /// Or it has failed.
    AtTheEnd,
    TooEarly(EndedEarly),
    AtTheLimit,
    TimeIsUp,
}

impl<B> RetryBody<B>
where
    B: Body<Data = Bytes, Error: 'static> + Unpin,
{
    /// Reads the body while it has at most so many bytes and the time allows; the caller still gets all of it.
    pub(crate) async fn fill(
        &mut self,
        bytes: u64,
        time: impl Future<Output = ()>,
    ) -> Read<'_, B::Error> {
        if self.rest.as_ref().is_some_and(Body::is_end_stream) {
            self.rest = None;
        }
        let mut time = pin!(time);
        let ended = poll_fn(|cx| match self.poll_fill(cx, bytes) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => time.as_mut().poll(cx).map(|()| Ended::TimeIsUp),
        });
        match ended.await {
            Ended::AtTheEnd => match self.read.as_ref().and_then(|read| read.error.as_ref()) {
                Some(error) => Read::ToAnError(error),
                None => Read::ToTheEnd,
            },
            Ended::TooEarly(early) => Read::ToAnEarlyEnd(early),
            Ended::AtTheLimit => Read::ToTheLimit,
            Ended::TimeIsUp => Read::WhileTimeAllowed,
        }
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>, bytes: u64) -> Poll<Ended> {
        while let Some(rest) = &mut self.rest {
            let (told, read) = (rest.size_hint().lower(), self.read.get_or_insert_default());
            let so_far = u64::try_from(read.data.len()).unwrap_or(u64::MAX);
            // Frames without a byte bring no end nearer.
            let idle = read.frames.saturating_sub(read.data.len()) > MOST_FRAMES;
            if so_far.saturating_add(told) > bytes || idle {
                return Poll::Ready(Ended::AtTheLimit);
            }
            if read.data.is_empty() {
                read.data
                    .reserve_exact(usize::try_from(told).unwrap_or_default());
            }
            if ready!(read.poll_more(Pin::new(rest), cx)) {
                let missing = rest.size_hint().lower();
                self.rest = None;
                if read.error.is_none() && missing > 0 {
                    let came = u64::try_from(read.data.len()).unwrap_or(u64::MAX);
                    let told = came.saturating_add(missing);
                    let early = EndedEarly { came, told };
                    read.error = own(early.error());
                    read.ended_early = read.error.is_none().then_some(early);
                    return Poll::Ready(Ended::TooEarly(early));
                }
            }
        }
        Poll::Ready(Ended::AtTheEnd)
    }
}

#[cfg(feature = "reqwest")]
impl<B> RetryBody<B>
where
    B: Body<Data = Bytes>,
{
    /// All bytes of a body that was read to its end, and ended well without trailers.
    ///
    /// # Errors
    ///
    /// The body, if it is another one.
    pub(crate) fn into_bytes(self) -> Result<Bytes, Self> {
        match (self.read, self.rest) {
            (None, None) => Ok(Bytes::new()),
            (Some(read), None) if read.is_whole() => Ok(read.data.into()),
            (read, rest) => Err(Self { read, rest }),
        }
    }
}

/// A body whose error is a box, which can say that it ended early.
#[cfg(feature = "reqwest")]
pub(crate) struct Boxed<B: Body>(pub(crate) RetryBody<B>);

#[cfg(feature = "reqwest")]
impl<B> Body for Boxed<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let read = self.0.read.as_mut();
        let early = read.and_then(|read| read.ended_early);
        match ready!(Pin::new(&mut self.0).poll_frame(cx)) {
            Some(frame) => {
                let frame = frame.map_err(Into::into);
                Poll::Ready(Some(frame))
            }
            None => Poll::Ready(early.map(|early| Err(early.error().into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        let read = self.0.read.as_ref();
        self.0.is_end_stream() && read.is_none_or(|read| read.ended_early.is_none())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
