//! Builds services into the routes that requests use, failover targets first.

use crate::service::{LevelSettings, Service};
use crate::table::{Broken, Chains, ServiceEntry, ServiceTable};
use crate::{KeptBudgets, ServicesBuilder, ServicesInner, names_in_order};
use http_retry_core::adapter::{BudgetExt, Budgets, PolicyExt};
use http_retry_core::route::{Destination, Route};
use http_retry_core::{ConfigError, RetryBudget};
use std::collections::HashMap;
use std::sync::Arc;

struct Builder<'a> {
    given: &'a ServicesBuilder,
    /// In alphabetical order, so that errors come in an order that stays.
    services: Vec<&'a Arc<Service>>,
    chains: Chains,
    budgets: KeptBudgets,
    errors: Vec<ConfigError>,
}

/// A service under construction, and the budget of its routes that have none of their own.
type ServiceBudget<'a> = (&'a Service, &'a RetryBudget);

pub(crate) fn services(given: &ServicesBuilder) -> Result<ServicesInner, Vec<ConfigError>> {
    let mut services: Vec<_> = given.services.values().collect();
    services.sort_unstable_by_key(|service| service.name());
    let mut builder = Builder {
        given,
        services,
        chains: Chains::default(),
        budgets: KeptBudgets {
            named: given.budgets.keys().cloned().collect(),
            hosts: given.before.hosts.clone(),
            own: HashMap::new(),
        },
        errors: Vec::new(),
    };
    builder.check();
    builder.warn();
    // Each call also builds the services that this one fails over to.
    for service in builder.services.clone() {
        builder.service(service);
    }
    let rest = match &given.rest_budget {
        Some(budget) => Route::new(given.policy.clone()).budget(budget.clone()),
        None => Route::with_budgets(given.policy.clone(), builder.budgets_of_the_rest()),
    };
    let rest = builder.with_names(None, rest);
    if !builder.errors.is_empty() {
        return Err(builder.errors);
    }
    Ok(ServicesInner {
        services: ServiceTable::new(builder.chains.services(), Arc::new(rest)),
        budgets: builder.budgets,
        given: ServicesBuilder {
            before: KeptBudgets::default(),
            built: None,
            ..given.clone()
        },
    })
}

impl Builder<'_> {
    fn check(&mut self) {
        if let Some(name) = &self.given.twice {
            let twice = ConfigError::new("services", name, "duplicate name");
            self.errors.push(twice);
        }
        let mut matches = HashMap::new();
        for service in &self.services {
            let name = service.name();
            if self.given.built_entry(service).is_none() {
                self.errors.extend(service.check().err());
            }
            let matching = service.place.matching.in_order();
            if matching.is_open() {
                continue;
            }
            if let Some(other) = matches.insert(matching, name) {
                let allowed = format!("no request would match it: {other} has the same match");
                let field = format!("services.{name}");
                self.errors.push(ConfigError::new(field, name, allowed));
            }
        }
    }

    /// Warns once about each budget that never refills.
    fn warn(&self) {
        let of_services = self.services.iter();
        let of_services = of_services
            .filter_map(|service| Some((service.name(), service.place.budget.as_ref()?)));
        for (name, budget) in self.given.budgets.iter().chain(of_services) {
            let is_new = !self.given.before.named.contains(name);
            if is_new {
                budget.warn_if_never_refilled(name);
            }
        }
    }

    fn budgets_of_the_rest(&self) -> Budgets {
        let fleet = self.given.fleet.as_ref();
        let shared = fleet.map(|fleet| fleet.budgets());
        Budgets::PerService(shared.unwrap_or_else(|| self.budgets.hosts.clone()))
    }

    /// Returns the budget of a service that was given none: the one it had before, if any.
    fn own_budget(&mut self, service: &Service) -> RetryBudget {
        let (name, alone) = (service.name(), service.alone);
        // A budget is kept only if the service is still in the fleet, or still out of it.
        let before = self.given.before.own.get(name);
        let kept = before.filter(|(was_alone, _)| *was_alone == alone);
        let budget = match kept {
            Some((_, budget)) => budget.clone(),
            None => match self.given.fleet.as_ref().filter(|_| !alone) {
                Some(fleet) => fleet.budgets().get(name),
                None => RetryBudget::default(),
            },
        };
        let budget = budget.named(Arc::clone(name));
        let kept = (alone, budget.clone());
        self.budgets.own.insert(Arc::clone(name), kept);
        budget
    }

    /// Returns the earlier form of a service that stays as it is. One that names a budget, an observer or another service
    /// is built again, since the name may mean something else now.
    fn unchanged(&self, service: &Arc<Service>) -> Option<Arc<ServiceEntry>> {
        let entry = self.given.built_entry(service)?;
        let all = entry.routes.iter().map(|(_, _, route)| route);
        let mut all = all.chain([&entry.rest]);
        all.all(|route| route.policy().names_used().is_empty())
            .then(|| Arc::clone(entry))
    }

    /// Builds a service, after every service that it fails over to.
    fn service(&mut self, service: &Arc<Service>) -> Arc<ServiceEntry> {
        let name = service.name();
        if let Some(made) = self.chains.built(name) {
            return made;
        }
        self.chains.begin(name);
        if let Some(entry) = self.unchanged(service) {
            let own = self.given.before.own.get_key_value(name);
            let own = own.map(|(name, kept)| (Arc::clone(name), kept.clone()));
            self.budgets.own.extend(own);
            return self.chains.end(entry);
        }
        let own = match &service.place.budget {
            Some(budget) => budget.clone(),
            None => self.own_budget(service),
        };
        let mut routes = Vec::with_capacity(service.routes.len());
        for route in &service.routes {
            let label = format!("{name}/{}", route.place.name);
            let found = self.route_of((service, &own), &route.place, &label);
            let matching = route.place.matching.clone();
            routes.push((Arc::clone(&route.place.name), matching, found));
        }
        let rest = self.route_of((service, &own), &service.place, name);
        let matching = service.place.matching.clone();
        self.chains.end(Arc::new(ServiceEntry {
            name: Arc::clone(name),
            matching: (!matching.is_open()).then_some(matching),
            routes,
            rest,
        }))
    }

    /// Builds a route of a service. If the route has no budget, the service's budget pays.
    fn route_of(
        &mut self,
        (service, own): ServiceBudget<'_>,
        place: &LevelSettings,
        label: &str,
    ) -> Arc<Route> {
        let policy = place.policy.named(label.to_owned());
        let given = place.budget.as_ref().or(service.place.budget.as_ref());
        let mut route = match given {
            Some(budget) => Route::new(policy).budget(budget.clone()),
            None => Route::with_budgets(policy, Budgets::One(own.clone())),
        };
        route = route
            .service(Arc::clone(service.name()))
            .request_overrides(service.overrides);
        if service.alone {
            route = route.without_fleet();
        }
        if let Some(base) = &service.base_url {
            route = route.base_url(base.clone());
        }
        Arc::new(self.with_names(Some(label), route))
    }

    /// Resolves the names that the route's policy uses. An error names the route by its label.
    fn with_names(&mut self, label: Option<&str>, route: Route) -> Route {
        let policy = route.policy().clone();
        let names = policy.names_used();
        if names.is_empty() {
            return route;
        }
        let field = label.map_or_else(
            || "services".to_owned(),
            |label| format!("services.{label}"),
        );
        let mut destinations = Vec::new();
        for name in names.failovers {
            match self.destination(&field, name) {
                Ok(destination) => destinations.push((Arc::clone(name), destination)),
                Err(error) => self.errors.push(error),
            }
        }
        let given = self.given;
        let budgets = self.named((&field, "budget"), &names.budgets, &given.budgets);
        let dead_letters = self.named(
            (&field, "dead_letter"),
            &names.dead_letters,
            &given.dead_letters,
        );
        route
            .failovers(destinations)
            .named_budgets(budgets)
            .named_dead_letters(dead_letters)
    }

    fn destination(&mut self, field: &str, name: &Arc<str>) -> Result<Destination, ConfigError> {
        let wrong = |allowed| ConfigError::new(format!("{field}.failover"), name, allowed);
        let given = self.given;
        let Some(service) = given.services.get(name) else {
            let known = names_in_order(&given.services).join(", ");
            return Err(wrong(format!("is no service: there are {known}")));
        };
        let Some(base) = service.base_url.clone() else {
            let allowed = "has no base_url, where a failover would go";
            return Err(wrong(allowed.to_owned()));
        };
        let broken = |broken: Broken| wrong(broken.to_string());
        // A circle is found before the recursion, which would not end. The length of a chain that was built earlier is
        // known only after it.
        self.chains.check_step(name).map_err(broken)?;
        let service = self.service(service);
        self.chains.check_rest(name).map_err(broken)?;
        Ok(Destination::new(base, service))
    }

    /// Returns the items with these names, and records an error for each unknown name.
    fn named<T: Clone>(
        &mut self,
        (field, what): (&str, &str),
        names: &[&Arc<str>],
        known: &HashMap<Arc<str>, T>,
    ) -> Vec<(Arc<str>, T)> {
        let mut found = Vec::new();
        for name in names {
            if let Some(known) = known.get(*name) {
                found.push((Arc::clone(name), known.clone()));
                continue;
            }
            let all = names_in_order(known).join(", ");
            let allowed = format!("has no such name among the services: there are [{all}]");
            let field = format!("{field}.{what}");
            self.errors.push(ConfigError::new(field, name, allowed));
        }
        found
    }
}
