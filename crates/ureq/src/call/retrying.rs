//! A retry: its payment, the wait before it, and the changes of the request.

use super::Call;
use crate::response::{ReadEnd, at_most, read};
use crate::runtime::block_on;
use http_retry_core::StopReason;
use http_retry_core::adapter::{Command, Event};
use http_retry_core::budget::PaidRetry;
use http_retry_core::policy::RetryPlan;
use std::time::Duration;

/// The most that is read of a failed response so that its connection can serve again: to read more costs about what a
/// new connection does.
const DRAIN_BYTES: usize = 128 * 1024;
const DRAIN_TIME: Duration = Duration::from_secs(1);

impl Call<'_, '_> {
    /// Asks the budget to pay for a retry, and schedules it.
    pub(super) fn withdraw(&mut self, plan: RetryPlan) -> Command {
        if plan.set().is_some_and(|set| !self.request.has_room(set)) {
            return self.fails(StopReason::NotRetryable);
        }
        let at = self.last.at;
        let left = self.time_left().unwrap_or(Duration::MAX);
        let paid = self
            .engine
            .pay(&self.route, plan, &self.budget, at.now, left);
        let Some(paid) = paid else {
            return self.session.step(Event::Refused(&self.last.outcome), at);
        };
        if !self.rewrite(&paid) {
            return self.fails(StopReason::NotRetryable);
        }
        let command = self.session.step(Event::Paid(&paid), at);
        if let Command::Wait(until) = command {
            self.recorder.retry_scheduled(&paid, until);
        }
        self.paid = Some(paid);
        command
    }

    /// Rewrites the request's body, if the plan says so. Returns `false` if that cannot be done.
    fn rewrite(&mut self, paid: &PaidRetry) -> bool {
        let Some(rewrite) = paid.plan().rewrite() else {
            return true;
        };
        let Some(cut) = self.request.rewrite(rewrite) else {
            return false;
        };
        // A key of idempotency in the service's own header was that of the first request.
        if let Some(name) = self.route.policy().key_header() {
            self.request.parts.headers.remove(name);
        }
        self.session
            .replace_headers(&self.request.parts.headers, false);
        self.recorder.text_was_cut(cut, self.engine.clock.now());
        true
    }

    /// Lets go of the last response, waits, and sets the headers that the retry is to have.
    pub(super) fn wait(&mut self, until: Duration) -> Command {
        self.drain();
        let clock = &self.engine.clock;
        block_on(clock.sleep(until.saturating_sub(clock.now())));
        let set = self
            .paid
            .as_ref()
            .and_then(|paid| paid.plan().set().cloned());
        if let Some(set) = set {
            self.request.set(&set);
        }
        let now = self.now();
        self.session.step(Event::Woke, now)
    }

    /// Reads the rest of a failed response, so that its connection can serve again, and keeps it if it has ended, or if
    /// a deadline may pass before the retry is sent. If the caller wants an error for its status, that is all there is
    /// to keep.
    fn drain(&mut self) {
        let response = match self.last.result.take() {
            Some(Ok(response)) => response,
            other => return self.last.result = other,
        };
        let mut see = at_most(DRAIN_BYTES);
        let until = self.within(DRAIN_TIME);
        let (response, end) = read(response, &self.engine.clock, Some(until), &mut see);
        let is_kept = matches!(end, ReadEnd::AtTheEnd) || self.session.deadline().is_some();
        self.last.result = match self.status_error(Ok(response)) {
            Ok(response) => is_kept.then_some(Ok(response)),
            error => Some(error),
        };
    }
}
