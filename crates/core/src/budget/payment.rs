//! Retries that a budget has granted, and retries that wait for its answer.

use super::RetryBudget;
use super::shared_account::{Payment, SharedAccount};
use crate::policy::{DelaySource, RetryPlan, RetrySession};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
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
    pub fn plan(&self) -> &RetryPlan {
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

/// The answer of a budget to a planned retry.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a driver must know each")]
pub enum Ask {
    /// The retry is paid for.
    Paid(PaidRetry),
    /// There are too few tokens.
    Refused,
    /// Somebody else decides, as in a fleet.
    Asking(Asking),
}

/// A planned retry that waits for its payment: the paid retry, or `None` if it is refused.
///
/// Wait for it no longer than [`Asking::wait`]; then [`Asking::alone`] decides.
///
/// # Cancel safety
///
/// Dropped, it asks no longer, and costs nothing.
#[must_use]
pub struct Asking {
    budget: RetryBudget,
    payment: Payment,
    /// `None` once it is answered.
    plan: Option<RetryPlan>,
}

impl Asking {
    pub(super) fn new(budget: RetryBudget, payment: Payment, plan: RetryPlan) -> Self {
        Self {
            budget,
            payment,
            plan: Some(plan),
        }
    }

    /// Returns how long to wait for an answer at most.
    #[must_use]
    pub fn wait(&self) -> Duration {
        let account = self.budget.shared_account();
        account.map(SharedAccount::wait).unwrap_or_default()
    }

    /// Waits no longer: pays at `now` from what this process may spend by itself. Returns `None` if that is too little.
    #[must_use]
    pub fn alone(self, now: Duration) -> Option<PaidRetry> {
        let Self {
            budget,
            payment,
            plan,
        } = self;
        drop(payment);
        budget.withdraw(plan?, now).ok()
    }
}

impl Future for Asking {
    type Output = Option<PaidRetry>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let paid = ready!(self.payment.as_mut().poll(cx));
        let Some(plan) = self.plan.take().filter(|_| paid) else {
            return Poll::Ready(None);
        };
        let price = self.budget.price(&plan);
        Poll::Ready(Some(PaidRetry::new(self.budget.clone(), price, plan)))
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking")
            .field("budget", &self.budget)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}
