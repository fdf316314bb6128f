//! Responses of reqwest, which are taken apart to read their body, and then put together again.

use super::RetryBody;
use super::responses::{ErrorForm, Responses, broken, poll_read};
use crate::{Outcome, RetryPolicy};
use ::reqwest::{Body, Response, ResponseBuilderExt, Url};
use http::response::Parts;
use http::{Extensions, HeaderMap, StatusCode};
use http_retry_core::adapter::{BodyPart, Inspected};
use http_retry_core::rules::CannedResponse;
use std::task::{Context, Poll};

/// A response that was taken apart to read its body.
pub struct OpenReqwest {
    url: Url,
    response: http::Response<RetryBody<Body>>,
}

impl From<Response> for OpenReqwest {
    fn from(response: Response) -> Self {
        let url = response.url().clone();
        let response = http::Response::<Body>::from(response);
        let response = response.map(|body| RetryBody::untouched(body, false));
        Self { url, response }
    }
}

impl From<OpenReqwest> for Response {
    fn from(open: OpenReqwest) -> Self {
        let (parts, body) = open.response.into_parts();
        with_body(open.url, parts, body)
    }
}

#[diagnostic::do_not_recommend]
impl<A: ErrorForm> Responses<Response> for A {
    type Returned = Response;
    type Open = OpenReqwest;

    #[inline]
    fn returned(response: Response) -> Response {
        response
    }

    fn head(response: &Response) -> Option<(StatusCode, &HeaderMap)> {
        Some((response.status(), response.headers()))
    }

    fn url(response: &Response) -> Option<&str> {
        Some(response.url().as_str())
    }

    fn extensions_mut(response: &mut Response) -> Option<&mut Extensions> {
        Some(response.extensions_mut())
    }

    fn poll_read(
        open: &mut OpenReqwest,
        part: &mut BodyPart,
        seen: &mut usize,
        cx: &mut Context<'_>,
    ) -> Poll<Inspected> {
        poll_read(&mut open.response, part, seen, cx)
    }

    fn start(open: &OpenReqwest, most: usize) -> &[u8] {
        open.response.body().start(most)
    }

    fn broken(open: &OpenReqwest, policy: &RetryPolicy) -> Option<(Outcome<'static>, String)> {
        broken(open.response.body(), policy)
    }

    fn canned(canned: &CannedResponse, url: &str) -> Option<Response> {
        let (mut parts, ()) = http::Response::new(()).into_parts();
        parts.status = canned.status;
        parts.headers = HeaderMap::clone(&canned.headers);
        let url = Url::parse(url).ok()?;
        Some(with_body(url, parts, RetryBody::of_text(&canned.body)))
    }
}

/// Puts a response together with a body that gives back the bytes that were read.
fn with_body(url: Url, parts: Parts, body: RetryBody<Body>) -> Response {
    let body = body.into_bytes().map_or_else(Body::wrap, Body::from);
    whole(url, parts, body)
}

/// Takes a response apart.
pub(crate) fn into_parts(response: Response) -> (Url, Parts, Body) {
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
    // Extend, not replace: the URL is stored in the extensions as well.
    whole.extensions_mut().extend(parts.extensions);
    whole.into()
}
