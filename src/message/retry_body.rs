//! A response's body as the caller gets it.

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// A response's body: the inner body itself, or all of it as it was read, byte for byte and with its trailers.
    ///
    /// On a success nothing was read, and every call goes to the inner body.
    #[derive(Debug)]
    pub struct RetryBody<B> {
        read: Option<Box<Read>>,
        // Nothing once it was read to its end, so that it can let go of what it holds.
        #[pin]
        rest: Option<B>,
    }
}

/// Frames that were read.
#[derive(Debug, Default)]
pub(crate) struct Read {
    data: VecDeque<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Read {
    pub(crate) fn push(&mut self, frame: Frame<Bytes>) -> usize {
        match frame.into_data() {
            Ok(data) => {
                let length = data.len();
                self.data.push_back(data);
                length
            }
            Err(frame) => {
                self.trailers = frame.into_trailers().ok();
                0
            }
        }
    }

    fn pop(&mut self) -> Option<Frame<Bytes>> {
        let data = self.data.pop_front().map(Frame::data);
        data.or_else(|| self.trailers.take().map(Frame::trailers))
    }

    fn is_empty(&self) -> bool {
        self.data.is_empty() && self.trailers.is_none()
    }

    fn length(&self) -> u64 {
        let lengths = self
            .data
            .iter()
            .map(|data| u64::try_from(data.len()).unwrap_or(u64::MAX));
        lengths.fold(0, u64::saturating_add)
    }
}

impl<B> RetryBody<B> {
    pub(crate) fn untouched(rest: B) -> Self {
        Self {
            read: None,
            rest: Some(rest),
        }
    }

    pub(crate) fn whole(read: Read) -> Self {
        Self {
            read: (!read.is_empty()).then(|| Box::new(read)),
            rest: None,
        }
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
            return Poll::Ready(Some(Ok(frame)));
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
        let read = || self.read.as_ref().map_or(0, |read| read.length());
        match &self.rest {
            Some(rest) => rest.size_hint(),
            None => SizeHint::with_exact(read()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use http_body_util::{BodyExt, Full};

    fn read() -> Read {
        let mut trailers = HeaderMap::new();
        trailers.insert("checksum", HeaderValue::from_static("7"));
        let mut read = Read::default();
        assert_eq!(read.push(Frame::data(Bytes::from("ab"))), 2);
        assert_eq!(read.push(Frame::data(Bytes::from("c"))), 1);
        assert_eq!(read.push(Frame::trailers(trailers)), 0);
        read
    }

    #[tokio::test]
    async fn what_was_read_comes_first_and_trailers_last() {
        let body = RetryBody::<Full<Bytes>>::whole(read());
        assert_eq!(body.size_hint().exact(), Some(3));
        assert!(!body.is_end_stream());
        let whole = body.collect().await.unwrap();
        assert_eq!(whole.trailers().unwrap()["checksum"], "7");
        assert_eq!(whole.to_bytes(), "abc");
    }

    #[tokio::test]
    async fn an_untouched_body_is_the_inner_one() {
        let body = RetryBody::untouched(Full::new(Bytes::from("abc")));
        assert_eq!(body.size_hint().exact(), Some(3));
        assert_eq!(body.collect().await.unwrap().to_bytes(), "abc");
        assert!(RetryBody::untouched(Full::new(Bytes::new())).is_end_stream());
    }
}
