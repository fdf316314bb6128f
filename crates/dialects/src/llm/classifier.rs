//! The classifier for LLM APIs.

use crate::dialect::judge;
use http_retry_core::policy::{Classify, ErrorBody, Verdict};
use http_retry_core::{Class, Outcome};
use http_retry_rules::ReadBody;

/// A classifier that judges the responses of LLM APIs by status, headers and body: a 429 may mean "wait 20 s" or "your
/// account is out of money", and a 200 or a 400 can hide a throttle.
///
/// It reads up to 64 KiB of an error body, for at most 2 s; the caller still gets the whole response, unchanged. It
/// knows the error codes of OpenAI, Azure, Anthropic, Gemini and Vertex, Bedrock, Groq, Mistral, Cohere, OpenRouter,
/// DeepSeek, xAI and compatible APIs; if the body has none, the status decides. It finds the delay in a header, in a
/// field of the body or in its prose.
///
/// It checks in this order: `x-should-retry: false`; codes that are permanent at any status (quota and billing, context
/// length, content policy), and a throttle that names a limit of two hours or longer, the usage limit of a plan or a
/// session, or money, in a code, in `limit_source` or in its message (unless the message itself says when to try
/// again); `Limit N, Requested M` with M above N; 401, 402, 403, 404; 408, 409, 425, 429, 498 by code, 499 and 5xx but
/// 501 and 505; throttling codes at 400; `x-should-retry: true`. A problem type that ends in `quota-exceeded`
/// (RateLimit draft) is a rate limit, unlike the code `quota_exceeded`.
///
/// Its rules are the rows of [`Dialect::llm`](crate::dialect::Dialect::llm), which a policy can use like any other
/// dialect. This classifier precedes the policy's dialect, and can inspect successes.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use http_retry::llm::LlmPreset;
/// use http_retry::policy::{ErrorBody, Reason};
/// use http_retry::{Class, Outcome, RetryPolicy};
///
/// let policy = RetryPolicy::llm();
/// let headers = HeaderMap::new();
/// let judged = |text: &str| {
///     let body = ErrorBody::read(text.as_bytes());
///     let answer = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
///     let judged = policy.classify(answer.with_body(&body));
///     (judged.class(), judged.verdict().reason)
/// };
/// let slow = judged(r#"{"error": {"code": "rate_limit_exceeded"}}"#);
/// assert_eq!(slow, (Class::Throttled, Some(Reason::RateLimited)));
/// let unpaid = judged(r#"{"error": {"code": "insufficient_quota"}}"#);
/// assert_eq!(unpaid, (Class::Permanent, Some(Reason::QuotaExhausted)));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct LlmClassifier {
    inspect_success: bool,
}

impl LlmClassifier {
    /// Creates the classifier of [`LlmPreset::llm`](crate::llm::LlmPreset::llm).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the JSON bodies of successes are read too, since some APIs respond 200 to a failure. Default
    /// `false`: it reads up to 64 KiB of every such response before the caller gets it. A success whose body is
    /// truncated or not JSON stays a success.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::llm::{LlmClassifier, LlmPreset};
    ///
    /// let looks = LlmClassifier::new().inspect_success(true);
    /// let policy = RetryPolicy::llm().to_builder().classifier(looks).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    #[must_use]
    pub fn inspect_success(self, inspect_success: bool) -> Self {
        Self { inspect_success }
    }
}

impl Classify for LlmClassifier {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        let (status, headers) = (outcome.status()?, outcome.headers()?);
        let nothing = ErrorBody::default();
        let makes_no_sense = || outcome.body().is_some_and(|body| !body.is_understood());
        if outcome.class() == Class::Success && makes_no_sense() {
            return None;
        }
        let verdict = judge(status, headers, outcome.body().unwrap_or(&nothing))?;
        Some(verdict.overruled_by_headers(outcome))
    }

    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        match outcome.class() {
            Class::Success => self.inspect_success && is_json(outcome),
            _ => outcome.status().is_some(),
        }
    }

    fn judges_successes(&self) -> bool {
        self.inspect_success
    }
}

fn is_json(outcome: &Outcome<'_>) -> bool {
    let kind = outcome.media_type();
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue, StatusCode};

    #[test]
    fn json_is_known_by_its_type_in_any_case() {
        for (kind, read) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/jsonl", false),
            ("text/event-stream", false),
        ] {
            let kind_is = (http::header::CONTENT_TYPE, HeaderValue::from_static(kind));
            let headers = HeaderMap::from_iter([kind_is]);
            let answer = Outcome::response(StatusCode::OK, &headers);
            let classifier = LlmClassifier::new().inspect_success(true);
            assert_eq!(classifier.reads_body(&answer), read, "{kind}");
        }
    }

    #[test]
    fn a_success_that_is_not_understood_is_one() {
        let headers = HeaderMap::new();
        let class = |text: &str| {
            let body = ErrorBody::read(text.as_bytes());
            let answer = Outcome::response(StatusCode::OK, &headers).with_body(&body);
            let said = LlmClassifier::new().inspect_success(true).classify(&answer);
            said.map_or(Class::Success, |said| said.class)
        };
        let failed = r#"{"status": "failed", "error": {"code": "rate_limit_exceeded"}}"#;
        assert_eq!(class(failed), Class::Throttled);
        for end in 1..failed.len() {
            assert_eq!(class(&failed[..end]), Class::Success, "{end}");
        }
    }
}
