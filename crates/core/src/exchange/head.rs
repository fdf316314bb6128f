//! A request's head, as an exchange looks at it.

use super::todo::Changes;
use crate::policy::{RequestFacts, RetryPolicy, StopReason, has_idempotency_key};
use crate::route::{RequestHead, public_authority};
use crate::server_hints::name_of;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderValue, Method, Uri};
use std::borrow::Cow;

/// A request's head, or that of the copy that later attempts are made of.
pub trait Head {
    /// Returns the method.
    fn method(&self) -> &Method;

    /// Returns host and port in their normal form: in lower case, without user info, a final dot of the host and the
    /// scheme's default port.
    fn authority(&self) -> Option<Cow<'_, str>>;

    /// Returns the scheme, if the client names it.
    fn scheme(&self) -> Option<&str>;

    /// Returns the path, without the query.
    fn path(&self) -> &str;

    /// Returns the whole URI.
    fn uri(&self) -> String;

    /// Returns the whole URI as such, if it is one. Its text may be read as another one: `http://a*` has no path.
    fn to_uri(&self) -> Option<Uri>;

    /// Returns the whole URL, if the client's responses have theirs too.
    fn url(&self) -> Option<&str>;

    /// Returns the first value of a header, by its name in lower case.
    fn value(&self, name: &str) -> Option<&[u8]>;

    /// Returns all headers.
    fn header_map(&self) -> Cow<'_, HeaderMap>;

    /// Returns the extensions, if the client does not keep them private.
    fn extensions(&self) -> Option<&Extensions>;

    /// Returns the request as a router and the key of a gate see it.
    fn request(&self) -> RequestHead<'_> {
        RequestHead::of_parts(self.method(), self.scheme(), self.authority(), self.path())
    }

    /// Returns the request as the policy's classifiers see it: with the sign of an idempotency key, in a usual header or
    /// in the one that the policy names for it.
    fn keyed_request(&self, policy: &RetryPolicy) -> RequestHead<'_> {
        let has_key = self.has_own_key(policy) || has_idempotency_key(|name| self.value(name));
        self.request().keyed(has_key)
    }

    /// Returns the facts, without a key in a header of the service's own.
    #[inline]
    fn facts(&self) -> RequestFacts {
        RequestFacts::by_first_values(self.method(), |name| self.value(name))
    }

    /// Returns `true` if the request has an idempotency key in the header that the policy names for it.
    fn has_own_key(&self, policy: &RetryPolicy) -> bool {
        let name = policy.key_header();
        let key = name.and_then(|name| self.value(name_of(name)));
        key.is_some_and(|key| !key.trim_ascii().is_empty())
    }
}

impl Head for &Parts {
    fn method(&self) -> &Method {
        &self.method
    }

    fn authority(&self) -> Option<Cow<'_, str>> {
        public_authority(&self.uri, || None)
    }

    fn scheme(&self) -> Option<&str> {
        self.uri.scheme_str()
    }

    fn path(&self) -> &str {
        self.uri.path()
    }

    fn uri(&self) -> String {
        self.uri.to_string()
    }

    fn to_uri(&self) -> Option<Uri> {
        Some(self.uri.clone())
    }

    fn url(&self) -> Option<&str> {
        None
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.headers.get(name).map(HeaderValue::as_bytes)
    }

    fn header_map(&self) -> Cow<'_, HeaderMap> {
        Cow::Borrowed(&self.headers)
    }

    fn extensions(&self) -> Option<&Extensions> {
        Some(&self.extensions)
    }
}

/// The copy that an adapter keeps of a request, as an exchange looks at it.
pub trait Kept {
    /// Returns the head, if it is kept.
    fn head(&self) -> Option<impl Head>;

    /// Returns `true` if the request can be sent again, whole. `answered` is `true` if the last attempt got a response.
    fn is_whole(&self, answered: bool) -> bool;

    /// Returns `true` if the client may follow redirects, even if its errors do not show it.
    #[must_use]
    fn may_follow() -> bool {
        false
    }

    /// Returns `true` if such requests can go to another service.
    #[must_use]
    fn can_move() -> bool {
        true
    }

    /// Changes the request for its next attempt.
    ///
    /// # Errors
    ///
    /// The reason for which there can be none.
    fn change(&mut self, changes: Changes<'_>) -> Result<(), StopReason>;
}
