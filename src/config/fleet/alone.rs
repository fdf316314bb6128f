//! Without the crate's feature `redis` a document has budgets of its own alone.

use super::FleetMap;
use crate::budget::{RetryBudget, RetryBudgetBuilder, ServiceBudgets};
use crate::config::names::Names;
use crate::config::problems::Problems;
use crate::route::Budgets;

/// No fleet.
#[derive(Debug, Clone, Default)]
pub(in crate::config) struct Joined;

impl Joined {
    pub(in crate::config) fn of(_: Option<&FleetMap>, _: &Names, _: &Problems) -> Self {
        Self
    }

    pub(in crate::config) fn named(&self, _: &str, numbers: RetryBudgetBuilder) -> RetryBudget {
        numbers.build().unwrap_or_default()
    }

    pub(in crate::config) fn own(&self, _: &str) -> RetryBudget {
        RetryBudget::default()
    }

    pub(in crate::config) fn rest(&self, budgets: &ServiceBudgets) -> Budgets {
        Budgets::PerService(budgets.clone())
    }
}
