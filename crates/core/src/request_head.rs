//! A request's head, without its headers.

use crate::normal_form::{
    default_port, matches_path, normal_path, normal_scheme, public_authority, without_port,
};
use crate::policy::has_idempotency_key;
use http::{HeaderMap, HeaderValue, Method, Uri};
use std::borrow::Cow;
use std::fmt;

/// The head of a request: its method and its destination. It selects the request's route, and classifiers, rules and
/// the function of [`Gate::key_by`](crate::gate::Gate::key_by) look at it.
///
/// Scheme, authority and path are in their normal form, so that another spelling of a URI is the same destination:
/// `//v1/%70ay` is `/v1/pay`. It never holds a query, and `Debug` does not show the path: both may hold a secret.
///
/// ```
/// use http::{HeaderMap, Method};
/// use http_retry::route::RequestHead;
///
/// let uri = "HTTP://me:secret@API.example.:80//v1/%70ay?q=1".parse()?;
/// let head = RequestHead::new(&Method::POST, &uri);
/// assert_eq!(head.authority(), Some("api.example"));
/// assert_eq!(head.path(), "/v1/pay");
///
/// // As a classifier sees it.
/// let headers = HeaderMap::from_iter([("idempotency-key".parse()?, "order-7".parse()?)]);
/// assert_eq!(head.with_key_in(&headers).is_keyed(), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct RequestHead<'a> {
    method: Option<Cow<'a, Method>>,
    scheme: Option<Cow<'a, str>>,
    authority: Option<Cow<'a, str>>,
    path: Cow<'a, str>,
    /// `None` until somebody looks for an idempotency key, which most requests need not pay for.
    keyed: Option<bool>,
}

impl<'a> RequestHead<'a> {
    /// Creates the head of a request with this method and URI.
    #[must_use]
    pub fn new(method: &'a Method, uri: &'a Uri) -> Self {
        let authority = public_authority(uri, || None);
        Self::of_parts(method, uri.scheme_str(), authority, uri.path())
    }

    /// Creates the head of a request from its parts: its authority in the normal form, and its path without a query.
    #[must_use]
    #[inline]
    pub(crate) fn of_parts(
        method: &'a Method,
        scheme: Option<&'a str>,
        authority: Option<Cow<'a, str>>,
        path: &'a str,
    ) -> Self {
        Self {
            method: Some(Cow::Borrowed(method)),
            scheme: scheme.map(normal_scheme).map(Cow::Borrowed),
            authority,
            path: normal_path(path),
            keyed: None,
        }
    }

    /// Sets [`is_keyed`](Self::is_keyed) by the headers of the request, for classifiers that look at it. The only headers
    /// that count are `idempotency-key` and `x-idempotency-key`.
    #[must_use]
    pub fn with_key_in(self, headers: &HeaderMap) -> Self {
        let value = |name| headers.get(name).map(HeaderValue::as_bytes);
        self.keyed(has_idempotency_key(value))
    }

    /// Sets [`is_keyed`](Self::is_keyed).
    #[must_use]
    pub(crate) fn keyed(self, keyed: bool) -> Self {
        let keyed = Some(keyed);
        Self { keyed, ..self }
    }

    /// Returns this head, independent of the request.
    #[must_use]
    pub fn into_owned(self) -> RequestHead<'static> {
        RequestHead {
            method: self.method.map(|method| Cow::Owned(method.into_owned())),
            scheme: self.scheme.map(|scheme| match &*scheme {
                "http" => Cow::Borrowed("http"),
                "https" => Cow::Borrowed("https"),
                _ => owned(scheme),
            }),
            authority: self.authority.map(owned),
            path: owned(self.path),
            keyed: self.keyed,
        }
    }

    /// Returns the method. Returns `None` for an operation that is not HTTP.
    #[must_use]
    #[inline]
    pub fn method(&self) -> Option<&Method> {
        self.method.as_deref()
    }

    /// Returns the scheme, if the request names one; `http` and `https` in lower case.
    #[must_use]
    #[inline]
    pub fn scheme(&self) -> Option<&str> {
        self.scheme.as_deref()
    }

    /// Returns host and port in lower case, without user info, a final dot of the host and a scheme's default port.
    /// Returns `None` if the request names no host.
    #[must_use]
    #[inline]
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// Returns the path without percent-encoding that it can do without, dot segments and empty segments. It is empty
    /// for an operation that is not HTTP.
    #[must_use]
    #[inline]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the host without its port, if the request names one.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.authority().map(without_port)
    }

    /// Returns `true` if the request goes to a host that this pattern matches: `api.example.com`, or `*.example.com` for
    /// the hosts below it. A pattern without a port matches any port, and one with the scheme's default port also a
    /// request that names none. Case is ignored.
    ///
    /// ```
    /// use http_retry::route::RequestHead;
    ///
    /// let uri = "https://eu.shop.example:8443/".parse().unwrap();
    /// let head = RequestHead::new(&http::Method::GET, &uri);
    /// assert!(head.is_to("*.shop.example") && head.is_to("eu.shop.example:8443"));
    /// assert!(!head.is_to("shop.example"));
    /// ```
    #[must_use]
    pub fn is_to(&self, pattern: &str) -> bool {
        let pattern = pattern.strip_suffix('.').unwrap_or(pattern);
        let authority = self.authority().unwrap_or_default();
        let hosts = [without_port(authority), authority];
        let host = pattern.strip_suffix(default_port(self.scheme()));
        let host = host.and_then(|host| host.strip_suffix(':'));
        hosts.iter().any(|host| is_host_like(pattern, host))
            || host.is_some_and(|host| is_host_like(host, authority))
    }

    /// Returns `true` if the path matches a pattern in the form that
    /// [`path_pattern`](crate::settings::path_pattern) gives. A final slash of the path does not matter, and `/v1/*` also
    /// matches `/v1`.
    #[must_use]
    pub fn has_path(&self, pattern: &str) -> bool {
        matches_path(pattern, &self.path)
    }

    /// Returns `true` if the request carries an idempotency key: in `idempotency-key`, `x-idempotency-key`, or the
    /// header of the policy's dialect for it. Returns `None` if nobody has looked for one: only a classifier's head is
    /// sure to know.
    #[must_use]
    pub fn is_keyed(&self) -> Option<bool> {
        self.keyed
    }
}

fn owned(part: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(part.into_owned())
}

/// Returns `true` if a host matches a pattern, which may start with `*` in place of the first labels; case is ignored.
pub(crate) fn is_host_like(pattern: &str, host: &str) -> bool {
    let Some(end) = pattern.strip_prefix('*') else {
        return host.eq_ignore_ascii_case(pattern);
    };
    // `*` stands for at least one character.
    let start = host.len().checked_sub(end.len()).filter(|start| *start > 0);
    let host_end = start.and_then(|start| host.get(start..));
    host_end.is_some_and(|host_end| host_end.eq_ignore_ascii_case(end))
}

/// Omits the path, which may hold a secret.
impl fmt::Debug for RequestHead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead")
            .field("method", &self.method())
            .field("authority", &self.authority())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_host_stands_for_its_first_labels() {
        for (pattern, authority, wanted) in [
            ("api.example.com", "api.example.com", true),
            ("api.example.com", "API.example.com:8443", true),
            ("api.example.com:80", "api.example.com", false),
            ("api.example.com:8443", "api.example.com:8443", true),
            ("*.example.com", "api.example.com", true),
            ("*.example.com", "a.b.example.com:1", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "badexample.com", false),
            ("[::1]:80", "[::1]:80", true),
            ("[::1]", "[::1]:80", true),
        ] {
            let uri = authority.parse().unwrap();
            let head = RequestHead::new(&Method::CONNECT, &uri);
            assert_eq!(head.is_to(pattern), wanted, "{pattern} {authority}");
        }
    }

    #[test]
    fn debug_shows_the_host_of_a_request_and_no_secret() {
        let uri = "http://me:hunter2@a:1/reset/hunter2?key=hunter2";
        let uri = uri.parse().unwrap();
        let head = RequestHead::new(&Method::GET, &uri);
        assert_eq!(
            format!("{head:?}"),
            r#"RequestHead { method: Some(GET), authority: Some("a:1"), .. }"#
        );
    }
}
