//! One rule: a condition and its action.

use super::action::{Action, Failover, Wait};
use super::predicate::Predicate;
use crate::error::ConfigError;
use crate::policy::framing::check_set_headers;
use crate::policy::{Classify, Outcome, Pointer, RetryPolicy, Verdict};
use http::HeaderMap;
use std::sync::Arc;

/// A condition and its action; the first rule of a policy that holds decides.
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
#[non_exhaustive]
pub struct Rule {
    /// The name that reports use; a rule in a policy without one of its own has its index, such as `rules[0]`.
    pub name: Option<Arc<str>>,
    /// The place in a document where it is written.
    pub(crate) origin: Option<Arc<str>>,
    pub(crate) when: Arc<dyn Predicate>,
    /// `true` if the condition may hold for a plain success.
    pub(crate) is_for_successes: bool,
    /// The action on such an outcome.
    pub action: Action,
    /// Headers for the next attempt and those after it.
    pub(crate) set: Option<Arc<HeaderMap>>,
}

/// A rule without its action, which one of these methods sets:
///
/// | method | result |
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
    /// Starts a rule for the outcomes that this condition holds for. The action comes next:
    ///
    /// ```
    /// use http_retry::rules::{Condition, Rule};
    ///
    /// let gone = Rule::when(Condition::status([410])?).named("gone").stop();
    /// assert_eq!(gone.name.as_deref(), Some("gone"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn when(condition: impl Predicate) -> RuleBuilder {
        RuleBuilder(Self {
            name: None,
            origin: None,
            is_for_successes: condition.may_hold_for_success(),
            when: Arc::new(condition),
            action: Action::default(),
            set: None,
        })
    }

    /// Returns the place where the rule is written, such as `services.orders.rules[0]`, or its name if code has made
    /// it.
    pub(crate) fn place(&self) -> Option<&Arc<str>> {
        self.origin.as_ref().or(self.name.as_ref())
    }

    /// Returns the condition.
    #[must_use]
    pub fn condition(&self) -> &dyn Predicate {
        &*self.when
    }

    /// Returns this rule, named by its index if it has no name, or an error if it has no effect. `last` is the rule
    /// before it.
    pub(crate) fn at(self, index: u32, last: Option<&Self>) -> Result<Self, ConfigError> {
        let path = format!("rules[{index}]");
        let name = self.name.clone().unwrap_or_else(|| path.as_str().into());
        let refuse = |field: &str, given: &str, allowed| {
            Err(ConfigError::new(format!("{path}{field}"), given, allowed))
        };
        if let Err(allowed) = check_name(&name) {
            return refuse(".name", "this name", allowed);
        }
        // Looking at the last rule is enough: none was added after a rule that takes every outcome.
        if last.is_some_and(|other| other.when.is_always()) {
            let allowed = "is never reached: a rule before it takes every outcome";
            return refuse("", &name, allowed);
        }
        if let Some(set) = &self.set {
            if set.is_empty() {
                return refuse(".set_headers", "an empty map", "give at least one header");
            }
            check_set_headers(format!("{path}.set_headers"), set)?;
        }
        if self.set.is_some() && !self.action.sends_again() {
            return refuse(".set_headers", "a header", "this rule sends nothing again");
        }
        if let Action::Retry(policy) = &self.action {
            if policy.has_rules() {
                let allowed = "must have no rules of its own";
                return refuse(".retry", "this policy", allowed);
            }
        }
        Ok(Self {
            name: Some(name),
            ..self
        })
    }
}

/// A rule gives an outcome no meaning: it acts on the one that others have given.
impl Classify for Rule {
    fn classify(&self, _: &Outcome<'_>) -> Option<Verdict> {
        None
    }

    fn judges_successes(&self) -> bool {
        false
    }

    fn pointers(&self, _: &Outcome<'_>) -> Vec<Pointer> {
        self.when.pointers()
    }

    fn rule(&self) -> Option<&Rule> {
        Some(self)
    }

    fn describe(&self) -> Vec<String> {
        let name = self.name.as_deref().unwrap_or_default();
        let action = format!("rule {name}: {}", self.action);
        let gets = match &self.action {
            Action::Failover(to) => format!("; the caller gets the outcome of {}", to.service),
            _ => String::new(),
        };
        vec![action, format!("  if {}{gets}", self.when)]
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.clone().at(0, None).map(drop)
    }
}

impl RuleBuilder {
    /// Sets the name that reports use, of 1 to 128 bytes and without control characters. Default its index, such as
    /// `rules[0]`.
    pub fn named(self, name: impl Into<Arc<str>>) -> Self {
        Self(Rule {
            name: Some(name.into()),
            ..self.0
        })
    }

    /// Records the origin of the rule for reports ([`RetryReport::stopped_by`](crate::RetryReport::stopped_by)): its
    /// place in a file, for a program that assembles policies from files of its own. Default its name.
    ///
    /// ```
    /// use http_retry::rules::{Condition, Rule};
    ///
    /// let gone = Rule::when(Condition::status([410])?).named("gone").origin("retry.toml: rules[0]").stop();
    /// assert_eq!(gone.name.as_deref(), Some("gone"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn origin(self, place: impl Into<Arc<str>>) -> Self {
        Self(Rule {
            origin: Some(place.into()),
            ..self.0
        })
    }

    /// Sets headers for the next attempt and those after it, which replace the request's own of the same names. At
    /// least one, and only for a rule that retries, waits or fails over. A header that frames the request or belongs to
    /// its connection, such as `content-length`, is refused: only the client sets it. Default none.
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

    /// Hands the caller the outcome as it is, without another attempt.
    pub fn accept(self) -> Rule {
        self.then(Action::Accept)
    }

    /// Hands the caller an error, or the outcome if the error type cannot hold one (see [`Action::Fail`]).
    pub fn fail(self) -> Rule {
        self.then(Action::Fail)
    }

    /// Allows no more attempts; the caller gets the outcome. A report says [`Stopped`](crate::StopReason::Stopped), for
    /// a success too.
    pub fn stop(self) -> Rule {
        self.then(Action::Stop)
    }

    /// Makes another attempt by this policy, whatever the outcome's class ([`Action::Retry`] says which of its settings
    /// apply). A request that may have been processed is still sent again only if processing it twice does no harm.
    pub fn retry(self, policy: RetryPolicy) -> Rule {
        self.then(Action::Retry(policy))
    }

    /// Makes another attempt after the delay of `wait`, which does not count as a retry and costs no token.
    pub fn wait(self, wait: Wait) -> Rule {
        self.then(Action::Wait(wait))
    }

    /// Sends the next attempt to another service, at once and without a token.
    pub fn failover(self, to: Failover) -> Rule {
        self.then(Action::Failover(to))
    }

    /// Sets the action as a value: [`Action::Classify`] leaves the outcome to its class and exempts it from later
    /// rules.
    pub fn then(self, action: Action) -> Rule {
        Rule { action, ..self.0 }
    }
}

/// Checks a name that is given in code.
///
/// # Errors
///
/// The form that a name must have.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    let fits = (1..=128).contains(&name.len()) && !name.contains(char::is_control);
    fits.then_some(())
        .ok_or("must have 1 to 128 bytes and no control character")
}
