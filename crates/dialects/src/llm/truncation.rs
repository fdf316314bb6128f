//! Truncation of requests that are too long for the model.

use super::truncate::{Fraction, Keep, cut, fix_headers, may_cut};
use crate::dialect::{TokenCounts, context_counts, limit_and_requested};
use http_retry_core::policy::{
    Decimal, ErrorBody, Outcome, Reason, Rewrite, RewriteBody, Rewritten,
};

/// A rewrite that cuts the longest text of a request that is too long for the model: to limit / actual x 0.9 if the
/// error states these counts, else to three quarters.
///
/// It cuts chat completions, responses, messages, Gemini and Bedrock requests and plain prompts, at a character
/// boundary, in place; every other byte of the JSON stays as it is. It never cuts system and developer texts, the
/// arguments of tool calls, thinking, images, and the assistant's turn at the end. An idempotency key of the first body
/// is not sent with a cut body: the request then no longer counts as idempotent, unless the layer generates keys.
///
/// No ellipsis or note replaces the removed text, since a model would take it for the caller's words. Lengths are
/// counted in characters (Unicode scalar values). A request that still does not fit is cut again, each time as one
/// retry. A request is not cut if its texts have fewer than two characters, or if its body is longer than 64 MiB.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// use http::{Request, Response, StatusCode};
/// use http_retry::llm::{LlmPreset, Truncation};
/// use http_retry::testing::ManualRuntime;
/// use http_retry::tower::RetryLayer;
/// use http_retry::RetryPolicy;
/// use std::convert::Infallible;
/// use tower::{Layer, ServiceExt, service_fn};
///
/// # async fn ask() -> Result<(), tower::BoxError> {
/// let policy = RetryPolicy::llm().to_builder().rewrite(Truncation::keep_tail()).build()?;
/// // A model whose limit is below 500 bytes.
/// let model = service_fn(|request: Request<String>| async move {
///     let error = r#"{"error": {"code": "context_length_exceeded"}}"#;
///     let (status, answer) = match request.body().len() {
///         ..500 => (StatusCode::OK, "{}"),
///         _ => (StatusCode::BAD_REQUEST, error),
///     };
///     let mut response = Response::new(answer.to_owned());
///     *response.status_mut() = status;
///     Ok::<_, Infallible>(response)
/// });
/// let client = RetryLayer::new(policy).runtime(ManualRuntime::new()).layer(model);
///
/// let log = "a line of a log, ".repeat(30); // 510 characters; three quarters of them stay
/// let body = format!(r#"{{"messages": [{{"role": "user", "content": "{log}"}}]}}"#);
/// let response = client.oneshot(Request::post("http://model.example/v1/chat/completions").body(body)?).await?;
/// assert_eq!(response.status(), StatusCode::OK);
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(ask()).unwrap();
/// # }
/// ```
///
/// # Source
///
/// The request formats: the references of OpenAI (chat completions, responses), Anthropic (messages), Gemini
/// (`generateContent`) and Bedrock (`Converse`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Truncation {
    keep: Keep,
    share: Option<Fraction>,
}

impl Truncation {
    /// Keeps the beginning of the text, as for a document, which states its subject first.
    #[must_use]
    pub fn keep_head() -> Self {
        Self::keep(Keep::Head)
    }

    /// Keeps the end of the text, as for a log or a transcript, in which the latest lines matter most.
    #[must_use]
    pub fn keep_tail() -> Self {
        Self::keep(Keep::Tail)
    }

    /// Keeps one half from each end of the text, and cuts out the middle. If the number of kept characters is odd, the
    /// end gets one more than the beginning: a question tends to come last.
    #[must_use]
    pub fn keep_ends() -> Self {
        Self::keep(Keep::Ends)
    }

    fn keep(keep: Keep) -> Self {
        Self { keep, share: None }
    }

    /// Keeps this share of the text's characters, above 0 and below 1 with six decimal places, whatever the error
    /// states; any other number means three quarters. At least one character stays, and at least one is removed.
    ///
    /// Default: the share that fits by the counts in the error, less a tenth, since tokens are not characters; without
    /// counts three quarters. Two such cuts bring a text to 56 %; a smaller guess would lose text for nothing.
    #[must_use]
    pub fn share(self, share: impl Into<Decimal>) -> Self {
        let millionths = u32::try_from(share.into().micros()).unwrap_or_default();
        Self {
            share: Some(Fraction::millionths(millionths)),
            ..self
        }
    }
}

impl Rewrite for Truncation {
    fn after(&self, outcome: &Outcome<'_>) -> Option<RewriteBody> {
        if !outcome.reason().is_some_and(is_too_long) {
            return None;
        }
        let stated = || outcome.body().and_then(stated_share);
        let share = self.share.or_else(stated).unwrap_or_default();
        let keep = self.keep;
        Some(Box::new(move |headers, body| {
            if !may_cut(headers) {
                return None;
            }
            let cut = cut(body, keep, share)?;
            fix_headers(headers, cut.body.len());
            Some(Rewritten::new(cut.body, cut.chars_before, cut.chars_after))
        }))
    }
}

/// Returns `true` if a shorter request may succeed.
pub(super) fn is_too_long(reason: Reason) -> bool {
    matches!(reason, Reason::ContextLength | Reason::RequestTooLarge)
}

/// Returns the share that fits by the error's own counts.
fn stated_share(body: &ErrorBody) -> Option<Fraction> {
    let TokenCounts {
        input,
        output,
        limit,
    } = context_counts(body.prose());
    let of_context = || {
        let actual = input?.saturating_add(output.unwrap_or_default());
        Some(Fraction::fitting(limit?, actual))
    };
    let of_rate = || {
        let (limit, requested) = limit_and_requested(body.prose())?;
        Some(Fraction::fitting(limit, requested))
    };
    of_context().or_else(of_rate)
}
