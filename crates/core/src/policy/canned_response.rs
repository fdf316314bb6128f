//! A response in place of a request's last outcome.

use http::{HeaderMap, StatusCode};
use std::fmt;
use std::sync::Arc;

/// A response that no server has sent, which replaces the last outcome for the caller by
/// [`OnExhausted::Respond`](super::rules::OnExhausted::Respond).
///
/// ```
/// use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
/// use http_retry::RetryPolicy;
/// use http_retry::rules::{CannedResponse, OnExhausted};
///
/// let json = HeaderValue::from_static("application/json");
/// let later = CannedResponse::new(StatusCode::SERVICE_UNAVAILABLE)
///     .headers(HeaderMap::from_iter([(http::header::CONTENT_TYPE, json)]))
///     .body(r#"{"error": "try again later"}"#);
/// let policy = RetryPolicy::user_facing()
///     .to_builder()
///     .on_exhausted(OnExhausted::Respond(later))
///     .build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct CannedResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: Arc<HeaderMap>,
    /// Its body.
    pub body: Arc<str>,
}

impl CannedResponse {
    /// Creates a response with this status, without headers and with an empty body.
    pub fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: Arc::default(),
            body: "".into(),
        }
    }

    /// Sets the headers, replacing earlier ones. Default none; no `content-type` is added.
    pub fn headers(self, headers: impl Into<Arc<HeaderMap>>) -> Self {
        Self {
            headers: headers.into(),
            ..self
        }
    }

    /// Sets the body, as text. Default empty.
    pub fn body(self, body: impl Into<Arc<str>>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
    }
}

/// Omits headers and body, which may hold a secret.
impl fmt::Debug for CannedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CannedResponse")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
