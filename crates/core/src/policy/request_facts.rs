//! The facts about a request that a decision depends on.

use http::{HeaderMap, HeaderValue, Method};
use std::time::Duration;

const IDEMPOTENCY_KEYS: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

/// The facts about a request that a decision depends on: if it may be processed twice, and if it can be sent twice.
///
/// ```
/// use http::{HeaderMap, Method};
/// use http_retry::RequestFacts;
///
/// let facts = RequestFacts::of(&Method::POST, &HeaderMap::new());
/// assert!(!facts.idempotent && facts.replayable);
///
/// let mut headers = HeaderMap::new();
/// headers.insert("idempotency-key", http::HeaderValue::from_static("order-7"));
/// assert!(RequestFacts::of(&Method::POST, &headers).idempotent);
/// ```
///
/// Adapters derive them; create them yourself for a [`RetrySession`](crate::policy::RetrySession) of your own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestFacts {
    /// `true` if processing the request twice has the effect of processing it once.
    pub idempotent: bool,
    /// `true` if the method makes the request idempotent, and so on every server.
    by_method: bool,
    /// `true` if the request can be sent again, body and all; if not, it is sent once.
    pub replayable: bool,
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
        Self {
            // Only the methods that need a key are searched for one.
            idempotent: by_method || has_idempotency_key(first_value),
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

    /// Returns `true` if the method alone makes the request idempotent, and so on every server.
    pub(crate) fn is_idempotent_by_method(&self) -> bool {
        self.idempotent && self.by_method
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
///     attempt.is_some_and(|attempt| attempt.number > 1)
/// }
/// # assert!(!is_repeated(&http::Request::new(())));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// The number: 1 for the first attempt, 2 for the first retry, and so on.
    pub number: u32,
    /// The time limit of this attempt, from its start: the shorter of the policy's attempt timeout and the rest of the
    /// deadline. `None` if neither the policy nor the request sets one.
    pub limit: Option<Duration>,
}

impl Attempt {
    /// Creates an attempt with this number, the first being 1, and this time limit.
    #[must_use]
    #[inline]
    pub(crate) fn new(number: u32, limit: Option<Duration>) -> Self {
        Self { number, limit }
    }
}

/// Returns `true` if a request has an idempotency key in a usual header, whose first value a function finds.
pub(crate) fn has_idempotency_key<'a>(
    first_value: impl Fn(&'static str) -> Option<&'a [u8]>,
) -> bool {
    let values = IDEMPOTENCY_KEYS.into_iter().filter_map(first_value);
    let mut keys = values.map(<[u8]>::trim_ascii);
    keys.any(|key| !key.is_empty())
}
