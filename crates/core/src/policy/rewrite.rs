//! Requests whose body must change before they are sent again.

use super::outcome::Outcome;
use http::HeaderMap;

/// Changes the body of a request that the server refused for good, so that the next attempt may succeed.
///
/// `llm::Truncation` cuts a prompt that is too long; a type of your own can halve a batch.
/// [`RetryPolicyBuilder::rewrite`](crate::RetryPolicyBuilder::rewrite) sets it.
///
/// ```
/// use http::StatusCode;
/// use http_retry::policy::{Rewrite, RewriteBody, Rewritten};
/// use http_retry::{Outcome, RetryPolicy};
///
/// /// Sends half of the lines after a 413.
/// struct Halve;
///
/// impl Rewrite for Halve {
///     fn after(&self, outcome: &Outcome<'_>) -> Option<RewriteBody> {
///         if outcome.status() != Some(StatusCode::PAYLOAD_TOO_LARGE) {
///             return None;
///         }
///         Some(Box::new(|_, body| {
///             let lines: Vec<&str> = std::str::from_utf8(body).ok()?.lines().collect();
///             let half = lines.get(..lines.len() / 2).filter(|half| !half.is_empty())?.join("\n");
///             let (before, after) = (body.len(), half.len());
///             Some(Rewritten::new(half.into_bytes(), before, after))
///         }))
///     }
/// }
///
/// let policy = RetryPolicy::background().to_builder().rewrite(Halve).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
pub trait Rewrite: Send + Sync {
    /// Returns the change of the request after this outcome, or `None` if another body does not help. It is called only
    /// for outcomes that are [`Class::Permanent`](super::Class::Permanent).
    fn after(&self, outcome: &Outcome<'_>) -> Option<RewriteBody>;
}

/// A change of a request: it gets the headers and the body, may change the headers, and returns the next body, or
/// `None` if there is no better one. The request is then not sent again.
///
/// A changed body needs a changed `content-length` and digest; a signed or encoded body must stay as it is.
pub type RewriteBody = Box<dyn Fn(&mut HeaderMap, &[u8]) -> Option<Rewritten> + Send + Sync>;

/// A function that gets the headers and body of a request, may change the headers, and returns another body.
pub type RewriteWith<'a> = dyn FnMut(&mut HeaderMap, &[u8]) -> Option<Vec<u8>> + 'a;

/// The next body of a request, in which one text has changed.
///
/// It has no `Debug`: a body must not get into a log by accident.
#[derive(Clone)]
pub struct Rewritten {
    body: Vec<u8>,
    before: usize,
    after: usize,
}

impl Rewritten {
    /// Creates a next body, with the length of the changed text before and after, in characters, for the report and the
    /// event.
    #[must_use]
    pub fn new(body: Vec<u8>, before: usize, after: usize) -> Self {
        Self {
            body,
            before,
            after,
        }
    }

    /// Returns the body, and the length of the changed text before and after, in characters.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, usize, usize) {
        (self.body, self.before, self.after)
    }
}
