//! What a rule does about an outcome.

use crate::policy::RetryPolicy;
use std::sync::Arc;
use std::time::Duration;

/// What is done about an outcome. A rule's builder has a method for each ([`RuleBuilder`](super::RuleBuilder)); as a value it
/// is what [`RetryPolicyBuilder::otherwise`](crate::RetryPolicyBuilder::otherwise) takes.
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
    /// The class of the outcome decides, as where there are no rules. The default.
    #[default]
    Classify,
    /// The caller gets the outcome as it is; unless it is a success, the report says
    /// [`Accepted`](crate::StopReason::Accepted).
    Accept,
    /// The caller gets an error that `RequestFailed` finds; on the tower layer with
    /// `unchanged_errors()` the outcome, since that error type cannot hold it.
    Fail,
    /// Accepts a success, fails anything else.
    ByOutcome,
    /// No more attempts; the caller gets the outcome.
    Stop,
    /// Another attempt, by this policy: its limits, backoff, methods, `retry_on`, `stop_on`, `counter` and
    /// `on_exhausted` hold, and it has no rules of its own. Outcomes are classified by the request's policy, and the gate
    /// is that of the request's policy.
    Retry(RetryPolicy),
    /// Another attempt that counts as no retry and costs no token: polling. It holds for successes too.
    Wait(Wait),
    /// The next attempt goes to another service. Where requests have no services, or not this one, the caller gets the
    /// outcome.
    Failover(Failover),
}

impl Action {
    /// Whether it may lead to another attempt by its own word.
    pub(crate) fn sends_again(&self) -> bool {
        matches!(self, Self::Retry(_) | Self::Wait(_) | Self::Failover(_))
    }
}

/// How a rule waits for an answer that is not ready yet: how long before each attempt, how often, and how long in all.
///
/// ```
/// use http_retry::rules::Wait;
/// use std::time::Duration;
///
/// let poll = Wait::new().delay(Duration::from_secs(5)).at_most(60);
/// ```
///
/// Where its end is reached, the request stops with [`WaitsExhausted`](crate::StopReason::WaitsExhausted).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Wait {
    pub(crate) delay: Option<Duration>,
    pub(crate) at_most: Option<u32>,
    pub(crate) max: Option<Duration>,
}

impl Wait {
    /// Waits as long as the server asks, else as long as the policy's backoff says. It needs an end:
    /// [`at_most`](Self::at_most), [`max`](Self::max) or a deadline of the policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long to wait before each attempt, above 0; longer where the server asks for more. Default as long as the server
    /// asks, else as long as the backoff says.
    pub fn delay(self, delay: Duration) -> Self {
        Self {
            delay: Some(delay),
            ..self
        }
    }

    /// How often to wait, at least once; each wait is followed by an attempt. Default any number of times.
    pub fn at_most(self, times: u32) -> Self {
        Self {
            at_most: Some(times),
            ..self
        }
    }

    /// How long to wait in all, from the first such outcome to the start of the last attempt. A wait that would go past it is
    /// not begun. Default any time.
    pub fn max(self, max: Duration) -> Self {
        Self {
            max: Some(max),
            ..self
        }
    }

    /// Whether it has an end of its own; else a deadline must be its end.
    pub(crate) fn ends(&self) -> bool {
        self.at_most.is_some() || self.max.is_some()
    }
}

/// Another service that a request goes on at: to the same path below its base URL, by its policy, rules and budget, with
/// retries counted from 0. The deadline stays.
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
/// processed fails over only by its method or [`Methods::All`](crate::Methods), unless
/// [`same_keys`](Self::same_keys) is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failover {
    pub(crate) service: Arc<str>,
    /// What makes a request the same to one of the two servers makes it the same to the other.
    pub(crate) same_keys: bool,
}

impl Failover {
    /// To the service of this name, of the same [`Services`](crate::services::Services) or of the same document. It goes there
    /// at once, without a wait, and costs no token.
    #[must_use]
    pub fn to(service: impl Into<Arc<str>>) -> Self {
        Self {
            service: service.into(),
            same_keys: false,
        }
    }

    /// Both services tell a repeated request from a new one together, so that an idempotency key (or
    /// [`RetryOverride::idempotent`](crate::RetryOverride::idempotent)) that the first knows holds at the second.
    #[must_use]
    pub fn same_keys(self) -> Self {
        Self {
            same_keys: true,
            ..self
        }
    }

    /// The service's name.
    #[must_use]
    pub fn service(&self) -> &str {
        &self.service
    }
}
