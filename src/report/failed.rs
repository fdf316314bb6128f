//! The error of a request that ends with a failure by the policy.

use super::RetryReport;
use std::error::Error;
use std::fmt;

/// The policy calls the request's last outcome a failure: by a rule (`do: fail`), or because no retries are left
/// (`on_exhausted: fail`).
///
/// Two stacks can report it: the tower layer, and reqwest-middleware inside `Error::Middleware`. Elsewhere, and on the tower
/// layer with `unchanged_errors()`, the caller gets the last outcome, whose report says the same. An outcome that is already an error stays as
/// it is.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// use futures_util::FutureExt;
/// use http_retry::report::RequestFailed;
/// use http_retry::rules::OnExhausted;
/// use http_retry::testing::{ManualRuntime, Script};
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryPolicy, StopReason};
/// use tower::{Layer, ServiceExt};
///
/// let policy = RetryPolicy::builder().max_retries(1).on_exhausted(OnExhausted::Fail);
/// let layer = RetryLayer::new(policy.build().unwrap()).runtime(ManualRuntime::new());
/// let service = layer.layer(Script::new().status(503).status(503));
/// let request = http::Request::get("http://api.example/").body(String::new()).unwrap();
///
/// let error = service.oneshot(request).now_or_never().unwrap().unwrap_err();
/// let failed = error.downcast_ref::<RequestFailed>().unwrap();
/// assert_eq!(failed.report().stop(), StopReason::AttemptsExhausted);
/// let text = "the policy calls the answer 503 a failure after 2 attempts (attempts_exhausted)";
/// assert_eq!(failed.to_string(), text);
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFailed {
    report: RetryReport,
}

impl RequestFailed {
    pub(crate) fn new(report: RetryReport) -> Self {
        Self { report }
    }

    /// The attempts, and why no more followed.
    #[must_use]
    pub fn report(&self) -> &RetryReport {
        &self.report
    }
}

impl fmt::Display for RequestFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stop = self.report.stop();
        let last = self.report.attempts().last();
        match last.and_then(|last| last.status) {
            Some(status) => write!(
                f,
                "the policy calls the answer {} a failure",
                status.as_u16()
            )?,
            None => f.write_str("the policy calls the request a failure")?,
        }
        match self.report.attempt_count() {
            0 | 1 => write!(f, " ({stop})"),
            attempts => write!(f, " after {attempts} attempts ({stop})"),
        }
    }
}

impl Error for RequestFailed {}
