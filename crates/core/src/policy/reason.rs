//! Reasons for a failed call, in terms that a caller can act on.

use crate::named::named;

/// The reason for a failed call, in terms that a caller can act on, if the response shows it. A classifier or a row of
/// a dialect gives it ([`Verdict::because`](super::Verdict::because)).
///
/// The status alone is not enough: a 429 can mean "wait 20 seconds" or "the account has no money". The reason of the
/// last attempt tells the caller what to do; [`explain`](Self::explain) puts it into words.
///
/// ```
/// use http_retry::policy::Reason;
///
/// // Waiting does not help here.
/// fn needs_a_person(reason: Reason) -> bool {
///     matches!(reason, Reason::Auth | Reason::Permission | Reason::QuotaExhausted)
/// }
/// assert!(needs_a_person(Reason::QuotaExhausted) && !needs_a_person(Reason::RateLimited));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The caller's own rate limit is reached; waiting helps.
    RateLimited,
    /// Money, credits, the allowance of a plan, or a quota of hours or longer are used up; waiting for minutes does not
    /// help.
    QuotaExhausted,
    /// The provider has no capacity at the moment.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// The provider, or a gateway before it, gave up waiting.
    Timeout,
    /// Something else changed the same resource at the same time.
    Conflict,
    /// The prompt and the output do not fit the model's context window.
    ContextLength,
    /// The request is larger than the provider allows for one request.
    RequestTooLarge,
    /// The provider's content rules refuse the request.
    ContentPolicy,
    /// The key is missing, wrong or expired.
    Auth,
    /// The key is valid and may not do this.
    Permission,
    /// The model or the address does not exist.
    NotFound,
    /// The request itself is invalid.
    InvalidRequest,
    /// The stream ended before its last event.
    IncompleteStream,
    /// The provider asks for a longer wait than the policy's `max_server_delay` allows; this replaces the reason that a
    /// classifier gave.
    ServerDelayExceedsCap,
    /// Only the header `x-should-retry: true` asks for a retry.
    ServerSaidRetry,
    /// The header `x-should-retry: false` forbids a retry that the status allows.
    ServerSaidNo,
}

named! {
    Reason {
        RateLimited => "rate_limited", "The rate limit is reached: send less at once, or wait.";
        QuotaExhausted => "quota_exhausted",
            "Credits or quota are used up: top up, raise the limit, or use another provider.";
        Overloaded => "overloaded", "The provider has no capacity: try again later, or use another model or provider.";
        ServerError => "server_error", "The provider failed: try again, or use another provider.";
        Timeout => "timeout", "The provider took too long: try again, or ask for less.";
        Conflict => "conflict", "The resource was changed at the same time: try again.";
        ContextLength => "context_length",
            "The prompt does not fit the model: shorten it, lower the answer's limit, or use a larger model.";
        RequestTooLarge => "request_too_large", "The request is larger than one may be: make it smaller.";
        ContentPolicy => "content_policy", "The content is refused by the provider's rules: change it.";
        Auth => "auth", "The key is missing or not valid: check the credentials.";
        Permission => "permission", "The key may not do this: check its rights, or the region.";
        NotFound => "not_found", "The model or address does not exist: check its name.";
        InvalidRequest => "invalid_request", "The request is not valid: correct it before it is sent again.";
        IncompleteStream => "incomplete_stream", "The stream ended too early: try again.";
        ServerDelayExceedsCap => "server_delay_exceeds_cap",
            "The provider asks for a longer wait than is allowed: come back later, or use another provider.";
        ServerSaidRetry => "server_said_retry", "The provider asks to send the request again.";
        ServerSaidNo => "server_said_no", "The provider asks not to send the request again.";
    }
}
