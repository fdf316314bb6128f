//! The tokens that pay for a request, and the payment for a planned retry, which may have to wait for the store of a
//! fleet.

use super::{PaidRetry, Payment, RetryBudget, SharedAccount};
use crate::policy::RetryPlan;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Tokens that were taken from a budget. Dropped before [`spend`](Self::spend), they go back to it, up to the capacity; in
/// a fleet they stay with this process.
#[derive(Debug)]
#[must_use]
pub(crate) struct TakenTokens {
    budget: RetryBudget,
    price: u64,
}

impl TakenTokens {
    pub(super) fn new(budget: RetryBudget, price: u64) -> Self {
        Self { budget, price }
    }

    /// Spends the tokens; call it right before the request that they pay for is sent.
    pub(crate) fn spend(mut self) {
        // Leaves nothing to refund on drop.
        self.price = 0;
    }
}

impl Drop for TakenTokens {
    fn drop(&mut self) {
        if self.price > 0 {
            self.budget.refund(self.price);
        }
    }
}

/// The decision of a budget about a planned retry.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a driver must know each")]
pub enum PaymentResult {
    /// The retry is paid for.
    Paid(PaidRetry),
    /// There are too few tokens.
    Refused,
    /// The store of a fleet decides.
    Pending(PendingRetry),
}

/// A planned retry that waits for its payment: the paid retry, or `None` if it is refused.
///
/// Wait for it no longer than [`PendingRetry::wait`]; then call [`PendingRetry::pay_alone`].
///
/// # Cancel safety
///
/// Dropping it cancels the request for payment, and costs nothing.
#[must_use]
pub struct PendingRetry {
    budget: RetryBudget,
    price: u64,
    payment: Payment,
    /// `None` once the payment is decided.
    plan: Option<RetryPlan>,
}

impl PendingRetry {
    pub(super) fn new(budget: RetryBudget, price: u64, payment: Payment, plan: RetryPlan) -> Self {
        Self {
            budget,
            price,
            payment,
            plan: Some(plan),
        }
    }

    /// Returns the longest time to wait for the payment.
    #[must_use]
    pub(crate) fn wait(&self) -> Duration {
        let account = self.budget.shared_account();
        account.map(SharedAccount::wait).unwrap_or_default()
    }

    /// Stops waiting, and pays at `now` from the tokens that this process may spend alone. Returns `None` if they are
    /// too few.
    #[must_use]
    pub fn pay_alone(self, now: Duration) -> Option<PaidRetry> {
        let Self {
            budget,
            payment,
            plan,
            ..
        } = self;
        // Cancelled first, or a late reply could pay a second time.
        drop(payment);
        budget.withdraw(plan?, now).ok()
    }
}

impl Future for PendingRetry {
    type Output = Option<PaidRetry>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let paid = ready!(self.payment.as_mut().poll(cx));
        let Some(plan) = self.plan.take().filter(|_| paid) else {
            return Poll::Ready(None);
        };
        let paid = PaidRetry::new(self.budget.clone(), self.price, plan);
        Poll::Ready(Some(paid))
    }
}

impl fmt::Debug for PendingRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRetry")
            .field("budget", &self.budget)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}
