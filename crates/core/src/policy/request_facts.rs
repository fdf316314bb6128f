//! What a decision needs to know about a request.

use http::{HeaderMap, HeaderValue, Method};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const IDEMPOTENCY_KEYS: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

/// What a decision needs to know about a request: whether it may be processed twice, and whether it can be sent twice.
///
/// ```
/// use http::{HeaderMap, Method};
/// use http_retry::RequestFacts;
///
/// let facts = RequestFacts::of(&Method::POST, &HeaderMap::new());
/// assert!(!facts.is_idempotent() && facts.is_replayable());
///
/// let mut headers = HeaderMap::new();
/// headers.insert("idempotency-key", http::HeaderValue::from_static("order-7"));
/// assert!(RequestFacts::of(&Method::POST, &headers).is_idempotent());
/// ```
///
/// Adapters find them; make them yourself for a [`RetrySession`](crate::policy::RetrySession) of your own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestFacts {
    idempotent: bool,
    by_method: bool,
    replayable: bool,
}

impl RequestFacts {
    /// The facts of a method and headers; assumes that the body can be sent again.
    ///
    /// GET, HEAD, OPTIONS, TRACE, PUT, DELETE and QUERY are idempotent, and so is every request with a non-empty
    /// `idempotency-key` or `x-idempotency-key` header.
    ///
    /// # Source
    ///
    /// RFC 9110 section 9.2.2; RFC 10008 (QUERY); draft-ietf-httpapi-idempotency-key-header.
    #[must_use]
    #[inline]
    pub fn of(method: &Method, headers: &HeaderMap) -> Self {
        Self::by_first_values(method, |name| headers.get(name).map(HeaderValue::as_bytes))
    }

    /// The same, by a function that finds the first value of a header.
    #[inline]
    pub fn by_first_values<'a>(
        method: &Method,
        first_value: impl Fn(&'static str) -> Option<&'a [u8]>,
    ) -> Self {
        let by_method = method.is_idempotent() || method.as_str() == "QUERY";
        let has_key = || {
            IDEMPOTENCY_KEYS
                .into_iter()
                .filter_map(first_value)
                .any(|value| !value.trim_ascii().is_empty())
        };
        Self {
            idempotent: by_method || has_key(),
            by_method,
            replayable: true,
        }
    }

    /// The same facts of a request that may carry a key of the service's own.
    #[must_use]
    pub fn keyed(self, keyed: bool) -> Self {
        let idempotent = self.idempotent || keyed;
        Self { idempotent, ..self }
    }

    /// An operation that is not HTTP: not idempotent unless [`idempotent`](Self::idempotent) says so, and replayable.
    #[must_use]
    pub fn operation() -> Self {
        Self {
            idempotent: false,
            by_method: false,
            replayable: true,
        }
    }

    /// The same facts, but the caller says whether processing twice does no harm, whatever the method and the headers are.
    #[must_use]
    #[inline]
    pub fn idempotent(self, idempotent: bool) -> Self {
        Self { idempotent, ..self }
    }

    /// The same facts, but the caller says whether the body can be sent again. A request whose body cannot is sent once.
    #[must_use]
    #[inline]
    pub fn replayable(self, replayable: bool) -> Self {
        Self { replayable, ..self }
    }

    /// Whether processing the request twice has the effect of processing it once.
    #[must_use]
    #[inline]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Whether its method alone makes it idempotent, and so on every server.
    pub(crate) fn is_idempotent_by_method(&self) -> bool {
        self.idempotent && self.by_method
    }

    /// Whether the request can be sent again, body and all.
    #[must_use]
    #[inline]
    pub fn is_replayable(&self) -> bool {
        self.replayable
    }
}

/// The number and time limit of an attempt. `Runner::run` passes it to the operation;
/// adapters put it into the extensions of every repeated request, for services below.
///
/// A service below can tell a repeated request by it, for example to count it apart. The request of the first attempt has
/// none in its extensions, unless the adapter works `across_tasks`.
///
/// ```
/// use http_retry::Attempt;
///
/// fn is_repeated<B>(request: &http::Request<B>) -> bool {
///     let attempt = request.extensions().get::<Attempt>();
///     attempt.is_some_and(|attempt| attempt.number() > 1)
/// }
/// # assert!(!is_repeated(&http::Request::new(())));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    number: u32,
    limit: Option<Duration>,
}

impl Attempt {
    /// An attempt of this number, the first being 1, that may take so long.
    #[must_use]
    #[inline]
    pub fn new(number: u32, limit: Option<Duration>) -> Self {
        Self { number, limit }
    }

    /// 1 for the first attempt, 2 for the first retry, and so on.
    #[must_use]
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The time limit of this attempt, from its start: the policy's attempt timeout or what is left of the deadline, the
    /// shorter of the two. `None` if neither the policy nor the request sets one.
    #[must_use]
    #[inline]
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }
}

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
