//! Who pays for the retries on a route, and what a fleet says to one.

use super::{Engine, Routes};
use crate::budget::{Asking, PaidRetry, RetryBudget};
use crate::route::Route;
use crate::runtime::within;
use http_retry_core::adapter::{Budgets, NEVER_REFILLS, warn_of_misuse};
use std::sync::Arc;
use std::time::Duration;

impl Engine {
    /// Sets what pays, where no document names a budget, whatever fleet the layer is in.
    pub(crate) fn set_budget(&mut self, budget: Budgets) {
        self.has_budget = true;
        let never_refills = match &budget {
            Budgets::One(budget) => budget.never_refills(),
            Budgets::PerService(budgets) => budgets.never_refill(),
        };
        if never_refills {
            warn_of_misuse("budget", NEVER_REFILLS);
        }
        self.pay_from(budget);
    }

    /// The budget of a request on this route.
    pub(crate) fn budget_of(
        &self,
        route: &Route,
        service: impl FnOnce() -> Arc<str>,
    ) -> RetryBudget {
        self.budgets_of(route).of(service)
    }

    /// What pays on this route.
    #[inline]
    pub(crate) fn budgets_of<'a>(&'a self, route: &'a Route) -> &'a Budgets {
        // One that was not given by hand is a fleet's, in which the route has no part if it is alone.
        let pays_here = !route.names_budget() && (self.has_budget || !route.is_alone());
        let own = self.budget.as_ref().filter(|_| pays_here);
        own.unwrap_or(route.budgets())
    }

    pub(super) fn pay_from(&mut self, budget: Budgets) {
        match &mut self.routes {
            Routes::One(route) => Arc::make_mut(route).set_budgets(budget),
            Routes::PerRequest(_) => self.budget = Some(budget),
        }
    }

    /// The fleet's answer to a retry that asks for it; nothing where it is refused. It is waited for no longer than the
    /// budget says, and no longer than `left`: then the process pays alone, if it can.
    ///
    /// # Cancel safety
    ///
    /// Dropped, it asks no longer, and nothing is paid.
    pub(crate) async fn answer(&self, mut asking: Asking, left: Duration) -> Option<PaidRetry> {
        let timer = self.runtime.sleep(asking.wait().min(left));
        match within(timer, &mut asking).await {
            Some(answer) => answer,
            None => asking.alone(self.runtime.now()),
        }
    }
}
