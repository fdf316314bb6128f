//! What a session decides: a plan that is still to be paid for, or a reason to stop.

use super::rewrite::RewriteBody;
use super::rules::DecidedBy;
use http::HeaderMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A retry that is planned and not yet paid for.
///
/// Its delay is hidden: a budget turns the plan into one ([`RetryBudget::withdraw`](crate::RetryBudget::withdraw)), so
/// that no retry goes past it. A plan that is dropped leaves no trace. [`RetrySession`](super::RetrySession) shows the whole
/// way of one.
#[must_use]
pub struct RetryPlan {
    pub(crate) by: DecidedBy,
    /// What the session has counted once this is applied.
    pub(super) after: SessionCounts,
    pub(crate) delay: Duration,
    pub(crate) source: DelaySource,
    pub(crate) cost: Cost,
    additions: Option<Box<Additions>>,
}

/// What rules and a rewrite add to a plan. Most plans have nothing of it, and are the smaller for that.
#[derive(Default)]
pub(super) struct Additions {
    /// What the session has counted of the rule once the plan is applied.
    pub(super) tally: Option<RuleCounters>,
    pub(super) set: Option<Arc<HeaderMap>>,
    pub(super) failover: Option<Arc<str>>,
    pub(super) budget: Option<Arc<str>>,
    pub(super) rewrite: Option<RewriteBody>,
}

impl fmt::Debug for RetryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPlan")
            .field("retry", &self.retry())
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl RetryPlan {
    pub(super) fn new(
        by: DecidedBy,
        after: SessionCounts,
        (delay, source): (Duration, DelaySource),
        cost: Cost,
    ) -> Self {
        Self {
            by,
            after,
            delay,
            source,
            cost,
            additions: None,
        }
    }

    pub(super) fn add(&mut self) -> &mut Additions {
        self.additions.get_or_insert_default()
    }

    pub(super) fn tally(&self) -> Option<RuleCounters> {
        self.additions.as_ref()?.tally
    }

    /// Returns the headers that the request has from now on, in the place of those of the same names; `None` if none change.
    #[must_use]
    pub fn set(&self) -> Option<&Arc<HeaderMap>> {
        self.additions.as_ref()?.set.as_ref()
    }

    /// Returns the name of the service that the request goes to from now on; `None` if it stays.
    #[must_use]
    pub fn failover(&self) -> Option<&Arc<str>> {
        self.additions.as_ref()?.failover.as_ref()
    }

    /// Returns the name of the budget that pays; `None` for the service's own.
    #[must_use]
    pub fn budget(&self) -> Option<&Arc<str>> {
        self.additions.as_ref()?.budget.as_ref()
    }

    /// Returns how the request's body must change first; `None` if it stays.
    #[must_use]
    pub fn rewrite(&self) -> Option<&RewriteBody> {
        self.additions.as_ref()?.rewrite.as_ref()
    }

    /// Which retry this is: 1, 2, and so on. Waits of rules and refused attempts count here too.
    #[must_use]
    pub fn retry(&self) -> u32 {
        self.after.resends
    }

    /// Who set the delay: the policy, the server by asking for a longer one, or the gate.
    #[must_use]
    pub fn source(&self) -> DelaySource {
        self.source
    }
}

/// What a request has done so far; a plan holds what it will have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SessionCounts {
    /// All attempts but the first, waits included.
    pub(super) resends: u32,
    pub(super) retries: u32,
    /// The last delay of its own accord.
    pub(super) previous: Duration,
    /// How long it has waited at the gate.
    pub(super) gate_waited: Duration,
    /// The refused attempts that were followed by another and counted apart from the retries.
    pub(super) refusals: u32,
    /// A server may have processed one of the attempts that were followed by another.
    pub(super) in_doubt: bool,
}

/// What a request has done so far by one rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RuleCounters {
    pub(super) retries: u32,
    pub(super) waits: u32,
    /// When it waited first.
    pub(super) since: Option<Duration>,
}

/// The end of a request, and what says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) why: StopReason,
    pub(crate) by: DecidedBy,
    /// Whether the outcome was worth another attempt, had there been one left.
    pub(crate) worth_another: bool,
}

/// Which of a budget's prices a retry has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    Nothing,
    Retry,
    Timeout,
    /// The call waits at the gate.
    Gated,
}

/// Who set a delay: of a plan ([`RetryPlan::source`]), and of a wait in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DelaySource {
    /// The policy's own backoff, or the delay of a rule's wait.
    Own,
    /// The server asked for longer than that. Up to a fifth of it, at most 10 s, is added at random.
    Server,
    /// A rate limit that all callers of the service wait for together; no spread is added, since the gate itself spreads
    /// those who come from it.
    Gate,
}

impl DelaySource {
    /// Every source, in the order of the declaration: for a test or a dashboard that must know each.
    pub const ALL: &'static [Self] = &[Self::Own, Self::Server, Self::Gate];
}

impl DelaySource {
    /// A stable name, for metric labels: `own`, `server`, `gate`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Server => "server",
            Self::Gate => "gate",
        }
    }
}

impl fmt::Display for DelaySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

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
