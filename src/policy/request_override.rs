//! What one request says for itself.

use std::sync::Arc;
use std::time::Duration;

/// One request's own settings, in front of the policy's; put into the request's extensions.
///
/// With tower and hyper these are the extensions of `http::Request`; with reqwest-middleware, the map filled by
/// `RequestBuilder::with_extension` or handed to `execute_with_extensions`. A bare `reqwest::Request` keeps its
/// extensions private, so there the policy alone decides.
///
/// ```
/// use http_retry::RetryOverride;
/// use std::time::Duration;
///
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(
///     RetryOverride::new()
///         .max_retries(1)
///         .deadline(Duration::from_secs(3))
///         .service("payments"),
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetryOverride {
    pub(crate) off: bool,
    pub(crate) max_retries: Option<u32>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) service: Option<Arc<str>>,
    pub(crate) even_if_nested: bool,
}

impl RetryOverride {
    /// Settings that change nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No retries for this request.
    #[must_use]
    pub fn off() -> Self {
        Self {
            off: true,
            ..Self::default()
        }
    }

    /// How many retries may follow the first attempt; 0 means one attempt.
    #[must_use]
    pub fn max_retries(self, max_retries: u32) -> Self {
        Self {
            max_retries: Some(max_retries),
            ..self
        }
    }

    /// Whether processing this request twice does no more harm than once, whatever its method.
    ///
    /// It is a word about the server that is called, as an idempotency key is: a failover to another server, which
    /// documents know, relies on it only with `same_keys`.
    #[must_use]
    pub fn idempotent(self, idempotent: bool) -> Self {
        Self {
            idempotent: Some(idempotent),
            ..self
        }
    }

    /// How long the whole request may take, from the start of its first attempt, waits included. It may be longer than
    /// the policy's; 0 means that the time is over already: the first attempt is sent with none left, and none follows.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }

    /// The service that this request counts for, instead of its host: it chooses the budget and names the events. With a
    /// document, it chooses the service there before any match; a name that the document does not have is told in
    /// [`RetryReport::unknown_service`](crate::RetryReport::unknown_service).
    #[must_use]
    pub fn service(self, name: impl Into<Arc<str>>) -> Self {
        Self {
            service: Some(name.into()),
            ..self
        }
    }

    /// Retries even inside another retry layer, where attempts multiply.
    #[must_use]
    pub fn even_if_nested(self) -> Self {
        Self {
            even_if_nested: true,
            ..self
        }
    }
}
