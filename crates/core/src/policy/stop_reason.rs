//! Why a request is not sent again.

use std::fmt;

/// Why there was no further attempt. Whatever the reason, the caller gets the last real outcome, unchanged, unless a rule or
/// `on_exhausted` puts another in its place.
///
/// The checks come in this order, and the first that refuses is the reason: limit, class, body, idempotence, server delay,
/// deadline, budget.
///
/// ```
/// use http_retry::StopReason;
///
/// let why = StopReason::BudgetExhausted;
/// assert_eq!(why.as_str(), "budget_exhausted");
/// assert!(why.explain().starts_with("The retry budget is spent"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The request succeeded.
    Succeeded,
    /// The limit of attempts is reached ([`max_retries`](crate::RetryPolicyBuilder::max_retries)).
    AttemptsExhausted,
    /// The outcome is one that repeating cannot help.
    NotRetryable,
    /// The request's body cannot be sent a second time.
    BodyNotReplayable,
    /// The request may have been processed, and processing it twice could do harm.
    NotIdempotent,
    /// The answer or error says that the request was not processed, but the client may have followed a redirect before
    /// it, so it may be about a later request.
    RedirectsUnknown,
    /// The server asks for a longer wait than the policy's `max_server_delay`.
    ServerDelayTooLong,
    /// The next attempt would start at the deadline or after it. If that is known beforehand, the request ends without the
    /// wait.
    DeadlineExceeded,
    /// The shared budget of retries is spent: too much fails for retries to help.
    BudgetExhausted,
    /// The inner service was not ready for the retry.
    NotReady,
    /// Retries are off: by the policy [`RetryPolicy::never`](crate::RetryPolicy::never), or by the request.
    Disabled,
    /// Another retry layer further out repeats this request.
    Nested,
    /// A rule says that the answer is to be handed over as it is, though it is not a success.
    Accepted,
    /// A rule says that this outcome is a failure.
    Failed,
    /// A rule says that there are to be no more attempts.
    Stopped,
    /// A rule has waited as often or as long as it may.
    WaitsExhausted,
}

impl StopReason {
    /// Every reason, in the order of the declaration: for a test or a dashboard that must know each.
    pub const ALL: &'static [Self] = &[
        Self::Succeeded,
        Self::AttemptsExhausted,
        Self::NotRetryable,
        Self::BodyNotReplayable,
        Self::NotIdempotent,
        Self::RedirectsUnknown,
        Self::ServerDelayTooLong,
        Self::DeadlineExceeded,
        Self::BudgetExhausted,
        Self::NotReady,
        Self::Disabled,
        Self::Nested,
        Self::Accepted,
        Self::Failed,
        Self::Stopped,
        Self::WaitsExhausted,
    ];

    /// A stable name, for metric labels, such as `attempts_exhausted`: the variant's name in snake case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::NotRetryable => "not_retryable",
            Self::BodyNotReplayable => "body_not_replayable",
            Self::NotIdempotent => "not_idempotent",
            Self::RedirectsUnknown => "redirects_unknown",
            Self::ServerDelayTooLong => "server_delay_too_long",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::BudgetExhausted => "budget_exhausted",
            Self::NotReady => "not_ready",
            Self::Disabled => "disabled",
            Self::Nested => "nested",
            Self::Accepted => "accepted",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::WaitsExhausted => "waits_exhausted",
        }
    }

    /// The same as a sentence, with what can be done about it.
    #[must_use]
    pub fn explain(self) -> &'static str {
        match self {
            Self::Succeeded => "The request succeeded.",
            Self::AttemptsExhausted => "The limit of attempts is reached (max_retries).",
            Self::NotRetryable => {
                "Repeating this request cannot help, as far as the policy knows (classify, classify_error)."
            }
            Self::BodyNotReplayable => {
                "The body cannot be sent twice. A body of text or bytes can (String, Full), and so can a recorded \
                 stream (record_body, or reqwest's) that is no longer than replay_limit and was read to its end."
            }
            Self::NotIdempotent => {
                "The server may have processed the request already; an Idempotency-Key header or \
                 RetryOverride::idempotent says that twice does no harm, for another server only with same_keys."
            }
            Self::RedirectsUnknown => {
                "The client may have followed a redirect, and the server have processed the request before it: give the \
                 client http_retry::reqwest::redirect_policy and say redirects_watched() to the retry layer, or \
                 redirects_off() where it follows none."
            }
            Self::ServerDelayTooLong => {
                "The server asks for a longer wait than the policy allows (max_server_delay)."
            }
            Self::DeadlineExceeded => {
                "The deadline has passed, or the next attempt would start after it (deadline)."
            }
            Self::BudgetExhausted => {
                "The retry budget is spent: too much fails for retries to help (RetryBudget)."
            }
            Self::NotReady => "The inner service was not ready for the retry.",
            Self::Disabled => "Retries are off (RetryPolicy::never, RetryOverride::off).",
            Self::Nested => "A retry layer further out repeats this request.",
            Self::Accepted => "A rule accepts this answer as it is (do: accept).",
            Self::Failed => "A rule calls this outcome a failure (do: fail).",
            Self::Stopped => "A rule ends the attempts here (do: stop).",
            Self::WaitsExhausted => {
                "A rule has waited as often or as long as it may (wait: at_most, max)."
            }
        }
    }

    /// Whether the request was worth another attempt, which some limit forbids.
    #[must_use]
    pub fn is_exhausted(self) -> bool {
        matches!(
            self,
            Self::AttemptsExhausted
                | Self::ServerDelayTooLong
                | Self::DeadlineExceeded
                | Self::BudgetExhausted
                | Self::WaitsExhausted
        )
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
