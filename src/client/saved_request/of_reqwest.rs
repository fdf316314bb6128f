//! Requests of reqwest, whose streaming bodies cannot be cloned.

use super::super::replay_body::ReplayBody;
use super::super::resend::{HasHead, Resend, is_told_length, set};
use super::super::saved_headers::SavedHeaders;
use crate::policy::RewriteWith;
use crate::route::Rebase;
use ::reqwest::{Body, Request, Url};
use http::{HeaderMap, HeaderValue, Method, Uri};
use std::borrow::Cow;
use std::fmt;

/// What later attempts of a `reqwest::Request` are made of.
pub struct SavedRequest {
    /// The request without its headers, with its body if that can be cloned.
    request: Request,
    headers: SavedHeaders,
    stream: Option<ReplayBody<Body>>,
}

/// Without what may be secret.
impl fmt::Debug for SavedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedRequest")
            .field("method", self.request.method())
            .finish_non_exhaustive()
    }
}

impl HasHead for Request {
    fn method(&self) -> &Method {
        self.method()
    }

    fn authority(&self) -> Option<Cow<'_, str>> {
        authority(self.url()).map(Cow::Borrowed)
    }

    fn path(&self) -> &str {
        self.url().path()
    }

    fn uri(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.url().as_str())
    }

    fn url(&self) -> Option<&str> {
        Some(self.url().as_str())
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.headers().get(name).map(HeaderValue::as_bytes)
    }

    fn header_map(&self) -> Cow<'_, HeaderMap> {
        Cow::Borrowed(self.headers())
    }
}

impl HasHead for SavedRequest {
    fn method(&self) -> &Method {
        self.request.method()
    }

    fn authority(&self) -> Option<Cow<'_, str>> {
        self.request.authority()
    }

    fn path(&self) -> &str {
        self.request.path()
    }

    fn uri(&self) -> Cow<'_, str> {
        self.request.uri()
    }

    fn url(&self) -> Option<&str> {
        Some(self.request.url().as_str())
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.headers.value(name)
    }

    fn header_map(&self) -> Cow<'_, HeaderMap> {
        Cow::Owned(self.headers.to_map())
    }
}

impl Resend for Request {
    type Saved = SavedRequest;

    fn scheme(&self) -> Option<&str> {
        Some(self.url().scheme())
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn headers_mut(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }

    fn save_in_place(&mut self, recorded: usize) -> Option<Box<SavedRequest>> {
        if let Some(request) = clone_without_headers(self) {
            return Some(Box::new(SavedRequest {
                headers: SavedHeaders::of(self.headers()),
                request,
                stream: None,
            }));
        }
        let body = self.body_mut().take()?;
        let head = clone_without_headers(self);
        let stream = ReplayBody::with_limit(body, recorded);
        let later = stream.later();
        *self.body_mut() = Some(Body::wrap(stream));
        head.zip(later).map(|(request, later)| {
            Box::new(SavedRequest {
                headers: SavedHeaders::of(self.headers()),
                request,
                stream: Some(later),
            })
        })
    }

    fn again(saved: Box<SavedRequest>, last: bool) -> (Self, Option<Box<SavedRequest>>) {
        let later = if last { None } else { saved.copy() };
        let saved = *saved;
        let mut request = saved.request;
        *request.headers_mut() = saved.headers.to_map();
        if let Some(stream) = saved.stream {
            *request.body_mut() = Some(Body::wrap(stream));
        }
        (request, later)
    }

    fn can_resend(saved: &SavedRequest, answered: bool) -> bool {
        let Some(stream) = &saved.stream else {
            return true;
        };
        stream.is_whole(answered && !is_told_length(saved, stream.read()))
    }

    fn next_in_turn(saved: &mut SavedRequest) {
        saved.stream.iter_mut().for_each(ReplayBody::next_in_turn);
    }

    fn amend(saved: &mut SavedRequest, headers: Option<&HeaderMap>, way: Option<&Rebase>) {
        let SavedRequest {
            request,
            headers: saved,
            ..
        } = saved;
        let way = way.and_then(|way| moved(request.url(), way));
        if headers.is_none() && way.is_none() {
            return;
        }
        saved.change(|map| {
            if let Some((way, at, url)) = way {
                *request.url_mut() = url;
                way.leave_behind(map, &at);
            }
            set(map, headers);
        });
    }

    fn rewrite(saved: &mut SavedRequest, with: &mut RewriteWith<'_>) -> bool {
        let SavedRequest {
            request,
            headers: saved,
            stream,
        } = saved;
        let mut headers = saved.to_map();
        let mut with = |body: &[u8]| with(&mut headers, body);
        let changed = match stream {
            Some(stream) => stream.rewrite(&mut with),
            None => {
                let body = request.body().and_then(Body::as_bytes);
                let other = body.and_then(with);
                let changed = other.is_some();
                if let Some(other) = other {
                    *request.body_mut() = Some(Body::from(other));
                }
                changed
            }
        };
        if changed {
            *saved = SavedHeaders::of(&headers);
        }
        changed
    }
}

impl SavedRequest {
    fn copy(&self) -> Option<Box<Self>> {
        let stream = match &self.stream {
            None => None,
            Some(stream) => Some(stream.later()?),
        };
        Some(Box::new(Self {
            request: self.request.try_clone()?,
            headers: self.headers.clone(),
            stream,
        }))
    }
}

/// A clone of all but the headers, where the body can be cloned.
fn clone_without_headers(request: &mut Request) -> Option<Request> {
    let headers = std::mem::take(request.headers_mut());
    let clone = request.try_clone();
    *request.headers_mut() = headers;
    clone
}

/// Host and port as they stand in a URL, which leaves out the port that goes without saying.
fn authority(url: &Url) -> Option<&str> {
    let authority = url.authority();
    let has_user_info = !url.username().is_empty() || url.password().is_some();
    let user_info = match has_user_info {
        // An `@` in user info is written otherwise.
        true => authority.split_once('@'),
        false => None,
    };
    let public = user_info.map_or(authority, |(_, public)| public);
    (!public.is_empty()).then_some(public)
}

/// The way that a request goes, where it is and where it comes to.
fn moved<'a>(url: &Url, way: &'a Rebase) -> Option<(&'a Rebase, Uri, Url)> {
    let at: Uri = url.as_str().parse().ok()?;
    let to = Url::parse(&way.of(&at)?.to_string()).ok()?;
    Some((way, at, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Version;
    use std::time::Duration;

    #[test]
    fn a_copy_has_all_that_can_be_seen_of_the_request() {
        let url: Url = "http://u:p@h:1/a?b#c".parse().unwrap();
        let mut request = Request::new(Method::from_bytes(b"PURGE").unwrap(), url);
        request
            .headers_mut()
            .append("x", HeaderValue::from_static("1"));
        request
            .headers_mut()
            .append("x", HeaderValue::from_static("2"));
        *request.timeout_mut() = Some(Duration::from_secs(3));
        *request.version_mut() = Version::HTTP_2;
        *request.body_mut() = Some(Body::from("b"));
        let clone = request.try_clone().unwrap();
        let (sent, saved) = Resend::save(request, 0);
        let (second, saved) = Request::again(saved.unwrap(), false);
        let (last, saved) = Request::again(saved.unwrap(), true);
        assert!(saved.is_none());
        for copy in [sent, second, last] {
            assert_eq!((copy.method(), copy.url()), (clone.method(), clone.url()));
            assert_eq!(copy.headers(), clone.headers());
            assert_eq!(copy.timeout(), clone.timeout());
            assert_eq!(copy.version(), clone.version());
            let bodies = [&copy, &clone].map(|request| request.body().and_then(Body::as_bytes));
            assert_eq!(bodies[0], bodies[1]);
        }
    }
}
