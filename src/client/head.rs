//! The head of a request, or of the copy that is kept of one.

use super::saved_headers::SavedHeaders;
use crate::policy::{RequestFacts, RequestLine};
use crate::route::{self};
use http::{Extensions, HeaderMap, HeaderValue, Method, Uri};
use http_retry_core::adapter::public_authority;
use std::borrow::Cow;

/// The head of a request, or of the copy that is kept of one.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) target: Target<'a>,
    pub(crate) headers: Headers<'a>,
    /// `None` if the client keeps them private.
    pub(crate) extensions: Option<&'a Extensions>,
}

/// The place that a request goes to.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    Uri(&'a Uri),
    #[cfg_attr(
        not(feature = "reqwest"),
        expect(dead_code, reason = "only reqwest has URLs")
    )]
    Url(&'a dyn Url),
}

/// A URL as a client keeps it, with an authority that leaves out the scheme's default port.
pub(crate) trait Url {
    fn as_str(&self) -> &str;

    fn scheme(&self) -> &str;

    /// Host and port, without user info.
    fn host_and_port(&self) -> Option<&str>;

    fn path(&self) -> &str;
}

/// The headers of a request, as they are or packed.
#[derive(Clone, Copy)]
pub(crate) enum Headers<'a> {
    Map(&'a HeaderMap),
    Packed(&'a SavedHeaders),
}

impl<'a> Head<'a> {
    /// Host and port that the request goes to, without user info and without the scheme's default port.
    #[inline]
    pub(crate) fn authority(&self) -> Option<Cow<'a, str>> {
        match self.target {
            Target::Uri(uri) => {
                let host = || std::str::from_utf8(self.value("host")?).ok();
                public_authority(uri, || host().filter(|host| host.is_ascii()))
            }
            Target::Url(url) => url.host_and_port().map(Cow::Borrowed),
        }
    }

    pub(crate) fn path(&self) -> &'a str {
        match self.target {
            Target::Uri(uri) => uri.path(),
            Target::Url(url) => url.path(),
        }
    }

    /// The whole URI.
    pub(crate) fn uri(&self) -> String {
        match self.target {
            Target::Uri(uri) => uri.to_string(),
            Target::Url(url) => url.as_str().to_owned(),
        }
    }

    /// The whole URL, if the client's responses have theirs.
    pub(crate) fn url(&self) -> Option<&'a str> {
        match self.target {
            Target::Uri(_) => None,
            Target::Url(url) => Some(url.as_str()),
        }
    }

    /// The first value of a header, by its name in lower case.
    pub(crate) fn value(&self, name: &str) -> Option<&'a [u8]> {
        match self.headers {
            Headers::Map(map) => map.get(name).map(HeaderValue::as_bytes),
            Headers::Packed(packed) => packed.value(name),
        }
    }

    pub(crate) fn header_map(&self) -> Cow<'a, HeaderMap> {
        match self.headers {
            Headers::Map(map) => Cow::Borrowed(map),
            Headers::Packed(packed) => Cow::Owned(packed.to_map()),
        }
    }

    /// The body's length that the headers announce.
    pub(crate) fn announced_length(&self) -> Option<u64> {
        let length = self.value("content-length")?;
        std::str::from_utf8(length).ok()?.parse().ok()
    }

    /// The facts of the request, without a key in a header of the service's own.
    #[inline]
    pub(crate) fn facts(&self) -> RequestFacts {
        RequestFacts::by_first_values(self.method, |name| self.value(name))
    }

    /// The request as classifiers see it.
    pub(crate) fn line(&self) -> RequestLine {
        let authority = self.authority();
        let authority = authority.map_or_else(Default::default, Into::into);
        let by_key = RequestFacts::by_first_values(&Method::POST, |name| self.value(name));
        RequestLine::of(self.method, authority, self.path(), by_key)
    }

    /// The part of it that a router sees.
    pub(crate) fn route(&self) -> route::Head<'a> {
        let scheme = match self.target {
            Target::Uri(uri) => uri.scheme_str(),
            Target::Url(url) => Some(url.scheme()),
        };
        route::Head::of_parts(Some(self.method), scheme, self.authority(), self.path())
    }
}
