//! Requests that have no retries left.

use super::RetryReport;
use http::{HeaderMap, Method};

/// A receiver of the requests of a policy whose `on_exhausted` names it as its `dead_letter`.
///
/// It runs in the request's own task before the caller gets the last outcome, so it must be quick, and must not panic.
/// It does not change that outcome. A function that takes a [`DeadLetter`] is one too. An operation of a `Runner` has
/// no head, and so no dead letter.
///
/// ```
/// use http_retry::report::{DeadLetter, DeadLetters};
///
/// struct Print;
///
/// impl DeadLetters for Print {
///     fn on_dead_letter(&self, letter: &DeadLetter<'_>) {
///         println!("{} {}: {}", letter.method, letter.service, letter.report.stop());
///     }
/// }
/// ```
pub trait DeadLetters: Send + Sync + 'static {
    /// Called once for each request that has no retries left.
    fn on_dead_letter(&self, letter: &DeadLetter<'_>);
}

impl<F: Fn(&DeadLetter<'_>) + Send + Sync + 'static> DeadLetters for F {
    fn on_dead_letter(&self, letter: &DeadLetter<'_>) {
        self(letter);
    }
}

/// The head of a request that has no retries left, and its report.
///
/// Unlike an event it contains the whole URI and the headers, secrets included, so that the request can be sent again
/// later.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct DeadLetter<'a> {
    /// The request's service.
    pub service: &'a str,
    /// The request's method, the same on every attempt.
    pub method: &'a Method,
    /// The URI of the first attempt, query included; a failover does not change it.
    pub uri: &'a str,
    /// The request's headers, including an idempotency key added by the layer, but without the headers that a rule or a
    /// failover sets for later attempts.
    pub headers: &'a HeaderMap,
    /// The attempts, and the reason why no more followed.
    pub report: &'a RetryReport,
}

impl<'a> DeadLetter<'a> {
    /// Creates the dead letter of a request that was given up.
    #[must_use]
    pub fn new(
        service: &'a str,
        method: &'a Method,
        uri: &'a str,
        headers: &'a HeaderMap,
        report: &'a RetryReport,
    ) -> Self {
        Self {
            service,
            method,
            uri,
            headers,
            report,
        }
    }
}

/// Leaves out possible secrets.
impl std::fmt::Debug for DeadLetter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeadLetter")
            .field("service", &self.service)
            .field("method", &self.method)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
