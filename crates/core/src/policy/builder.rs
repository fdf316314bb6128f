//! The builder of policies, which refuses settings that cannot work.

mod rules;
use super::classifier::Classify;
use super::rules::Origin;
use super::settings::{PartialSettings, above_zero};
use super::verdict::Verdict;
use super::{ErrorJudge, IntoVerdict, Outcome, RetryPolicy, Rewrite, Settings, StreamHolder};
use crate::error::ConfigError;
use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

/// A builder of a [`RetryPolicy`]. Settings start from [`RetryPolicy::background`], or from the policy of
/// [`RetryPolicy::to_builder`].
///
/// Each setter documents its units, bounds and default; the defaults are those of `background`. A setter called twice
/// keeps the last value, unless it is documented to add one. [`build`](Self::build) refuses settings that cannot work.
///
/// ```
/// use http_retry::{Backoff, RetryPolicy};
/// use std::time::Duration;
///
/// let policy = RetryPolicy::builder()
///     .max_retries(3)
///     .backoff(Backoff::exponential(Duration::from_millis(200)))
///     .deadline(Duration::from_secs(10))
///     .build()?;
/// assert_eq!(policy.worst_case().time(), Some(Duration::from_secs(10)));
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RetryPolicyBuilder {
    /// Shared with the policy that the builder started from, until a setter changes it.
    settings: Arc<Settings>,
    /// The settings of the table that were set on it.
    pub(super) given: PartialSettings,
    /// The alternative to `max_retries`.
    max_attempts: Option<u32>,
    origins: Vec<Origin>,
    /// The first error of a setter.
    error: Option<ConfigError>,
}

impl RetryPolicy {
    /// Returns a builder that starts from [`RetryPolicy::background`]; the policy that it builds is named `custom`.
    pub fn builder() -> RetryPolicyBuilder {
        let builder = Self::background().to_builder();
        builder.with(|settings| settings.name = "custom".into())
    }

    /// Returns a builder that starts from this policy, which does not change.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::user_facing().to_builder().max_retries(2).build()?;
    /// assert!(policy.explain().starts_with("user_facing (changed): at most 3 attempts"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn to_builder(&self) -> RetryPolicyBuilder {
        RetryPolicyBuilder {
            settings: Arc::clone(&self.0),
            given: PartialSettings::default(),
            max_attempts: None,
            origins: self.0.rules.origins.to_vec(),
            error: None,
        }
    }
}

impl RetryPolicyBuilder {
    /// Sets the maximum number of attempts in all, at least 1: the alternative to `max_retries`, which is one less.
    /// `build` refuses 0, and both at once.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::builder().max_attempts(3).build()?;
    /// assert_eq!(policy.worst_case().attempts, Some(3));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        Self {
            max_attempts: Some(max_attempts),
            ..self
        }
    }

    /// Adds a function that judges outcomes before the standard tables. `None` leaves an outcome to the next classifier
    /// and to the tables, and so does `Success` for an error. For an error, the function sees the verdict of
    /// `classify_error`, and overrides it. It must not panic.
    ///
    /// It runs once for each attempt, and again only once more is known (see [`Classify`]). Of several calls of `classify`
    /// and [`classifier`](Self::classifier), the first that returns a verdict decides. A wait or a
    /// scope that it leaves open is that of the next one, or of a [`dialect`](Self::dialect).
    ///
    /// ```
    /// use http_retry::{Class, Reach, RetryPolicy};
    ///
    /// // This API responds with 409 while a record is locked, and has then changed nothing.
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
        self.classifier(move |outcome: &Outcome<'_>| rule(outcome).map(Into::into))
    }

    /// Adds a classifier of your own type, such as one that reads bodies ([`Classify`] has an example). It comes after
    /// those that were added before, and before every [`dialect`](Self::dialect) and the standard tables; no header of
    /// the server overrules it. Default none.
    ///
    /// `build` refuses one that fails its own [`check`](Classify::check).
    pub fn classifier(self, classifier: impl Classify) -> Self {
        match classifier.check() {
            Ok(()) => self.with(|settings| settings.classifiers.add(Arc::new(classifier))),
            Err(error) => self.refuse(error),
        }
    }

    /// Adds a service's own meaning of its responses: a `Dialect`, `Dialects` by host, or a classifier of your own
    /// type. It comes after every [`classifier`](Self::classifier) and the dialects that were added before, and before
    /// the standard tables; the server overrules it with `x-should-retry` ([`header_rules`](Self::header_rules)).
    /// Default none; in `RetryPolicy::llm` the table of LLM APIs.
    ///
    /// `build` refuses one that fails its own [`check`](Classify::check): a dialect with a row that cannot work, with
    /// more than 64 rows of its own, or with more than 16 locations in a JSON body.
    pub fn dialect(self, dialect: impl Classify) -> Self {
        match dialect.check() {
            Ok(()) => self.with(|settings| settings.classifiers.add_dialect(Arc::new(dialect))),
            Err(error) => self.refuse(error),
        }
    }

    /// Holds back the start of the responses that `holder` chooses, to retry those that turn out to be failures
    /// ([`StreamHolder`] has an example; `llm::HoldStreams` chooses the streams of LLM APIs until their first output).
    /// Default none: the caller gets each response at its head.
    ///
    /// A response is held back at most as long as [`StreamHolder::first_event_timeout`], the attempt and the deadline
    /// allow; a timeout of 0 is an error at `build`.
    pub fn hold_streams(self, holder: impl StreamHolder + 'static) -> Self {
        self.with(|settings| settings.streams = Some(Arc::new(holder)))
    }

    /// Changes the body of a request that the server refused for good, and sends it again ([`Rewrite`] has an example;
    /// `llm::Truncation` cuts the longest text of a prompt). Default none: a retry sends what the caller sent.
    ///
    /// Each change is a retry without a wait, an event, and a line in the report. A body without a copy in memory is
    /// not changed: with tower it must be a `String` or a `ReplayBody`.
    pub fn rewrite(self, rewrite: impl Rewrite + 'static) -> Self {
        self.with(|settings| settings.rewrite = Some(Arc::new(rewrite)))
    }

    /// Adds a function that judges errors of your own type, found anywhere in an error's source chain; for several
    /// types, call it several times. The function must not panic.
    ///
    /// It returns class and reach, a [`Verdict`] that may also say when to come back, or an `Option` of one of these;
    /// `None` leaves the verdict to the rest of the chain. Unless errors are boxed, the source chain of a service's own
    /// error type is read only if you name the type here, at least by `|_: &MyError| ()`.
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
        self.own_error(ErrorJudge::new(judge))
    }

    /// Adds an error of the caller's own, as presets and documents do.
    pub(crate) fn own_error(self, own: ErrorJudge) -> Self {
        self.with(|settings| settings.own_errors.push(own))
    }

    /// Enables or disables the header rules: a few headers that any server may send and that say more than the status.
    /// Default `true`; `false` is plain HTTP.
    ///
    /// Each wrong guess costs one retry, at a time that the server itself named:
    ///
    /// - A 403 that names a time, by a delay that can be read or by the reset of a spent quota, is a throttle, and
    ///   refused.
    /// - `x-amzn-errortype` with the name of a throttle makes any 4xx one.
    /// - `x-should-retry` and `stripe-should-retry`: `false` stops, whatever a dialect says; `true` makes a response
    ///   that would not be repeated worth another attempt, as one that may have been processed.
    /// - `application/problem+json` with the members `"retryable": false` and `"cloudflare_error": true` stops,
    ///   whatever a dialect says: Cloudflare's own page for an origin that no retry reaches. The layer reads such a
    ///   body (for at most 2 s, and counts its first 4 KiB) only before a retry.
    pub fn header_rules(self, header_rules: bool) -> Self {
        self.with(|settings| settings.classifiers.header_rules = header_rules)
    }

    /// Sets the name that [`RetryPolicy::explain`] shows. Default that of the policy that the builder started from, or
    /// `custom`.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::builder().name("orders").build()?;
    /// assert!(policy.explain().starts_with("orders (changed): at most 5 attempts"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn name(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.with(|settings| settings.name = name.into())
    }

    /// Records the origins of settings for [`RetryPolicy::explain`]: of each, its field, its value as text, and the
    /// location. They are for a program that assembles policies from files of its own. A policy with origins is not
    /// called changed.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::builder().max_retries(2).origins([("max_retries", "2", "retry.toml")]);
    /// assert!(policy.build()?.explain().contains("max_retries: 2 (from retry.toml)"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn origins<F, V, L>(mut self, origins: impl IntoIterator<Item = (F, V, L)>) -> Self
    where
        F: Into<Cow<'static, str>>,
        V: Into<Arc<str>>,
        L: Into<Arc<str>>,
    {
        let origins = origins.into_iter();
        self.origins
            .extend(origins.map(|(field, value, from)| Origin {
                field: field.into(),
                value: value.into(),
                from: from.into(),
            }));
        self
    }

    /// Builds the policy. Its name, which [`RetryPolicy::explain`] shows, is that of the policy that the builder
    /// started from, or `custom`.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first field that cannot work, its value, and what is allowed; each setter
    /// documents its bounds. Nothing panics, and no value is silently replaced by another.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// let error = RetryPolicy::builder().deadline(Duration::ZERO).build().unwrap_err();
    /// assert_eq!(error.to_string(), "deadline: 0ns is not allowed: must be above 0");
    /// ```
    pub fn build(self) -> Result<RetryPolicy, ConfigError> {
        let given = self.given()?;
        if let Some(error) = self.error {
            return Err(error);
        }
        let max_refused = given.max_refused;
        let mut settings = given.over(Arc::unwrap_or_clone(self.settings));
        // A limit above 0 makes the preset `never` an ordinary policy.
        settings.never &= settings.max_retries == 0;
        // The origins show what was changed.
        settings.changed = self.origins.is_empty();
        settings.rules.origins = self.origins.into();
        settings.check()?;
        settings.check_streams()?;
        // Only a limit that was set here: that of a preset has no effect without a gate, and does no harm.
        settings.check_refused(max_refused)?;
        settings.check_waits()?;
        settings.check_framing()?;
        Ok(RetryPolicy(Arc::new(settings)))
    }

    /// Builds a preset of your own, under this name in [`RetryPolicy::explain`].
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let shop = RetryPolicy::builder().max_retries(3).preset("shop")?;
    /// assert!(shop.explain().contains("shop"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn preset(self, name: &'static str) -> Result<RetryPolicy, ConfigError> {
        let RetryPolicy(mut built) = self.build()?;
        let settings = Arc::make_mut(&mut built);
        // These settings are the preset, so `explain` must not call them changed.
        settings.changed = false;
        settings.name = name.into();
        Ok(RetryPolicy(built))
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Returns what was set, with either word for the limit as the number of retries.
    fn given(&self) -> Result<PartialSettings, ConfigError> {
        let mut given = self.given.clone();
        given.max_retries = match (given.max_retries, self.max_attempts) {
            (Some(retries), Some(attempts)) => {
                let allowed = format!("max_retries is set too, to {retries}: give one of the two");
                return Err(ConfigError::new("max_attempts", attempts, allowed));
            }
            (None, Some(0)) => {
                return Err(ConfigError::new("max_attempts", 0, "must be at least 1"));
            }
            (None, Some(attempts)) => Some(attempts.saturating_sub(1)),
            (retries, None) => retries,
        };
        // A limit that was set bounds all attempts, unless the refused ones have one too.
        if given.max_retries.is_some() {
            given.max_refused = given.max_refused.or(Some(0));
        }
        Ok(given)
    }
}

impl Settings {
    fn check_streams(&self) -> Result<(), ConfigError> {
        let streams = self.streams.as_ref();
        let timeout = streams.and_then(|streams| streams.first_event_timeout());
        above_zero("first_event_timeout", timeout)
    }
}

/// The bound of setters called on a policy instead of its builder, which no argument meets: a compile error that names
/// the builder. Without these setters, rustc only says that there is no such method.
///
/// ```compile_fail,E0277
/// let policy = http_retry::RetryPolicy::background().max_retries(2);
/// ```
///
/// ```
/// let policy = http_retry::RetryPolicy::background().to_builder().max_retries(2).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a `RetryPolicy` does not change: set this on its builder",
    label = "write `policy.to_builder()`, then the setters, then `.build()?`"
)]
pub trait SetOnBuilder {}

#[cfg(test)]
mod tests;
