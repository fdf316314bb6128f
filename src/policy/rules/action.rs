//! What a rule does about an outcome.

use crate::policy::RetryPolicy;
use std::sync::Arc;
use std::time::Duration;

/// What is done about an outcome.
#[derive(Debug, Clone, Default)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "documents make it")
)]
pub(crate) enum Action {
    /// The class of the outcome decides.
    #[default]
    Classify,
    /// The caller gets the outcome as it is.
    Accept,
    /// The caller gets an error.
    Fail,
    /// Accept a success, fail anything else.
    ByOutcome,
    /// No more attempts.
    Stop,
    /// Another attempt, by a policy whose own rules do not count.
    Retry(RetryPolicy),
    /// Another attempt that counts as no retry.
    Wait(Wait),
    /// The next attempt goes to another service.
    Failover(Failover),
}

impl Action {
    /// Whether it may lead to another attempt by its own word.
    #[cfg(feature = "serde")]
    pub(crate) fn sends_again(&self) -> bool {
        matches!(self, Self::Retry(_) | Self::Wait(_) | Self::Failover(_))
    }
}

/// How a rule waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Before each attempt; else as long as the server asks, else the policy's backoff.
    pub(crate) delay: Option<Duration>,
    /// How often.
    pub(crate) at_most: Option<u32>,
    /// How long in all, from the first such outcome to the last attempt.
    pub(crate) max: Option<Duration>,
}

/// Another service that a request goes on at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failover {
    pub(crate) service: Arc<str>,
    /// What makes a request the same to one of the two servers makes it the same to the other.
    pub(crate) same_keys: bool,
}
