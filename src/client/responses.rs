//! Responses that the layer can read, drop, and hand over whole.

use super::RetryBody;
use super::connection::is_body_of_hyper;
use super::error_chain::{error_text, known, outcome_of_body};
use super::errors::{Boxed, Errors, Unchanged};
use super::retry_body::BodyFailure;
use crate::runtime::MaybeSend;
use crate::sealed::Sealed;
use crate::{Outcome, RetryPolicy};
use bytes::{Buf, Bytes};
use http::{Extensions, HeaderMap, StatusCode, Version};
use http_body::Body;
use http_retry_core::adapter::{BodyPart, Inspected, warn_of_setting};
use http_retry_core::reading::is_longer;
use http_retry_core::rules::CannedResponse;
use http_retry_core::settings::PolicyExt;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::task::{Context, Poll, ready};

/// A strategy for handing responses over: [`Wrapped`] or [`SameType`]. It cannot be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{R}` is not a response that the retry layer can read",
    note = "the inner service must answer `http::Response<B>` where `B: http_body::Body<Data = Bytes> + Send + Unpin`, or \
            `reqwest::Response` with the feature `reqwest`; `BodyExt::boxed_unsync` makes any body `Unpin`",
    note = "`B::Error` must convert into a `Box<dyn Error + Send + Sync>`; `.unchanged_errors()` on the layer returns errors \
            as they are"
)]
pub trait Responses<R>: Sealed + Clone + Send + 'static {
    /// `true` if the caller gets the bytes that the layer has read of a body.
    #[doc(hidden)]
    const GIVES_BACK: bool = true;

    /// The response as the caller gets it.
    #[doc(hidden)]
    type Returned: MaybeSend + From<Self::Open>;

    /// A response whose body is being read. It becomes the response again, with its whole body.
    #[doc(hidden)]
    type Open: MaybeSend + From<Self::Returned>;

    #[doc(hidden)]
    fn returned(response: R) -> Self::Returned;

    /// Returns the response's head, or `None` for the result of an operation that is not HTTP.
    #[doc(hidden)]
    fn head(response: &Self::Returned) -> Option<(StatusCode, &HeaderMap)>;

    /// Returns the final URL of the response, if it is known.
    #[doc(hidden)]
    fn url(response: &Self::Returned) -> Option<&str> {
        let _ = response;
        None
    }

    #[doc(hidden)]
    fn extensions_mut(response: &mut Self::Returned) -> Option<&mut Extensions>;

    /// Reads a part of the body. `seen` is 0 at first, and belongs to this read.
    #[doc(hidden)]
    fn poll_read(
        open: &mut Self::Open,
        part: &mut BodyPart,
        seen: &mut usize,
        cx: &mut Context<'_>,
    ) -> Poll<Inspected>;

    /// Returns the start of the body, as far as it was read, and at most this many bytes.
    #[doc(hidden)]
    fn start(open: &Self::Open, most: usize) -> &[u8] {
        let _ = (open, most);
        &[]
    }

    /// Returns the failure that has broken the body, and its text.
    #[doc(hidden)]
    fn broken(open: &Self::Open, policy: &RetryPolicy) -> Option<(Outcome<'static>, String)> {
        let _ = (open, policy);
        None
    }

    /// Creates a response that no server has sent, as if from this URL.
    #[doc(hidden)]
    fn canned(canned: &CannedResponse, url: &str) -> Option<Self::Returned> {
        let _ = (canned, url);
        None
    }

    /// Warns of the parts of the policy that it loses, if the layer has only one. Called when a call begins.
    #[doc(hidden)]
    fn warn_about_policy(&self, policy: Option<&RetryPolicy>) {
        let _ = policy;
    }
}

impl<X, Y> Sealed for Wrapped<X, Y> {}
impl<X> Sealed for SameType<X> {}

/// A strategy that wraps bodies in a [`RetryBody`], which can give back the bytes that the layer has read. Errors have
/// the form `X`, those of bodies `Y`. It is the default of the last type parameter of
/// [`RetryLayer`](crate::tower::RetryLayer) and [`Retry`](crate::tower::Retry). Responses of reqwest keep their type.
pub struct Wrapped<X = Boxed, Y = X>(PhantomData<fn() -> (X, Y)>);

// By hand: derived impls would bound the parameters.
impl<X, Y> Clone for Wrapped<X, Y> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X, Y> Copy for Wrapped<X, Y> {}

impl<X, Y> Default for Wrapped<X, Y> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<X, Y> fmt::Debug for Wrapped<X, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wrapped")
    }
}

/// A strategy for handing responses over that has a form of errors. Responses of reqwest keep their type with each.
pub trait ErrorForm: Sealed + Clone + Send + 'static {
    /// The form of the errors of calls: [`Boxed`] or [`Unchanged`].
    type Errors;
    /// The same strategy, with errors unchanged.
    type Unchanged;

    #[doc(hidden)]
    fn unchanged(self) -> Self::Unchanged;
}

impl<X: 'static, Y: 'static> ErrorForm for Wrapped<X, Y> {
    type Errors = X;
    type Unchanged = Wrapped<Unchanged>;

    fn unchanged(self) -> Wrapped<Unchanged> {
        Wrapped::default()
    }
}

impl<X: 'static> ErrorForm for SameType<X> {
    type Errors = X;
    type Unchanged = SameType<Unchanged>;

    fn unchanged(self) -> SameType<Unchanged> {
        SameType {
            warned: self.warned,
            errors: PhantomData,
        }
    }
}

/// A strategy that keeps the inner service's response type; set by
/// [`RetryLayer::keep_response_type`](crate::tower::RetryLayer::keep_response_type), which lists the features that the
/// layer then lacks. Errors have the form `X`.
pub struct SameType<X = Boxed> {
    /// `true` once a warning about the features that the policy loses was logged.
    warned: Arc<AtomicBool>,
    errors: PhantomData<fn() -> X>,
}

// By hand: derived impls would bound `X`.
impl<X> Clone for SameType<X> {
    fn clone(&self) -> Self {
        Self {
            warned: Arc::clone(&self.warned),
            errors: PhantomData,
        }
    }
}

impl<X> Default for SameType<X> {
    fn default() -> Self {
        Self {
            warned: Arc::default(),
            errors: PhantomData,
        }
    }
}

impl<X> fmt::Debug for SameType<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SameType")
    }
}

#[diagnostic::do_not_recommend]
impl<B, X, Y> Responses<http::Response<B>> for Wrapped<X, Y>
where
    B: Body<Data = Bytes> + MaybeSend + Unpin + 'static,
    B::Error: MaybeSend,
    X: 'static,
    Y: Errors<B::Error> + 'static,
{
    type Returned = http::Response<RetryBody<B, Y>>;
    type Open = Self::Returned;

    #[inline]
    fn returned(response: http::Response<B>) -> Self::Returned {
        let shows_end = response.version() == Version::HTTP_2 && is_body_of_hyper::<B>();
        response.map(|body| RetryBody::untouched(body, shows_end))
    }

    fn head(response: &Self::Returned) -> Option<(StatusCode, &HeaderMap)> {
        Some((response.status(), response.headers()))
    }

    fn extensions_mut(response: &mut Self::Returned) -> Option<&mut Extensions> {
        Some(response.extensions_mut())
    }

    fn poll_read(
        open: &mut Self::Returned,
        part: &mut BodyPart,
        seen: &mut usize,
        cx: &mut Context<'_>,
    ) -> Poll<Inspected> {
        poll_read(open, part, seen, cx)
    }

    fn start(open: &Self::Returned, most: usize) -> &[u8] {
        open.body().start(most)
    }

    fn broken(open: &Self::Returned, policy: &RetryPolicy) -> Option<(Outcome<'static>, String)> {
        broken(open.body(), policy)
    }

    fn canned(canned: &CannedResponse, _: &str) -> Option<Self::Returned> {
        let mut response = http::Response::new(RetryBody::of_text(&canned.body));
        *response.status_mut() = canned.status;
        *response.headers_mut() = HeaderMap::clone(&canned.headers);
        Some(response)
    }
}

/// Reads a part of a body, unless its head says that it is longer than what is to be read whole.
pub(super) fn poll_read<B, X>(
    response: &mut http::Response<RetryBody<B, X>>,
    part: &mut BodyPart,
    seen: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<Inspected>
where
    B: Body<Data = Bytes> + Unpin + 'static,
{
    let version = response.version();
    match *part {
        BodyPart::Whole(bytes) if bytes == 0 || is_longer(response.headers(), bytes) => {
            Poll::Ready(Inspected::Enough)
        }
        _ => response.body_mut().poll_part(part, seen, version, cx),
    }
}

/// Returns the failure that has broken a body, and its text.
pub(super) fn broken<B, X>(
    body: &RetryBody<B, X>,
    policy: &RetryPolicy,
) -> Option<(Outcome<'static>, String)>
where
    B: Body<Data = Bytes, Error: 'static> + Unpin,
{
    let error = match body.failure()? {
        BodyFailure::Error(error) => known(policy, error),
        BodyFailure::Incomplete(early) => known(policy, early),
    };
    let outcome = outcome_of_body(policy, error);
    let words = error_text(error, outcome.error_kind());
    Some((outcome, words))
}

/// The body is either untouched or dropped: bytes that were read could not be given back.
#[diagnostic::do_not_recommend]
impl<B, X: 'static> Responses<http::Response<B>> for SameType<X>
where
    B: Body<Data: MaybeSend, Error: MaybeSend> + MaybeSend + Unpin,
{
    const GIVES_BACK: bool = false;

    type Returned = http::Response<B>;
    type Open = Self::Returned;

    fn returned(response: http::Response<B>) -> Self::Returned {
        response
    }

    fn head(response: &Self::Returned) -> Option<(StatusCode, &HeaderMap)> {
        Some((response.status(), response.headers()))
    }

    fn extensions_mut(response: &mut Self::Returned) -> Option<&mut Extensions> {
        Some(response.extensions_mut())
    }

    fn poll_read(
        open: &mut Self::Returned,
        part: &mut BodyPart,
        seen: &mut usize,
        cx: &mut Context<'_>,
    ) -> Poll<Inspected> {
        static PROBED: Once = Once::new();
        static WHOLE: Once = Once::new();
        let warn = |what| warn_of_setting("keep_response_type", what);
        match part {
            BodyPart::Rest(_) if open.body().is_end_stream() && *seen == 0 => {
                return Poll::Ready(Inspected::AtTheEnd);
            }
            // An HTTP/1 connection is reused only if the body was read to its end. Dropping the body of HTTP/2 resets
            // its stream and keeps the connection.
            BodyPart::Rest(most) if open.version() < Version::HTTP_2 => {
                while *seen <= *most && ready!(poll_skip(open.body_mut(), seen, cx)) {}
            }
            BodyPart::Rest(_) => {}
            BodyPart::Start(_) | BodyPart::Probe(_) => {
                PROBED.call_once(|| warn("bodies are not read to judge a response"));
            }
            BodyPart::Whole(_) => WHOLE.call_once(|| warn("answers are not read whole")),
        }
        // Never `AtTheEnd`: an unread body must not be taken for an empty one.
        Poll::Ready(Inspected::Enough)
    }

    fn warn_about_policy(&self, policy: Option<&RetryPolicy>) {
        // Every call comes here; the load is cheaper than the swap below.
        if self.warned.load(Ordering::Relaxed) {
            return;
        }
        let Some(policy) = policy else { return };
        let lost = [
            (policy.may_respond(), "`respond` gives no response"),
            (policy.streams().is_some(), "streams are not held back"),
        ];
        for (_, what) in lost.into_iter().filter(|(is_set, _)| *is_set) {
            if !self.warned.swap(true, Ordering::Relaxed) {
                warn_of_setting("keep_response_type", what);
            }
        }
    }
}

/// Reads one frame, counts it and drops it. Returns `false` after the end.
fn poll_skip<B: Body + Unpin>(body: &mut B, seen: &mut usize, cx: &mut Context<'_>) -> Poll<bool> {
    let Some(Ok(frame)) = ready!(Pin::new(body).poll_frame(cx)) else {
        return Poll::Ready(false);
    };
    // An empty frame counts as one byte, or a server could send them for ever.
    let bytes = frame.data_ref().map_or(1, |data| data.remaining().max(1));
    *seen = seen.saturating_add(bytes);
    Poll::Ready(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt, stream};
    use http_body::Frame;
    use http_body_util::{BodyExt, Full, StreamBody};
    use std::cell::Cell;
    use std::convert::Infallible;
    use std::future::poll_fn;

    /// Returns the response if it is kept.
    async fn drain<A: Responses<R>, R>(response: R, bytes: usize) -> Option<A::Returned> {
        let mut open = A::Open::from(A::returned(response));
        let (mut part, mut seen) = (BodyPart::Rest(bytes), 0);
        let end = poll_fn(|cx| A::poll_read(&mut open, &mut part, &mut seen, cx)).await;
        (end == Inspected::AtTheEnd).then(|| open.into())
    }

    fn response(version: Version, text: &'static str) -> http::Response<Full<Bytes>> {
        let mut response = http::Response::new(Full::new(Bytes::from(text)));
        *response.version_mut() = version;
        response
            .headers_mut()
            .insert("x", http::HeaderValue::from_static("1"));
        response
    }

    #[tokio::test]
    async fn a_short_body_is_kept_whole() {
        let kept = drain::<Wrapped, _>(response(Version::HTTP_11, "sorry"), 5).await;
        let kept = kept.unwrap();
        assert_eq!(kept.headers()["x"], "1");
        assert_eq!(
            kept.into_body().collect().await.unwrap().to_bytes(),
            "sorry"
        );
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_dropped() {
        let kept = drain::<Wrapped, _>(response(Version::HTTP_11, "sorry!"), 5).await;
        assert!(kept.is_none());
    }

    #[tokio::test]
    async fn an_http2_body_is_not_read_but_an_empty_one_is_kept() {
        let drain = |text| drain::<Wrapped, _>(response(Version::HTTP_2, text), 5);
        assert!(drain("sorry").await.is_none());
        assert!(drain("").await.is_some());
    }

    /// Returns the number of chunks that a drain reads from a response that keeps its type, and `true` if the response
    /// is kept.
    fn drained(version: Version, chunks: usize) -> (usize, bool) {
        thread_local!(static READ: Cell<usize> = const { Cell::new(0) });
        READ.set(0);
        let chunks = stream::repeat(Bytes::from("piece")).take(chunks);
        let chunks = chunks.inspect(|_| READ.set(READ.get() + 1));
        let chunks = chunks.map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)));
        let mut response = http::Response::new(StreamBody::new(chunks));
        *response.version_mut() = version;
        let kept = drain::<SameType, _>(response, 10).now_or_never();
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
            let kept = drain::<SameType, _>(response, 10).now_or_never();
            assert!(kept.unwrap().is_some());
        }
    }
}
