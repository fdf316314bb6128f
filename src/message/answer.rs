//! Responses that can be read, let go and handed back whole.

use super::RetryBody;
use super::retry_body::Read;
use bytes::Bytes;
use http::{Extensions, HeaderMap, StatusCode, Version};
use http_body::Body;
use std::future::{Future, poll_fn};
use std::pin::Pin;

/// A response that the retry layer can let go of and, if it must, hand back whole.
///
/// `http::Response<B>` is one for every body of `Bytes`, and `reqwest::Response` with the `reqwest` feature. It cannot be
/// implemented outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a response that the retry layer can read",
    note = "the inner service must answer `http::Response<B>` where `B: http_body::Body<Data = Bytes> + Send + Unpin`, or \
            `reqwest::Response` with the feature `reqwest`; `BodyExt::boxed_unsync` makes any body `Unpin`"
)]
pub trait Answer: Sized + Send + sealed::Sealed {
    /// The response as the caller gets it.
    type Kept: Send;

    #[doc(hidden)]
    fn status(&self) -> StatusCode;

    #[doc(hidden)]
    fn headers(&self) -> &HeaderMap;

    #[doc(hidden)]
    fn url(&self) -> Option<&str>;

    #[doc(hidden)]
    fn keep(self) -> Self::Kept;

    /// The response with its whole body read, if the connection gains by it and it ends within the limit.
    #[doc(hidden)]
    fn drain(self, bytes: usize) -> impl Future<Output = Option<Self::Kept>> + Send;

    #[doc(hidden)]
    fn extensions_of(kept: &mut Self::Kept) -> &mut Extensions;
}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl<B> Sealed for http::Response<B> {}
    #[cfg(feature = "reqwest")]
    impl Sealed for ::reqwest::Response {}
}

impl<B> Answer for http::Response<B>
where
    B: Body<Data = Bytes> + Send + Unpin,
{
    type Kept = http::Response<RetryBody<B>>;

    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn url(&self) -> Option<&str> {
        None
    }

    fn keep(self) -> Self::Kept {
        self.map(RetryBody::untouched)
    }

    async fn drain(self, bytes: usize) -> Option<Self::Kept> {
        let version = self.version();
        let (parts, mut body) = self.into_parts();
        let read = read_all(version, &mut body, bytes).await?;
        Some(http::Response::from_parts(parts, RetryBody::whole(read)))
    }

    fn extensions_of(kept: &mut Self::Kept) -> &mut Extensions {
        kept.extensions_mut()
    }
}

#[cfg(feature = "reqwest")]
impl Answer for ::reqwest::Response {
    type Kept = Self;

    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn url(&self) -> Option<&str> {
        Some(self.url().as_str())
    }

    fn keep(self) -> Self {
        self
    }

    async fn drain(self, bytes: usize) -> Option<Self> {
        use ::reqwest::ResponseBuilderExt;

        let url = self.url().clone();
        let (parts, mut body) = http::Response::<::reqwest::Body>::from(self).into_parts();
        let read = read_all(parts.version, &mut body, bytes).await?;
        let body = ::reqwest::Body::wrap(RetryBody::<::reqwest::Body>::whole(read));
        let mut whole = http::Response::builder().url(url).body(body).ok()?;
        *whole.status_mut() = parts.status;
        *whole.version_mut() = parts.version;
        *whole.headers_mut() = parts.headers;
        // Beside them, not in their place: the URL lives there as well.
        whole.extensions_mut().extend(parts.extensions);
        Some(whole.into())
    }

    fn extensions_of(kept: &mut Self) -> &mut Extensions {
        kept.extensions_mut()
    }
}

/// Reads a body to its end within a limit. Before HTTP/2 that gives the connection back; from then on a body that is not
/// at its end already is dropped, which resets its stream and no more.
pub(crate) async fn read_all<B>(version: Version, body: &mut B, limit: usize) -> Option<Read>
where
    B: Body<Data = Bytes> + Send + Unpin,
{
    let mut read = Read::default();
    let mut length = 0_usize;
    if version >= Version::HTTP_2 {
        return body.is_end_stream().then_some(read);
    }
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        length = length.saturating_add(read.push(frame.ok()?));
        if length > limit {
            return None;
        }
    }
    Some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Full};

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
        let kept = response(Version::HTTP_11, "sorry").drain(5).await.unwrap();
        assert_eq!(kept.headers()["x"], "1");
        assert_eq!(
            kept.into_body().collect().await.unwrap().to_bytes(),
            "sorry"
        );
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_let_go() {
        assert!(
            response(Version::HTTP_11, "sorry!")
                .drain(5)
                .await
                .is_none()
        );
    }

    #[tokio::test]
    async fn an_http2_body_is_not_read_but_an_empty_one_is_kept() {
        assert!(response(Version::HTTP_2, "sorry").drain(5).await.is_none());
        assert!(response(Version::HTTP_2, "").drain(5).await.is_some());
    }
}
