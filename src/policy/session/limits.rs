//! What bounds a request: its retries, its deadline, its time at the gate, and how often it does no harm.

use super::RetrySession;
use crate::policy::{Methods, RetryPolicy};
use http::Method;
use std::time::Duration;

impl RetrySession {
    /// When the call began.
    pub(crate) fn started(&self) -> Duration {
        self.started
    }

    /// The time at which the whole request must be over, on the clock of [`Moment::now`](crate::policy::Moment::now), if there is a deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline_by(self.policy_by(self.by))
    }

    /// How long the request may take where it is now, if there is a limit.
    pub(crate) fn allowed(&self) -> Option<Duration> {
        self.deadline()
            .map(|deadline| deadline.saturating_sub(self.started))
    }

    /// How long the request may still wait at the gate; none where there is no gate for it. The gate is the service's,
    /// whatever policy a rule retries by.
    pub(crate) fn gate_wait_left(&self) -> Option<Duration> {
        let most = self.policy.0.max_gate_wait?;
        let gated = self.standing_aside.is_none();
        gated.then(|| most.saturating_sub(self.counts.gate_waited))
    }

    pub(crate) fn has_waited_at_the_gate(&mut self, waited: Duration) {
        self.counts.gate_waited = self.counts.gate_waited.saturating_add(waited);
    }

    /// The time limit of an attempt that starts at `now`: the attempt timeout or what is left of the deadline, the shorter of
    /// the two; zero past the deadline, `None` without either.
    #[must_use]
    pub fn attempt_limit(&self, now: Duration) -> Option<Duration> {
        let left = self.deadline().map(|deadline| deadline.saturating_sub(now));
        let timeout = self.policy_by(self.by).0.attempt_timeout;
        let timeout = timeout.or(self.own.attempt_timeout);
        timeout.into_iter().chain(left).min()
    }

    /// The most bytes of an answer that belong to the attempt under way; 0 for none. Who stands aside leaves the answer to
    /// another layer, or to the caller. An answer to HEAD tells a length and has no body, and the rest of a download is
    /// handed out as it comes.
    pub(crate) fn whole_answers(&self) -> u64 {
        let by_policy = || self.policy_by(self.by).0.whole_answers;
        if self.method == Some(Method::HEAD) || self.own.attempt_timeout.is_some() {
            return 0;
        }
        match (self.standing_aside, self.own.whole_answers) {
            (Some(_), _) => 0,
            (None, Some(own)) => own.into(),
            (None, None) => by_policy(),
        }
    }

    pub(super) fn max_retries(&self, policy: &RetryPolicy) -> u32 {
        self.own.max_retries.unwrap_or(policy.0.max_retries)
    }

    /// Returns `true` if the next refused attempt counts apart from the retries.
    pub(super) fn has_refused_left(&self, policy: &RetryPolicy) -> bool {
        // A request's own limit bounds all that is sent.
        let most = policy.0.max_refused;
        self.own.max_retries.is_none() && self.counts.refusals < most
    }

    pub(super) fn is_safe_twice(&self, policy: &RetryPolicy) -> bool {
        let by_policy = self.facts.is_idempotent() || policy.0.methods == Methods::All;
        self.own.idempotent.unwrap_or(by_policy)
    }

    pub(super) fn deadline_by(&self, policy: &RetryPolicy) -> Option<Duration> {
        let allowed = self.own.deadline.or(policy.0.deadline);
        let own = allowed.map(|allowed| self.started.saturating_add(allowed));
        match (own, self.until) {
            (Some(own), Some(until)) => Some(own.min(until)),
            (own, until) => own.or(until),
        }
    }
}
