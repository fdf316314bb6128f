//! Rules: what follows from an outcome where a condition holds, said in code as a document says it.
//!
//! A [`Rule`] has a [`Condition`] and an [`Action`]. A policy asks its rules in their order, and the first that holds
//! decides; where none does, the class of the outcome decides ([`RetryPolicyBuilder::otherwise`] says something else).
//! The limits stay: the deadline, the budget, bodies that cannot be sent twice, and requests that do harm twice.
//!
//! ```
//! # #[cfg(feature = "testing")] {
//! use http::{Request, StatusCode};
//! use http_retry::rules::{Condition, Rule, Wait};
//! use http_retry::testing::{ManualRuntime, Script};
//! use http_retry::tower::RetryLayer;
//! use http_retry::{RetryPolicy, RetryReport};
//! use std::time::Duration;
//! use tower::{ServiceBuilder, ServiceExt};
//!
//! # async fn poll() -> Result<(), tower::BoxError> {
//! // A job that is not done yet answers 202: ask every 5 s, for at most a minute.
//! let poll = Wait::new().delay(Duration::from_secs(5)).at_most(12);
//! let policy = RetryPolicy::builder()
//!     .rule(Rule::when(Condition::status([202])?).named("not yet").wait(poll))
//!     .build()?;
//!
//! let clock = ManualRuntime::new();
//! let server = Script::new().status(202).status(202).status(200);
//! let client = ServiceBuilder::new()
//!     .layer(RetryLayer::new(policy).runtime(clock.clone()))
//!     .service(server);
//! let response = client.oneshot(Request::get("http://jobs.example/7").body(String::new())?).await?;
//!
//! assert_eq!(response.status(), StatusCode::OK);
//! assert_eq!(clock.sleeps(), [Duration::from_secs(5), Duration::from_secs(5)]);
//! let report = response.extensions().get::<RetryReport>().unwrap();
//! assert_eq!(report.attempts()[0].rule.as_deref(), Some("not yet"));
//! # Ok(()) }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(poll()).unwrap();
//! # }
//! ```
//!
//! What has the name of another service, a budget or an observer (failover, a budget of a rule's own, dead letters) finds it
//! among [`Services`](crate::services::Services) or in a document.
//!
//! [`RetryPolicyBuilder::otherwise`]: crate::RetryPolicyBuilder::otherwise

mod action;
mod condition;
mod rule;

pub use crate::policy::canned_response::CannedResponse;
pub use action::{Action, Failover, Wait};
pub use condition::{Condition, ErrorGroup, Evidence, Value};
pub(crate) use condition::{ConditionInput, SuccessBodyTest};
pub(crate) use condition::{lines, matches_glob, parts};
pub(crate) use rule::{NAME, is_name};
pub use rule::{Rule, RuleBuilder};

use super::{Class, RetryPolicy};
use condition::{all, any};
use http::{HeaderMap, HeaderName};
use std::borrow::Cow;
use std::sync::Arc;

/// All that a policy says beyond numbers; by default nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    pub(crate) list: Arc<[Rule]>,
    /// What decides where no rule does.
    pub(crate) otherwise: Action,
    /// Given, only these outcomes are retried where no rule speaks, whatever their class.
    pub(crate) retry_on: Option<Arc<[Condition]>>,
    /// These outcomes are never retried.
    pub(crate) stop_on: Arc<[Condition]>,
    pub(crate) counter: Counter,
    pub(crate) server_delays: ServerDelays,
    /// The budget that pays, instead of the service's own.
    pub(crate) budget: Option<Arc<str>>,
    pub(crate) on_exhausted: OnExhausted,
    /// Headers that a failover leaves out, besides those that it always does.
    pub(crate) credentials: Arc<[HeaderName]>,
    /// Each effective field, its value and where it came from.
    pub(crate) origins: Arc<[Origin]>,
}

/// What a limit of retries counts, in the policy that a rule retries by
/// ([`RetryPolicyBuilder::counter`](crate::RetryPolicyBuilder::counter) shows both).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counter {
    /// All retries of the request, whatever rule they follow. The default.
    #[default]
    Request,
    /// The retries by the rule alone, however many others came before. Other limits still count them.
    Rule,
}

/// What is made of a wait that a server asks for ([`RetryPolicyBuilder::server_delays`](crate::RetryPolicyBuilder::server_delays)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerDelays {
    /// It is kept; a longer one than the policy's `max_server_delay` allows stops the request. The default.
    #[default]
    Respect,
    /// It is kept up to `max_server_delay`: a longer one is cut to it, so the retry comes earlier than asked.
    Clamp,
    /// The backoff alone decides, and `max_server_delay` has no effect.
    Ignore,
}

/// What judges an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecidedBy {
    /// The policy itself.
    Policy,
    /// One of its rules.
    Rule(usize),
    /// What it says of outcomes that no rule covers.
    Otherwise,
}

/// What is to be done about an outcome, and what says so.
#[derive(Clone, Copy)]
pub(in crate::policy) struct ChosenAction<'a> {
    pub(in crate::policy) action: &'a Action,
    pub(in crate::policy) by: DecidedBy,
}

impl<'a> ChosenAction<'a> {
    /// The word of a policy without rules.
    pub(in crate::policy) const BY_CLASS: Self = Self {
        action: &Action::Classify,
        by: DecidedBy::Policy,
    };

    /// Who leaves it to the class says nothing.
    fn of(action: &'a Action, by: DecidedBy) -> Self {
        match action {
            Action::Classify => Self::BY_CLASS,
            _ => Self { action, by },
        }
    }
}

/// The names in the rules of a policy, which its services or its document give a meaning to.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct NamesUsed<'a> {
    /// The services that it fails over to.
    pub failovers: Vec<&'a Arc<str>>,
    /// The budgets that pay.
    pub budgets: Vec<&'a Arc<str>>,
    /// The observers of what is given up.
    pub dead_letters: Vec<&'a Arc<str>>,
}

impl RetryPolicy {
    /// Returns the names in its rules, and in those of the policies that they retry by.
    #[must_use]
    pub fn names_used(&self) -> NamesUsed<'_> {
        let mut names = NamesUsed::default();
        self.rules().names(&mut names);
        names
    }
}

impl Rules {
    /// What these rules and the policies that they retry by name.
    fn names<'a>(&'a self, names: &mut NamesUsed<'a>) {
        names.budgets.extend(&self.budget);
        match &self.on_exhausted {
            OnExhausted::Failover { to, .. } => names.failovers.push(&to.service),
            OnExhausted::DeadLetter { name } => names.dead_letters.push(name),
            _ => {}
        }
        let actions = self.list.iter().map(|rule| &rule.action);
        for action in actions.chain([&self.otherwise]) {
            match action {
                Action::Failover(to) => names.failovers.push(&to.service),
                // It has no rules of its own.
                Action::Retry(policy) => policy.rules().names(names),
                _ => {}
            }
        }
    }

    /// Whether anything but the class of an outcome and the lists decides.
    pub(in crate::policy) fn decide_anything(&self) -> bool {
        !self.list.is_empty() || !matches!(self.otherwise, Action::Classify)
    }

    /// Whether lists decide beside the class of an outcome.
    pub(in crate::policy) fn have_lists(&self) -> bool {
        self.retry_on.is_some() || !self.stop_on.is_empty()
    }

    /// Whether a response may take the place of the last outcome.
    pub(in crate::policy) fn may_respond(&self) -> bool {
        let actions = self.list.iter().map(|rule| &rule.action);
        let mut actions = actions.chain([&self.otherwise]);
        matches!(self.on_exhausted, OnExhausted::Respond(_))
            || actions.any(|action| match action {
                Action::Retry(policy) => policy.may_respond(),
                _ => false,
            })
    }

    /// Whether an error of this crate may take the place of a response.
    pub(in crate::policy) fn may_fail(&self) -> bool {
        let actions = self.list.iter().map(|rule| &rule.action);
        let mut actions = actions.chain([&self.otherwise]);
        matches!(self.on_exhausted, OnExhausted::Fail)
            || actions.any(|action| match action {
                Action::Fail | Action::ByOutcome => true,
                Action::Retry(policy) => policy.may_fail(),
                _ => false,
            })
    }

    /// Whether a request may be sent again when its limit of retries is reached.
    pub(in crate::policy) fn resend_beyond_the_limit(&self) -> bool {
        !self.list.is_empty()
            || matches!(self.otherwise, Action::Retry(_))
            || matches!(self.on_exhausted, OnExhausted::Failover { .. })
    }

    /// The first rule's word; nothing where that depends on what has not been read yet.
    pub(in crate::policy) fn verdict(&self, seen: &ConditionInput<'_>) -> Option<ChosenAction<'_>> {
        for (index, rule) in self.list.iter().enumerate() {
            if rule.when.holds(seen)? {
                return Some(ChosenAction::of(&rule.action, DecidedBy::Rule(index)));
            }
        }
        let success = seen.outcome.class() == Class::Success;
        let action = match &self.otherwise {
            // What no rule speaks of is retried where it failed, and only there.
            Action::Retry(_) if success => &Action::Accept,
            action => action,
        };
        Some(ChosenAction::of(action, DecidedBy::Otherwise))
    }

    /// The policy that a rule retries by, if it has one of its own.
    pub(in crate::policy) fn policy_by(&self, by: DecidedBy) -> Option<&RetryPolicy> {
        let action = match by {
            DecidedBy::Policy => return None,
            DecidedBy::Rule(rule) => &self.list.get(rule)?.action,
            DecidedBy::Otherwise => &self.otherwise,
        };
        match action {
            Action::Retry(policy) => Some(policy),
            _ => None,
        }
    }

    /// Whether these outcomes are retried by what `retry_on` and `stop_on` say; nothing where neither has a word, or
    /// where that depends on what has not been read yet.
    pub(in crate::policy) fn listed(&self, seen: &ConditionInput<'_>) -> ListMatch {
        let matched = |list: &[Condition]| any(list.iter().map(|when| when.holds(seen)));
        let retry = match &self.retry_on {
            Some(list) => matched(list),
            None => Some(true),
        };
        let stop = matched(&self.stop_on).map(|stop| !stop);
        match (all([retry, stop].into_iter()), &self.retry_on) {
            (None, _) => ListMatch::Unread,
            (Some(false), _) => ListMatch::No,
            (Some(true), Some(_)) => ListMatch::Yes,
            (Some(true), None) => ListMatch::Unlisted,
        }
    }
}

/// What `retry_on` and `stop_on` say of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) enum ListMatch {
    Yes,
    No,
    Unlisted,
    Unread,
}

/// What becomes of a request that was worth another attempt, and has none left: by the limit of retries or of waits, the
/// deadline, the budget, or a server that asks for too long a wait. An answer that no retry would have changed, such as a
/// 404, is the caller's as it is.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::RetryPolicy;
/// use http_retry::rules::{CannedResponse, Failover, OnExhausted};
///
/// let told = CannedResponse::new(StatusCode::SERVICE_UNAVAILABLE).body("try again later");
/// let mut key = HeaderMap::new();
/// key.insert("authorization", HeaderValue::from_static("Bearer of-the-backup"));
/// for then in [
///     OnExhausted::Fail,
///     OnExhausted::Respond(told),
///     OnExhausted::failover_with(Failover::to("backup"), key),
///     OnExhausted::dead_letter("audit"),
/// ] {
///     let policy = RetryPolicy::user_facing().to_builder().on_exhausted(then).build()?;
/// }
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnExhausted {
    /// The caller gets the last outcome. The default.
    #[default]
    Last,
    /// The caller gets an error that `RequestFailed` finds; on the tower layer with
    /// `unchanged_errors()` the last outcome.
    Fail,
    /// The caller gets this response.
    Respond(CannedResponse),
    /// The request goes to another service, with these headers there.
    #[non_exhaustive]
    Failover {
        /// Where it goes.
        to: Failover,
        /// The headers that it has there.
        set: Option<Arc<HeaderMap>>,
    },
    /// An observer gets the request's head and the report, and the caller the last outcome.
    #[non_exhaustive]
    DeadLetter {
        /// The observer's name.
        name: Arc<str>,
    },
}

impl OnExhausted {
    /// The request goes to another service, as [`Failover`] says.
    #[must_use]
    pub fn failover(to: Failover) -> Self {
        Self::Failover { to, set: None }
    }

    /// The request goes to another service, where it has these headers in the place of its own of the same names: another
    /// server's credentials, for example. They are never shown.
    #[must_use]
    pub fn failover_with(to: Failover, headers: impl Into<Arc<HeaderMap>>) -> Self {
        let set = Some(headers.into()).filter(|headers| !headers.is_empty());
        Self::Failover { to, set }
    }

    /// The observer of this name gets the request's head and the report. Without such an observer
    /// ([`ServicesBuilder::dead_letters`](crate::services::ServicesBuilder::dead_letters)) it is
    /// [`Last`](Self::Last).
    #[must_use]
    pub fn dead_letter(name: impl Into<Arc<str>>) -> Self {
        Self::DeadLetter { name: name.into() }
    }
}

/// Where an effective field came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) field: Cow<'static, str>,
    pub(crate) value: Arc<str>,
    /// A place, or the name of a preset.
    pub(crate) from: Arc<str>,
}
