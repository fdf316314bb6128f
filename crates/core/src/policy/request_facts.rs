//! What a decision needs to know about a request.

use http::{HeaderMap, HeaderValue, Method};

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
