//! Budgets where there are no fleets: nothing is ever asked for elsewhere.

use super::{Ask, PaidRetry, RetryBudget};
use crate::policy::RetryPlan;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A retry that waits for a fleet's word: there is none.
#[derive(Debug)]
pub(crate) enum Asking {}

impl RetryBudget {
    pub(crate) fn is_shared(&self) -> bool {
        false
    }

    pub(crate) fn ask(&self, plan: RetryPlan, now: Duration) -> Ask {
        self.withdraw(plan, now).map_or(Ask::Refused, Ask::Paid)
    }
}

impl Asking {
    pub(crate) fn wait(&self) -> Duration {
        match *self {}
    }

    pub(crate) fn alone(self, _: Duration) -> Option<PaidRetry> {
        match self {}
    }
}

impl Future for Asking {
    type Output = Option<PaidRetry>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match *self {}
    }
}
