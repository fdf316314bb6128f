//! Builds the services of a document in the order of their dependencies.

use super::LiveBudgets;
use crate::config::block::Path;
use crate::config::document::{ServiceSpec, Spec};
use crate::config::fleet::Membership;
use crate::config::resolve::{Found, Place, PlaceNames, Resolver};
use crate::policy::rules::NamesUsed;
use crate::policy::{RetryPolicy, Source};
use crate::route::{Broken, Budgets, Chains, Destination, Overrides, Route, Service};
use crate::services::RequestOverrides;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Builds services in the order of their dependencies.
pub(super) struct Builder<'a> {
    pub(super) resolver: Resolver<'a>,
    pub(super) budgets: LiveBudgets,
}

/// The most rules, each counted at every place where it may decide.
const MOST_RULES: usize = 20_000;

impl Builder<'_> {
    pub(super) fn build(self) -> (BTreeMap<Arc<str>, Arc<Service>>, Arc<Route>, LiveBudgets) {
        let spec = self.resolver.spec;
        let mut chains = Chains::default();
        if rules_at_all_places(spec) > MOST_RULES {
            let cause = format!(
                "has more than {MOST_RULES} rules, counted at every place where they decide"
            );
            self.resolver.problems.add(&Path::default(), &"", cause);
            return (
                BTreeMap::new(),
                Arc::new(Route::new(RetryPolicy::default())),
                self.budgets,
            );
        }
        for (name, block) in &spec.policies {
            self.resolver.check_is_no_preset(name);
            // A block that nobody uses must be right all the same.
            if let Some(block) = block {
                self.resolver.check_names(&self.resolver.layer(block));
            }
        }
        self.resolver.check_dialects();
        let document = self.resolver.place("document", None, &[&spec.place]);
        for name in spec.services.keys() {
            self.service(name, &document, &mut chains);
        }
        let rest = self.route(&document, &document, None, &mut chains);
        (chains.services(), Arc::new(rest), self.budgets)
    }

    fn service(&self, name: &str, document: &Place, chains: &mut Chains) -> Option<Arc<Service>> {
        if let Some(made) = chains.made(name) {
            return Some(made);
        }
        let spec = self.resolver.spec.services.get(name)?;
        let name: Arc<str> = name.into();
        chains.begin(&name);
        let layers = [&self.resolver.spec.place, &spec.place];
        let own = self.resolver.place(&name, Some(document), &layers);
        let mut routes = Vec::with_capacity(spec.routes.len());
        for route in &spec.routes {
            let label = format!("{name}/{}", route.name);
            let layers = [layers[0], layers[1], &route.place];
            let found = self.resolver.place(&label, Some(&own), &layers);
            let found = self.route(&found, document, Some((&name, spec)), chains);
            routes.push((
                Arc::clone(&route.name),
                route.matching.clone(),
                Arc::new(found),
            ));
        }
        let rest = self.route(&own, document, Some((&name, spec)), chains);
        Some(chains.end(Service {
            name: Arc::clone(&name),
            matching: spec.matching.clone(),
            routes,
            rest: Arc::new(rest),
        }))
    }

    fn route(
        &self,
        place: &Place,
        document: &Place,
        service: Option<(&Arc<str>, &ServiceSpec)>,
        chains: &mut Chains,
    ) -> Route {
        let Found {
            budgets,
            destinations,
            dead_letters,
        } = self.found(place, document, chains);
        let leads_on = !destinations.is_empty() || !dead_letters.is_empty();
        Route {
            budget: self.budget(place, service.map(|(name, _)| &**name)),
            alone: service.is_some_and(|(_, spec)| spec.fleet == Membership::Alone),
            names_budget: place.retry.budget.is_some(),
            service: service.map(|(name, _)| Arc::clone(name)),
            overrides: overrides(service.map(|(_, spec)| spec.overrides), place),
            budgets,
            dead_letters,
            base: service.and_then(|(_, spec)| spec.base_url.clone()),
            keeps_head: leads_on || place.policy.may_respond(),
            policy: place.policy.clone(),
            destinations,
        }
    }

    /// What a place names. Places with the same names share it, unless they lead back to themselves.
    fn found(&self, place: &Place, document: &Place, chains: &mut Chains) -> Found {
        let PlaceNames { failovers, found } = &*place.names;
        let leads_back = failovers.iter().any(|(name, _)| chains.come_through(name));
        if let Some(found) = found.get().filter(|_| !leads_back && !chains.are_full()) {
            return found.clone();
        }
        let mut destinations = BTreeMap::new();
        for (name, from) in failovers {
            if let Some(destination) = self.destination(name, from, document, chains) {
                destinations.insert(Arc::clone(name), destination);
            }
        }
        let mut used = NamesUsed::default();
        place.policy.rules().names(&mut used);
        let named = |name: &Arc<str>| Some((Arc::clone(name), self.budgets.named(name)?));
        let observer = |name: &Arc<str>| {
            let observer = self.resolver.names.dead_letters.get(name)?;
            Some((Arc::clone(name), Arc::clone(observer)))
        };
        let new = Found {
            budgets: Arc::new(used.budgets.into_iter().filter_map(named).collect()),
            destinations: Arc::new(destinations),
            dead_letters: Arc::new(used.dead_letters.into_iter().filter_map(observer).collect()),
        };
        found.get_or_init(|| new).clone()
    }

    fn destination(
        &self,
        name: &str,
        from: &Arc<str>,
        document: &Place,
        chains: &mut Chains,
    ) -> Option<Destination> {
        let base = self.resolver.destination(name, from)?.base_url.clone()?;
        let wrong = |broken: Broken| {
            let of_all = matches!(broken, Broken::Circle(_)) && !from.starts_with("services.");
            let why = match of_all {
                true => format!(" (what the document says holds at {name} too)"),
                false => String::new(),
            };
            let cause = format!("{broken}{why}");
            self.resolver.problems.at(from, &name, cause);
        };
        chains.check_step(name).map_err(wrong).ok()?;
        let service = self.service(name, document, chains)?;
        chains.check_rest(name).map_err(wrong).ok()?;
        Some(Destination { base, service })
    }

    fn budget(&self, place: &Place, service: Option<&str>) -> Budgets {
        let named = place.retry.budget.as_ref();
        let named = named.and_then(|given| self.budgets.named(&given.value));
        let own = || {
            self.budgets
                .own
                .get(service?)
                .map(|(_, budget)| budget.clone())
        };
        match named.or_else(own) {
            Some(budget) => Budgets::One(budget),
            None => self.budgets.joined.rest(&self.budgets.rest),
        }
    }
}

/// The number of rules to build: those of the document for every service and route, those of a service for its routes.
fn rules_at_all_places(spec: &Spec) -> usize {
    let services = spec.services.values();
    let places = services
        .clone()
        .map(|service| service.routes.len().saturating_add(1));
    let places = places.fold(1, usize::saturating_add);
    let own = services.map(|service| {
        let everywhere = service.routes.len().saturating_add(1);
        let routes = service.routes.iter().map(|route| route.place.rules.len());
        let routes = routes.fold(0, usize::saturating_add);
        everywhere
            .saturating_mul(service.place.rules.len())
            .saturating_add(routes)
    });
    let document = places.saturating_mul(spec.place.rules.len());
    own.fold(document, usize::saturating_add)
}

fn overrides(spec: Option<RequestOverrides>, place: &Place) -> Overrides {
    match spec.unwrap_or_default() {
        RequestOverrides::Allow => Overrides::Allow,
        RequestOverrides::Deny => Overrides::Deny,
        RequestOverrides::FillOnly => Overrides::FillOnly {
            limit: place
                .retry
                .max_retries
                .as_ref()
                .is_none_or(|given| given.from == Source::Default),
            deadline: place.retry.deadline.is_none(),
            whole_answers: place.retry.whole_answers.is_none(),
        },
    }
}
