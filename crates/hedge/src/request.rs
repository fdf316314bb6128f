//! Requests that can be sent in several copies, and the heads of their responses.

use http::request::Parts;
use http::{Extensions, HeaderMap, StatusCode};
use http_body::Body;
use std::borrow::Cow;

/// A request that can be copied while it is under way.
pub trait CopyRequest: Sized {
    /// The copy that the hedges are made of.
    type Saved;
    /// `true` if a client of such requests may follow redirects itself.
    const MAY_FOLLOW: bool;

    /// Returns the copy, or `None` if the body cannot be copied. It is called before the request is sent.
    fn save(&self) -> Option<Self::Saved>;

    /// Returns another request, with the whole body, or `None` if the body has lost something since.
    fn copy(saved: &Self::Saved) -> Option<Self>;

    /// Returns the head, or `None` if it is none of an `http::Request`.
    fn head(saved: &Self::Saved) -> Option<Cow<'_, Parts>>;

    /// Returns the extensions, if the client does not keep them private.
    fn extensions(&self) -> Option<&Extensions>;
}

/// A saved `http::Request`.
pub struct Saved<B> {
    parts: Parts,
    body: B,
    /// The length of the body in bytes; `None` if it is at its end.
    length: Option<u64>,
}

/// Returns the length of a body whose copies can be compared with it, as retries do: one of unknown length is sent once.
fn length(body: &impl Body) -> Option<Option<u64>> {
    if body.is_end_stream() {
        return Some(None);
    }
    body.size_hint().exact().map(Some)
}

impl<B: Body + Clone> CopyRequest for http::Request<B> {
    type Saved = Saved<B>;
    const MAY_FOLLOW: bool = false;

    fn save(&self) -> Option<Saved<B>> {
        let length = length(self.body())?;
        let (parts, body) = self.clone().into_parts();
        Some(Saved {
            parts,
            body,
            length,
        })
    }

    fn copy(saved: &Saved<B>) -> Option<Self> {
        // A clone that shares its content lacks what the first copy has read by now.
        let body = saved.body.clone();
        let is_whole = length(&body) == Some(saved.length);
        is_whole.then(|| Self::from_parts(saved.parts.clone(), body))
    }

    fn head(saved: &Saved<B>) -> Option<Cow<'_, Parts>> {
        Some(Cow::Borrowed(&saved.parts))
    }

    fn extensions(&self) -> Option<&Extensions> {
        Some(self.extensions())
    }
}

/// A response with a head.
pub trait ResponseHead {
    /// Returns status and headers.
    fn head(&self) -> (StatusCode, &HeaderMap);
}

impl<B> ResponseHead for http::Response<B> {
    fn head(&self) -> (StatusCode, &HeaderMap) {
        (self.status(), self.headers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{Empty, Full};
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_copy_is_whole_or_there_is_none() {
        let body: Full<bytes::Bytes> = "bytes".into();
        let request = http::Request::post("/a").body(body).unwrap();
        let saved = request.save().unwrap();
        for _ in 0..2 {
            let copy = http::Request::copy(&saved).unwrap();
            assert_eq!(
                (copy.uri().path(), copy.body().size_hint().exact()),
                ("/a", Some(5))
            );
        }
        let empty = http::Request::new(Empty::<bytes::Bytes>::new());
        assert!(empty.save().is_some_and(|saved| saved.length.is_none()));
    }

    /// A body whose clones share their content.
    #[derive(Clone)]
    struct Shared(Arc<Mutex<Full<bytes::Bytes>>>);

    impl Body for Shared {
        type Data = bytes::Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
            std::pin::Pin::new(&mut *self.0.lock().unwrap()).poll_frame(cx)
        }

        fn size_hint(&self) -> http_body::SizeHint {
            self.0.lock().unwrap().size_hint()
        }
    }

    #[test]
    fn a_shared_body_is_sent_once_after_it_was_read() {
        let body = Shared(Arc::new(Mutex::new("bytes".into())));
        let request = http::Request::new(body.clone());
        let saved = request.save().unwrap();
        assert!(http::Request::copy(&saved).is_some());
        *body.0.lock().unwrap() = Full::default();
        assert!(http::Request::copy(&saved).is_none());
    }
}
