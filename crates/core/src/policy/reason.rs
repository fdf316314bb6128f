//! Reasons for a failed call, in terms that a caller can act on.

use std::fmt;

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

impl Reason {
    /// All reasons by name, for parsers of documents.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("rate_limited", Self::RateLimited),
        ("quota_exhausted", Self::QuotaExhausted),
        ("overloaded", Self::Overloaded),
        ("server_error", Self::ServerError),
        ("timeout", Self::Timeout),
        ("conflict", Self::Conflict),
        ("context_length", Self::ContextLength),
        ("request_too_large", Self::RequestTooLarge),
        ("content_policy", Self::ContentPolicy),
        ("auth", Self::Auth),
        ("permission", Self::Permission),
        ("not_found", Self::NotFound),
        ("invalid_request", Self::InvalidRequest),
        ("incomplete_stream", Self::IncompleteStream),
        ("server_delay_exceeds_cap", Self::ServerDelayExceedsCap),
        ("server_said_retry", Self::ServerSaidRetry),
        ("server_said_no", Self::ServerSaidNo),
    ];

    /// Returns a stable name for logs and metric labels: `rate_limited`, `quota_exhausted`, and so on. Documents use
    /// the same names.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::Conflict => "conflict",
            Self::ContextLength => "context_length",
            Self::RequestTooLarge => "request_too_large",
            Self::ContentPolicy => "content_policy",
            Self::Auth => "auth",
            Self::Permission => "permission",
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::IncompleteStream => "incomplete_stream",
            Self::ServerDelayExceedsCap => "server_delay_exceeds_cap",
            Self::ServerSaidRetry => "server_said_retry",
            Self::ServerSaidNo => "server_said_no",
        }
    }

    /// Returns a sentence that says what happened and what the caller can do.
    #[must_use]
    pub fn explain(self) -> &'static str {
        match self {
            Self::RateLimited => "The rate limit is reached: send less at once, or wait.",
            Self::QuotaExhausted => {
                "Credits or quota are used up: top up, raise the limit, or use another provider."
            }
            Self::Overloaded => {
                "The provider has no capacity: try again later, or use another model or provider."
            }
            Self::ServerError => "The provider failed: try again, or use another provider.",
            Self::Timeout => "The provider took too long: try again, or ask for less.",
            Self::Conflict => "The resource was changed at the same time: try again.",
            Self::ContextLength => {
                "The prompt does not fit the model: shorten it, lower the answer's limit, or use a larger model."
            }
            Self::RequestTooLarge => "The request is larger than one may be: make it smaller.",
            Self::ContentPolicy => "The content is refused by the provider's rules: change it.",
            Self::Auth => "The key is missing or not valid: check the credentials.",
            Self::Permission => "The key may not do this: check its rights, or the region.",
            Self::NotFound => "The model or address does not exist: check its name.",
            Self::InvalidRequest => "The request is not valid: correct it before it is sent again.",
            Self::IncompleteStream => "The stream ended too early: try again.",
            Self::ServerDelayExceedsCap => {
                "The provider asks for a longer wait than is allowed: come back later, or use another provider."
            }
            Self::ServerSaidRetry => "The provider asks to send the request again.",
            Self::ServerSaidNo => "The provider asks not to send the request again.",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn a_name_is_snake_case_and_an_explanation_a_sentence() {
        for reason in [Reason::RateLimited, Reason::ServerDelayExceedsCap] {
            let name = reason.to_string();
            assert!(name.bytes().all(|b| b == b'_' || b.is_ascii_lowercase()));
            assert!(reason.explain().ends_with('.'), "{name}");
        }
    }
}
