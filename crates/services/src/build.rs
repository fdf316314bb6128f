//! Builds services into the routes that requests use, failover targets first.

use crate::service::{LevelSettings, Service};
use crate::table::{ServiceEntry, ServiceTable};
use crate::{KeptBudgets, ServicesBuilder, ServicesInner, names_in_order};
use http_retry_core::adapter::Budgets;
use http_retry_core::reading::joined;
use http_retry_core::route::{Destination, Route};
use http_retry_core::settings::{PolicyExt, SharedMap};
use http_retry_core::sharing::BudgetExt;
use http_retry_core::{ConfigError, RetryBudget};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

struct Builder<'a> {
    given: &'a ServicesBuilder,
    table: ServiceTable,
    /// The services under construction, each of which fails over to the next one.
    path: Vec<Arc<str>>,
    budgets: KeptBudgets,
    errors: Vec<ConfigError>,
    /// The names that there are of each kind, as an error lists them: every service may have the same error.
    listed: HashMap<&'static str, String>,
}

/// The longest chain of services that fail over to each other.
const MAX_CHAIN: usize = 16;

/// A service under construction, and the budget of its routes that have none of their own.
type ServiceBudget<'a> = (&'a Service, &'a RetryBudget);

/// Services in alphabetical order, so that errors come in an order that stays.
type InOrder<'a> = [&'a Arc<Service>];

pub(crate) fn services(given: &ServicesBuilder) -> Result<ServicesInner, Vec<ConfigError>> {
    let changed = given.built.as_ref().zip(given.changed.as_ref());
    let built = changed.map(|(built, names)| changes(given, &built.0, names));
    // Only a whole build finds all errors, in the order of the services.
    match built {
        Some(Ok(services)) => Ok(services),
        Some(Err(_)) | None => whole(given),
    }
}

fn whole(given: &ServicesBuilder) -> Result<ServicesInner, Vec<ConfigError>> {
    let services = given.services.in_order().into_iter();
    let services: Vec<_> = services.map(|(_, service)| service).collect();
    let mut builder = Builder::new(given);
    builder.check(&services);
    builder.finish(&services)
}

/// Builds the services with these names, and those that fail over to them. The others stay as they were built.
fn changes(
    given: &ServicesBuilder,
    built: &ServicesInner,
    names: &BTreeSet<Arc<str>>,
) -> Result<ServicesInner, Vec<ConfigError>> {
    let services = |names: &BTreeSet<Arc<str>>| {
        let services = names.iter().map(|name| given.services.get(name));
        services.flatten().collect::<Vec<_>>()
    };
    let mut builder = Builder::new(given);
    builder.table = built.services.clone();
    builder.budgets.own = given.before.own.clone();
    for name in names {
        builder.table.remove(name);
        builder.budgets.own.remove(name);
    }
    // While the table still has the match of every other service.
    builder.check(&services(names));
    let mut affected = names.clone();
    let mut left: Vec<_> = names.iter().collect();
    while let Some(name) = left.pop() {
        for before in built.services.before_failover(name) {
            builder.table.remove(before);
            if affected.insert(Arc::clone(before)) {
                left.push(before);
            }
        }
    }
    builder.finish(&services(&affected))
}

impl<'a> Builder<'a> {
    fn new(given: &'a ServicesBuilder) -> Self {
        Self {
            given,
            table: ServiceTable::default(),
            path: Vec::new(),
            budgets: KeptBudgets {
                named: given.budgets.clone(),
                hosts: given.before.hosts.clone(),
                own: SharedMap::default(),
            },
            errors: Vec::new(),
            listed: HashMap::new(),
        }
    }

    /// Checks services, each by itself and for a match that another one has.
    fn check(&mut self, services: &InOrder<'_>) {
        if let Some(name) = &self.given.twice {
            let twice = ConfigError::new("services", name, "duplicate name");
            self.errors.push(twice);
        }
        let mut matches = HashMap::new();
        for service in services {
            let name = service.name();
            self.errors.extend(service.check().err());
            let matching = service.place.matching.in_order();
            if matching.is_open() {
                continue;
            }
            let is_taken = self.table.has_match(&matching);
            let other = matches.insert(matching, name);
            if let Some(other) = other.or(is_taken.then_some(name)) {
                let allowed = format!("no request would match it: {other} has the same match");
                let field = format!("services.{name}");
                self.errors.push(ConfigError::new(field, name, allowed));
            }
        }
    }

    /// Builds services, beside those that the table has.
    fn finish(mut self, services: &InOrder<'_>) -> Result<ServicesInner, Vec<ConfigError>> {
        // Each call also builds the services that this one fails over to.
        for service in services {
            self.service(service);
        }
        let given = self.given;
        let rest = match &given.rest_budget {
            Some(budget) => Route::new(given.policy.clone()).budget(budget.clone()),
            None => Route::with_budgets(given.policy.clone(), self.budgets_of_the_rest()),
        };
        let rest = Arc::new(self.with_names(None, rest));
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        self.warn(services);
        Ok(ServicesInner {
            services: self.table,
            rest,
            budgets: self.budgets,
            given: ServicesBuilder {
                changed: None,
                before: KeptBudgets::default(),
                built: None,
                ..given.clone()
            },
        })
    }

    /// Warns once about each budget that never refills.
    fn warn(&self, services: &InOrder<'_>) {
        let of_services = services.iter();
        let of_services = of_services
            .filter_map(|service| Some((service.name(), service.place.budget.as_ref()?)));
        let named = match &self.given.built {
            Some(_) => Vec::new(),
            None => self.given.budgets.in_order(),
        };
        for (name, budget) in named.into_iter().chain(of_services) {
            if self.given.before.named.get(name).is_none() {
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

    /// Builds a service, after every service that it fails over to.
    fn service(&mut self, service: &Arc<Service>) -> Arc<ServiceEntry> {
        let name = service.name();
        if let Some(built) = self.table.by_name.get(name) {
            return Arc::clone(built);
        }
        self.path.push(Arc::clone(name));
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
        self.path.pop();
        let matching = service.place.matching.in_order();
        let mut entry = ServiceEntry {
            name: Arc::clone(name),
            matching: (!matching.is_open()).then_some(matching),
            routes,
            rest,
            chain: 1,
        };
        let chains = entry.destinations().map(|name| self.chain(name));
        entry.chain = chains.max().unwrap_or_default().saturating_add(1);
        let entry = Arc::new(entry);
        self.table.insert(&entry);
        entry
    }

    /// Returns the length of the longest chain of failovers that starts at a built service.
    fn chain(&self, name: &str) -> usize {
        let service = self.table.by_name.get(name);
        service.map_or(0, |service| service.chain)
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
            let known = self.listed("failover", &given.services);
            return Err(wrong(format!("is no service: there are {known}")));
        };
        let Some(base) = service.base_url.clone() else {
            let allowed = "has no base_url, where a failover would go";
            return Err(wrong(allowed.to_owned()));
        };
        // A circle is found before the recursion, which would not end.
        if self.path.contains(name) {
            let path = [self.path.as_slice(), &[Arc::clone(name)]].concat();
            return Err(wrong(format!("failover cycle: {}", path.join(" -> "))));
        }
        let too_long = format!("failover goes through more than {MAX_CHAIN} services");
        if self.path.len() >= MAX_CHAIN {
            return Err(wrong(too_long));
        }
        let service = self.service(service);
        // The length of a chain that was built earlier is known only now.
        if service.chain >= MAX_CHAIN {
            return Err(wrong(too_long));
        }
        Ok(Destination::new(base, service))
    }

    /// Returns the items with these names, and records an error for each unknown name.
    fn named<T: Clone>(
        &mut self,
        (field, what): (&str, &'static str),
        names: &[&Arc<str>],
        known: &SharedMap<T>,
    ) -> Vec<(Arc<str>, T)> {
        let mut found = Vec::new();
        for name in names {
            if let Some(known) = known.get(name) {
                found.push((Arc::clone(name), known.clone()));
                continue;
            }
            let all = self.listed(what, known);
            let allowed = format!("has no such name among the services: there are [{all}]");
            let field = format!("{field}.{what}");
            self.errors.push(ConfigError::new(field, name, allowed));
        }
        found
    }

    /// Returns the first of the names that there are, and the number of the others.
    fn listed<T>(&mut self, what: &'static str, known: &SharedMap<T>) -> &str {
        let names = || joined(&names_in_order(known).collect::<Vec<_>>(), ", ");
        self.listed.entry(what).or_insert_with(names)
    }
}
