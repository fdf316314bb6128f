//! Where the tokens of a request come from.

use crate::budget::{RetryBudget, ServiceBudgets};
use std::sync::Arc;
use std::time::Duration;

/// One budget for all requests, or one for each service.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "there is no third way to pay")]
pub enum Budgets {
    /// One for all requests.
    One(RetryBudget),
    /// One for each service.
    PerService(ServiceBudgets),
}

impl Budgets {
    /// Returns `true` if other processes may have the same, or one of them.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        match self {
            Self::One(budget) => budget.is_shared(),
            Self::PerService(budgets) => budgets.is_shared(),
        }
    }

    /// Returns the budget of a service, made now if this is its first use.
    pub fn of(&self, service: impl FnOnce() -> Arc<str>) -> RetryBudget {
        match self {
            Self::One(budget) => budget.clone(),
            Self::PerService(budgets) => budgets.get(&service()),
        }
    }

    /// Counts a success of a service.
    pub fn deposit(&self, service: &str, now: Duration) {
        match self {
            Self::One(budget) => budget.deposit(now),
            Self::PerService(budgets) => budgets.deposit(service, now),
        }
    }
}
