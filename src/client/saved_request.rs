//! What later attempts are made of, of requests of `http`, whose bodies say how they can be copied.

#[cfg(feature = "reqwest")]
mod of_reqwest;

use super::measure::FirstMeasure;
use super::resend::{HasHead, Replay, Resend, is_shorter_than_announced, is_told_length, set};
use super::saved_headers::SavedHeaders;
use crate::policy::RewriteWith;
use crate::retry_loop::Repeat;
use crate::route::{Rebase, public_authority};
use http::{Extensions, HeaderMap, HeaderValue, Method, Uri, Version};
use std::borrow::Cow;

/// What later attempts of an `http::Request` are made of.
pub struct SavedRequest<B> {
    method: Method,
    uri: Uri,
    version: Version,
    headers: SavedHeaders,
    extensions: Extensions,
    body: B,
    /// The measure of the body before the first attempt.
    first: FirstMeasure,
}

#[diagnostic::do_not_recommend]
impl<B> HasHead for http::Request<B> {
    fn method(&self) -> &Method {
        self.method()
    }

    #[inline]
    fn authority(&self) -> Option<Cow<'_, str>> {
        authority(self, self.uri())
    }

    fn path(&self) -> &str {
        self.uri().path()
    }

    fn uri(&self) -> Cow<'_, str> {
        Cow::Owned(self.uri().to_string())
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.headers().get(name).map(HeaderValue::as_bytes)
    }

    fn header_map(&self) -> Cow<'_, HeaderMap> {
        Cow::Borrowed(self.headers())
    }

    fn extensions(&self) -> Option<&Extensions> {
        Some(self.extensions())
    }
}

impl<B> HasHead for SavedRequest<B> {
    fn method(&self) -> &Method {
        &self.method
    }

    #[inline]
    fn authority(&self) -> Option<Cow<'_, str>> {
        authority(self, &self.uri)
    }

    fn path(&self) -> &str {
        self.uri.path()
    }

    fn uri(&self) -> Cow<'_, str> {
        Cow::Owned(self.uri.to_string())
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.headers.value(name)
    }

    fn header_map(&self) -> Cow<'_, HeaderMap> {
        Cow::Owned(self.headers.to_map())
    }

    fn extensions(&self) -> Option<&Extensions> {
        Some(&self.extensions)
    }
}

#[diagnostic::do_not_recommend]
impl<B: Replay + Send> Resend for http::Request<B> {
    type InPlace = Box<SavedRequest<B>>;

    fn scheme(&self) -> Option<&str> {
        self.uri().scheme_str()
    }

    fn headers_mut(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }

    fn extensions_mut(&mut self) -> Option<&mut Extensions> {
        Some(self.extensions_mut())
    }

    #[inline]
    fn save_in_place(&mut self, _: usize) -> Option<Box<SavedRequest<B>>> {
        let first = FirstMeasure::from(self.body().measure());
        Some(Box::new(SavedRequest {
            body: self.body().replay()?,
            method: self.method().clone(),
            uri: self.uri().clone(),
            version: self.version(),
            headers: SavedHeaders::of(self.headers()),
            extensions: self.extensions().clone(),
            first,
        }))
    }
}

#[diagnostic::do_not_recommend]
impl<B: Replay + Send> Repeat for http::Request<B> {
    type Saved = SavedRequest<B>;

    fn save(mut self, recorded: usize) -> (Self, Option<Box<SavedRequest<B>>>) {
        let saved = self.save_in_place(recorded);
        (self, saved)
    }

    fn again(saved: Box<SavedRequest<B>>, last: bool) -> (Self, Option<Box<SavedRequest<B>>>) {
        let later = match last {
            true => None,
            false => saved.copy(),
        };
        (saved.into_request(), later)
    }

    fn can_resend(saved: &SavedRequest<B>, answered: bool) -> bool {
        let body = &saved.body;
        let copy = body.measure();
        saved.first.is_still(copy)
            && !is_shorter_than_announced(saved, copy)
            && body.can_replay(answered && !is_told_length(saved, body.bytes_read()))
    }

    fn next_in_turn(saved: &mut SavedRequest<B>) {
        saved.body.next_in_turn();
    }

    fn head(saved: &SavedRequest<B>) -> Option<(Cow<'_, HeaderMap>, Option<&Extensions>)> {
        Some((saved.header_map(), saved.extensions()))
    }

    fn amend(saved: &mut SavedRequest<B>, headers: Option<&HeaderMap>, way: Option<&Rebase>) {
        let way = way.and_then(|way| Some((way, way.of(&saved.uri)?)));
        if headers.is_none() && way.is_none() {
            return;
        }
        saved.headers.change(|map| {
            if let Some((way, uri)) = way {
                let before = std::mem::replace(&mut saved.uri, uri);
                way.leave_behind(map, &before);
            }
            set(map, headers);
        });
    }

    fn rewrite(saved: &mut SavedRequest<B>, with: &mut RewriteWith<'_>) -> bool {
        let mut headers = saved.headers.to_map();
        let changed = saved.body.rewrite(&mut |body| with(&mut headers, body));
        if changed {
            saved.first = saved.body.measure().into();
            saved.headers = SavedHeaders::of(&headers);
        }
        changed
    }
}

impl<B: Replay> SavedRequest<B> {
    fn copy(&self) -> Option<Box<Self>> {
        Some(Box::new(Self {
            body: self.body.replay()?,
            method: self.method.clone(),
            uri: self.uri.clone(),
            version: self.version,
            headers: self.headers.clone(),
            extensions: self.extensions.clone(),
            first: self.first,
        }))
    }

    fn into_request(self) -> http::Request<B> {
        let mut request = http::Request::new(self.body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.version_mut() = self.version;
        *request.headers_mut() = self.headers.to_map();
        *request.extensions_mut() = self.extensions;
        request
    }
}

/// Host and port that the URI names, or the `host` header.
#[inline]
fn authority<'a>(head: &'a impl HasHead, uri: &'a Uri) -> Option<Cow<'a, str>> {
    let host = || std::str::from_utf8(head.value("host")?).ok();
    public_authority(uri, || host().filter(|host| host.is_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(uri: &str, host: Option<&str>) -> Option<String> {
        let mut request = http::Request::builder().uri(uri);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let request = request.body(String::new()).unwrap();
        request.authority().map(Cow::into_owned)
    }

    #[test]
    fn an_authority_is_public_and_in_lower_case() {
        assert_eq!(
            authority("http://me:secret@API.example:8080/a?b", None).as_deref(),
            Some("api.example:8080")
        );
        assert_eq!(
            authority("/a", Some("api.example")).as_deref(),
            Some("api.example")
        );
        assert_eq!(authority("/a", None), None);
        assert_eq!(
            authority("https://a.example:443/", None).as_deref(),
            Some("a.example")
        );
        assert_eq!(
            authority("http://a.example:443/", None).as_deref(),
            Some("a.example:443")
        );
    }

    #[test]
    fn a_copy_has_the_whole_head_and_the_body() {
        let mut request = http::Request::put("http://h/a")
            .header("x", "1")
            .body("b".to_owned())
            .unwrap();
        request.extensions_mut().insert(7_u8);
        let (request, copy) = request.save(0);
        let (copy, _) = <http::Request<String>>::again(copy.unwrap(), true);
        assert_eq!(
            (copy.method(), copy.uri()),
            (request.method(), request.uri())
        );
        assert_eq!(
            (copy.headers(), copy.body()),
            (request.headers(), request.body())
        );
        assert_eq!(copy.extensions().get::<u8>(), Some(&7));
    }

    #[test]
    fn the_last_copy_is_the_spare_itself() {
        let (_, saved) = http::Request::new("b".to_owned()).save(0);
        let (_, saved) = <http::Request<String>>::again(saved.unwrap(), false);
        let (request, saved) = <http::Request<String>>::again(saved.unwrap(), true);
        assert_eq!(request.body(), "b");
        assert!(saved.is_none());
    }

    #[test]
    fn a_copy_that_is_shorter_than_its_content_length_is_not_sent() {
        for (length, body, resendable) in [
            (None, "abc", true),
            (Some("3"), "abc", true),
            (Some("2"), "abc", true),
            (Some("4"), "abc", false),
            (Some("4"), "", false),
            (Some("0"), "", true),
            (Some("four"), "abc", true),
        ] {
            let mut request = http::Request::put("http://h/a");
            if let Some(length) = length {
                request = request.header("content-length", length);
            }
            let (_, saved) = request.body(body.to_owned()).unwrap().save(0);
            let can = <http::Request<String>>::can_resend(&saved.unwrap(), true);
            assert_eq!(can, resendable, "{length:?} {body}");
        }
    }
}
