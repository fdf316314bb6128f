//! What the rest of the crate asks a policy.

use super::rules::{Action, OnExhausted, Rules};
use super::{Backoff, Methods, RetryOverride};
use super::{RetryPolicy, Settings, StreamHolder};
use http::HeaderName;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

impl RetryPolicy {
    /// The header in which the service takes a key of idempotency, besides the usual ones.
    pub(crate) fn key_header(&self) -> Option<&HeaderName> {
        self.0.classifiers.key_header()
    }

    /// Whether keys of idempotency that a layer makes go out in quotes.
    pub(crate) fn quotes_keys(&self) -> bool {
        self.0.classifiers.quotes_keys()
    }

    /// The same rules under another name.
    pub(crate) fn named(&self, name: String) -> Self {
        let mut settings = Settings::clone(&self.0);
        settings.name = name.into();
        Self(Arc::new(settings))
    }

    /// What holds back the start of streamed answers, if anything does.
    pub(crate) fn streams(&self) -> Option<&dyn StreamHolder> {
        self.0.streams.as_deref()
    }

    /// Whether a response of its own may take the place of the last outcome.
    pub(crate) fn may_respond(&self) -> bool {
        self.0.rules.may_respond()
    }

    /// Whether an error of this crate may take the place of a response.
    pub(crate) fn may_fail(&self) -> bool {
        self.0.rules.may_fail()
    }

    /// Whether anything but the class of an outcome and the lists decides.
    pub(super) fn has_rules(&self) -> bool {
        self.0.rules.speak()
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.0.rules
    }

    /// Whether a request may be sent again after its limit of retries: by a rule, or to another service.
    pub(crate) fn resends_beyond_its_limit(&self) -> bool {
        self.0.rules.resend_beyond_the_limit()
    }

    /// Whether every success by the standard tables stays one under this policy.
    pub(crate) fn takes_successes_as_they_are(&self) -> bool {
        let Rules {
            list,
            otherwise,
            retry_on,
            ..
        } = &self.0.rules;
        list.is_empty() && retry_on.is_none() && !matches!(otherwise, Action::Fail)
    }

    /// Whether retries are off, and nothing else sends a request again or replaces its outcome.
    pub(crate) fn is_off(&self) -> bool {
        let last = matches!(self.0.rules.on_exhausted, OnExhausted::Last);
        self.0.never && last && !self.resends_beyond_its_limit()
    }

    /// How the delays grow.
    #[must_use]
    pub fn backoff(&self) -> &Backoff {
        &self.0.backoff
    }

    /// Which methods are repeated after the server may have processed the request.
    #[must_use]
    pub fn methods(&self) -> Methods {
        self.0.methods
    }

    /// How many attempts a rate limit may refuse without a retry counted.
    #[must_use]
    pub fn max_refused(&self) -> u32 {
        self.0.max_refused
    }

    /// The longest wait that a server may ask for; `None` for any.
    #[must_use]
    pub fn max_server_delay(&self) -> Option<Duration> {
        self.0.max_server_delay
    }

    /// The longest total wait of a call at the gate; `None` without a gate.
    #[must_use]
    pub fn max_gate_wait(&self) -> Option<Duration> {
        self.0.max_gate_wait
    }

    /// Whether a call would wait this long because the server asks for it.
    pub(crate) fn would_wait(&self, asked: Duration) -> bool {
        self.longest_pause().is_none_or(|most| asked <= most)
    }

    /// Returns the longest wait that a server may ask for so that a call waits, if there is a limit.
    pub(crate) fn longest_pause(&self) -> Option<Duration> {
        let limits = [self.0.max_server_delay, self.0.max_gate_wait];
        limits.into_iter().flatten().min()
    }

    /// Whether a quota counts at the gate from the first response on, not only after a refusal.
    #[must_use]
    pub fn quotas_at_once(&self) -> bool {
        self.0.quotas_at_once
    }

    /// Whether the body of an answer may belong to its attempt.
    pub(crate) fn reads_whole_answers(&self) -> bool {
        self.0.whole_answers > 0
    }

    /// Whether a request has to be answered by some time.
    pub(crate) fn has_deadline(&self) -> bool {
        self.0.deadline.is_some()
    }

    /// How long the first attempt of a request with these settings of its own may take; as
    /// [`RetrySession::attempt_limit`](super::RetrySession::attempt_limit) has it.
    #[inline]
    pub(crate) fn first_limit(&self, own: Option<&RetryOverride>) -> Option<Duration> {
        let deadline = own.and_then(|own| own.deadline).or(self.0.deadline);
        let by_request = || own.and_then(|own| own.attempt_timeout);
        match (self.0.attempt_timeout.or_else(by_request), deadline) {
            (Some(timeout), Some(deadline)) => Some(timeout.min(deadline)),
            (timeout, deadline) => timeout.or(deadline),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("max_retries", &self.max_retries)
            .field("max_refused", &self.max_refused)
            .field("backoff", &self.backoff)
            .field("deadline", &self.deadline)
            .field("attempt_timeout", &self.attempt_timeout)
            .field("whole_answers", &self.whole_answers)
            .field("max_server_delay", &self.max_server_delay)
            .field("max_gate_wait", &self.max_gate_wait)
            .field("methods", &self.methods)
            .finish_non_exhaustive()
    }
}
