//! Truncation of requests that are too long for the model: the longest text of a prompt is cut in place, and nothing else
//! of the body changes.

mod headers;
mod scan;
mod shapes;
#[cfg(test)]
mod tests;

use crate::dialect::{TokenCounts, context_counts, limit_and_requested};
use headers::{fix_headers, may_cut};
use http_retry_core::Outcome;
use http_retry_core::policy::{Decimal, ErrorBody, Reason};
use http_retry_core::reading::{Rewrite, RewriteBody, Rewritten};
use http_retry_rules::ReadBody;
use scan::{Span, Text};

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
        if !outcome.verdict().reason.is_some_and(is_too_long) {
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
            Some(cut)
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

/// The part of a text that a cut keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Keep {
    #[default]
    Head,
    Tail,
    /// Both ends; if an odd number is kept, the end gets one more character than the beginning.
    Ends,
}

/// The largest body that is cut; larger ones are left alone.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Cuts the longest text that may be cut to `share` of its characters, at least 1 and fewer than before; if several are
/// equally long, the first of them.
///
/// Texts of a user or a tool, and earlier texts of the assistant, may be cut. Never cut are texts of the system or
/// developer, the arguments of a tool call, thinking, images and other data, and the assistant's turn at the end of the
/// conversation (the model continues from there).
///
/// Returns `None` if nothing can be cut: no such text has two characters, the body is not JSON in UTF-8 or is larger
/// than 64 MiB, or an object repeats a member that decides what may be cut (it is unknown which of the two the server
/// reads). A text with an unpaired surrogate is never cut.
fn cut(body: &[u8], keep: Keep, share: Fraction) -> Option<Rewritten> {
    if body.len() > MAX_BODY_BYTES {
        return None;
    }
    let longest = shapes::longest(Span::of(body)?)?;
    let (before, after) = (longest.chars, share.of(longest.chars)?);
    let (start, end) = removed(longest.text, before, after, keep)?;
    let mut shorter = Vec::with_capacity(body.len());
    shorter.extend_from_slice(body.get(..start)?);
    shorter.extend_from_slice(body.get(end..)?);
    Some(Rewritten {
        body: shorter,
        before,
        after,
    })
}

/// Returns the range of bytes to remove from the body.
fn removed(text: Text<'_>, before: usize, after: usize, keep: Keep) -> Option<(usize, usize)> {
    let gone = before.checked_sub(after)?;
    let first = match keep {
        Keep::Head => after,
        Keep::Tail => 0,
        Keep::Ends => after / 2,
    };
    let start = text.offset(first);
    let end = text.offset(first.saturating_add(gone));
    (start < end).then_some((start, end))
}

/// The share of a text's characters that is kept: a fraction below 1, in whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fraction {
    kept: u128,
    of: u128,
}

const MILLION: u32 = 1_000_000;

impl Fraction {
    /// Returns the share that fits by the token counts in the error: `limit / actual`, less a tenth, since tokens are
    /// not characters. Counts that contradict the error (nothing is allowed, or the request is below the limit) give
    /// the default.
    fn fitting(limit: u64, actual: u64) -> Self {
        if limit == 0 || limit > actual {
            return Self::default();
        }
        Self {
            kept: u128::from(limit).saturating_mul(9),
            of: u128::from(actual).saturating_mul(10),
        }
    }

    /// Returns a share in millionths; 0, and a million or more, give the default.
    fn millionths(kept: u32) -> Self {
        if kept == 0 || kept >= MILLION {
            return Self::default();
        }
        Self {
            kept: u128::from(kept),
            of: u128::from(MILLION),
        }
    }

    /// Returns the number of characters to keep of `chars`, rounded down, at least one. Returns `None` if `chars` is
    /// less than two.
    fn of(self, chars: usize) -> Option<usize> {
        let most = chars.checked_sub(1).filter(|most| *most > 0)?;
        let kept = u128::try_from(chars)
            .ok()?
            .saturating_mul(self.kept)
            .checked_div(self.of)?;
        Some(usize::try_from(kept).unwrap_or(most).clamp(1, most))
    }
}

impl Default for Fraction {
    /// Three quarters: two such cuts bring a text to 56 %, and a guess that is too small loses text for nothing.
    fn default() -> Self {
        Self { kept: 3, of: 4 }
    }
}
