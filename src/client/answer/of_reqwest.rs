//! Responses of reqwest, which are taken apart and put together again where their body is read.

use super::{Answer, filled};
use crate::client::RetryBody;
use crate::policy::{CannedResponse, Filled, Inspect, Inspected, RetryPolicy};
use ::reqwest::{Body, Response, ResponseBuilderExt, Url};
use bytes::Bytes;
use http::response::Parts;
use http::{Extensions, HeaderMap, StatusCode};
use http_body::{Frame, SizeHint};
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

impl Answer for Response {
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

    fn head_of(kept: &Self) -> (StatusCode, &HeaderMap) {
        (kept.status(), kept.headers())
    }

    fn url_of(kept: &Self) -> Option<&str> {
        Some(kept.url().as_str())
    }

    fn extensions_of(kept: &mut Self) -> &mut Extensions {
        kept.extensions_mut()
    }

    async fn drain(kept: Self, bytes: usize) -> Option<Self> {
        let (url, parts, body) = parts(kept);
        let body = body.drained(parts.version, bytes).await?;
        Some(with_body(url, parts, body))
    }

    async fn look(
        kept: Self,
        look: &mut Inspect<'_>,
        time: impl Future<Output = ()> + Send,
    ) -> (Self, Inspected) {
        let (url, parts, mut body) = parts(kept);
        let looked = body.look(look, time).await;
        (with_body(url, parts, body), looked)
    }

    async fn fill(
        kept: Self,
        policy: &RetryPolicy,
        bytes: u64,
        time: impl Future<Output = ()> + Send,
    ) -> (Self, Filled) {
        if kept.content_length() == Some(0) {
            return (kept, Ok(Inspected::AtTheEnd));
        }
        let (url, parts, mut body) = parts(kept);
        let filled = filled(&parts.headers, &mut body, policy, bytes, time).await;
        (with_body(url, parts, body), filled)
    }

    fn canned(canned: &CannedResponse, url: &str) -> Option<Self> {
        let (mut parts, ()) = http::Response::new(()).into_parts();
        parts.status = canned.status;
        parts.headers = HeaderMap::clone(&canned.headers);
        let url = Url::parse(url).ok()?;
        Some(with_body(url, parts, RetryBody::of_text(&canned.body)))
    }
}

fn parts(response: Response) -> (Url, Parts, RetryBody<BoxedErrors>) {
    let (url, parts, body) = apart(response);
    (url, parts, RetryBody::untouched(BoxedErrors(body)))
}

/// A body of reqwest whose error is a box, which can hold an error of this crate too.
struct BoxedErrors(Body);

impl http_body::Body for BoxedErrors {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = Pin::new(&mut self.0).poll_frame(cx);
        frame.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// With a body that can give back what is read of it.
fn with_body(url: Url, parts: Parts, body: RetryBody<BoxedErrors>) -> Response {
    let body = body.into_bytes().map_or_else(Body::wrap, Body::from);
    whole(url, parts, body)
}

/// Takes a response apart.
pub(crate) fn apart(response: Response) -> (Url, Parts, Body) {
    let url = response.url().clone();
    let (parts, body) = http::Response::<Body>::from(response).into_parts();
    (url, parts, body)
}

/// Puts a response together again, perhaps with another body.
pub(crate) fn whole(url: Url, parts: Parts, body: Body) -> Response {
    // A builder that was given nothing but a URL does not fail.
    let with_url = http::Response::builder().url(url).body(());
    let mut whole = with_url.unwrap_or_default().map(|()| body);
    *whole.status_mut() = parts.status;
    *whole.version_mut() = parts.version;
    *whole.headers_mut() = parts.headers;
    // Beside them, not in their place: the URL lives there as well.
    whole.extensions_mut().extend(parts.extensions);
    whole.into()
}
