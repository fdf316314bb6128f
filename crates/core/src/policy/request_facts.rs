//! The facts about a request that a decision depends on.

use crate::normal_form::{matches_path, normal_authority, normal_path};
use http::{HeaderMap, HeaderValue, Method};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const IDEMPOTENCY_KEYS: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

/// The facts about a request that a decision depends on: if it may be processed twice, and if it can be sent twice.
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
/// Adapters derive them; create them yourself for a [`RetrySession`](crate::policy::RetrySession) of your own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestFacts {
    idempotent: bool,
    by_method: bool,
    replayable: bool,
}

impl RequestFacts {
    /// Returns the facts of a method and headers, on the assumption that the body can be sent again.
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

    /// Returns the facts of a method and of headers whose first values a function finds.
    #[inline]
    pub(crate) fn by_first_values<'a>(
        method: &Method,
        first_value: impl Fn(&'static str) -> Option<&'a [u8]>,
    ) -> Self {
        let by_method = method.is_idempotent() || method.as_str() == "QUERY";
        // Evaluated only for the methods that need a key.
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

    /// Returns these facts for a request that may carry an idempotency key in a header of the service's own.
    #[must_use]
    pub(crate) fn keyed(self, keyed: bool) -> Self {
        let idempotent = self.idempotent || keyed;
        Self { idempotent, ..self }
    }

    /// Returns the facts of an operation that is not HTTP: not idempotent unless [`idempotent`](Self::idempotent) says
    /// so, and replayable.
    #[must_use]
    pub fn operation() -> Self {
        Self {
            idempotent: false,
            by_method: false,
            replayable: true,
        }
    }

    /// Returns these facts with idempotence set by the caller, whatever the method and the headers are.
    #[must_use]
    #[inline]
    pub fn idempotent(self, idempotent: bool) -> Self {
        Self { idempotent, ..self }
    }

    /// Returns these facts with the replayability of the body: a request whose body cannot be sent again is sent once.
    #[must_use]
    #[inline]
    pub fn replayable(self, replayable: bool) -> Self {
        Self { replayable, ..self }
    }

    /// Returns `true` if processing the request twice has the effect of processing it once.
    #[must_use]
    #[inline]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Returns `true` if the method alone makes the request idempotent, and so on every server.
    pub(crate) fn is_idempotent_by_method(&self) -> bool {
        self.idempotent && self.by_method
    }

    /// Returns `true` if the request can be sent again, body and all.
    #[must_use]
    #[inline]
    pub fn is_replayable(&self) -> bool {
        self.replayable
    }
}

/// The number and time limit of an attempt. `Runner::run` passes it to the operation; adapters put it into the
/// extensions of every repeated request, for inner services.
///
/// An inner service can recognize a repeated request by it, for example to count it separately. The request of the
/// first attempt has none in its extensions, unless the adapter works `across_tasks`.
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
    /// Creates an attempt with this number, the first being 1, and this time limit.
    #[must_use]
    #[inline]
    pub(crate) fn new(number: u32, limit: Option<Duration>) -> Self {
        Self { number, limit }
    }

    /// Returns the number: 1 for the first attempt, 2 for the first retry, and so on.
    #[must_use]
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the time limit of this attempt, from its start: the shorter of the policy's attempt timeout and the rest
    /// of the deadline. `None` if neither the policy nor the request sets one.
    #[must_use]
    #[inline]
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }
}

/// The request that an outcome belongs to, as a classifier sees it: its method, its destination, and if it carries an
/// idempotency key. Host and path are in their normal form, so that another spelling of a URI is the same destination:
/// `//v1/%70ay` is `/v1/pay`. It never holds a query, and `Debug` does not show the path: both may hold a secret.
///
/// ```
/// use http::{HeaderMap, Method};
/// use http_retry::policy::RequestLine;
///
/// let request = RequestLine::new(&Method::GET, "API.example.", "//orders?page=2", &HeaderMap::new());
/// assert_eq!((request.host(), request.path()), ("api.example", "/orders"));
/// ```
#[derive(Clone)]
pub struct RequestLine {
    method: Method,
    authority: Arc<str>,
    path: Box<str>,
    keyed: bool,
}

impl RequestLine {
    /// Creates a request line of this method to this host and port, at this path; a query and a fragment are left out.
    /// The only headers that it reads are the idempotency keys, as in [`RequestFacts::of`].
    #[must_use]
    pub fn new(method: &Method, authority: &str, path: &str, headers: &HeaderMap) -> Self {
        // A POST is idempotent by its key alone, so these facts tell if there is one.
        let by_key = RequestFacts::of(&Method::POST, headers);
        Self::of(method, authority.into(), path, by_key)
    }

    /// Creates a request line, given the facts of a POST with the request's headers.
    #[must_use]
    pub(crate) fn of(
        method: &Method,
        authority: Arc<str>,
        path: &str,
        by_key: RequestFacts,
    ) -> Self {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let normal = match normal_authority(&authority, None) {
            Cow::Borrowed(normal) if normal.len() == authority.len() => None,
            normal => Some(normal.into()),
        };
        Self {
            method: method.clone(),
            authority: normal.unwrap_or(authority),
            path: normal_path(path).into(),
            keyed: by_key.is_idempotent(),
        }
    }

    /// Returns this request line for a request that may carry an idempotency key in a header of the service's own.
    #[must_use]
    pub(crate) fn keyed(self, keyed: bool) -> Self {
        let keyed = self.keyed || keyed;
        Self { keyed, ..self }
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Returns the host and port, or an empty string if they are not known.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the host without its port, or an empty string if it is not known.
    #[must_use]
    pub fn host(&self) -> &str {
        without_port(&self.authority)
    }

    /// Returns `true` if the request goes to this host: `api.example.com`, or `*.example.com` for the hosts below it.
    /// Case and port are ignored.
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
        is_host_like(host.strip_suffix('.').unwrap_or(host), self.host())
    }

    /// Returns the path, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns `true` if the path matches a pattern in the form that
    /// [`path_pattern`](crate::settings::path_pattern) gives. A final slash of the path does not matter, and `/v1/*` also
    /// matches `/v1`.
    #[must_use]
    pub fn has_path(&self, pattern: &str) -> bool {
        matches_path(pattern, &self.path)
    }

    /// Returns `true` if the request carries an idempotency key: in `idempotency-key`, `x-idempotency-key`, or the
    /// header of the policy's dialect for it.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.keyed
    }
}

/// Returns an authority without its port, if it has one.
pub(crate) fn without_port(authority: &str) -> &str {
    // In an IPv6 address without a port, `[::1]`, the last colon is not followed by digits alone.
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
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
impl fmt::Debug for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestLine")
            .field("method", &self.method)
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}
