//! Names that code registers for documents to use.

use super::live::Live;
use super::value::Value;
use super::{ConfigErrors, Document, RetryConfig, shown};
use arc_swap::ArcSwap;
use http_retry_core::budget::RetryBudget;
use http_retry_core::policy::{Classify, IntoVerdict, Verdict};
use http_retry_core::report::DeadLetters;
use http_retry_core::{Outcome, RetryPolicyBuilder};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A function from retry n = 1, 2, and so on to the ceiling before it.
pub(super) type Ceiling = Arc<dyn Fn(u32) -> Duration + Send + Sync>;
type MakeCeiling = Arc<dyn Fn(&Value) -> Result<Ceiling, String> + Send + Sync>;
/// Registers a classifier for an error type with a policy.
type TeachErrorType = Arc<dyn Fn(RetryPolicyBuilder) -> RetryPolicyBuilder + Send + Sync>;

/// A loader for documents that use names registered by code. The document decides on limits and rules; code names
/// observers, schedules and error types, and classifies outcomes.
#[derive(Clone, Default)]
#[must_use]
pub struct RetryConfigBuilder {
    pub(super) dead_letters: BTreeMap<Arc<str>, Arc<dyn DeadLetters>>,
    pub(super) backoffs: BTreeMap<Arc<str>, MakeCeiling>,
    pub(super) budgets: BTreeMap<Arc<str>, RetryBudget>,
    #[cfg(feature = "fleet")]
    pub(super) fleets: BTreeMap<Arc<str>, http_retry_fleet::Fleet>,
    pub(super) error_types: BTreeMap<Arc<str>, TeachErrorType>,
    /// The error types that apply at every level.
    pub(super) errors: Vec<TeachErrorType>,
    pub(super) classifiers: Vec<Arc<dyn Classify>>,
}

impl RetryConfigBuilder {
    /// Registers an observer under a name, for `on_exhausted: {dead_letter: NAME}`.
    pub fn dead_letters(mut self, name: impl Into<Arc<str>>, to: impl DeadLetters) -> Self {
        self.dead_letters.insert(name.into(), Arc::new(to));
        self
    }

    /// Registers a schedule under a name, for `backoff: {custom: NAME, args: ARGS}`. The function makes a schedule from
    /// the arguments, and the schedule returns the ceiling before retry n = 1, 2, and so on; the document sets jitter
    /// and the longest delay. Neither must panic.
    ///
    /// ```
    /// use http_retry::config::{Document, RetryConfig};
    /// use std::time::Duration;
    ///
    /// let document: Document = serde_json::from_str(
    ///     r#"{"version": 1, "retry": {"backoff": {"custom": "squares", "args": {"unit_ms": 100}}}}"#,
    /// )?;
    /// #[derive(serde::Deserialize)]
    /// struct Squares { unit_ms: u64 }
    ///
    /// let config = RetryConfig::builder()
    ///     .backoff("squares", |args: Squares| {
    ///         move |n| Duration::from_millis(args.unit_ms).saturating_mul(n.saturating_mul(n))
    ///     })
    ///     .load(&document)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backoff<A, F>(
        mut self,
        name: impl Into<Arc<str>>,
        make: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        F: Fn(u32) -> Duration + Send + Sync + 'static,
    {
        let make = move |args: &Value| {
            let read = serde_json::from_value::<A>(args.to_json());
            let args = read.map_err(|error| why_unreadable::<A>(args, &error.to_string()))?;
            Ok(Arc::new(make(args)) as Ceiling)
        };
        self.backoffs.insert(name.into(), Arc::new(make));
        self
    }

    /// Registers a budget under a name, for `budget: NAME`, if the program shares it with clients outside of the
    /// document. A budget with the same name in the document replaces it.
    pub fn budget(mut self, name: impl Into<Arc<str>>, budget: RetryBudget) -> Self {
        let name = name.into();
        let budget = budget.named(format!("budgets.{name}"));
        self.budgets.insert(name, budget);
        self
    }

    /// Registers a fleet under a name, for `fleet: {use: NAME}`, if the program sets it up with credentials, TLS or
    /// Sentinel, or shares it with layers outside of the document.
    #[cfg(feature = "fleet")]
    pub fn fleet(mut self, name: impl Into<Arc<str>>, fleet: &http_retry_fleet::Fleet) -> Self {
        self.fleets.insert(name.into(), fleet.clone());
        self
    }

    /// Adds a function that precedes the standard tables at every level of the document, as
    /// [`RetryPolicyBuilder::classify`](http_retry_core::RetryPolicyBuilder::classify) does for one policy. If it
    /// returns `None`, the next one decides, then the classifier of the preset, if it has one, and then the tables. It
    /// must not panic.
    ///
    /// ```
    /// use http_retry::config::{Document, RetryConfig};
    /// use http_retry::{Class, Reach};
    ///
    /// // The program knows that this API's 409 is worth a retry; the document limits the retries.
    /// let document: Document = serde_json::from_str(r#"{"version": 1, "retry": {"max_attempts": 3}}"#)?;
    /// let config = RetryConfig::builder()
    ///     .classify(|outcome| {
    ///         let locked = outcome.status().is_some_and(|status| status == 409);
    ///         locked.then_some((Class::Transient, Reach::Refused))
    ///     })
    ///     .load(&document)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn classify<V: Into<Verdict>>(
        self,
        rule: impl Fn(&Outcome<'_>) -> Option<V> + Send + Sync + 'static,
    ) -> Self {
        self.classifier(move |outcome: &Outcome<'_>| rule(outcome).map(Into::into))
    }

    /// Adds a classifier for every level of the document, after those that were added before.
    pub fn classifier(mut self, classifier: impl Classify) -> Self {
        self.classifiers.push(Arc::new(classifier));
        self
    }

    /// Classifies your own error type at every level of the document; see
    /// [`RetryPolicyBuilder::classify_error`](http_retry_core::RetryPolicyBuilder::classify_error). For several types,
    /// call it several times. The function must not panic.
    pub fn classify_error<E, V>(mut self, judge: impl Fn(&E) -> V + Send + Sync + 'static) -> Self
    where
        E: Error + 'static,
        V: IntoVerdict,
    {
        self.errors.push(teach(judge));
        self
    }

    /// Registers the classification of an error type under a name, for `classify_error: NAME`. It takes precedence over
    /// that of [`classify_error`](Self::classify_error) for the same type.
    pub fn error_type<E, V>(
        mut self,
        name: impl Into<Arc<str>>,
        judge: impl Fn(&E) -> V + Send + Sync + 'static,
    ) -> Self
    where
        E: Error + 'static,
        V: IntoVerdict,
    {
        self.error_types.insert(name.into(), teach(judge));
        self
    }

    /// Loads a document and puts it into force.
    ///
    /// # Errors
    ///
    /// Every problem of the document, each with its path.
    pub fn load(self, document: &Document) -> Result<RetryConfig, ConfigErrors> {
        let live = Live::load(&document.0, &Arc::new(self), None)?;
        let live = Arc::new(ArcSwap::from_pointee(live));
        Ok(RetryConfig { live })
    }
}

fn teach<E, V>(judge: impl Fn(&E) -> V + Send + Sync + 'static) -> TeachErrorType
where
    E: Error + 'static,
    V: IntoVerdict,
{
    let judge = Arc::new(judge);
    Arc::new(move |builder: RetryPolicyBuilder| {
        // Called once for every level of the document.
        let judge = Arc::clone(&judge);
        builder.classify_error(move |error: &E| judge(error))
    })
}

/// Returns the reason that arguments cannot be read, without their text: only the program knows if it is secret.
fn why_unreadable<A: DeserializeOwned>(args: &Value, error: &str) -> String {
    let hidden = args.without_texts();
    let without = serde_json::from_value::<A>(hidden.to_json()).err();
    // The error is shown if it is the same without the texts. Otherwise a text caused it, and it may quote one.
    let same = without.map(|without| without.to_string());
    let same = same.filter(|same| hidden.is_public() && *same == args.redact(error));
    match same {
        Some(same) => shown::sentence(&same),
        None => "are not what this backoff takes".to_owned(),
    }
}

impl fmt::Debug for RetryConfigBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryConfigBuilder")
            .field("dead_letters", &self.dead_letters.keys())
            .field("backoffs", &self.backoffs.keys())
            .field("budgets", &self.budgets.keys())
            .field("error_types", &self.error_types.keys())
            .finish_non_exhaustive()
    }
}
