//! From what code says of services to the routes that requests go by, in the order of their failovers.

use super::ServicesBuilder;
use super::service::{Place, Service};
use crate::budget::{NEVER_REFILLS, RetryBudget, ServiceBudgets};
use crate::error::ConfigError;
use crate::policy::rules::NamesUsed;
use crate::report::warn_of_misuse;
use crate::route::{self, Broken, Budgets, Chains, Destination, Overrides, Route};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

struct Builder<'a> {
    given: &'a ServicesBuilder,
    chains: Chains,
}

pub(super) fn services(given: &ServicesBuilder) -> Result<route::Services, ConfigError> {
    check(given)?;
    let of_services = given.services.iter();
    let of_services =
        of_services.filter_map(|(name, service)| Some((name, service.budget.as_ref()?)));
    for (name, budget) in given.budgets.iter().chain(of_services) {
        if budget.never_refills() {
            warn_of_misuse(name, NEVER_REFILLS);
        }
    }
    let chains = Chains::default();
    let mut builder = Builder { given, chains };
    for service in given.services.values() {
        builder.service(service)?;
    }
    let rest = Route::new(given.policy.clone());
    let budget = Budgets::PerService(ServiceBudgets::default());
    let rest = builder.route("services", Route { budget, ..rest })?;
    let by_name = builder.chains.services();
    Ok(route::Services {
        by_name,
        rest: Arc::new(rest),
    })
}

fn check(given: &ServicesBuilder) -> Result<(), ConfigError> {
    if let Some(name) = &given.twice {
        return Err(ConfigError::new("services", name, "is there twice"));
    }
    let mut matches = HashMap::new();
    for (name, service) in &given.services {
        service.check()?;
        let matching = service.place.matching.in_order();
        if matching.is_open() {
            continue;
        }
        if let Some(other) = matches.insert(matching, name) {
            let allowed = format!("no request would match it: {other} has the same match");
            return Err(ConfigError::new(format!("services.{name}"), name, allowed));
        }
    }
    Ok(())
}

impl Builder<'_> {
    /// A service, after all that it leads to.
    fn service(&mut self, service: &Service) -> Result<Arc<route::Service>, ConfigError> {
        let name = service.name();
        if let Some(made) = self.chains.made(name) {
            return Ok(made);
        }
        self.chains.begin(name);
        let budget = service.budget.clone().unwrap_or_default();
        let mut routes = Vec::with_capacity(service.routes.len());
        for own in &service.routes {
            let label = format!("{name}/{}", own.place.name);
            let found = self.route_of((service, &budget), &own.place, label)?;
            let matching = own.place.matching.clone();
            routes.push((Arc::clone(&own.place.name), matching, found));
        }
        let rest = self.route_of((service, &budget), &service.place, name.to_string())?;
        let matching = service.place.matching.clone();
        Ok(self.chains.end(route::Service {
            name: Arc::clone(name),
            matching: (!matching.is_open()).then_some(matching),
            routes,
            rest,
        }))
    }

    /// A route of a service, whose budget pays for all of its routes.
    fn route_of(
        &mut self,
        (service, budget): (&Service, &RetryBudget),
        place: &Place,
        label: String,
    ) -> Result<Arc<Route>, ConfigError> {
        let field = format!("services.{label}");
        let overrides: Overrides = service.overrides.by(&place.policy);
        let route = Route {
            budget: Budgets::One(budget.clone()),
            names_budget: service.budget.is_some(),
            service: Some(Arc::clone(service.name())),
            overrides,
            base: service.base_url.clone(),
            ..Route::new(place.policy.named(label))
        };
        self.route(&field, route).map(Arc::new)
    }

    /// The route with what its policy has names for.
    fn route(&mut self, field: &str, mut route: Route) -> Result<Route, ConfigError> {
        let policy = route.policy.clone();
        let mut names = NamesUsed::default();
        policy.rules().names(&mut names);
        let mut destinations = BTreeMap::new();
        for name in names.failovers {
            destinations.insert(Arc::clone(name), self.destination(field, name)?);
        }
        route.budgets = Arc::new(named(field, "budget", &names.budgets, &self.given.budgets)?);
        let dead_letters = named(
            field,
            "dead_letter",
            &names.dead_letters,
            &self.given.dead_letters,
        )?;
        route.keeps_head |= !destinations.is_empty() || !dead_letters.is_empty();
        route.destinations = Arc::new(destinations);
        route.dead_letters = Arc::new(dead_letters);
        Ok(route)
    }

    fn destination(&mut self, field: &str, name: &Arc<str>) -> Result<Destination, ConfigError> {
        let wrong = |allowed| ConfigError::new(format!("{field}.failover"), name, allowed);
        let given = self.given;
        let Some(service) = given.services.get(name) else {
            let known: Vec<&str> = given.services.keys().map(|name| &**name).collect();
            return Err(wrong(format!(
                "is no service: there are {}",
                known.join(", ")
            )));
        };
        let Some(base) = service.base_url.clone() else {
            return Err(wrong(
                "has no base_url, where a failover would go".to_owned(),
            ));
        };
        let broken = |broken: Broken| wrong(broken.to_string());
        self.chains.check_step(name).map_err(broken)?;
        let service = self.service(service)?;
        self.chains.check_rest(name).map_err(broken)?;
        Ok(Destination { base, service })
    }
}

/// What these names stand for.
fn named<T: Clone>(
    field: &str,
    what: &str,
    names: &[&Arc<str>],
    known: &BTreeMap<Arc<str>, T>,
) -> Result<BTreeMap<Arc<str>, T>, ConfigError> {
    let found = names.iter().map(|name| match known.get(*name) {
        Some(found) => Ok((Arc::clone(name), found.clone())),
        None => {
            let all: Vec<&str> = known.keys().map(|name| &**name).collect();
            let allowed = format!(
                "has no such name among the services: there are [{}]",
                all.join(", ")
            );
            Err(ConfigError::new(format!("{field}.{what}"), name, allowed))
        }
    });
    found.collect()
}
