//! A policy, and the accessors of its settings.

use super::rules::{Action, OnExhausted, Rules};
use super::{RequestFacts, RetrySession, Settings};
use http::{HeaderName, Method};
use std::sync::Arc;
use std::time::Duration;

/// The rules that a request's attempts follow: immutable, cheap to clone, shared by any number of clients.
///
/// Five presets suit most programs: [`user_facing`](Self::user_facing), [`background`](Self::background),
/// [`rate_limited`](Self::rate_limited), `llm` (feature `llm`, with `use http_retry::llm::LlmPreset`) and
/// [`never`](Self::never). Start from a preset and adjust it, or build a policy:
///
/// ```
/// use http_retry::{Backoff, RetryPolicy};
/// use std::time::Duration;
///
/// let policy = RetryPolicy::user_facing()
///     .to_builder()
///     .max_retries(2)
///     .deadline(Duration::from_secs(5))
///     .build()?;
///
/// let other = RetryPolicy::builder()
///     .max_retries(5)
///     .backoff(Backoff::exponential(Duration::from_millis(200)).factor(1.5))
///     .max_server_delay(Duration::from_secs(30))
///     .build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RetryPolicy(pub(super) Arc<Settings>);

/// The methods that may be repeated.
///
/// `Idempotent` and `All` are about requests that the server may have processed. If it has not
/// ([`Reach::is_unprocessed`](super::Reach::is_unprocessed)), they repeat every method; [`Methods::only`] does not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(alias = "allowed_methods")]
#[non_exhaustive]
pub enum Methods {
    /// Idempotent methods by RFC 9110 section 9.2.2, and requests with an idempotency key.
    Idempotent,
    /// Every method: only if processing twice does no harm, even on two servers (a document may fail over).
    All,
    /// No method but these; [`Methods::only`] creates it.
    Only(Arc<[Method]>),
}

impl Methods {
    /// Repeats no request whose method is not in the list, even if the server has not processed it, has an idempotency
    /// key, or says so by [`RetryOverride::idempotent`](crate::RetryOverride::idempotent). The order does not matter.
    ///
    /// It takes away and adds nothing: a POST in the list is repeated as with [`Methods::Idempotent`]. An operation of
    /// a `Runner` has no method, so the list does not apply to it.
    ///
    /// ```
    /// use http::Method;
    /// use http_retry::{Methods, RetryPolicy};
    ///
    /// let policy = RetryPolicy::background()
    ///     .to_builder()
    ///     .methods(Methods::only([Method::GET, Method::HEAD]))
    ///     .build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// The builder's `build` refuses an empty list: use [`RetryPolicy::never`].
    #[must_use]
    pub fn only(methods: impl IntoIterator<Item = Method>) -> Self {
        let mut methods: Vec<Method> = methods.into_iter().collect();
        methods.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        methods.dedup();
        Self::Only(methods.into())
    }

    /// Returns `true` if a request of this method, if it has one, is never repeated.
    pub(crate) fn exclude(&self, method: Option<&Method>) -> bool {
        match (self, method) {
            (Self::Only(methods), Some(method)) => !methods.contains(method),
            _ => false,
        }
    }
}

impl RetryPolicy {
    /// Returns the state of one request that starts at `started`, on the clock of [`Moment::now`](super::Moment::now).
    /// [`RetrySession`] shows its four steps.
    #[must_use]
    #[inline]
    pub fn session(&self, facts: RequestFacts, started: Duration) -> RetrySession {
        RetrySession::new(self.clone(), facts, started)
    }
}

impl RetryPolicy {
    /// Returns the header in which the service takes an idempotency key, besides the usual ones.
    #[must_use]
    #[inline]
    pub(crate) fn key_header(&self) -> Option<&HeaderName> {
        self.0.classifiers.key_header.as_deref()
    }

    /// Returns `true` if idempotency keys that a layer makes are sent in quotes.
    #[must_use]
    #[inline]
    pub(crate) fn quotes_keys(&self) -> bool {
        self.0.classifiers.quotes_keys
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.0.rules
    }

    /// Returns `true` if every success by the standard tables stays one under this policy.
    pub(crate) fn takes_successes_as_they_are(&self) -> bool {
        let Rules {
            otherwise,
            retry_on,
            ..
        } = &self.0.rules;
        // `stop_on` only prevents retries, and other actions leave a success as it is.
        !self.0.classifiers.has_success_rules()
            && retry_on.is_none()
            && !matches!(otherwise, Action::Fail)
    }

    /// Returns `true` if retries are off, and nothing else sends a request again or replaces its outcome.
    #[must_use]
    pub(crate) fn is_off(&self) -> bool {
        let last = matches!(self.0.rules.on_exhausted, OnExhausted::Last);
        self.0.never && last && !self.resends_beyond_its_limit()
    }

    /// Returns `true` if a call would wait this long because the server asks for it.
    pub(crate) fn would_wait(&self, asked: Duration) -> bool {
        self.longest_pause().is_none_or(|most| asked <= most)
    }

    /// Returns the longest server wait that a call still waits for, or `None` without a limit.
    #[must_use]
    pub(crate) fn longest_pause(&self) -> Option<Duration> {
        let limits = [self.0.max_server_delay, self.0.max_gate_wait];
        limits.into_iter().flatten().min()
    }

    /// Returns the longest time of one attempt, or `None` for any.
    pub(crate) fn attempt_time_limit(&self) -> Option<Duration> {
        self.0.attempt_timeout
    }

    /// Returns `true` if the body of a response may belong to its attempt.
    pub(crate) fn reads_whole_responses(&self) -> bool {
        self.0.whole_responses > 0
    }
}
