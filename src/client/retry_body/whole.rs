//! Bodies that are read to their end before the caller gets them.

use super::{BodyFailure, MAX_FRAMES, RetryBody};
use crate::error::IncompleteBody;
use bytes::Bytes;
use http_body::Body;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// The point at which the reading of a body stopped.
pub(crate) enum ReadEnd<'a, E> {
    ToTheEnd,
    /// The body is longer than the limit.
    ToTheLimit,
    WhileTimeAllowed,
    /// The caller gets the error too, after the data before it.
    ToAnError(&'a E),
    /// The body ended early. The caller gets this error too, if the body's error type can hold it.
    ToAnEarlyEnd(IncompleteBody),
}

/// The reason that the reading ended.
enum WholeEnd {
    /// The body ended or failed.
    AtTheEnd,
    AtTheLimit,
    TimeIsUp,
}

impl<B, X> RetryBody<B, X>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// Reads at most `bytes` bytes of the body while the time allows; the caller still gets all of it.
    pub(crate) async fn fill(
        &mut self,
        bytes: u64,
        time: impl Future<Output = ()>,
    ) -> ReadEnd<'_, B::Error> {
        // A finished body, such as that of a response to HEAD, may still announce a length.
        if self.rest.as_ref().is_some_and(Body::is_end_stream) {
            self.rest = None;
        }
        let mut time = pin!(time);
        let ended = poll_fn(|cx| match self.poll_fill(cx, bytes) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => time.as_mut().poll(cx).map(|()| WholeEnd::TimeIsUp),
        });
        match ended.await {
            WholeEnd::AtTheEnd => match self.failure() {
                Some(BodyFailure::Error(error)) => ReadEnd::ToAnError(error),
                Some(BodyFailure::Incomplete(body)) => ReadEnd::ToAnEarlyEnd(*body),
                None => ReadEnd::ToTheEnd,
            },
            WholeEnd::AtTheLimit => ReadEnd::ToTheLimit,
            WholeEnd::TimeIsUp => ReadEnd::WhileTimeAllowed,
        }
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>, bytes: u64) -> Poll<WholeEnd> {
        while let Some(rest) = &self.rest {
            let (announced, read) = (rest.size_hint().lower(), self.read.get_or_insert_default());
            let so_far = u64::try_from(read.data.len()).unwrap_or(u64::MAX);
            // Empty frames bring the end no nearer.
            let is_idle = read.frames.saturating_sub(read.data.len()) > MAX_FRAMES;
            if so_far.saturating_add(announced) > bytes || is_idle {
                return Poll::Ready(WholeEnd::AtTheLimit);
            }
            // At most the limit, which was checked above, whatever length a server announces.
            if read.data.is_empty() {
                read.data
                    .reserve_exact(usize::try_from(announced).unwrap_or_default());
            }
            ready!(self.poll_more(cx));
        }
        Poll::Ready(WholeEnd::AtTheEnd)
    }
}

impl<B, X> RetryBody<B, X>
where
    B: Body<Data = Bytes>,
{
    /// Returns all bytes of a body that was read to a regular end, without trailers.
    ///
    /// # Errors
    ///
    /// The body itself, if it is any other.
    #[cfg(feature = "reqwest")]
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
