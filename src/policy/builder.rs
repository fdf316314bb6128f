//! Builds a policy from settings, and refuses settings that cannot work.

mod inside;
mod limits;
mod rules;

use super::classifier::{ByFunction, Classify};
use super::verdict::Verdict;
use super::{Backoff, IntoVerdict, Methods, Outcome, OwnError, RetryPolicy, Settings};
use crate::error::ConfigError;
use std::error::Error;
use std::sync::Arc;

/// Builds a [`RetryPolicy`]. Settings start from [`RetryPolicy::background`], or from the policy of
/// [`RetryPolicy::to_builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RetryPolicyBuilder {
    settings: Settings,
    max_retries: Option<u32>,
    max_attempts: Option<u32>,
    /// What a setter could not take.
    refused: Option<ConfigError>,
    /// A document has its own words for rules that cannot work.
    is_of_document: bool,
}

impl RetryPolicy {
    /// A builder that starts from [`RetryPolicy::background`].
    pub fn builder() -> RetryPolicyBuilder {
        let mut builder = Self::background().to_builder();
        builder.settings.name = "custom".into();
        builder
    }

    /// A builder that starts from this policy.
    pub fn to_builder(&self) -> RetryPolicyBuilder {
        RetryPolicyBuilder {
            settings: Settings::clone(&self.0),
            max_retries: None,
            max_attempts: None,
            refused: None,
            is_of_document: false,
        }
    }
}

impl RetryPolicyBuilder {
    /// The delay before each retry. Default exponential from 2 s with full jitter, at most 60 s.
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.with(|settings| settings.backoff = backoff)
    }

    /// Which methods may be repeated after the server may have processed the request. Default
    /// [`Methods::Idempotent`].
    pub fn methods(self, methods: Methods) -> Self {
        self.with(|settings| settings.methods = methods)
    }

    /// A function that overrides the standard tables: `None` leaves an outcome to them, and so does `Success` for an
    /// error. It sees the verdict of `classify_error` on an error, and overrides it. A second call replaces the
    /// function. It must not panic.
    ///
    /// It runs once for each attempt, and a second time only with new evidence ([`Classify`] says which).
    ///
    /// ```
    /// use http_retry::{Class, Reach, RetryPolicy};
    ///
    /// // This API answers 409 while a record is locked, and then has changed nothing.
    /// let policy = RetryPolicy::builder()
    ///     .classify(|outcome| {
    ///         let locked = outcome.status().is_some_and(|status| status == 409);
    ///         locked.then_some((Class::Transient, Reach::Refused))
    ///     })
    ///     .build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn classify<V: Into<Verdict>>(
        self,
        rule: impl Fn(&Outcome<'_>) -> Option<V> + Send + Sync + 'static,
    ) -> Self {
        self.classifier(ByFunction(move |outcome: &Outcome<'_>| {
            rule(outcome).map(Into::into)
        }))
    }

    /// A classifier that overrides the standard tables; it replaces an earlier [`RetryPolicyBuilder::classify`].
    pub fn classifier(self, classifier: impl Classify) -> Self {
        self.with(|settings| settings.classify = Some(Arc::new(classifier)))
    }

    /// What your own error type means, anywhere in an error's source chain; for several types, call it several times.
    /// The function must not panic.
    ///
    /// It returns class and reach, a [`Verdict`] that may also say when to come back, or an
    /// `Option` of one of these; nothing leaves the verdict to the rest of the chain. Unless errors are boxed, the source
    /// chain of a service's own error type is read only if you name the type here, at least by `|_: &MyError| ()`.
    ///
    /// ```
    /// use http_retry::{Class, Reach, RetryPolicy};
    /// use std::num::ParseIntError;
    ///
    /// let policy = RetryPolicy::builder()
    ///     .classify_error(|_: &ParseIntError| (Class::Permanent, Reach::Answered))
    ///     .build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn classify_error<E, V>(self, judge: impl Fn(&E) -> V + Send + Sync + 'static) -> Self
    where
        E: Error + 'static,
        V: IntoVerdict,
    {
        self.own_error(OwnError::new(judge))
    }

    /// Whether a few headers that every server may send say more than its status. Default yes; no is plain HTTP.
    ///
    /// Each wrong guess costs one retry, at a time that the server named itself:
    ///
    /// - 403 that names a time, by a delay that can be read or by the reset of a quota of which nothing remains, is a
    ///   throttle, and refused.
    /// - `x-amzn-errortype` with the name of a throttle makes any 4xx one.
    /// - `x-should-retry` and `stripe-should-retry`: `false` stops, whatever a dialect says; `true` makes an answer that
    ///   would not be repeated worth another attempt, as one that may have been processed.
    pub fn header_rules(self, header_rules: bool) -> Self {
        self.with(|settings| settings.header_rules = header_rules)
    }

    /// Builds the policy.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first field that cannot work.
    pub fn build(self) -> Result<RetryPolicy, ConfigError> {
        let max_retries = self.limit()?;
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        let settings = Settings {
            max_retries,
            never: self.settings.never && max_retries == 0,
            // A document says where each field came from.
            changed: self.settings.rules.origins.is_empty(),
            judges_successes: self.settings.judge_successes(),
            ..self.settings
        };
        settings.check()?;
        if !self.is_of_document {
            settings.check_waits()?;
        }
        Ok(RetryPolicy(Arc::new(settings)))
    }

    /// The policy unchecked, under its own name: for presets.
    #[cfg(feature = "llm")]
    pub(crate) fn unchanged(self) -> RetryPolicy {
        let judges_successes = self.settings.judge_successes();
        RetryPolicy(Arc::new(Settings {
            judges_successes,
            ..self.settings
        }))
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    fn limit(&self) -> Result<u32, ConfigError> {
        match (self.max_retries, self.max_attempts) {
            (Some(retries), Some(attempts)) => Err(ConfigError::new(
                "max_attempts",
                attempts,
                format!("max_retries is set too, to {retries}: give one of the two"),
            )),
            (None, Some(attempts)) => attempts
                .checked_sub(1)
                .ok_or_else(|| ConfigError::new("max_attempts", 0, "must be at least 1")),
            (retries, None) => Ok(retries.unwrap_or(self.settings.max_retries)),
        }
    }
}

impl Settings {
    /// Whether anything but the standard tables judges an answer that is a success by its status.
    fn judge_successes(&self) -> bool {
        let mut tables = [&self.judged, &self.meanings].into_iter().flatten();
        self.classify.is_some() || tables.any(|table| table.judge_successes())
    }
}

#[cfg(test)]
mod tests;
