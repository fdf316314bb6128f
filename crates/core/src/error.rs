//! Errors in settings, and the error of a call that its gate turns away.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A setting that cannot work, with its field, its value and the values that are allowed.
///
/// `build` returns it for the first invalid field; conditions and some other constructors return it at once. Nothing in
/// this crate panics on invalid settings.
///
/// ```
/// use http_retry::{Backoff, RetryPolicy};
/// use std::time::Duration;
///
/// let backoff = Backoff::exponential(Duration::from_secs(1)).factor(0.5);
/// let error = RetryPolicy::builder().backoff(backoff).build().unwrap_err();
/// assert_eq!(error.field, "backoff.factor");
/// assert_eq!(error.to_string(), "backoff.factor: 0.5 is not allowed: must be 1 to 1000");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// The invalid setting, such as `backoff.factor`, or its path in a document, such as `services.orders.retry.base`.
    pub field: Cow<'static, str>,
    /// The value given, as text.
    pub given: String,
    /// The bound that the value violates, in words.
    pub allowed: Cow<'static, str>,
    /// The setting that sets the bound, or `None` if the bound is fixed.
    ///
    /// ```
    /// use http_retry::{Backoff, RetryPolicy};
    /// use std::time::Duration;
    ///
    /// let backoff = Backoff::fixed(Duration::from_secs(2)).max_delay(Duration::from_secs(1));
    /// let error = RetryPolicy::builder().backoff(backoff).build().unwrap_err();
    /// assert_eq!((&*error.field, error.bound), ("backoff.base", Some("backoff.max_delay")));
    /// ```
    pub bound: Option<&'static str>,
    /// `true` if `allowed` is a complete sentence.
    is_sentence: bool,
    /// The line and the column in the text of a document, counted from 1, if they are known.
    pub place: Option<(usize, usize)>,
}

impl ConfigError {
    /// Creates an error about a setting from its name, the value given, and the values allowed, such as `must be above
    /// 0`.
    ///
    /// For a custom classifier or table ([`Classify::check`](crate::policy::Classify::check)). Do not pass a secret:
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
            bound: None,
            is_sentence: false,
            place: None,
        }
    }

    /// Creates an error at a path in a document, with a cause that is a complete sentence.
    ///
    /// ```
    /// use http_retry::ConfigError;
    ///
    /// let error = ConfigError::sentence("retry.base", "2000", "2000 has no unit: write 2000ms or 2000s");
    /// assert_eq!(error.to_string(), "retry.base: 2000 has no unit: write 2000ms or 2000s");
    /// ```
    pub fn sentence(
        path: impl Into<Cow<'static, str>>,
        given: impl fmt::Display,
        cause: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            is_sentence: true,
            ..Self::new(path, given, cause)
        }
    }

    /// Names the setting that sets the bound.
    pub(crate) fn bounded_by(self, setting: &'static str) -> Self {
        let bound = Some(setting);
        Self { bound, ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            given,
            allowed,
            bound: _,
            is_sentence,
            place,
        } = self;
        if *is_sentence {
            write!(f, "{field}: {allowed}")?;
        } else {
            write!(f, "{field}: {given} is not allowed: {allowed}")?;
        }
        match place {
            Some((line, column)) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

impl Error for ConfigError {}

/// The error of a call that was not sent: its service limits its rate, and the [gate](crate::gate::Gate) stays closed
/// past the call's deadline. The call ends as soon as that is known, which is usually at once.
///
/// | stack | the error |
/// |---|---|
/// | tower | a `Box<dyn Error + Send + Sync>` with a `RateLimited` |
/// | reqwest-middleware | `Error::Middleware` with a `RateLimited` |
/// | ureq | `Error::Other` with a `RateLimited`, since an `ureq::Error` has no sources |
/// | tower with `unchanged_errors()`, `Runner` | none: the call waits for its deadline, and is sent then |
///
/// A call that was sent before ends with its last response or error instead.
///
/// ```
/// use http_retry::RateLimited;
/// # let error = std::io::Error::other("another error");
///
/// if let Some(limited) = RateLimited::of(&error) {
///     eprintln!("try {} again in {:?}", limited.service, limited.retry_after);
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimited {
    /// The name of the service, or the host and port of one without a name.
    pub service: Arc<str>,
    /// The time from the call's end until the gate opens, as far as was known then. It is no promise of the server: other
    /// calls that wait for it go first.
    pub retry_after: Duration,
}

impl RateLimited {
    /// Creates the error for the service with this name, whose gate stays closed for this time.
    #[must_use]
    pub fn new(service: Arc<str>, retry_after: Duration) -> Self {
        Self {
            service,
            retry_after,
        }
    }

    /// Returns the limit that an error is or carries, anywhere in its source chain.
    #[must_use]
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        const MAX_LINKS: usize = 64;
        let next = |link: &&'a (dyn Error + 'static)| (*link).source();
        let links = std::iter::successors(Some(error), next);
        links.take(MAX_LINKS).find_map(<dyn Error>::downcast_ref)
    }
}

/// Half of the unit that a time is rounded to.
const HALF_A_TENTH: Duration = Duration::from_millis(50);

impl fmt::Display for RateLimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            service,
            retry_after,
        } = self;
        // Rounded in integers: a program that shows no other float is spared the code that does.
        let tenths = retry_after.saturating_add(HALF_A_TENTH).as_millis() / 100;
        let (seconds, tenth) = (tenths / 10, tenths % 10);
        write!(
            f,
            "{service} limits its rate for another {seconds}.{tenth} s, which is past the deadline"
        )
    }
}

impl Error for RateLimited {}
