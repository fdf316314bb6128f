//! Requests of reqwest, whose streaming bodies cannot be cloned.

use super::super::replay_body::ReplayBody;
use super::super::resend::{Resend, is_told_length, set};
use crate::policy::RewriteWith;
use crate::route::Rebase;
use ::reqwest::{Body, Request, Url};
use http::{HeaderMap, Method, Uri};
use std::borrow::Cow;
use std::fmt;

/// What later attempts of a `reqwest::Request` are made of.
pub struct SavedRequest {
    /// The request, with its body if that can be cloned.
    request: Request,
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

impl Resend for Request {
    type Saved = SavedRequest;

    fn method(&self) -> &Method {
        self.method()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn headers_mut(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }

    fn authority(&self) -> Option<Cow<'_, str>> {
        authority(self.url()).map(Cow::Borrowed)
    }

    fn scheme(&self) -> Option<&str> {
        Some(self.url().scheme())
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

    fn save_in_place(&mut self, recorded: usize) -> Option<SavedRequest> {
        if let Some(request) = self.try_clone() {
            return Some(SavedRequest {
                request,
                stream: None,
            });
        }
        let body = self.body_mut().take()?;
        let head = self.try_clone();
        let stream = ReplayBody::with_limit(body, recorded);
        let later = stream.later();
        *self.body_mut() = Some(Body::wrap(stream));
        head.zip(later).map(|(request, later)| SavedRequest {
            request,
            stream: Some(later),
        })
    }

    fn again(saved: SavedRequest, last: bool) -> (Self, Option<SavedRequest>) {
        let SavedRequest { request, stream } = saved;
        let head = if last { None } else { request.try_clone() };
        let later = stream.as_ref().map(ReplayBody::later);
        let mut request = request;
        if let Some(stream) = stream {
            *request.body_mut() = Some(Body::wrap(stream));
        }
        let saved = match (head, later) {
            (Some(request), None) => Some(SavedRequest {
                request,
                stream: None,
            }),
            (Some(request), Some(Some(later))) => Some(SavedRequest {
                request,
                stream: Some(later),
            }),
            _ => None,
        };
        (request, saved)
    }

    fn head(saved: &SavedRequest) -> &Self {
        &saved.request
    }

    fn can_resend(saved: &SavedRequest, answered: bool) -> bool {
        let Some(stream) = &saved.stream else {
            return true;
        };
        stream.is_whole(answered && !is_told_length(saved.request.headers(), stream.read()))
    }

    fn next_in_turn(saved: &mut SavedRequest) {
        saved.stream.iter_mut().for_each(ReplayBody::next_in_turn);
    }

    fn amend(saved: &mut SavedRequest, headers: Option<&HeaderMap>, way: Option<&Rebase>) {
        let request = &mut saved.request;
        if let Some((way, at, url)) = way.and_then(|way| moved(request.url(), way)) {
            *request.url_mut() = url;
            way.leave_behind(request.headers_mut(), &at);
        }
        set(request.headers_mut(), headers);
    }

    fn rewrite(saved: &mut SavedRequest, with: &mut RewriteWith<'_>) -> bool {
        let SavedRequest { request, stream } = saved;
        let mut headers = request.headers().clone();
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
            *request.headers_mut() = headers;
        }
        changed
    }
}

/// Host and port as they stand in a URL, which leaves out the port that goes without saying.
fn authority(url: &Url) -> Option<&str> {
    url.host_str()?;
    let (_, rest) = url.as_str().split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // An `@` in user info is written otherwise.
    Some(
        authority
            .rsplit_once('@')
            .map_or(authority, |(_, public)| public),
    )
}

/// The way that a request goes, where it is and where it comes to.
fn moved<'a>(url: &Url, way: &'a Rebase) -> Option<(&'a Rebase, Uri, Url)> {
    let at: Uri = url.as_str().parse().ok()?;
    let to = Url::parse(&way.of(&at)?.to_string()).ok()?;
    Some((way, at, to))
}
