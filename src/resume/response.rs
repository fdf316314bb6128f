//! Responses whose body can go on.

use super::body::ResumedBody;
use super::progress::ResumeProgress;
use http::{HeaderMap, Response, StatusCode};

/// A response whose body can be put behind one that goes on: `http::Response<B>`, and `reqwest::Response` with the
/// feature `reqwest`. Nobody else implements it.
#[cfg_attr(
    not(feature = "tower"),
    expect(dead_code, reason = "on reqwest the middleware asks for less")
)]
pub trait Resumable: sealed::Sealed + Sized {
    type Body;

    /// The response as the caller gets it.
    type Resumed;

    fn head(&self) -> (StatusCode, &HeaderMap);

    /// With the body that it has.
    fn plain(self) -> Self::Resumed;

    /// With a body that goes on.
    fn resumed(
        self,
        goes_on: impl FnOnce(Self::Body) -> (ResumedBody<Self::Body>, ResumeProgress),
    ) -> Self::Resumed;

    fn into_http(self) -> Response<Self::Body>;
}

mod sealed {
    pub trait Sealed {}
    impl<B> Sealed for http::Response<B> {}
    #[cfg(feature = "reqwest")]
    impl Sealed for ::reqwest::Response {}
}

impl<B> Resumable for Response<B> {
    type Body = B;
    type Resumed = Response<ResumedBody<B>>;

    fn head(&self) -> (StatusCode, &HeaderMap) {
        (self.status(), self.headers())
    }

    fn plain(self) -> Self::Resumed {
        self.map(ResumedBody::plain)
    }

    fn resumed(self, goes_on: impl FnOnce(B) -> (ResumedBody<B>, ResumeProgress)) -> Self::Resumed {
        let (mut head, body) = self.into_parts();
        let (body, progress) = goes_on(body);
        head.extensions.insert(progress);
        Response::from_parts(head, body)
    }

    fn into_http(self) -> Self {
        self
    }
}

#[cfg(feature = "reqwest")]
mod of_reqwest {
    use super::*;
    use crate::client::reqwest_response;
    use ::reqwest::Body;

    impl Resumable for ::reqwest::Response {
        type Body = Body;
        type Resumed = Self;

        fn head(&self) -> (StatusCode, &HeaderMap) {
            (self.status(), self.headers())
        }

        fn plain(self) -> Self {
            self
        }

        fn resumed(
            self,
            goes_on: impl FnOnce(Body) -> (ResumedBody<Body>, ResumeProgress),
        ) -> Self {
            let (url, mut head, body) = reqwest_response::apart(self);
            let (body, progress) = goes_on(body);
            head.extensions.insert(progress);
            reqwest_response::whole(url, head, Body::wrap(body))
        }

        fn into_http(self) -> Response<Body> {
            self.into()
        }
    }
}
