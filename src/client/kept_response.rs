//! A response that the layer returns as the type that the client gave it.

use super::Answer;
use super::answer::sealed::Sealed;
use crate::policy::{CannedResponse, Filled, Inspect, Inspected, RetryPolicy};
use crate::report::warn_of_setting;
use bytes::Buf;
use http::{Extensions, HeaderMap, StatusCode, Version};
use http_body::Body;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Once;
use std::task::{Context, Poll, ready};

/// A response whose body is either untouched or dropped: what is read of it could not be given back.
pub struct KeptResponse<B>(http::Response<B>);

impl<B> KeptResponse<B> {
    pub(crate) fn new(response: http::Response<B>) -> Self {
        Self(response)
    }
}

impl<B> Sealed for KeptResponse<B> {}

impl<B> Answer for KeptResponse<B>
where
    B: Body<Data: Send, Error: Send> + Send + Unpin,
{
    type Kept = http::Response<B>;

    fn status(&self) -> StatusCode {
        self.0.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    fn keep(self) -> Self::Kept {
        self.0
    }

    fn head_of(kept: &Self::Kept) -> (StatusCode, &HeaderMap) {
        (kept.status(), kept.headers())
    }

    fn url_of(_: &Self::Kept) -> Option<&str> {
        None
    }

    fn extensions_of(kept: &mut Self::Kept) -> &mut Extensions {
        kept.extensions_mut()
    }

    async fn drain(mut kept: Self::Kept, bytes: usize) -> Option<Self::Kept> {
        if kept.body().is_end_stream() {
            return Some(kept);
        }
        if kept.version() < Version::HTTP_2 {
            // For the connection's sake, which serves again after a body that was read to its end.
            let mut left = bytes;
            while poll_fn(|cx| poll_skip(kept.body_mut(), &mut left, cx)).await {}
        }
        None
    }

    async fn look(
        kept: Self::Kept,
        _: &mut Inspect<'_>,
        _: impl Future<Output = ()> + Send,
    ) -> (Self::Kept, Inspected) {
        static WARNED: Once = Once::new();
        WARNED.call_once(|| {
            warn_of_setting(
                "keep_response_type",
                "bodies are not read to judge a response",
            );
        });
        // Not at its end: nobody may take it for an empty body.
        (kept, Inspected::Enough)
    }

    async fn fill(
        kept: Self::Kept,
        _: &RetryPolicy,
        _: u64,
        _: impl Future<Output = ()> + Send,
    ) -> (Self::Kept, Filled) {
        static WARNED: Once = Once::new();
        WARNED.call_once(|| warn_of_setting("keep_response_type", "answers are not read whole"));
        (kept, Ok(Inspected::Enough))
    }

    fn canned(_: &CannedResponse, _: &str) -> Option<Self::Kept> {
        None
    }
}

/// Reads one frame and drops it; tells whether there may be another one within so many bytes.
fn poll_skip<B: Body + Unpin>(body: &mut B, left: &mut usize, cx: &mut Context<'_>) -> Poll<bool> {
    let Some(Ok(frame)) = ready!(Pin::new(body).poll_frame(cx)) else {
        return Poll::Ready(false);
    };
    let read = frame.data_ref().map_or(1, |data| data.remaining().max(1));
    let rest = left.checked_sub(read);
    *left = rest.unwrap_or_default();
    Poll::Ready(rest.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures_util::{FutureExt, StreamExt, stream};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use std::cell::Cell;
    use std::convert::Infallible;

    /// How many of these pieces a drain reads, and whether it keeps the response.
    fn drained(version: Version, pieces: usize) -> (usize, bool) {
        thread_local!(static READ: Cell<usize> = const { Cell::new(0) });
        READ.set(0);
        let pieces = stream::repeat(Bytes::from("piece")).take(pieces);
        let pieces = pieces.inspect(|_| READ.set(READ.get() + 1));
        let pieces = pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        let mut response = http::Response::new(StreamBody::new(pieces));
        *response.version_mut() = version;
        let kept = KeptResponse::drain(response, 10).now_or_never();
        (READ.get(), kept.expect("no wait").is_some())
    }

    #[test]
    fn a_body_that_was_read_is_not_kept() {
        assert_eq!(drained(Version::HTTP_11, 2), (2, false));
    }

    #[test]
    fn a_body_over_the_limit_is_read_no_further() {
        assert_eq!(drained(Version::HTTP_11, 9), (3, false));
    }

    #[test]
    fn an_http2_body_is_not_read() {
        assert_eq!(drained(Version::HTTP_2, 2), (0, false));
    }

    #[test]
    fn a_response_without_a_body_is_kept() {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            let response = http::Response::builder().version(version);
            let response = response.body(String::new()).unwrap();
            let kept = KeptResponse::drain(response, 10).now_or_never();
            assert!(kept.unwrap().is_some());
        }
    }
}
