//! The crate's own errors: a setting that cannot work, an attempt that was cut short, and a body that ended early.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// A setting that cannot work: its field, its value, and what is allowed.
///
/// `build` returns it for the first field at fault; conditions and some other constructors return it at once. Nothing in this
/// crate panics on bad settings.
///
/// ```
/// use http_retry::{Backoff, RetryPolicy};
/// use std::time::Duration;
///
/// let backoff = Backoff::exponential(Duration::from_secs(1)).factor(0.5);
/// let error = RetryPolicy::builder().backoff(backoff).build().unwrap_err();
/// assert_eq!(error.field(), "backoff.factor");
/// assert_eq!(error.to_string(), "backoff.factor: 0.5 is not allowed: must be 1 to 1000");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    field: Cow<'static, str>,
    given: String,
    allowed: Cow<'static, str>,
    /// What is wrong, as a complete sentence.
    is_sentence: bool,
}

impl ConfigError {
    /// An error about a setting: its name, the value that was given, and what is allowed instead, such as `must be above 0`.
    /// It is for a classifier or a table of your own ([`Classify::check`](crate::policy::Classify::check)). Give no secret:
    /// the value is shown.
    ///
    /// ```
    /// use http_retry::ConfigError;
    ///
    /// let error = ConfigError::new("shop.codes", 0, "must be at least 1");
    /// assert_eq!(error.to_string(), "shop.codes: 0 is not allowed: must be at least 1");
    /// ```
    pub fn new(
        field: impl Into<Cow<'static, str>>,
        given: impl fmt::Display,
        allowed: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            field: field.into(),
            given: given.to_string(),
            allowed: allowed.into(),
            is_sentence: false,
        }
    }

    /// An error at a place of a document, with a cause that is a whole sentence.
    ///
    /// ```
    /// use http_retry::ConfigError;
    ///
    /// let error = ConfigError::sentence("retry.base", "2000", "2000 has no unit: write 2000ms or 2000s");
    /// assert_eq!(error.to_string(), "retry.base: 2000 has no unit: write 2000ms or 2000s");
    /// ```
    pub fn sentence(
        place: impl Into<Cow<'static, str>>,
        given: impl fmt::Display,
        cause: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            is_sentence: true,
            ..Self::new(place, given, cause)
        }
    }

    /// The setting at fault, such as `backoff.factor`, or its place in a document, such as `services.orders.retry.base`.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The value that was given, as text.
    #[must_use]
    pub fn given(&self) -> &str {
        &self.given
    }

    /// The bound that the value breaks, in words.
    #[must_use]
    pub fn allowed(&self) -> &str {
        &self.allowed
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            given,
            allowed,
            is_sentence,
        } = self;
        match is_sentence {
            true => write!(f, "{field}: {allowed}"),
            false => write!(f, "{field}: {given} is not allowed: {allowed}"),
        }
    }
}

impl Error for ConfigError {}

/// An attempt was cut short because no response head came within the attempt timeout, or within what was left of the
/// deadline; or, where [answers are read whole](crate::RetryPolicyBuilder::whole_answers), because the answer was not whole
/// by then.
///
/// Two stacks can report it: the tower layer, and reqwest-middleware inside `Error::Middleware`
/// (whose `is_timeout()` is false, since that method looks only at reqwest's own error). `AttemptTimeout::is` finds it
/// in both.
///
/// Its text says whether the deadline has cut the attempt, and which attempt it was.
///
/// A retry after it costs the budget's `timeout_cost`; a request that is not idempotent is not repeated, since the server may
/// have processed it.
///
/// ```
/// use http_retry::AttemptTimeout;
/// use std::error::Error;
///
/// fn told(error: &(dyn Error + 'static)) -> &'static str {
///     match AttemptTimeout::is(error) {
///         true => "the server was too slow for us",
///         false => "the call failed",
///     }
/// }
/// # assert_eq!(told(&std::fmt::Error), "the call failed");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptTimeout {
    after: Duration,
    limit: TimeLimit,
    attempt: u32,
    /// The head had come.
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
    pub(crate) fn new(after: Duration) -> Self {
        Self {
            after,
            limit: TimeLimit::Attempt,
            attempt: 1,
            answered: false,
        }
    }

    /// The deadline has passed during a wait, this long after the start of the request.
    pub(crate) fn in_wait(after: Duration) -> Self {
        Self {
            limit: TimeLimit::DeadlineInWait,
            ..Self::new(after)
        }
    }

    /// The same of an attempt with this number.
    pub(crate) fn on_attempt(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// The same of an attempt that the deadline has cut.
    pub(crate) fn by_deadline(self) -> Self {
        Self {
            limit: TimeLimit::Deadline,
            ..self
        }
    }

    /// That of an attempt whose answer was not whole in its time.
    pub(crate) fn after_an_answer(self) -> Self {
        Self {
            answered: true,
            ..self
        }
    }

    /// The limit that was reached: of the attempt, from its start; or, if the deadline passed before an attempt could be
    /// sent, the whole time that the request had.
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
            "no whole answer"
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

/// The error of a response's body that ended before the length that the response told.
///
/// Some clients end such a body as if it were whole: hyper does on HTTP/2 if the stream is reset, or the connection goes
/// away, with `NO_ERROR`. If the policy reads [whole answers](crate::RetryPolicyBuilder::whole_answers) and no retry follows,
/// the caller gets the bytes that came and then this error, inside of the body's own: on reqwest, and on the tower layer if
/// the body's error is a `Box<dyn Error + Send + Sync>`. [`IncompleteBody::of`] finds it.
///
/// ```
/// use http_retry::IncompleteBody;
/// # let error = std::io::Error::other("another error");
///
/// match IncompleteBody::of(&error) {
///     Some(body) => eprintln!("{} of {} bytes", body.received(), body.expected()),
///     None => eprintln!("{error}"),
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncompleteBody {
    received: u64,
    expected: u64,
}

impl IncompleteBody {
    pub(crate) fn new(received: u64, expected: u64) -> Self {
        Self { received, expected }
    }

    /// Returns the number of bytes that came, below [`expected`](Self::expected).
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of bytes that the response told, in most clients by its `content-length`.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.expected
    }
}

impl fmt::Display for IncompleteBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { received, expected } = self;
        write!(f, "the answer ended after {received} of {expected} bytes")
    }
}

impl Error for IncompleteBody {}
