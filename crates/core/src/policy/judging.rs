//! How a policy judges outcomes and errors.

use super::{IntoVerdict, Outcome, Pointer, RetryPolicy, Verdict};
use std::any::Any;
use std::error::Error;
use std::sync::Arc;

/// What the user taught the policy about one error type.
#[derive(Clone)]
pub struct OwnError {
    seen: fn(&dyn Any) -> Option<&(dyn Error + 'static)>,
    judge: ErrorRule,
}

type ErrorRule = Arc<dyn Fn(&(dyn Error + 'static)) -> Option<Verdict> + Send + Sync>;

impl OwnError {
    pub(crate) fn new<E, V>(judge: impl Fn(&E) -> V + Send + Sync + 'static) -> Self
    where
        E: Error + 'static,
        V: IntoVerdict,
    {
        Self {
            seen: |value| value.downcast_ref::<E>().map(|error| error as _),
            judge: Arc::new(move |error| judge(error.downcast_ref::<E>()?).into_verdict()),
        }
    }
}

impl RetryPolicy {
    /// Returns the outcome as this policy judges it: by the first classifier that has a verdict, else by its dialects and
    /// the header rules ([`RetryPolicyBuilder::header_rules`](crate::RetryPolicyBuilder::header_rules)), of which
    /// `x-should-retry` overrules a dialect, else unchanged.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use http_retry::{Class, Outcome, Reach, RetryPolicy};
    ///
    /// let policy = RetryPolicy::builder()
    ///     .classify(|outcome| {
    ///         let locked = outcome.status() == Some(StatusCode::LOCKED);
    ///         locked.then_some((Class::Transient, Reach::Refused))
    ///     })
    ///     .build()?;
    /// let headers = HeaderMap::new();
    /// let locked = policy.classify(Outcome::response(StatusCode::LOCKED, &headers));
    /// assert_eq!(locked.class(), Class::Transient);
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    #[must_use]
    pub fn classify<'a>(&self, outcome: Outcome<'a>) -> Outcome<'a> {
        let own = self.own_verdict(&outcome);
        own.map_or(outcome, |own| outcome.judged(own))
    }

    /// The row of a dialect that has judged an outcome, such as `github[1]`; `None` if none has. The outcome is one that
    /// this policy has [classified](Self::classify).
    #[must_use]
    #[inline]
    pub fn row_of(&self, outcome: &Outcome<'_>) -> Option<Arc<str>> {
        self.0.classifiers.row_name(outcome.row()?)
    }

    /// Returns the verdict of the policy's classifiers and header rules, if there is one.
    pub(crate) fn own_verdict(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        self.0.classifiers.verdict(outcome)
    }

    /// Returns `true` if a classifier may judge a response whose status is a success.
    #[inline]
    pub(crate) fn judges_successes(&self) -> bool {
        self.0.classifiers.judges_successes()
    }

    /// Returns `true` if a classifier must see the start of the response's body.
    pub(crate) fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        outcome.body().is_none() && self.0.classifiers.reads_body(outcome)
    }

    /// Returns `true` if a classifier or a rule may ask which request an outcome belongs to.
    #[must_use]
    #[inline]
    pub fn asks_for_the_request(&self) -> bool {
        !self.0.classifiers.is_empty() || self.has_rules()
    }

    /// Returns the places of a JSON body that classifiers look at.
    #[must_use]
    #[inline]
    pub fn pointers(&self, outcome: &Outcome<'_>) -> Vec<Pointer> {
        self.0.classifiers.pointers(outcome)
    }

    /// The error behind a value of any type, if the policy was taught that type.
    #[inline]
    pub fn own_error<'a>(&self, value: &'a dyn Any) -> Option<&'a (dyn Error + 'static)> {
        self.0.own_errors.iter().find_map(|own| (own.seen)(value))
    }

    /// What the policy was taught about an error.
    #[inline]
    pub fn judge(&self, error: &(dyn Error + 'static)) -> Option<Verdict> {
        self.0.own_errors.iter().find_map(|own| (own.judge)(error))
    }
}
