//! Where the tokens of a request come from.

use crate::budget::{RetryBudget, ServiceBudgets};
use std::sync::Arc;
use std::time::Duration;

/// One budget for all requests, or one for each service.
#[derive(Debug, Clone)]
pub(crate) enum Budgets {
    One(RetryBudget),
    PerService(ServiceBudgets),
}

impl Budgets {
    /// Returns `true` if other processes may have the same, or one of them.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            Self::One(budget) => budget.is_shared(),
            Self::PerService(budgets) => budgets.is_shared(),
        }
    }

    /// Returns the budget of a service, made now if this is its first use.
    pub(crate) fn of(&self, service: impl FnOnce() -> Arc<str>) -> RetryBudget {
        match self {
            Self::One(budget) => budget.clone(),
            Self::PerService(budgets) => budgets.get(&service()),
        }
    }

    /// Counts a success of a service.
    pub(crate) fn deposit(&self, service: &str, now: Duration) {
        match self {
            Self::One(budget) => budget.deposit(now),
            Self::PerService(budgets) => budgets.deposit(service, now),
        }
    }
}
