//! What holds at each place of a document.

use super::live::Live;
use crate::budget::BudgetSnapshot;
use crate::policy::RetryPolicy;
use crate::route::{Budgets, Route};
use std::time::Duration;

/// A place that requests can come to, and what holds there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RouteSummary {
    /// The service; none for requests that no service matches.
    pub service: Option<String>,
    /// The route; none for requests of the service that no route matches.
    pub route: Option<String>,
    /// The policy in force.
    pub policy: RetryPolicy,
    /// The name of the budget; none where the service or host has one of its own.
    pub budget: Option<String>,
    /// What the budget holds just now; none where each host has its own.
    pub tokens: Option<BudgetSnapshot>,
}

pub(super) fn routes(live: &Live) -> Vec<RouteSummary> {
    let mut all = Vec::new();
    for (name, service) in &live.services {
        for (route, _, found) in &service.routes {
            all.push(summary(Some(name), Some(route), found));
        }
        all.push(summary(Some(name), None, &service.rest));
    }
    all.push(summary(None, None, &live.rest));
    all
}

fn summary(service: Option<&String>, name: Option<&String>, route: &Route) -> RouteSummary {
    let origins = &route.policy.directives().origins;
    let budget = origins.iter().find(|origin| origin.field == "budget");
    RouteSummary {
        service: service.cloned(),
        route: name.cloned(),
        policy: route.policy.clone(),
        budget: budget.map(|origin| origin.value.clone()),
        tokens: match &route.budget {
            Budgets::One(budget) => budget.snapshot(Duration::ZERO),
            Budgets::PerService(_) => None,
        },
    }
}
