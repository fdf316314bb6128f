//! The parts of a policy that adapters, documents and programs for operators read.

use super::rules::{Action, NamesUsed, OnExhausted, Origin, Rule};
use super::{
    Backoff, Hedge, Jitter, Methods, Outcome, Pointer, RetryOverride, RetryPolicy, Settings,
    StreamHolder, Verdict,
};
use crate::sealed::Sealed;
use std::any::Any;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// The parts of a [`RetryPolicy`] that adapters, documents and programs for operators read. Users of an adapter do not
/// need them: [`RetryPolicy::explain`] and [`RetryPolicy::worst_case`] say what a policy does.
pub trait PolicyExt: Sealed {
    /// Returns the number of retries that may follow the first attempt; `u32::MAX` for any number. Rules may allow more
    /// ([`RetryPolicy::worst_case`]).
    fn retry_limit(&self) -> u32;

    /// Returns the number of attempts that a rate limit may refuse without a retry being counted.
    fn refused_limit(&self) -> u32;

    /// Returns the longest wait that a server may ask for, or `None` for any.
    fn server_delay_limit(&self) -> Option<Duration>;

    /// Returns the longest total wait of a call at the gate, or `None` without a gate.
    fn gate_wait_limit(&self) -> Option<Duration>;

    /// Returns `true` if a quota counts at the gate from the first response on, not only after a refusal.
    fn obeys_quotas_at_once(&self) -> bool;

    /// Returns the methods that may be repeated.
    fn retried_methods(&self) -> &Methods;

    /// Returns the backoff.
    fn own_backoff(&self) -> &Backoff;

    /// Returns the random part of a ceiling, as set by [`Backoff::jitter`].
    fn own_jitter(&self) -> Jitter;

    /// Returns the policy's own longest delay before retry n = 1, 2, and so on, jitter and cap included; 0 counts as 1.
    /// A server may ask for a longer one.
    fn longest_delay(&self, retry: u32) -> Duration;

    /// Returns the time limit of the first attempt of a request with these settings of its own, the same as
    /// [`RetrySession::attempt_limit`](crate::policy::RetrySession::attempt_limit) gives.
    fn first_limit(&self, own: Option<&RetryOverride>) -> Option<Duration>;

    /// Returns the same policy under another name, which [`RetryPolicy::explain`] shows.
    #[must_use]
    fn named(&self, name: String) -> Self;

    /// Returns the fields that a document or a preset in it has set: each with its effective value and its origin,
    /// which is a place in the document or the name of the preset. Empty for a policy that code has built.
    fn origins(&self) -> impl Iterator<Item = (&str, &str, &str)>;

    /// Returns the rules, in the order in which they are tried.
    fn all_rules(&self) -> impl Iterator<Item = &Rule>;

    /// Returns the action on outcomes that no rule covers.
    fn default_action(&self) -> &Action;

    /// Returns the names in the policy's rules, and in those of the policies that they retry by, each once and in
    /// alphabetical order.
    fn names_used(&self) -> NamesUsed<'_>;

    /// Returns `true` if a canned response may replace the last outcome.
    fn may_respond(&self) -> bool;

    /// Returns `true` if an error of this crate may replace a response.
    fn may_fail(&self) -> bool;

    /// Returns when a slow request is sent once more, or `None` if the hedging layer decides.
    fn hedging(&self) -> Option<Hedge>;

    /// Returns the holder of the start of streamed responses, or `None` if there is none.
    fn streams(&self) -> Option<&dyn StreamHolder>;

    /// Returns `true` if a classifier or a rule may look at the request that an outcome belongs to.
    fn asks_for_the_request(&self) -> bool;

    /// Returns the locations in a JSON body that classifiers look at.
    fn pointers(&self, outcome: &Outcome<'_>) -> Vec<Pointer>;

    /// Returns the error behind a value of any type, or `None` if the policy does not know that type.
    fn own_error<'a>(&self, value: &'a dyn Any) -> Option<&'a (dyn Error + 'static)>;

    /// Returns the verdict of the user's function for an error, or `None` if there is none.
    fn judge(&self, error: &(dyn Error + 'static)) -> Option<Verdict>;
}

impl Sealed for RetryPolicy {}

impl PolicyExt for RetryPolicy {
    #[inline]
    fn retry_limit(&self) -> u32 {
        self.0.max_retries
    }

    fn refused_limit(&self) -> u32 {
        self.0.max_refused
    }

    fn server_delay_limit(&self) -> Option<Duration> {
        self.0.max_server_delay
    }

    #[inline]
    fn gate_wait_limit(&self) -> Option<Duration> {
        self.0.max_gate_wait
    }

    #[inline]
    fn obeys_quotas_at_once(&self) -> bool {
        self.0.quotas_at_once
    }

    fn retried_methods(&self) -> &Methods {
        &self.0.methods
    }

    fn own_backoff(&self) -> &Backoff {
        &self.0.backoff
    }

    fn own_jitter(&self) -> Jitter {
        self.0.backoff.jitter
    }

    fn longest_delay(&self, retry: u32) -> Duration {
        self.0.backoff.longest(retry.max(1))
    }

    #[inline]
    fn first_limit(&self, own: Option<&RetryOverride>) -> Option<Duration> {
        let deadline = own.and_then(|own| own.deadline).or(self.0.deadline);
        self.0.attempt_limit(own, deadline)
    }

    fn named(&self, name: String) -> Self {
        if *self.0.name == *name {
            return self.clone();
        }
        let mut settings = Settings::clone(&self.0);
        settings.name = name.into();
        Self(Arc::new(settings))
    }

    fn origins(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let origins = self.0.rules.origins.iter();
        origins.map(|Origin { field, value, from }| (&**field, &**value, &**from))
    }

    fn all_rules(&self) -> impl Iterator<Item = &Rule> {
        self.0.classifiers.rules()
    }

    fn default_action(&self) -> &Action {
        &self.0.rules.otherwise
    }

    fn names_used(&self) -> NamesUsed<'_> {
        NamesUsed::of(self)
    }

    fn may_respond(&self) -> bool {
        matches!(self.0.rules.on_exhausted, OnExhausted::Respond(_))
            || self.actions().any(|action| match action {
                Action::Retry(policy) => policy.may_respond(),
                _ => false,
            })
    }

    fn may_fail(&self) -> bool {
        matches!(self.0.rules.on_exhausted, OnExhausted::Fail)
            || self.actions().any(|action| match action {
                Action::Fail | Action::ByOutcome => true,
                Action::Retry(policy) => policy.may_fail(),
                _ => false,
            })
    }

    fn hedging(&self) -> Option<Hedge> {
        self.0.hedge.as_deref().copied()
    }

    #[inline]
    fn streams(&self) -> Option<&dyn StreamHolder> {
        self.0.streams.as_deref()
    }

    #[inline]
    fn asks_for_the_request(&self) -> bool {
        !self.0.classifiers.is_empty() || self.has_rules()
    }

    #[inline]
    fn pointers(&self, outcome: &Outcome<'_>) -> Vec<Pointer> {
        self.0.classifiers.pointers(outcome)
    }

    #[inline]
    fn own_error<'a>(&self, value: &'a dyn Any) -> Option<&'a (dyn Error + 'static)> {
        let own = &self.0.own_errors;
        own.iter().find_map(|own| (own.downcast)(value))
    }

    #[inline]
    fn judge(&self, error: &(dyn Error + 'static)) -> Option<Verdict> {
        self.0.own_errors.iter().find_map(|own| (own.judge)(error))
    }
}
