//! Requests of reqwest, whose streaming bodies cannot be cloned.

mod head;

use super::super::replay_body::ReplayBody;
use super::super::resend::{HasHead, Resend, is_told_length, set};
use super::super::saved_headers::SavedHeaders;
use crate::policy::RewriteWith;
use crate::retry_loop::Repeat;
use crate::route::Rebase;
use ::reqwest::{Body, Request, Url};
use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderName, Uri};
use http_body::Body as _;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

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

/// What later attempts are made of, without a box: the middleware's future, which holds it, is in one.
pub struct Unboxed(SavedRequest);

impl Deref for Unboxed {
    type Target = SavedRequest;

    fn deref(&self) -> &SavedRequest {
        &self.0
    }
}

impl From<Box<SavedRequest>> for Unboxed {
    fn from(saved: Box<SavedRequest>) -> Self {
        Self(*saved)
    }
}

impl From<Unboxed> for Box<SavedRequest> {
    fn from(saved: Unboxed) -> Self {
        Self::new(saved.0)
    }
}

impl Resend for Request {
    type InPlace = Unboxed;

    fn scheme(&self) -> Option<&str> {
        Some(self.url().scheme())
    }

    fn pin(&mut self, url: &str, credentials: &[HeaderName]) {
        let (Ok(url), Ok(at)) = (Url::parse(url), self.url().as_str().parse::<Uri>()) else {
            return;
        };
        if let Ok(to) = url.as_str().parse() {
            let way = Rebase {
                from: None,
                to,
                credentials: credentials.to_vec(),
            };
            way.leave_behind(self.headers_mut(), &at);
        }
        *self.url_mut() = url;
    }

    fn headers_mut(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }

    fn save_what_is_sent(&mut self, recorded: usize) -> Option<Unboxed> {
        let body = match self.body_mut() {
            Some(body) if body.as_bytes().is_none() => return self.save_in_place(recorded),
            Some(body) => Some(copy_of_bytes(body)?),
            None => None,
        };
        let mut request = Self::new(self.method().clone(), self.url().clone());
        *request.version_mut() = self.version();
        *request.body_mut() = body;
        // To write none would make room for one.
        if let Some(timeout) = self.timeout() {
            *request.timeout_mut() = Some(*timeout);
        }
        Some(Unboxed(SavedRequest {
            headers: SavedHeaders::of(self.headers()),
            request,
            stream: None,
        }))
    }

    fn save_in_place(&mut self, recorded: usize) -> Option<Unboxed> {
        if let Some(request) = clone_without_headers(self) {
            return Some(Unboxed(SavedRequest {
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
            Unboxed(SavedRequest {
                headers: SavedHeaders::of(self.headers()),
                request,
                stream: Some(later),
            })
        })
    }
}

impl Repeat for Request {
    type Saved = SavedRequest;

    fn save(mut self, recorded: usize) -> (Self, Option<Box<SavedRequest>>) {
        let saved = self.save_in_place(recorded);
        (self, saved.map(Into::into))
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

    fn head(saved: &SavedRequest) -> Option<(Cow<'_, HeaderMap>, Option<&Extensions>)> {
        Some((saved.header_map(), None))
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

/// A copy of a body that is bytes, which share their memory.
fn copy_of_bytes(body: &mut Body) -> Option<Body> {
    let mut cx = Context::from_waker(Waker::noop());
    let bytes = match Pin::new(&mut *body).poll_frame(&mut cx) {
        // Nothing is left of the body, whose only frame this is.
        Poll::Ready(Some(frame)) => frame.ok()?.into_data().ok()?,
        Poll::Ready(None) => Bytes::new(),
        Poll::Pending => return None,
    };
    *body = Body::from(bytes.clone());
    Some(Body::from(bytes))
}

/// A clone of all but the headers, where the body can be cloned.
fn clone_without_headers(request: &mut Request) -> Option<Request> {
    let headers = std::mem::take(request.headers_mut());
    let clone = request.try_clone();
    *request.headers_mut() = headers;
    clone
}

/// The way that a request goes, where it is and where it comes to.
fn moved<'a>(url: &Url, way: &'a Rebase) -> Option<(&'a Rebase, Uri, Url)> {
    let at: Uri = url.as_str().parse().ok()?;
    let to = Url::parse(&way.of(&at)?.to_string()).ok()?;
    Some((way, at, to))
}

#[cfg(test)]
mod tests;
