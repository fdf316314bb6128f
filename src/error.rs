//! Errors of a request: an attempt that was cut short, a failure by the policy, and a body that ended early.

use crate::report::RetryReport;
use crate::{Attempt, RateLimited};
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Any error, as most HTTP clients box theirs.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// An error of this crate.
#[derive(Debug)]
pub enum LayerError {
    /// An attempt had no time left.
    Timeout(AttemptTimeout),
    /// The gate stays closed past the deadline.
    Limited(RateLimited),
    /// The policy calls the response a failure.
    Failed(RequestFailed),
    /// A response's body ended early.
    Incomplete(IncompleteBody),
}

impl From<LayerError> for Box<dyn Error + Send + Sync> {
    fn from(error: LayerError) -> Self {
        match error {
            LayerError::Timeout(error) => error.into(),
            LayerError::Limited(error) => error.into(),
            LayerError::Failed(error) => error.into(),
            LayerError::Incomplete(error) => error.into(),
        }
    }
}

/// The error of an attempt that was cut because no response head came within the attempt timeout or the rest of the
/// deadline. If [responses are read whole](crate::RetryPolicyBuilder::whole_responses), also because the response was not
/// whole by then.
///
/// Two stacks can report it: the tower layer, and reqwest-middleware inside `Error::Middleware`
/// (whose `is_timeout()` is false, since that method looks only at reqwest's own error). `AttemptTimeout::is` finds it
/// in both.
///
/// Its text names the attempt, and the deadline if that has cut it.
///
/// A retry after it costs the budget's `timeout_cost`; a request that is not idempotent is not repeated, since the
/// server may have processed it.
///
/// ```
/// use http_retry::AttemptTimeout;
/// use std::error::Error;
///
/// fn describe(error: &(dyn Error + 'static)) -> &'static str {
///     if AttemptTimeout::is(error) {
///         "the server was too slow for us"
///     } else {
///         "the call failed"
///     }
/// }
/// # assert_eq!(describe(&std::fmt::Error), "the call failed");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptTimeout {
    after: Duration,
    limit: TimeLimit,
    attempt: u32,
    /// `true` if the head of the response had arrived.
    answered: bool,
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeLimit {
    Attempt,
    Deadline,
    /// The deadline, while no attempt was under way.
    DeadlineInWait,
}

impl AttemptTimeout {
    /// Creates the error of an attempt that had no time left, by its own limit or by the deadline.
    pub(crate) fn of_attempt(attempt: Attempt, by_deadline: bool) -> Self {
        Self {
            after: attempt.limit.unwrap_or_default(),
            limit: if by_deadline {
                TimeLimit::Deadline
            } else {
                TimeLimit::Attempt
            },
            attempt: attempt.number,
            answered: false,
        }
    }

    /// Creates the error of a deadline that passed during a wait, this long after the start of the request.
    pub(crate) fn in_wait(after: Duration) -> Self {
        Self {
            after,
            limit: TimeLimit::DeadlineInWait,
            attempt: 1,
            answered: false,
        }
    }

    /// Returns the same error for an attempt whose response was not whole in time.
    pub(crate) fn after_a_response(self) -> Self {
        Self {
            answered: true,
            ..self
        }
    }

    /// Returns the limit that was reached: that of the attempt, from its start; or the whole time that the request had,
    /// if the deadline passed before an attempt could be sent.
    #[must_use]
    pub fn after(&self) -> Duration {
        self.after
    }
}

impl fmt::Display for AttemptTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, attempt, .. } = self;
        match self.limit {
            TimeLimit::Attempt => {}
            TimeLimit::Deadline => f.write_str("the deadline passed: ")?,
            TimeLimit::DeadlineInWait => {
                return write!(f, "the deadline of {after:?} passed during a wait");
            }
        }
        let missing = if self.answered {
            "no whole response"
        } else {
            "no response head"
        };
        write!(f, "{missing} within {after:?}")?;
        if *attempt > 1 {
            write!(f, " on attempt {attempt}")?;
        }
        Ok(())
    }
}

impl Error for AttemptTimeout {}

/// The error of a response's body that ended early: before the length that the response announced, or, without one,
/// before the end of its HTTP/2 stream.
///
/// Some clients end such a body as if it were complete: hyper does on HTTP/2 if the stream is reset, or the connection
/// goes away, with `NO_ERROR`. The caller then gets the bytes that came and this error, inside the body's own;
/// [`IncompleteBody::of`] finds it. If the policy reads [responses whole](crate::RetryPolicyBuilder::whole_responses),
/// such an attempt has failed, and a retry may follow first.
///
/// | stack | before the announced length | without a length |
/// |---|---|---|
/// | tower, hyper's own body (`Incoming`) | always | always, with the feature `http2` |
/// | tower, another body | always, if it announces the length | never |
/// | tower with `unchanged_errors()` or `keep_response_type()` | **never**, unless the body's error is a `Box<dyn Error + Send + Sync>` | **never** |
/// | reqwest | if the layer reads the response whole | never: reqwest does not show it |
///
/// ```
/// use http_retry::IncompleteBody;
/// # let error = std::io::Error::other("another error");
///
/// match IncompleteBody::of(&error) {
///     Some(body) => eprintln!("only {} bytes", body.received()),
///     None => eprintln!("{error}"),
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncompleteBody {
    received: u64,
    expected: Option<u64>,
}

impl IncompleteBody {
    pub(crate) fn new(received: u64, expected: Option<u64>) -> Self {
        Self { received, expected }
    }

    /// Returns the number of bytes that came, below [`expected`](Self::expected).
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of bytes that the response announced, in most clients by its `content-length`, or `None` if
    /// it announced none.
    #[must_use]
    pub fn expected(&self) -> Option<u64> {
        self.expected
    }
}

impl fmt::Display for IncompleteBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, expected } = self;
        write!(f, "the answer ended after {received}")?;
        match expected {
            Some(expected) => write!(f, " of {expected} bytes"),
            None => f.write_str(" bytes, before its end"),
        }
    }
}

impl Error for IncompleteBody {}

/// The error of a request whose last outcome the policy calls a failure: by a rule (`do: fail`), or because no retries
/// are left (`on_exhausted: fail`).
///
/// Two stacks can report it: the tower layer, and reqwest-middleware inside `Error::Middleware`. Elsewhere, and on the
/// tower layer with `unchanged_errors()`, the caller gets the last outcome, whose report says the same. An outcome that
/// is already an error is unchanged.
///
/// ```
/// # #[cfg(not(feature = "testing"))] fn main() {}
/// # #[cfg(feature = "testing")] #[tokio::main]
/// # async fn main() -> Result<(), tower::BoxError> {
/// use http_retry::report::RequestFailed;
/// use http_retry::rules::OnExhausted;
/// use http_retry::testing::{ManualRuntime, Script};
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryPolicy, StopReason};
/// use tower::{Layer, ServiceExt};
///
/// let policy = RetryPolicy::builder().max_retries(1).on_exhausted(OnExhausted::Fail);
/// let layer = RetryLayer::new(policy.build()?).runtime(ManualRuntime::new());
/// let service = layer.layer(Script::new().status(503).status(503));
/// let request = http::Request::get("http://api.example/").body(String::new())?;
///
/// let error = service.oneshot(request).await.unwrap_err();
/// let failed = error.downcast_ref::<RequestFailed>().ok_or("another error")?;
/// assert_eq!(failed.report().stop, StopReason::AttemptsExhausted);
/// let text = "the policy calls the answer 503 a failure after 2 attempts (attempts_exhausted)";
/// assert_eq!(failed.to_string(), text);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFailed {
    report: RetryReport,
}

impl RequestFailed {
    pub(crate) fn new(report: RetryReport) -> Self {
        Self { report }
    }

    /// Returns the report of the request: its attempts, and the reason that no more followed.
    #[must_use]
    pub fn report(&self) -> &RetryReport {
        &self.report
    }
}

impl fmt::Display for RequestFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stop = self.report.stop;
        let last = self.report.attempts.last();
        match last.and_then(|last| last.status) {
            Some(status) => write!(
                f,
                "the policy calls the answer {} a failure",
                status.as_u16()
            )?,
            None => f.write_str("the policy calls the request a failure")?,
        }
        match self.report.attempt_count {
            0 | 1 => write!(f, " ({stop})"),
            attempts => write!(f, " after {attempts} attempts ({stop})"),
        }
    }
}

impl Error for RequestFailed {}
