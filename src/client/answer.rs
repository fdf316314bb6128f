//! Responses that the layer can read, release and return whole.

#[cfg(feature = "reqwest")]
pub(crate) mod of_reqwest;

use super::RetryBody;
use super::error_chain::{outcome_of_body, words};
use super::retry_body::Read;
use crate::policy::{
    BrokenAnswer, CannedResponse, Filled, Inspect, Inspected, RetryPolicy, is_longer,
};
use bytes::Bytes;
use http::{Extensions, HeaderMap, StatusCode};
use http_body::Body;
use std::any::Any;
use std::future::Future;

/// A response that the retry layer can release and, if it must, return whole.
///
/// `http::Response<B>` implements it for every body of `Bytes`, and so does `reqwest::Response` with the `reqwest`
/// feature. It cannot be implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a response that the retry layer can read",
    note = "the inner service must answer `http::Response<B>` where `B: http_body::Body<Data = Bytes> + Send + Unpin`, or \
            `reqwest::Response` with the feature `reqwest`; `BodyExt::boxed_unsync` makes any body `Unpin`"
)]
pub trait Answer: Sized + Send + sealed::Sealed {
    /// The response as the caller gets it.
    type Kept: Send;

    fn status(&self) -> StatusCode;

    fn headers(&self) -> &HeaderMap;

    /// The final URL of the response, if it is known.
    fn url(&self) -> Option<&str> {
        None
    }

    fn keep(self) -> Self::Kept;

    fn head_of(kept: &Self::Kept) -> (StatusCode, &HeaderMap);

    /// The same of a kept one.
    fn url_of(kept: &Self::Kept) -> Option<&str>;

    fn extensions_of(kept: &mut Self::Kept) -> &mut Extensions;

    /// The response with its whole body read, if that frees the connection and the body ends within the limit.
    fn drain(kept: Self::Kept, bytes: usize) -> impl Future<Output = Option<Self::Kept>> + Send;

    /// The response as it was, after an inspection of its body as it comes in.
    fn look(
        kept: Self::Kept,
        look: &mut Inspect<'_>,
        time: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = (Self::Kept, Inspected)> + Send;

    /// The response as it was, with its body read up to so many bytes for at most this time. A body that ends before the length
    /// that it tells gives an error at its end, if its type can hold it; with 0 bytes too, where nothing is read.
    fn fill(
        kept: Self::Kept,
        policy: &RetryPolicy,
        bytes: u64,
        time: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = (Self::Kept, Filled)> + Send;

    /// A response that no server has sent, as if from this URL.
    fn canned(canned: &CannedResponse, url: &str) -> Option<Self::Kept>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl<B> Sealed for http::Response<B> {}
    #[cfg(feature = "reqwest")]
    impl Sealed for ::reqwest::Response {}
}

impl<B> Answer for http::Response<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    type Kept = http::Response<RetryBody<B>>;

    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn keep(self) -> Self::Kept {
        self.map(RetryBody::untouched)
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

    async fn drain(kept: Self::Kept, bytes: usize) -> Option<Self::Kept> {
        let (parts, body) = kept.into_parts();
        let body = body.drained(parts.version, bytes).await?;
        Some(http::Response::from_parts(parts, body))
    }

    async fn look(
        mut kept: Self::Kept,
        look: &mut Inspect<'_>,
        time: impl Future<Output = ()> + Send,
    ) -> (Self::Kept, Inspected) {
        let looked = kept.body_mut().look(look, time).await;
        (kept, looked)
    }

    async fn fill(
        kept: Self::Kept,
        policy: &RetryPolicy,
        bytes: u64,
        time: impl Future<Output = ()> + Send,
    ) -> (Self::Kept, Filled) {
        let (parts, mut body) = kept.into_parts();
        let filled = filled(&parts.headers, &mut body, policy, bytes, time).await;
        (http::Response::from_parts(parts, body), filled)
    }

    fn canned(canned: &CannedResponse, _: &str) -> Option<Self::Kept> {
        let mut response = http::Response::new(RetryBody::of_text(&canned.body));
        *response.status_mut() = canned.status;
        *response.headers_mut() = HeaderMap::clone(&canned.headers);
        Some(response)
    }
}

/// Reads a body, unless it is longer than may be read, and says what has broken it if something has.
async fn filled<B>(
    headers: &HeaderMap,
    body: &mut RetryBody<B>,
    policy: &RetryPolicy,
    bytes: u64,
    time: impl Future<Output = ()>,
) -> Filled
where
    B: Body<Data = Bytes> + Unpin + 'static,
{
    if bytes == 0 || is_longer(headers, bytes) {
        body.expect_length();
        return Ok(Inspected::Enough);
    }
    match body.fill(bytes, time).await {
        Read::ToTheEnd => Ok(Inspected::AtTheEnd),
        Read::ToTheLimit => Ok(Inspected::Enough),
        Read::WhileTimeAllowed => Ok(Inspected::TimeIsUp),
        Read::ToAnError(error) => Err(broken(policy, error)),
        Read::ToAnEarlyEnd(error) => Err(broken(policy, &error)),
    }
}

fn broken(policy: &RetryPolicy, error: &dyn Any) -> Box<BrokenAnswer> {
    let outcome = outcome_of_body(policy, error);
    let words = words(policy, error, outcome.error_kind());
    Box::new(BrokenAnswer { outcome, words })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Version;
    use http_body_util::{BodyExt, Full};

    async fn drain(
        response: http::Response<Full<Bytes>>,
    ) -> Option<http::Response<RetryBody<Full<Bytes>>>> {
        <http::Response<Full<Bytes>> as Answer>::drain(response.keep(), 5).await
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
        let kept = drain(response(Version::HTTP_11, "sorry")).await.unwrap();
        assert_eq!(kept.headers()["x"], "1");
        assert_eq!(
            kept.into_body().collect().await.unwrap().to_bytes(),
            "sorry"
        );
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_let_go() {
        assert!(drain(response(Version::HTTP_11, "sorry!")).await.is_none());
    }

    #[tokio::test]
    async fn an_http2_body_is_not_read_but_an_empty_one_is_kept() {
        assert!(drain(response(Version::HTTP_2, "sorry")).await.is_none());
        assert!(drain(response(Version::HTTP_2, "")).await.is_some());
    }
}
