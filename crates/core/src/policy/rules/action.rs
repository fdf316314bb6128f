//! The action of a rule on an outcome, and the response that replaces a request's last outcome.

use crate::policy::RetryPolicy;
use http::{HeaderMap, StatusCode};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The action taken on an outcome. A rule's builder has a method for each ([`RuleBuilder`](super::RuleBuilder)); as a
/// value, [`RetryPolicyBuilder::otherwise`](crate::RetryPolicyBuilder::otherwise) takes it.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::rules::Action;
///
/// // Anything but a success is an error to the caller; nothing is repeated.
/// let policy = RetryPolicy::builder().otherwise(Action::ByOutcome).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Action {
    /// The class of the outcome decides, as without rules. The default.
    #[default]
    Classify,
    /// The caller gets the outcome as it is; unless it is a success, the report says
    /// [`Accepted`](crate::StopReason::Accepted).
    Accept,
    /// The caller gets an error that `RequestFailed` finds; on the tower layer with `unchanged_errors()` it gets the
    /// outcome, since that error type cannot hold it.
    Fail,
    /// Accepts a success, fails anything else.
    ByOutcome,
    /// No more attempts; the caller gets the outcome.
    Stop,
    /// Another attempt, by this policy: its limits, backoff, methods, `retry_on`, `stop_on`, `counter` and
    /// `on_exhausted` apply, and it has no rules of its own. Outcomes are classified by the request's policy, and the
    /// gate is that of the request's policy.
    Retry(RetryPolicy),
    /// Another attempt that does not count as a retry and costs no token: polling. It applies to successes too.
    Wait(Wait),
    /// The next attempt goes to another service. If requests have no services, or not this one, the caller gets the
    /// outcome.
    Failover(Failover),
}

impl Action {
    /// Returns `true` if the action itself may lead to another attempt.
    pub(crate) fn sends_again(&self) -> bool {
        matches!(self, Self::Retry(_) | Self::Wait(_) | Self::Failover(_))
    }

    /// Returns `true` if `retry_on` and `stop_on` decide along with the action.
    pub(in crate::policy) fn follows_lists(&self) -> bool {
        matches!(self, Self::Classify | Self::Retry(_))
    }
}

/// The waits of a rule for a response that is not ready yet: the delay before each attempt, their number, and their
/// total time.
///
/// ```
/// use http_retry::rules::Wait;
/// use std::time::Duration;
///
/// let poll = Wait::new().delay(Duration::from_secs(5)).at_most(60);
/// ```
///
/// The request stops with [`WaitsExhausted`](crate::StopReason::WaitsExhausted) when the limit is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Wait {
    pub(crate) delay: Option<Duration>,
    pub(crate) at_most: Option<u32>,
    pub(crate) max: Option<Duration>,
}

impl Wait {
    /// Creates a wait of the time that the server asks for if that is 100 ms or more, else of the policy's backoff, at
    /// least 100 ms. It needs a limit: [`at_most`](Self::at_most), [`max`](Self::max) or a deadline of the policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the delay before each attempt, above 0; it is longer if the server asks for more. Default the time that the
    /// server asks for, else the backoff; neither is less than 100 ms.
    pub fn delay(self, delay: Duration) -> Self {
        Self {
            delay: Some(delay),
            ..self
        }
    }

    /// Sets the maximum number of waits, at least 1; an attempt follows each. Default no limit.
    pub fn at_most(self, times: u32) -> Self {
        Self {
            at_most: Some(times),
            ..self
        }
    }

    /// Sets the maximum total time, from the first such outcome to the start of the last attempt. A wait that would
    /// exceed it is not begun. Default no limit.
    pub fn max(self, max: Duration) -> Self {
        Self {
            max: Some(max),
            ..self
        }
    }

    /// Returns `true` if it has a limit of its own; without one, a deadline must end it.
    pub(crate) fn ends(&self) -> bool {
        self.at_most.is_some() || self.max.is_some()
    }
}

/// Another service that takes over a request: at the same path below its base URL, by its policy, rules and budget,
/// with retries counted from 0. The deadline stays.
///
/// ```
/// use http_retry::rules::{Failover, OnExhausted};
/// use http_retry::RetryPolicy;
///
/// // Once retries are used up, the request goes to the service "backup".
/// let policy = RetryPolicy::builder()
///     .on_exhausted(OnExhausted::failover(Failover::to("backup")))
///     .build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
///
/// Another server gets no credentials of the first and does not know its idempotency keys: a request that may have been
/// processed fails over only if its method or [`Methods::All`](crate::Methods) allows it, unless
/// [`same_keys`](Self::same_keys) is set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failover {
    /// The service's name.
    pub service: Arc<str>,
    /// `true` if a repeated request that one of the two servers recognizes is recognized by the other too.
    pub same_keys: bool,
}

impl Failover {
    /// Creates a failover to the service of this name, in the same `Services` or the same
    /// document. The request goes there at once, without a wait, and costs no token.
    #[must_use]
    pub fn to(service: impl Into<Arc<str>>) -> Self {
        Self {
            service: service.into(),
            same_keys: false,
        }
    }

    /// Declares that both services recognize repeated requests together, so that an idempotency key (or
    /// [`RetryOverride::idempotent`](crate::RetryOverride::idempotent)) that the first knows holds at the second.
    #[must_use]
    pub fn same_keys(self) -> Self {
        Self {
            same_keys: true,
            ..self
        }
    }
}

/// A response that no server has sent, which replaces the last outcome for the caller by
/// [`OnExhausted::Respond`](super::OnExhausted::Respond). [`check`](Self::check) tells what it may not be.
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
