//! The decisions of a session: a plan that is still to be paid for, or a reason to stop; and the reasons for not
//! resuming a download.

use super::bodies::RewriteBody;
use super::rules::DecidedBy;
use super::verdict::RowId;
use crate::named::named;
use http::HeaderMap;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A retry that is planned and not yet paid for.
///
/// Its delay is hidden: only a budget reveals it ([`RetryBudget::withdraw`](crate::RetryBudget::withdraw)), so that no
/// retry bypasses the budget. A plan that is dropped leaves no trace. [`RetrySession`](super::RetrySession) has a
/// complete example.
#[must_use]
pub struct RetryPlan {
    pub(crate) by: DecidedBy,
    /// The session's counts once the plan is applied.
    pub(super) after: SessionCounts,
    pub(crate) delay: Duration,
    pub(crate) source: DelaySource,
    pub(crate) cost: Cost,
    /// The start of the request in nanoseconds, on the clock of the session.
    pub(crate) started: u64,
    additions: Option<Box<Additions>>,
}

/// The additions of rules and a rewrite to a plan. Most plans have none, and stay smaller without them.
#[derive(Default)]
pub(super) struct Additions {
    /// The rule's counters once the plan is applied.
    pub(super) counters: Option<RuleCounters>,
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
        started: Duration,
    ) -> Self {
        Self {
            by,
            after,
            delay,
            source,
            cost,
            started: u64::try_from(started.as_nanos()).unwrap_or(u64::MAX),
            additions: None,
        }
    }

    pub(super) fn add(&mut self) -> &mut Additions {
        self.additions.get_or_insert_default()
    }

    pub(super) fn counters(&self) -> Option<RuleCounters> {
        self.additions.as_ref()?.counters
    }

    /// Returns the headers that the request has from now on, replacing those of the same names, or `None` if none
    /// change.
    #[must_use]
    pub(crate) fn set(&self) -> Option<&Arc<HeaderMap>> {
        self.additions.as_ref()?.set.as_ref()
    }

    /// Returns the name of the service that the request goes to from now on, or `None` if it stays.
    #[must_use]
    pub(crate) fn failover(&self) -> Option<&Arc<str>> {
        self.additions.as_ref()?.failover.as_ref()
    }

    /// Returns the name of the budget that pays, or `None` for the service's own.
    #[must_use]
    pub(crate) fn budget(&self) -> Option<&Arc<str>> {
        self.additions.as_ref()?.budget.as_ref()
    }

    /// Returns the change that the request's body needs first, or `None` if it stays.
    #[must_use]
    pub(crate) fn rewrite(&self) -> Option<&RewriteBody> {
        self.additions.as_ref()?.rewrite.as_ref()
    }

    /// Returns the number of this retry: 1, 2, and so on. Waits of rules and refused attempts count here too.
    #[must_use]
    pub(crate) fn retry(&self) -> u32 {
        self.after.resends
    }
}

/// The counts of a request so far; a plan holds those after its retry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SessionCounts {
    /// All attempts but the first, waits included.
    pub(super) resends: u32,
    pub(super) retries: u32,
    /// The last delay that the server did not set, on which decorrelated jitter builds.
    pub(super) previous: Duration,
    /// The time spent at the gate.
    pub(super) gate_waited: Duration,
    /// The refused attempts that were followed by another and counted separately from the retries.
    pub(super) refusals: u32,
    /// The refused attempts since the last outcome of another kind, in whichever way they count.
    pub(super) refused_in_a_row: u32,
    /// Set if a server may have processed one of the attempts that were followed by another.
    pub(super) in_doubt: bool,
    /// Set once a 408 was repeated at once.
    pub(super) closed_idle: bool,
    /// Set once a 421 was repeated on another connection.
    pub(super) misdirected: bool,
}

/// The counts of a request by one rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RuleCounters {
    pub(super) retries: u32,
    pub(super) waits: u32,
    /// The time of the first wait.
    pub(super) since: Option<Duration>,
}

/// The end of a request, and the source of that decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) why: StopReason,
    pub(crate) by: DecidedBy,
    /// The setting of the list that forbids another attempt, if one does.
    pub(crate) list: Option<&'static str>,
    /// The row by which the outcome is permanent, if that is the reason.
    pub(crate) row: Option<RowId>,
    /// Set if the outcome was worth another attempt, had one been left.
    pub(crate) worth_another: bool,
}

/// The price of a retry for a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    Nothing,
    Retry,
    Timeout,
    /// The price of a retry whose call waits at the gate.
    Gated,
}

/// The source of a delay: of a retry ([`PaidRetry::source`](crate::budget::PaidRetry::source)), or of a wait in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DelaySource {
    /// The policy's own backoff, or the delay of a rule's wait.
    Own,
    /// A longer wait that the server asked for. Up to a fifth of it, at most 10 s, is added at random.
    Server,
    /// A rate limit that all callers of the service wait for together. Up to a fifth of the wait that the server asked
    /// for, at most 10 s, is added at random; if it named none, the wait is drawn at random.
    Gate,
}

named! {
    DelaySource {
        Own => "own",
        Server => "server",
        Gate => "gate",
    }
}

/// The reason for making no further attempt. In every case the caller gets the last real outcome, unchanged, unless a
/// rule or `on_exhausted` replaces it.
///
/// The checks come in this order, and the first that refuses gives the reason: limit, class, body, idempotence, server
/// delay, deadline, budget.
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
    /// Repeating the request cannot help after this outcome.
    NotRetryable,
    /// The request's body cannot be sent a second time.
    BodyNotReplayable,
    /// The request may have been processed, and processing it twice could do harm.
    NotIdempotent,
    /// The response or error says that the request was not processed, but the client may have followed a redirect
    /// first, so it may be about a later request.
    RedirectsUnknown,
    /// The error says that the request was not processed, but the operation may have sent several, and the error
    /// belongs to the last one.
    RequestsUnknown,
    /// The server asks for a longer wait than the policy's `max_server_delay`.
    ServerDelayTooLong,
    /// The next attempt would start at or after the deadline. If that is known in advance, the request ends without the
    /// wait.
    DeadlineExceeded,
    /// The shared retry budget is spent: too much fails for retries to help.
    BudgetExhausted,
    /// The inner service was not ready for the retry.
    NotReady,
    /// Retries are off: by the policy [`RetryPolicy::never`](crate::RetryPolicy::never), or by the request.
    Disabled,
    /// Another retry layer further out repeats this request.
    Nested,
    /// A rule accepts the response as it is, though it is not a success.
    Accepted,
    /// A rule calls the outcome a failure.
    Failed,
    /// A rule allows no more attempts.
    Stopped,
    /// A rule has waited as often or as long as it may.
    WaitsExhausted,
}

named! {
    StopReason {
        Succeeded => "succeeded", "The request succeeded.";
        AttemptsExhausted => "attempts_exhausted", "The limit of attempts is reached (max_retries).";
        NotRetryable => "not_retryable",
            "Repeating this request cannot help, as far as the policy knows (classify, classify_error).";
        BodyNotReplayable => "body_not_replayable",
            "The body cannot be sent twice. A body of text or bytes can (String, Full), and so can a recorded \
             stream (record_body, or reqwest's) that is no longer than replay_limit and was read to its end.";
        NotIdempotent => "not_idempotent",
            "The server may have processed the request already: send an Idempotency-Key header, or set \
             RetryOverride::idempotent(true) if repeating is safe. A failover to another server also needs same_keys.";
        RedirectsUnknown => "redirects_unknown",
            "The request was not processed, but its client may have followed a redirect before: make the client by \
             http_retry::reqwest::build(reqwest::Client::builder(), Policy::default(), retries), or write \
             .redirects_off() on the retries if it follows none.";
        RequestsUnknown => "requests_unknown",
            "The operation may have sent several requests, and a server may have processed one before this error: \
             write .one_request() on the Runner if an attempt sends one request, or .idempotent(true) if the operation \
             may be repeated.";
        ServerDelayTooLong => "server_delay_too_long",
            "The server asks for a longer wait than the policy allows (max_server_delay).";
        DeadlineExceeded => "deadline_exceeded",
            "The deadline has passed, or the next attempt would start after it (deadline).";
        BudgetExhausted => "budget_exhausted",
            "The retry budget is spent: too much fails for retries to help (RetryBudget).";
        NotReady => "not_ready", "The inner service was not ready for the retry.";
        Disabled => "disabled", "Retries are off (RetryPolicy::never, RetryOverride::off).";
        Nested => "nested", "A retry layer further out repeats this request.";
        Accepted => "accepted", "A rule accepts this answer as it is (do: accept).";
        Failed => "failed", "A rule calls this outcome a failure (do: fail).";
        Stopped => "stopped", "A rule ends the attempts here (do: stop).";
        WaitsExhausted => "waits_exhausted", "A rule has waited as often or as long as it may (wait: at_most, max).";
    }
}

/// The error of a plan or a payment that is refused.
impl std::error::Error for StopReason {}

impl StopReason {
    /// Returns the reason as a sentence that says what decided, where that is known:
    /// [`RetryReport::stopped_by`](crate::RetryReport::stopped_by).
    ///
    /// ```
    /// use http_retry::StopReason;
    ///
    /// let text = StopReason::NotRetryable.explain_by(Some("services.orders.retry.stop_on"));
    /// assert_eq!(text, "services.orders.retry.stop_on allows no other attempt.");
    /// ```
    #[must_use]
    pub fn explain_by(self, place: Option<&str>) -> Cow<'static, str> {
        match (self, place) {
            (_, None) => self.explain().into(),
            (Self::NotRetryable, Some(place)) => format!("{place} allows no other attempt.").into(),
            (_, Some(place)) => format!("{} Decided by {place}.", self.explain()).into(),
        }
    }

    /// Returns `true` if it is for the rule in charge that there is no other attempt: for its action, or for a limit of
    /// the policy that it retries by.
    pub(super) fn is_of_rule(self) -> bool {
        matches!(
            self,
            Self::AttemptsExhausted
                | Self::NotRetryable
                | Self::ServerDelayTooLong
                | Self::Disabled
                | Self::Accepted
                | Self::Failed
                | Self::Stopped
                | Self::WaitsExhausted
        )
    }

    /// Returns `true` if the request was worth another attempt that a limit forbids.
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

/// The reason for not resuming a broken download.
///
/// Unless the policy stops it, the server's response to the continuation does not prove that its bytes belong to those
/// that came before.
///
/// ```
/// use http_retry::StopReason;
/// use http_retry::policy::ResumeFailure;
///
/// assert_eq!(ResumeFailure::Changed.as_str(), "changed");
/// assert_eq!(ResumeFailure::Stopped(StopReason::BudgetExhausted).as_str(), "budget_exhausted");
/// ```
///
/// # Source
///
/// RFC 9110 sections 13.1.5 (If-Range), 14.4 (Content-Range) and 15.3.7 (206).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResumeFailure {
    /// The policy or the budget allows no further attempt; the reason says which limit was reached.
    Stopped(StopReason),
    /// The request for the rest failed: the server responded with an error status, or the connection failed, and the
    /// retries of that request are used up.
    HeadFailed,
    /// The server has another version than the one that the download began with, or does not name its version; or the
    /// start and the rest do not come from one server, after a failover or a redirect.
    Changed,
    /// The server sent another range of bytes than the one requested, or does not name its range.
    WrongRange,
    /// The server sent the whole file again, and nothing proves that its bytes are the same.
    RangeIgnored,
    /// The rest came with a `Content-Encoding`.
    Encoded,
    /// The first bytes of the rest differ from those already received.
    WrongOverlap,
    /// More bytes came than the first response promised.
    TooLong,
}

impl ResumeFailure {
    /// Returns a stable name for metric labels, such as `changed`; for [`Stopped`](Self::Stopped), that of the stop
    /// reason.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped(why) => why.as_str(),
            Self::HeadFailed => "head_failed",
            Self::Changed => "changed",
            Self::WrongRange => "wrong_range",
            Self::RangeIgnored => "range_ignored",
            Self::Encoded => "encoded",
            Self::WrongOverlap => "wrong_overlap",
            Self::TooLong => "too_long",
        }
    }

    /// Returns the reason as a sentence, for people; for [`Stopped`](Self::Stopped), that of the stop reason.
    #[must_use]
    pub fn explain(self) -> &'static str {
        match self {
            Self::Stopped(why) => why.explain(),
            Self::HeadFailed => "The request for the rest failed.",
            Self::Changed => {
                "The file at the server is no longer the one that the download began with."
            }
            Self::WrongRange => {
                "The server answered another range than the one that was asked for."
            }
            Self::RangeIgnored => {
                "The server sent the whole file again, and only a strong ETag would prove that it is the same."
            }
            Self::Encoded => "The server sent the rest with a Content-Encoding.",
            Self::WrongOverlap => "The server sent other bytes than before for the same place.",
            Self::TooLong => "The server sent more bytes than it promised.",
        }
    }
}

impl fmt::Display for ResumeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
