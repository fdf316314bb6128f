//! The policy, rules and costs of each entry that a request can match.

use crate::ServicesInner;
use crate::table::{ServiceEntry, ServiceTable};
use http_retry_core::adapter::Budgets;
use http_retry_core::policy::{Decimal, WorstCase};
use http_retry_core::route::Route;
use http_retry_core::rules::Action;
use http_retry_core::settings::PolicyExt;
use http_retry_core::sharing::BudgetExt;
use http_retry_core::{RetryBudget, RetryPolicy};
use std::collections::HashMap;
use std::sync::Arc;

/// A service or route that a request can match, with its policy, rules and budget, for a program to print or to check
/// before it starts.
///
/// [`Services::routes`](crate::Services::routes) returns those of services in code, and `RetryConfig::routes` those of
/// the current document. It is a snapshot of the time at which it was made.
///
/// ```
/// use http_retry::services::{Service, Services};
/// use http_retry::{RetryBudget, RetryPolicy};
///
/// let budget = RetryBudget::builder().capacity(50).build()?;
/// let orders = Service::new("orders", RetryPolicy::background()).host("orders.example.com").budget(budget);
/// let services = Services::builder(RetryPolicy::user_facing()).service(orders).build()?;
/// for place in services.routes() {
///     let name = place.service.as_deref().unwrap_or("any other host");
///     println!("{name}: at most {:?} attempts\n{}", place.worst_case.attempts, place.policy.explain());
/// }
/// let orders = &services.routes()[0];
/// assert_eq!(orders.worst_case.attempts, Some(5));
/// assert_eq!(orders.capacity, Some(50.into()));
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RouteSummary {
    /// The service; `None` for requests that no service matches.
    pub service: Option<String>,
    /// The route; `None` for requests of the service that no route matches.
    pub route: Option<String>,
    /// The current policy; [`explain`](http_retry_core::RetryPolicy::explain) describes it in words.
    pub policy: RetryPolicy,
    /// The rules in order, each with its name or position and its action in words: `retry, at most 1 of its own, no
    /// delay`. The last one is `otherwise`, if it is set.
    pub rules: Vec<(String, String)>,
    /// The most that one request can cost, here and at the services that it fails over to, one after another. If there
    /// are several to choose from, the most expensive one counts.
    pub worst_case: WorstCase,
    /// The name of the budget in the document; `None` if the service or host has its own, and for services in code.
    pub budget: Option<String>,
    /// `true` if other processes spend the same budget, because it is in the document's fleet.
    pub shared: bool,
    /// `true` if the requests share a gate with those of other processes, because it is in the document's fleet.
    pub shares_gate: bool,
    /// The tokens in the budget now, without those added by time alone since its last use. `None` if each host has its
    /// own budget, or if it is unlimited.
    pub tokens: Option<Decimal>,
    /// The most tokens that the budget can hold now. `None` if each host has its own budget, or if it is unlimited.
    pub capacity: Option<Decimal>,
}

/// Returns the entries of services, and whether each shares its gate.
pub(crate) fn routes(inner: &ServicesInner) -> Vec<RouteSummary> {
    let services = &inner.services;
    let in_fleet = inner.given.fleet.is_some();
    let mut costs = Costs {
        services,
        known: HashMap::new(),
    };
    let mut all = Vec::new();
    for (name, service) in services.by_name.in_order() {
        for (route, _, found) in &service.routes {
            all.push(summary(Some(name), Some(route), found, &mut costs));
        }
        all.push(summary(Some(name), None, &service.rest, &mut costs));
    }
    all.push(summary(None, None, &inner.rest, &mut costs));
    for route in &mut all {
        route.shares_gate &= in_fleet;
    }
    all
}

fn summary<'a>(
    service: Option<&str>,
    name: Option<&Arc<str>>,
    route: &'a Route,
    costs: &mut Costs<'a>,
) -> RouteSummary {
    let mut origins = route.policy().origins();
    let name_of_budget = origins.find(|(field, ..)| *field == "budget");
    let budget = match route.budgets() {
        Budgets::One(budget) => Some(budget),
        Budgets::PerService(_) => None,
    };
    let budget = budget.and_then(RetryBudget::as_used_last);
    RouteSummary {
        service: service.map(str::to_owned),
        route: name.map(ToString::to_string),
        policy: route.policy().clone(),
        rules: rules(route.policy()),
        worst_case: costs.of_route(route),
        budget: name_of_budget.map(|(_, value, _)| value.to_owned()),
        shared: route.budgets().is_shared(),
        shares_gate: !route.alone && route.policy().gate_wait_limit().is_some(),
        tokens: budget.map(|(tokens, _)| tokens),
        capacity: budget.map(|(_, capacity)| capacity),
    }
}

fn rules(policy: &RetryPolicy) -> Vec<(String, String)> {
    let named = policy.all_rules().map(|rule| {
        (
            rule.name.as_deref().unwrap_or_default().to_owned(),
            rule.action.to_string(),
        )
    });
    let otherwise = match policy.default_action() {
        Action::Classify => None,
        otherwise => Some(("otherwise".to_owned(), otherwise.to_string())),
    };
    named.chain(otherwise).collect()
}

/// The costs of requests at each service, computed once. Failovers have no cycles, so the recursion ends.
struct Costs<'a> {
    services: &'a ServiceTable,
    known: HashMap<&'a str, WorstCase>,
}

impl<'a> Costs<'a> {
    fn of_route(&mut self, route: &'a Route) -> WorstCase {
        let here = route.policy().worst_case();
        let targets = route.destinations().iter();
        let there = targets.filter_map(|(name, _)| self.of_service(name));
        match there.reduce(WorstCase::max) {
            Some(there) => here.and_then(there),
            None => here,
        }
    }

    /// Returns the cost of its most expensive route.
    fn of_service(&mut self, name: &str) -> Option<WorstCase> {
        if let Some(known) = self.known.get(name) {
            return Some(*known);
        }
        let service: &'a ServiceEntry = self.services.by_name.get(name)?;
        let routes = service.routes.iter().map(|(_, _, route)| &**route);
        let mut costs = Vec::new();
        for route in routes.chain([&*service.rest]) {
            costs.push(self.of_route(route));
        }
        let most_expensive = costs.into_iter().reduce(WorstCase::max)?;
        self.known.insert(&service.name, most_expensive);
        Some(most_expensive)
    }
}
