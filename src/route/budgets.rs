//! Where the tokens of a request come from.

use crate::budget::{RetryBudget, ServiceBudgets};
#[cfg(feature = "redis")]
use crate::fleet::Fleet;
use std::sync::Arc;

/// One budget for all requests, or one for each service.
#[derive(Debug, Clone)]
pub(crate) enum Budgets {
    One(RetryBudget),
    PerService(ServiceBudgets),
    #[cfg(feature = "redis")]
    InFleet(Fleet),
}

impl Budgets {
    /// Whether other processes have the same.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            #[cfg(feature = "redis")]
            Self::One(budget) => budget.is_shared(),
            #[cfg(feature = "redis")]
            Self::InFleet(_) => true,
            _ => false,
        }
    }

    pub(crate) fn of(&self, service: impl FnOnce() -> Arc<str>) -> RetryBudget {
        match self {
            Self::One(budget) => budget.clone(),
            Self::PerService(budgets) => budgets.get(&service()),
            #[cfg(feature = "redis")]
            Self::InFleet(fleet) => fleet.budget_of(&service()),
        }
    }
}
