//! Requests of reqwest, whose streaming bodies cannot be cloned.

#[cfg_attr(
    all(target_arch = "wasm32", target_os = "unknown"),
    path = "reqwest_requests/no_streams.rs"
)]
mod streams;

use super::replay::CloneBody;
use super::requests::{Head, Headers, Requests, SaveOptions, Target, change_headers, is_all};
use super::saved_headers::SavedHeaders;
use ::reqwest::{Body, Request, Url};
use http::{Extensions, HeaderMap, HeaderName, Uri};
use http_retry_core::adapter::{Changes, Rebase};
use std::fmt;
use streams::{Stream, body_of, copy_sent_parts, record};

/// A saved `reqwest::Request`, for later attempts.
pub struct SavedReqwest {
    /// The request without its headers, with its body if that can be cloned.
    request: Request,
    headers: SavedHeaders,
    stream: Option<Stream>,
}

// By hand: URL, headers and body may be secret.
impl fmt::Debug for SavedReqwest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedReqwest")
            .field("method", self.request.method())
            .finish_non_exhaustive()
    }
}

#[diagnostic::do_not_recommend]
impl Requests<Request> for CloneBody {
    type Saved = SavedReqwest;

    fn head(request: &Request) -> Option<Head<'_>> {
        Some(Head {
            method: request.method(),
            target: Target::Url(request.url()),
            headers: Headers::Map(request.headers()),
            extensions: None,
        })
    }

    fn saved_head(saved: &SavedReqwest) -> Option<Head<'_>> {
        Some(saved.head())
    }

    fn headers_mut(request: &mut Request) -> Option<&mut HeaderMap> {
        Some(request.headers_mut())
    }

    fn extensions_mut(_: &mut Request) -> Option<&mut Extensions> {
        None
    }

    fn save(&self, mut request: Request, options: SaveOptions) -> (Request, Option<SavedReqwest>) {
        let mut saved = None;
        save_request(&mut request, options, &mut saved);
        (request, saved)
    }

    fn restore(saved: SavedReqwest, is_last: bool) -> (Request, Option<SavedReqwest>) {
        let later = if is_last { None } else { saved.copy() };
        let mut request = saved.request;
        *request.headers_mut() = saved.headers.into_map();
        if let Some(stream) = saved.stream {
            *request.body_mut() = Some(body_of(stream));
        }
        (request, later)
    }

    fn is_whole(saved: &SavedReqwest, answered: bool) -> bool {
        saved.stream.as_ref().is_none_or(|stream| {
            let is_all = || is_all(saved.head().announced_length(), stream.read());
            stream.is_whole(answered && !is_all())
        })
    }

    fn may_be_head_alone(saved: &SavedReqwest) -> bool {
        let body = saved.request.body().and_then(Body::as_bytes);
        saved.stream.is_none() && body.is_none_or(<[u8]>::is_empty)
    }

    fn change(saved: &mut SavedReqwest, changes: Changes<'_>) -> bool {
        let is_changed = saved.change(changes);
        if let Some(stream) = saved.stream.as_mut().filter(|_| is_changed) {
            // A cut attempt that is still being sent cannot take bytes of a shared body from the next one.
            stream.next_in_turn();
        }
        is_changed
    }

    fn pin(saved: &mut SavedReqwest, url: &str, credentials: &[HeaderName]) {
        *saved.request.headers_mut() = saved.headers.clone().into_map();
        pin(&mut saved.request, url, credentials);
        saved.headers = SavedHeaders::new(&std::mem::take(saved.request.headers_mut()));
    }
}

impl SavedReqwest {
    fn head(&self) -> Head<'_> {
        Head {
            method: self.request.method(),
            target: Target::Url(self.request.url()),
            headers: Headers::Packed(&self.headers),
            extensions: None,
        }
    }

    fn copy(&self) -> Option<Self> {
        let stream = match &self.stream {
            None => None,
            Some(stream) => Some(stream.later()?),
        };
        Some(Self {
            request: self.request.try_clone()?,
            headers: self.headers.clone(),
            stream,
        })
    }

    fn change(&mut self, changes: Changes<'_>) -> bool {
        let rebased = changes
            .rebase
            .and_then(|rebase| rebase_url(self.request.url(), rebase));
        let before = rebased.map(|(before, url)| {
            *self.request.url_mut() = url;
            before
        });
        change_headers(&mut self.headers, before, changes, |with| {
            if let Some(stream) = &mut self.stream {
                return stream.rewrite(with);
            }
            let body = self.request.body().and_then(Body::as_bytes);
            let Some(new) = body.and_then(with) else {
                return false;
            };
            *self.request.body_mut() = Some(new.into());
            true
        })
    }
}

/// Saves the parts of a request that later attempts are made from, if there can be any. A stream is recorded from now on.
///
/// Both stay where they are: they are large, and every move is a copy of memory.
#[inline(always)]
pub(crate) fn save_request(
    request: &mut Request,
    options: SaveOptions,
    saved: &mut Option<SavedReqwest>,
) {
    let is_stream = request.body().is_some_and(|body| body.as_bytes().is_none());
    let copy = if options.is_plain && !is_stream {
        copy_sent_parts(request)
    } else {
        clone_without_headers(request)
    };
    if let Some(copy) = copy {
        *saved = Some(SavedReqwest {
            // A clone of the header map takes more than one allocation.
            headers: SavedHeaders::new(request.headers()),
            request: copy,
            stream: None,
        });
    } else if is_stream {
        *saved = save_stream(request, options);
    }
}

/// Saves a request whose body cannot be cloned: its head is cloned without it, and the body is recorded.
#[cold]
fn save_stream(request: &mut Request, options: SaveOptions) -> Option<SavedReqwest> {
    let body = request.body_mut().take()?;
    let head = clone_without_headers(request);
    let (body, later) = record(body, options.recorded);
    *request.body_mut() = Some(body);
    head.zip(later).map(|(copy, later)| SavedReqwest {
        headers: SavedHeaders::new(request.headers()),
        request: copy,
        stream: Some(later),
    })
}

/// Returns host and port, without user info, in their normal form but for a final dot of the host.
pub(super) fn host_and_port(url: &Url) -> Option<&str> {
    let host = url.host_str().filter(|host| !host.is_empty())?;
    // Most URLs have no port other than their scheme's.
    let Some(port) = url.port() else {
        return Some(host);
    };
    // The port is the end of the authority, in decimal and without zeros at its start.
    let digits = usize::try_from(port.checked_ilog10().unwrap_or_default()).ok()?;
    let length = host.len().saturating_add(":0".len()).saturating_add(digits);
    let authority = url.authority();
    authority.get(authority.len().checked_sub(length)?..)
}

/// Changes the URL of a request, and removes the headers that are only for its first server.
pub(crate) fn pin(request: &mut Request, url: &str, credentials: &[HeaderName]) {
    let (Ok(url), Ok(at)) = (Url::parse(url), request.url().as_str().parse::<Uri>()) else {
        return;
    };
    if let Ok(to) = url.as_str().parse() {
        let rebase = Rebase {
            from: None,
            to,
            credentials: credentials.to_vec(),
        };
        rebase.strip_headers(request.headers_mut(), &at);
    }
    *request.url_mut() = url;
}

/// Clones everything but the headers. Returns `None` if the body cannot be cloned.
#[inline]
fn clone_without_headers(request: &mut Request) -> Option<Request> {
    if request.headers().is_empty() {
        return request.try_clone();
    }
    let headers = std::mem::take(request.headers_mut());
    let clone = request.try_clone();
    *request.headers_mut() = headers;
    clone
}

/// Returns the URI of the request, and the URL that it is rebased to.
fn rebase_url(url: &Url, rebase: &Rebase) -> Option<(Uri, Url)> {
    let at: Uri = url.as_str().parse().ok()?;
    let to = Url::parse(&rebase.of(&at)?.to_string()).ok()?;
    Some((at, to))
}

#[cfg(test)]
mod tests;
