//! The request that an outcome is about.

use super::request_facts::RequestFacts;
use http::{HeaderMap, Method};
use std::fmt;
use std::sync::Arc;

/// The request that an outcome is about, as a classifier sees it: its method, where it goes, and whether it carries a
/// key of idempotency. It never holds a query, and `Debug` does not show the path: both may hold a secret.
///
/// ```
/// use http::{HeaderMap, Method};
/// use http_retry::policy::RequestLine;
///
/// let request = RequestLine::new(&Method::GET, "api.example", "/orders?page=2", &HeaderMap::new());
/// assert_eq!(request.path(), "/orders");
/// ```
#[derive(Clone)]
pub struct RequestLine {
    method: Method,
    authority: Arc<str>,
    path: Box<str>,
    keyed: bool,
}

impl RequestLine {
    /// A request by this method to this host and port, at this path; its query and fragment are left out. Of the headers it
    /// reads only the keys of idempotency, as [`RequestFacts::of`] does.
    #[must_use]
    pub fn new(method: &Method, authority: &str, path: &str, headers: &HeaderMap) -> Self {
        let by_key = RequestFacts::of(&Method::POST, headers);
        Self::of(method, authority.into(), path, by_key)
    }

    /// The same, by the facts of a POST with its headers.
    #[must_use]
    pub fn of(method: &Method, authority: Arc<str>, path: &str, by_key: RequestFacts) -> Self {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        Self {
            method: method.clone(),
            authority,
            path: path.into(),
            keyed: by_key.is_idempotent(),
        }
    }

    /// The same request, which may carry a key of the service's own.
    #[must_use]
    pub fn keyed(self, keyed: bool) -> Self {
        let keyed = self.keyed || keyed;
        Self { keyed, ..self }
    }

    /// Its method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Host and port; empty where they are not known.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns `true` if it goes to this host: `api.example.com`, or `*.example.com` for the hosts below it. Neither the
    /// case nor the port counts.
    ///
    /// ```
    /// use http::{HeaderMap, Method};
    /// use http_retry::policy::RequestLine;
    ///
    /// let request = RequestLine::new(&Method::GET, "eu.shop.example:8443", "/", &HeaderMap::new());
    /// assert!(request.is_to("*.shop.example"));
    /// assert!(!request.is_to("shop.example"));
    /// ```
    #[must_use]
    pub fn is_to(&self, host: &str) -> bool {
        is_host_like(host, without_port(&self.authority))
    }

    /// Its path, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it carries a key of idempotency: `idempotency-key`, `x-idempotency-key`, or the header of the policy's
    /// dialect for it.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.keyed
    }
}

/// Returns an authority without its port, if it has one.
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Returns `true` if a host is like a pattern, which may have a `*` for the first labels; case does not matter.
pub(crate) fn is_host_like(pattern: &str, host: &str) -> bool {
    let Some(end) = pattern.strip_prefix('*') else {
        return host.eq_ignore_ascii_case(pattern);
    };
    let start = host.len().checked_sub(end.len()).filter(|start| *start > 0);
    let own = start.and_then(|start| host.get(start..));
    own.is_some_and(|own| own.eq_ignore_ascii_case(end))
}

/// A path may hold a secret.
impl fmt::Debug for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestLine")
            .field("method", &self.method)
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}
