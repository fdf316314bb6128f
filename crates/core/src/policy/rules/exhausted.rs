//! What becomes of a request that has no retries left.

use super::action::Failover;
use crate::policy::CannedResponse;
use http::HeaderMap;
use std::sync::Arc;

/// What becomes of a request that was worth another attempt, and has none left: by the limit of retries or of waits, the
/// deadline, the budget, or a server that asks for too long a wait. An answer that no retry would have changed, such as a
/// 404, is the caller's as it is.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::RetryPolicy;
/// use http_retry::rules::{CannedResponse, Failover, OnExhausted};
///
/// let told = CannedResponse::new(StatusCode::SERVICE_UNAVAILABLE).body("try again later");
/// let mut key = HeaderMap::new();
/// key.insert("authorization", HeaderValue::from_static("Bearer of-the-backup"));
/// for then in [
///     OnExhausted::Fail,
///     OnExhausted::Respond(told),
///     OnExhausted::failover_with(Failover::to("backup"), key),
///     OnExhausted::dead_letter("audit"),
/// ] {
///     let policy = RetryPolicy::user_facing().to_builder().on_exhausted(then).build()?;
/// }
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnExhausted {
    /// The caller gets the last outcome. The default.
    #[default]
    Last,
    /// The caller gets an error that `RequestFailed` finds; on the tower layer with
    /// `unchanged_errors()` the last outcome.
    Fail,
    /// The caller gets this response.
    Respond(CannedResponse),
    /// The request goes to another service, with these headers there.
    #[non_exhaustive]
    Failover {
        /// Where it goes.
        to: Failover,
        /// The headers that it has there.
        set: Option<Arc<HeaderMap>>,
    },
    /// An observer gets the request's head and the report, and the caller the last outcome.
    #[non_exhaustive]
    DeadLetter {
        /// The observer's name.
        name: Arc<str>,
    },
}

impl OnExhausted {
    /// The request goes to another service, as [`Failover`] says.
    #[must_use]
    pub fn failover(to: Failover) -> Self {
        Self::Failover { to, set: None }
    }

    /// The request goes to another service, where it has these headers in the place of its own of the same names: another
    /// server's credentials, for example. They are never shown.
    #[must_use]
    pub fn failover_with(to: Failover, headers: impl Into<Arc<HeaderMap>>) -> Self {
        let set = Some(headers.into()).filter(|headers| !headers.is_empty());
        Self::Failover { to, set }
    }

    /// The observer of this name gets the request's head and the report. Without such an observer
    /// ([`ServicesBuilder::dead_letters`](crate::services::ServicesBuilder::dead_letters)) it is
    /// [`Last`](Self::Last).
    #[must_use]
    pub fn dead_letter(name: impl Into<Arc<str>>) -> Self {
        Self::DeadLetter { name: name.into() }
    }
}
