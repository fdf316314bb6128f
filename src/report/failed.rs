//! The error of a request whose outcome the policy calls a failure.

use super::RetryReport;
use std::error::Error;
use std::fmt;

/// The policy calls the request's last outcome a failure: by a rule (`do: fail`), or because no retries are left
/// (`on_exhausted: fail`).
///
/// It is reported where the stack's error type can carry it: by the tower layer after `boxed_errors()`, and on
/// reqwest-middleware inside `Error::Middleware`. Elsewhere the caller gets the last outcome, whose report says the same.
/// An outcome that is an error already stays itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFailed {
    report: RetryReport,
}

impl RequestFailed {
    pub(crate) fn new(report: RetryReport) -> Self {
        Self { report }
    }

    /// What was tried, and why no more was.
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
        write!(f, " ({stop})")
    }
}

impl Error for RequestFailed {}
