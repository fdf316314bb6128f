//! Responses whose body can be resumed.

use crate::report::RetryReport;
use crate::resume::adapter::OtherOrigin;
use crate::resume::{ResumeProgress, ResumedBody};
use crate::sealed::Sealed;
use http::{Extensions, HeaderMap, Response, StatusCode};

/// Returns `true` if a response came from another URL than that of its request: the rest is at that URL.
pub(crate) fn is_redirected(response: &impl Resumable, requested: Option<&str>) -> bool {
    // A middleware may add a key to the query, and would add it to this URL too.
    let url = response.url().map(without_query);
    url.is_some() && url != requested.map(without_query)
}

/// Marks a response that came from another URL than the start.
pub(crate) fn mark_other_origin<B>(
    response: impl Resumable<Body = B>,
    start: Option<&str>,
) -> Response<B> {
    // Here the query counts: it may name the file.
    let moved = match (response.url(), start) {
        (Some(url), Some(start)) => without_fragment(url) != without_fragment(start),
        _ => false,
    };
    let is_elsewhere = moved || response.is_from_elsewhere();
    let mut response = response.into_http();
    if is_elsewhere {
        response.extensions_mut().insert(OtherOrigin);
    }
    response
}

fn without_fragment(url: &str) -> &str {
    url.split_once('#').map_or(url, |(url, _)| url)
}

fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// A response whose body can be wrapped in one that is resumed: `http::Response<B>`, and `reqwest::Response` with the
/// feature `reqwest`. It cannot be implemented outside of this crate.
pub trait Resumable: Sealed + Sized {
    type Body;

    /// The response as the caller gets it.
    type Resumed;

    fn head(&self) -> (StatusCode, &HeaderMap);

    fn extensions(&self) -> &Extensions;

    /// Returns the URL that the response came from, after redirects, if the client shows it.
    fn url(&self) -> Option<&str> {
        None
    }

    /// Returns `true` if a retry layer took the response from another service than the one requested, or made it
    /// itself.
    fn is_from_elsewhere(&self) -> bool {
        let report = self.extensions().get::<RetryReport>();
        report.is_some_and(|report| report.from_elsewhere)
    }

    /// Returns the response with its own body.
    fn plain(self) -> Self::Resumed;

    /// Returns the response with a body that resumes.
    fn resumed(
        self,
        resume: impl FnOnce(Self::Body) -> (ResumedBody<Self::Body>, ResumeProgress),
    ) -> Self::Resumed;

    fn into_http(self) -> Response<Self::Body>;
}

impl<B> Sealed for Response<B> {}
#[cfg(all(
    feature = "reqwest",
    not(all(target_arch = "wasm32", target_os = "unknown"))
))]
impl Sealed for ::reqwest::Response {}

impl<B> Resumable for Response<B> {
    type Body = B;
    type Resumed = Response<ResumedBody<B>>;

    fn head(&self) -> (StatusCode, &HeaderMap) {
        (self.status(), self.headers())
    }

    fn extensions(&self) -> &Extensions {
        self.extensions()
    }

    fn plain(self) -> Self::Resumed {
        self.map(ResumedBody::plain)
    }

    fn resumed(self, resume: impl FnOnce(B) -> (ResumedBody<B>, ResumeProgress)) -> Self::Resumed {
        let (mut head, body) = self.into_parts();
        let (body, progress) = resume(body);
        head.extensions.insert(progress);
        Response::from_parts(head, body)
    }

    fn into_http(self) -> Self {
        self
    }
}

#[cfg(all(
    feature = "reqwest",
    not(all(target_arch = "wasm32", target_os = "unknown"))
))]
mod of_reqwest {
    use super::*;
    use crate::client::reqwest_responses;
    use ::reqwest::Body;

    /// The host of a `reqwest::Response` that was made from an `http::Response` without a URL.
    const MADE_UP_HOST: &str = "no.url.provided.local";

    impl Resumable for ::reqwest::Response {
        type Body = Body;
        type Resumed = Self;

        fn head(&self) -> (StatusCode, &HeaderMap) {
            (self.status(), self.headers())
        }

        fn extensions(&self) -> &Extensions {
            self.extensions()
        }

        fn url(&self) -> Option<&str> {
            // reqwest makes up a URL for a response that a middleware made.
            let url = self.url();
            (url.host_str() != Some(MADE_UP_HOST)).then(|| url.as_str())
        }

        fn plain(self) -> Self {
            self
        }

        fn resumed(self, resume: impl FnOnce(Body) -> (ResumedBody<Body>, ResumeProgress)) -> Self {
            let (url, mut head, body) = reqwest_responses::into_parts(self);
            let (body, progress) = resume(body);
            head.extensions.insert(progress);
            reqwest_responses::whole(url, head, Body::wrap(body))
        }

        fn into_http(self) -> Response<Body> {
            self.into()
        }
    }
}
