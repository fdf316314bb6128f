//! What a document can say beyond the builder: rules and their verdicts, and what becomes of a request that has no
//! retries left.

use super::when::{Seen, When, all, any};
use super::{CannedResponse, Class, RetryPolicy};
use http::{HeaderMap, HeaderName};
use std::sync::Arc;
use std::time::Duration;

/// A policy's directives; by default there are none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    pub(crate) rules: Arc<[Rule]>,
    pub(crate) otherwise: Otherwise,
    /// Given, only these outcomes are retried where no rule speaks, whatever their class.
    pub(crate) retry_on: Option<Arc<[When]>>,
    /// These outcomes are never retried.
    pub(crate) stop_on: Arc<[When]>,
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

/// A condition and what follows from it; the first rule that holds decides.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: Arc<str>,
    pub(crate) when: When,
    pub(crate) then: Then,
    /// Headers of the next attempt and of those after it.
    pub(crate) set: Option<Arc<HeaderMap>>,
}

/// What a rule says.
#[derive(Debug, Clone)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "documents make it")
)]
pub(crate) enum Then {
    /// The caller gets the outcome as it is.
    Accept,
    /// The caller gets an error.
    Fail,
    /// No more attempts.
    Stop,
    /// Another attempt, by a policy whose own rules do not count.
    Retry(RetryPolicy),
    /// Another attempt that counts as no retry.
    Wait(Wait),
    /// The next attempt goes to another service.
    Failover(Failover),
}

/// Another service that a request goes on at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failover {
    pub(crate) service: Arc<str>,
    /// What makes a request the same to one of the two servers makes it the same to the other.
    pub(crate) same_keys: bool,
}

/// What decides where no rule does.
#[derive(Debug, Clone, Default)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "documents make it")
)]
pub(crate) enum Otherwise {
    /// The class of the outcome.
    #[default]
    Classify,
    Accept,
    Fail,
    /// Accept a success, fail anything else.
    ByOutcome,
    /// Accept a success, retry anything else by this policy.
    Retry(RetryPolicy),
}

/// How a rule waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Before each attempt; else as long as the server asks, else the policy's backoff.
    pub(crate) delay: Option<Duration>,
    /// How often.
    pub(crate) at_most: Option<u32>,
    /// How long in all, from the first such outcome to the last attempt.
    pub(crate) max: Option<Duration>,
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
pub(super) struct Ruling<'a> {
    pub(super) then: Judged<'a>,
    pub(super) by: By,
}

#[derive(Clone, Copy)]
pub(super) enum Judged<'a> {
    ByClass,
    Accept,
    Fail,
    Stop,
    /// By another policy than the request's.
    Retry(&'a RetryPolicy),
    Wait(&'a Wait),
    Failover(&'a Failover),
}

impl Ruling<'_> {
    /// The word of a policy without rules.
    pub(super) const BY_CLASS: Self = Self {
        then: Judged::ByClass,
        by: By::Policy,
    };
}

impl Rules {
    /// Whether a request may be sent again when its limit of retries is reached.
    pub(super) fn resend_beyond_the_limit(&self) -> bool {
        !self.rules.is_empty()
            || matches!(self.otherwise, Otherwise::Retry(_))
            || matches!(self.on_exhausted, OnExhausted::Failover(..))
    }

    /// The first rule's word; nothing where that depends on what has not been read yet.
    pub(super) fn verdict(&self, seen: &Seen<'_>) -> Option<Ruling<'_>> {
        for (index, rule) in self.rules.iter().enumerate() {
            if rule.when.holds(seen)? {
                return Some(Ruling {
                    then: rule.then.judged(),
                    by: By::Rule(index),
                });
            }
        }
        let success = seen.outcome.class() == Class::Success;
        let then = match &self.otherwise {
            Otherwise::Classify => Judged::ByClass,
            Otherwise::Accept => Judged::Accept,
            Otherwise::Fail => Judged::Fail,
            Otherwise::ByOutcome | Otherwise::Retry(_) if success => Judged::Accept,
            Otherwise::ByOutcome => Judged::Fail,
            Otherwise::Retry(policy) => Judged::Retry(policy),
        };
        let by = match then {
            Judged::ByClass => By::Policy,
            _ => By::Otherwise,
        };
        Some(Ruling { then, by })
    }

    /// The policy that a rule retries by, if it has one of its own.
    pub(super) fn policy_by(&self, by: By) -> Option<&RetryPolicy> {
        let by_rule = |rule: usize| self.rules.get(rule).map(|rule| &rule.then);
        match (by, &self.otherwise) {
            (By::Policy, _) => None,
            (By::Rule(rule), _) => match by_rule(rule) {
                Some(Then::Retry(policy)) => Some(policy),
                _ => None,
            },
            (By::Otherwise, Otherwise::Retry(policy)) => Some(policy),
            (By::Otherwise, _) => None,
        }
    }

    /// Whether these outcomes are retried by what `retry_on` and `stop_on` say; nothing where neither has a word, or
    /// where that depends on what has not been read yet.
    pub(super) fn listed(&self, seen: &Seen<'_>) -> Listed {
        let matched = |list: &[When]| any(list.iter().map(|when| when.holds(seen)));
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
pub(super) enum Listed {
    Yes,
    No,
    Unlisted,
    Unread,
}

impl Then {
    fn judged(&self) -> Judged<'_> {
        match self {
            Self::Accept => Judged::Accept,
            Self::Fail => Judged::Fail,
            Self::Stop => Judged::Stop,
            Self::Retry(policy) => Judged::Retry(policy),
            Self::Wait(wait) => Judged::Wait(wait),
            Self::Failover(to) => Judged::Failover(to),
        }
    }
}
