//! Retries that a budget has granted.

use super::RetryBudget;
use crate::policy::{DelaySource, RetryPlan, RetrySession};
use std::time::Duration;

/// A retry that a budget has granted: count it by [`RetrySession::apply`], wait for [`PaidRetry::delay`], then
/// [`PaidRetry::commit`] and send.
///
/// Dropping it without a commit puts its tokens back, up to the capacity: a call that is cancelled while it waits costs
/// nothing. In a fleet they stay with this process, for its next retry.
///
/// [`RetryBudget`] shows it in use.
#[derive(Debug)]
#[must_use]
pub struct PaidRetry {
    budget: RetryBudget,
    price: u64,
    plan: RetryPlan,
}

impl PaidRetry {
    pub(super) fn new(budget: RetryBudget, price: u64, plan: RetryPlan) -> Self {
        Self {
            budget,
            price,
            plan,
        }
    }

    /// How long to wait before the retry, from the moment that was given to [`RetrySession::plan`]; zero: send it now.
    #[must_use]
    pub fn delay(&self) -> Duration {
        self.plan.delay
    }

    /// Which retry of its call this is: 1, 2, and so on. Those that were planned and never applied do not count.
    #[must_use]
    pub fn retry(&self) -> u32 {
        self.plan.retry()
    }

    /// The paid plan.
    pub(crate) fn plan(&self) -> &RetryPlan {
        &self.plan
    }

    /// Who set the delay: the policy (its backoff or a rule), the server, or the gate.
    #[must_use]
    pub fn source(&self) -> DelaySource {
        self.plan.source
    }

    /// Spends the tokens; call it right before the retry is sent. A success of the retry does not give them back; count
    /// it by [`RetryBudget::deposit`] like any other.
    pub fn commit(mut self) {
        self.price = 0;
    }
}

impl Drop for PaidRetry {
    fn drop(&mut self) {
        if self.price > 0 {
            self.budget.refund(self.price);
        }
    }
}

impl RetrySession {
    /// Counts a retry that a budget has granted; a retry that is not applied does not count. Applied twice, it counts
    /// once.
    ///
    /// Apply the last paid plan of this session.
    pub fn apply(&mut self, paid: &PaidRetry) {
        self.count(&paid.plan);
    }
}
