//! One rule: a condition, and what follows from it.

use super::action::{Action, Failover, Wait};
use super::condition::Condition;
use crate::error::ConfigError;
use crate::policy::RetryPolicy;
use http::HeaderMap;
use std::sync::Arc;

/// What a name must be like that code gives.
pub(crate) const NAME: &str = "must have 1 to 128 bytes and no control character";

pub(crate) fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len()) && !text.contains(char::is_control)
}

/// A condition and what follows from it; the first rule of a policy that holds decides.
///
/// ```
/// use http_retry::rules::{Condition, Rule};
/// use http_retry::{Backoff, RetryPolicy};
/// use std::time::Duration;
///
/// let soon = RetryPolicy::builder()
///     .max_retries(2)
///     .backoff(Backoff::fixed(Duration::from_millis(50)))
///     .build()?;
/// let locked = Condition::status([409])?.and(Condition::message("locked")?);
/// let policy = RetryPolicy::builder()
///     .rule(Rule::when(locked).named("locked").retry(soon))
///     .rule(Rule::when(Condition::status([410])?).stop())
///     .build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Rule {
    /// In a policy it has one: its own, or its place.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) when: Condition,
    pub(crate) action: Action,
    /// Headers of the next attempt and of those after it.
    pub(crate) set: Option<Arc<HeaderMap>>,
}

/// A rule whose action is still to be said, by one of these methods:
///
/// | method | what follows |
/// |---|---|
/// | [`accept`](Self::accept), [`stop`](Self::stop), [`fail`](Self::fail) | the end: the caller gets the outcome, or an error |
/// | [`retry`](Self::retry) | another attempt, by limits of its own |
/// | [`wait`](Self::wait) | another attempt that counts as no retry: polling |
/// | [`failover`](Self::failover) | the next attempt goes to another service |
/// | [`then`](Self::then) | any of these, or the class of the outcome decides |
#[derive(Debug, Clone)]
#[must_use]
pub struct RuleBuilder(Rule);

impl Rule {
    /// A rule for the outcomes that this condition holds for. What follows is said next:
    ///
    /// ```
    /// use http_retry::rules::{Condition, Rule};
    ///
    /// let gone = Rule::when(Condition::status([410])?).named("gone").stop();
    /// assert_eq!(gone.name(), Some("gone"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn when(condition: Condition) -> RuleBuilder {
        RuleBuilder(Self {
            name: None,
            when: condition,
            action: Action::default(),
            set: None,
        })
    }

    /// The name that reports call it by; without one it is its place in the policy, such as `rules[0]`.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// When it holds.
    pub fn condition(&self) -> &Condition {
        &self.when
    }

    /// What follows then.
    #[must_use]
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The rule after these others; refused where it cannot do what it says.
    pub(crate) fn after(self, others: &[Self]) -> Result<Self, ConfigError> {
        let place = format!("rules[{}]", others.len());
        let name = self.name.clone().unwrap_or_else(|| place.as_str().into());
        let wrong = |field: &str, given: &str, allowed| {
            Err(ConfigError::new(format!("{place}{field}"), given, allowed))
        };
        if !is_name(&name) {
            return wrong(".name", "this name", NAME);
        }
        // None was added after a rule that takes every outcome.
        if others.last().is_some_and(|other| other.when.is_always()) {
            let allowed = "is never reached: a rule before it takes every outcome";
            return wrong("", &name, allowed);
        }
        if self.set.as_ref().is_some_and(|set| set.is_empty()) {
            return wrong(".set_headers", "an empty map", "give at least one header");
        }
        if self.set.is_some() && !self.action.sends_again() {
            return wrong(".set_headers", "a header", "this rule sends nothing again");
        }
        if let Action::Retry(policy) = &self.action {
            if policy.has_rules() {
                let allowed = "must have no rules of its own";
                return wrong(".retry", "this policy", allowed);
            }
        }
        Ok(Self {
            name: Some(name),
            ..self
        })
    }
}

impl RuleBuilder {
    /// The name that reports call the rule by, 1 to 128 bytes and no control character. Default its place, such as
    /// `rules[0]`.
    pub fn named(self, name: impl Into<Arc<str>>) -> Self {
        Self(Rule {
            name: Some(name.into()),
            ..self.0
        })
    }

    /// Headers that the next attempt and those after it have, in the place of the request's own of the same names. At least
    /// one, and only for a rule that retries, waits or fails over. Default none.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue};
    /// use http_retry::RetryPolicy;
    /// use http_retry::rules::{Condition, Rule};
    ///
    /// // A cache that ran out of time: the next attempt goes past it.
    /// let mut fresh = HeaderMap::new();
    /// fresh.insert("cache-control", HeaderValue::from_static("no-cache"));
    /// let late = Condition::status([504])?;
    /// let rule = Rule::when(late).set_headers(fresh).retry(RetryPolicy::user_facing());
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn set_headers(self, headers: impl Into<Arc<HeaderMap>>) -> Self {
        Self(Rule {
            set: Some(headers.into()),
            ..self.0
        })
    }

    /// The caller gets the outcome as it is, without another attempt.
    pub fn accept(self) -> Rule {
        self.then(Action::Accept)
    }

    /// The caller gets an error ([`Action::Fail`] says where).
    pub fn fail(self) -> Rule {
        self.then(Action::Fail)
    }

    /// No more attempts; the caller gets the outcome. A report says [`Stopped`](crate::StopReason::Stopped), also of a success.
    pub fn stop(self) -> Rule {
        self.then(Action::Stop)
    }

    /// Another attempt, by this policy ([`Action::Retry`] says what of it holds), whatever the outcome's class. A request
    /// that may have been processed is still sent again only where twice does no harm.
    pub fn retry(self, policy: RetryPolicy) -> Rule {
        self.then(Action::Retry(policy))
    }

    /// Another attempt that counts as no retry and costs no token, after the delay that `wait` says.
    pub fn wait(self, wait: Wait) -> Rule {
        self.then(Action::Wait(wait))
    }

    /// The next attempt goes to another service, at once and without a token.
    pub fn failover(self, to: Failover) -> Rule {
        self.then(Action::Failover(to))
    }

    /// The action as a value: [`Action::Classify`] leaves the outcome to its class and takes it from the rules below.
    pub fn then(self, action: Action) -> Rule {
        Rule { action, ..self.0 }
    }
}
