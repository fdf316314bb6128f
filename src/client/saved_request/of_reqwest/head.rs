//! The heads of requests of reqwest.

use super::SavedRequest;
use crate::client::HasHead;
use ::reqwest::{Request, Url};
use http::{HeaderMap, HeaderValue, Method};
use std::borrow::Cow;

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
