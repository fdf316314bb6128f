//! Rules: actions on outcomes that meet a condition, set in code or in a document.
//!
//! A [`Rule`] has a [`Predicate`] and an [`Action`]. A policy tries its rules in order, and the first that holds
//! decides; if none does, the class of the outcome decides, or the action of [`RetryPolicyBuilder::otherwise`]. The
//! limits stay: the deadline, the budget, bodies that cannot be sent twice, and requests that do harm if processed
//! twice. `Condition` of http-retry-rules is a predicate for whatever a response, an error or a request shows.
//!
//! The names of other services, budgets and observers (for a failover, a rule's own budget, dead letters) are looked up
//! among the `Services` or in the document.
//!
//! [`RetryPolicyBuilder::otherwise`]: crate::RetryPolicyBuilder::otherwise

mod action;
mod names;
pub(crate) mod predicate;
pub(crate) mod rule;

pub use action::{Action, CannedResponse, Failover, Wait};
pub(crate) use names::NamesUsed;
pub use predicate::{BodyView, ConditionInput, Predicate};
pub use rule::{Rule, RuleBuilder};

use super::{Class, Outcome, RetryPolicy};
use http::{HeaderMap, HeaderName};
use predicate::{all_hold, any_holds};
use std::borrow::Cow;
use std::sync::Arc;

/// A list of conditions.
pub(crate) type Conditions = Arc<[Arc<dyn Predicate>]>;

/// The settings of a policy beyond numbers; empty by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    /// The action if no rule holds.
    pub(crate) otherwise: Action,
    /// If set, only these outcomes are retried when no rule holds, whatever their class.
    pub(crate) retry_on: Option<Conditions>,
    /// The outcomes that are never retried.
    pub(crate) stop_on: Conditions,
    pub(crate) counter: Counter,
    pub(crate) server_delays: ServerDelays,
    /// The budget that pays, instead of the service's own.
    pub(crate) budget: Option<Arc<str>>,
    pub(crate) on_exhausted: OnExhausted,
    /// Headers that a failover leaves out, besides those that it always does.
    pub(crate) credentials: Arc<[HeaderName]>,
    /// Each effective field, with its value and its origin.
    pub(crate) origins: Arc<[Origin]>,
}

/// The retries that a limit counts, in the policy that a rule retries by
/// ([`RetryPolicyBuilder::counter`](crate::RetryPolicyBuilder::counter) has an example).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counter {
    /// All retries of the request, whatever rule they follow. The default.
    #[default]
    Request,
    /// The retries by the rule alone, however many others came before. Other limits still count them.
    Rule,
}

/// The treatment of a wait that a server asks for
/// ([`RetryPolicyBuilder::server_delays`](crate::RetryPolicyBuilder::server_delays)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerDelays {
    /// The wait is respected; one longer than the policy's `max_server_delay` allows stops the request. The default.
    #[default]
    Respect,
    /// The wait is respected up to `max_server_delay`: a longer one is cut to it, so the retry comes earlier than
    /// asked.
    Clamp,
    /// The backoff alone decides, and `max_server_delay` has no effect.
    Ignore,
}

/// The source of a decision on an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecidedBy {
    /// The policy itself.
    Policy,
    /// The rule of the classifier at this index.
    Rule(usize),
    /// The policy's action for outcomes that no rule covers.
    Otherwise,
}

impl RetryPolicy {
    /// Returns every action that may be taken.
    pub(super) fn actions(&self) -> impl Iterator<Item = &Action> {
        let otherwise = [&self.0.rules.otherwise];
        self.0
            .classifiers
            .rules()
            .map(|rule| &rule.action)
            .chain(otherwise)
    }

    /// Returns `true` if anything but the outcome's class and the lists decides.
    pub(in crate::policy) fn has_rules(&self) -> bool {
        self.0.classifiers.rule_count() > 0 || !matches!(self.0.rules.otherwise, Action::Classify)
    }

    /// Returns `true` if a request may be sent again after its limit of retries: by a rule, or to another service.
    #[must_use]
    #[inline]
    pub(crate) fn resends_beyond_its_limit(&self) -> bool {
        let rules = &self.0.rules;
        self.0.classifiers.rule_count() > 0
            || matches!(rules.otherwise, Action::Retry(_))
            || matches!(rules.on_exhausted, OnExhausted::Failover { .. })
    }

    /// Returns the action that a decision stands for.
    #[inline(never)]
    pub(in crate::policy) fn action_of(&self, by: DecidedBy) -> &Action {
        match by {
            DecidedBy::Policy => &Action::Classify,
            DecidedBy::Rule(index) => {
                let rule = self.0.classifiers.rule(index);
                rule.map_or(&Action::Classify, |rule| &rule.action)
            }
            DecidedBy::Otherwise => &self.0.rules.otherwise,
        }
    }

    /// Returns the action on an outcome that was decided on.
    pub(in crate::policy) fn action_on(&self, outcome: &Outcome<'_>, by: DecidedBy) -> &Action {
        match self.action_of(by) {
            // Outcomes that no rule covers are retried only if they failed.
            Action::Retry(_) if by == DecidedBy::Otherwise && outcome.class() == Class::Success => {
                &Action::Accept
            }
            action => action,
        }
    }
}

impl Rules {
    /// Returns `true` if lists decide along with the outcome's class.
    pub(in crate::policy) fn have_lists(&self) -> bool {
        self.retry_on.is_some() || !self.stop_on.is_empty()
    }

    /// Returns the place in a document where a setting comes from, or the setting itself if code has set it.
    pub(in crate::policy) fn place_of(&self, setting: &'static str) -> Arc<str> {
        let origin = self.origins.iter().find(|origin| origin.field == setting);
        origin.map_or_else(|| setting.into(), |origin| Arc::clone(&origin.from))
    }

    /// Matches an outcome against `retry_on` and `stop_on`: [`ListMatch::Unlisted`] if neither of them decides,
    /// [`ListMatch::Unread`] if that depends on parts that have not been read yet.
    pub(in crate::policy) fn listed(&self, input: &ConditionInput<'_>) -> ListMatch {
        let matched = |list: &Conditions| any_holds(list.iter().map(|when| when.holds(input)));
        // Joined by `all_hold`, so that an undecided list does not matter once the other one refuses.
        let retry = match &self.retry_on {
            Some(list) => matched(list),
            None => Some(true),
        };
        let stop = matched(&self.stop_on).map(|stop| !stop);
        match (all_hold([retry, stop].into_iter()), &self.retry_on) {
            (None, _) => ListMatch::Unread,
            // What is never retried is the plainer reason, if both refuse.
            (Some(false), _) if stop == Some(false) => ListMatch::No("stop_on"),
            (Some(false), _) => ListMatch::No("retry_on"),
            (Some(true), Some(_)) => ListMatch::Yes,
            (Some(true), None) => ListMatch::Unlisted,
        }
    }
}

/// The match of an outcome with `retry_on` and `stop_on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) enum ListMatch {
    Yes,
    /// The setting of the list that forbids a retry.
    No(&'static str),
    Unlisted,
    Unread,
}

impl ListMatch {
    /// Returns the setting of the list that forbids a retry, if one does.
    pub(in crate::policy) fn refusing(self) -> Option<&'static str> {
        match self {
            Self::No(list) => Some(list),
            Self::Yes | Self::Unlisted | Self::Unread => None,
        }
    }
}

/// The end of a request that was worth another attempt but has none left: by the limit of retries or of waits, the
/// deadline, the budget, or a server that asks for too long a wait. A response that no retry would have changed, such
/// as a 404, goes to the caller as it is.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::RetryPolicy;
/// use http_retry::rules::{CannedResponse, Failover, OnExhausted};
///
/// let later = CannedResponse::new(StatusCode::SERVICE_UNAVAILABLE).body("try again later");
/// let mut key = HeaderMap::new();
/// key.insert("authorization", HeaderValue::from_static("Bearer of-the-backup"));
/// for then in [
///     OnExhausted::Fail,
///     OnExhausted::Respond(later),
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
    /// The caller gets an error that `RequestFailed` finds; on the tower layer with `unchanged_errors()` it gets the
    /// last outcome.
    Fail,
    /// The caller gets this response.
    Respond(CannedResponse),
    /// The request goes to another service, with these headers there.
    #[non_exhaustive]
    Failover {
        /// The destination.
        to: Failover,
        /// The headers that the request gets there.
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
    /// Sends the request to another service, as [`Failover`] describes.
    #[must_use]
    pub fn failover(to: Failover) -> Self {
        Self::Failover { to, set: None }
    }

    /// Sends the request to another service with these headers, which replace its own of the same names: another
    /// server's credentials, for example. They are never shown. As in
    /// [`RuleBuilder::set_headers`], none may frame the request or belong to its connection.
    #[must_use]
    pub fn failover_with(to: Failover, headers: impl Into<Arc<HeaderMap>>) -> Self {
        let set = Some(headers.into()).filter(|headers| !headers.is_empty());
        Self::Failover { to, set }
    }

    /// Gives the request's head and the report to the observer of this name. Without such an observer
    /// (`ServicesBuilder::dead_letters`) it is [`Last`](Self::Last).
    #[must_use]
    pub fn dead_letter(name: impl Into<Arc<str>>) -> Self {
        Self::DeadLetter { name: name.into() }
    }
}

/// The origin of an effective field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) field: Cow<'static, str>,
    pub(crate) value: Arc<str>,
    /// A location, or the name of a preset.
    pub(crate) from: Arc<str>,
}
