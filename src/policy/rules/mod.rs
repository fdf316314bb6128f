//! Rules and their verdicts, and what becomes of a request that has no retries left.

mod action;
mod condition;
mod rule;

pub(crate) use action::{Action, Failover, Wait};
#[cfg(any(feature = "serde", test))]
pub(crate) use condition::Test;
pub(crate) use condition::{Condition, Seen};
#[cfg(feature = "serde")]
pub(crate) use condition::{ErrorGroup, HeaderTest, ResultKind};
pub(crate) use rule::Rule;

use super::{CannedResponse, Class, RetryPolicy};
use condition::{all, any};
use http::{HeaderMap, HeaderName};
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

/// What a limit of retries counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "documents make it")
)]
pub(crate) enum Counter {
    /// All retries of the request.
    #[default]
    Request,
    /// The retries of the rule.
    Rule,
}

/// What is made of a server's wish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "documents make it")
)]
pub(crate) enum ServerDelays {
    /// Kept; a longer one than the policy allows stops the request.
    #[default]
    Respect,
    /// Kept up to what the policy allows, and no longer waited for.
    Clamp,
    Ignore,
}

/// What becomes of a request that has no retries left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "documents make it")
)]
pub(crate) enum OnExhausted {
    /// The caller gets the last outcome.
    #[default]
    Last,
    /// The caller gets an error.
    Fail,
    /// The caller gets this response.
    Respond(Arc<CannedResponse>),
    /// The request goes to another service, with these headers there.
    Failover(Failover, Option<Arc<HeaderMap>>),
    /// An observer gets the request's head and the report, and the caller the last outcome.
    DeadLetter(Arc<str>),
}

/// Where an effective field came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) field: &'static str,
    pub(crate) value: Arc<str>,
    pub(crate) from: Arc<str>,
}

/// What judges an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The policy itself.
    Policy,
    /// One of its rules.
    Rule(usize),
    /// What it says of outcomes that no rule covers.
    Otherwise,
}

/// What is to be done about an outcome, and what says so.
#[derive(Clone, Copy)]
pub(in crate::policy) struct Ruling<'a> {
    pub(in crate::policy) action: &'a Action,
    pub(in crate::policy) by: By,
}

impl Ruling<'_> {
    /// The word of a policy without rules.
    pub(in crate::policy) const BY_CLASS: Self = Self {
        action: &Action::Classify,
        by: By::Policy,
    };
}

impl Rules {
    /// Whether a request may be sent again when its limit of retries is reached.
    pub(in crate::policy) fn resend_beyond_the_limit(&self) -> bool {
        !self.list.is_empty()
            || matches!(self.otherwise, Action::Retry(_))
            || matches!(self.on_exhausted, OnExhausted::Failover(..))
    }

    /// The first rule's word; nothing where that depends on what has not been read yet.
    pub(in crate::policy) fn verdict(&self, seen: &Seen<'_>) -> Option<Ruling<'_>> {
        for (index, rule) in self.list.iter().enumerate() {
            if rule.when.holds(seen)? {
                return Some(Ruling {
                    action: &rule.action,
                    by: By::Rule(index),
                });
            }
        }
        let success = seen.outcome.class() == Class::Success;
        Some(match &self.otherwise {
            Action::Classify => Ruling::BY_CLASS,
            // What no rule speaks of is retried where it failed, and only there.
            Action::Retry(_) if success => Ruling {
                action: &Action::Accept,
                by: By::Otherwise,
            },
            action => Ruling {
                action,
                by: By::Otherwise,
            },
        })
    }

    /// The policy that a rule retries by, if it has one of its own.
    pub(in crate::policy) fn policy_by(&self, by: By) -> Option<&RetryPolicy> {
        let action = match by {
            By::Policy => return None,
            By::Rule(rule) => &self.list.get(rule)?.action,
            By::Otherwise => &self.otherwise,
        };
        match action {
            Action::Retry(policy) => Some(policy),
            _ => None,
        }
    }

    /// Whether these outcomes are retried by what `retry_on` and `stop_on` say; nothing where neither has a word, or
    /// where that depends on what has not been read yet.
    pub(in crate::policy) fn listed(&self, seen: &Seen<'_>) -> Listed {
        let matched = |list: &[Condition]| any(list.iter().map(|when| when.holds(seen)));
        let retry = match &self.retry_on {
            Some(list) => matched(list),
            None => Some(true),
        };
        let stop = matched(&self.stop_on).map(|stop| !stop);
        match (all([retry, stop].into_iter()), &self.retry_on) {
            (None, _) => Listed::Unread,
            (Some(false), _) => Listed::No,
            (Some(true), Some(_)) => Listed::Yes,
            (Some(true), None) => Listed::Unlisted,
        }
    }
}

/// What `retry_on` and `stop_on` say of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) enum Listed {
    Yes,
    No,
    Unlisted,
    Unread,
}
