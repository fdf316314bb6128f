//! A document in force: its services, and the budgets that outlive it.

use super::builder::RegisteredNames;
use super::document::{BudgetKeys, MatchKeys, Membership, ServiceSpec, Spec};
use super::fleet::{self, Fleet};
use super::layers::Resolver;
use super::place::ResolvedLevel;
use super::problems::{ConfigErrors, Diagnostics, Path};
use super::value::{Entries, Value};
use super::values::Name;
use http_retry_core::ConfigError;
use http_retry_core::budget::RetryBudget;
use http_retry_core::report::DeadLetter;
use http_retry_services::{Service, ServiceRoute, Services, ServicesBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A document that applies to every request until the next one is loaded.
pub(super) struct Live {
    pub(super) document: Arc<Value>,
    pub(super) services: Services,
    spec: Spec,
    budgets: BTreeMap<String, (BudgetKeys, RetryBudget)>,
    pub(super) fleet: Option<Fleet>,
}

/// The most times that rules apply elsewhere than where they are written: a rule of the document at every service, one
/// of a service at every route of it.
const MAX_REPEATED_RULES: usize = 20_000;

impl Live {
    /// Builds a document, and keeps the budgets of the last one whose numbers are the same. If only services have
    /// changed, the others are neither read nor built.
    pub(super) fn load(
        document: Arc<Value>,
        names: &RegisteredNames,
        before: Option<&Self>,
    ) -> Result<Self, ConfigErrors> {
        let changed = before.and_then(|before| before.with_changed_services(&document, names));
        match changed {
            Some(live) => Ok(live),
            None => Self::load_all(document, names, before),
        }
    }

    fn load_all(
        document: Arc<Value>,
        names: &RegisteredNames,
        before: Option<&Self>,
    ) -> Result<Self, ConfigErrors> {
        let problems = Diagnostics::default();
        let spec = Spec::read(&document, &problems);
        let fleet = fleet_of(&spec, names, before, &problems);
        let budgets = budgets(&spec, before, fleet.as_ref());
        // Counted before anything is built, since a short document can expand to very many rules.
        let built = if repeated_rules(&spec) > MAX_REPEATED_RULES {
            let cause = format!(
                "repeats rules more than {MAX_REPEATED_RULES} times: those of the document at every service and \
                 route, those of a service at its routes"
            );
            problems.add(&Path::default(), &"", cause);
            None
        } else {
            let mut all = All::new(&spec, names, &problems, &budgets);
            all.build(before, fleet.as_ref())
        };
        problems.into_errors()?;
        let services = match built {
            Some(services) => services,
            // Never reached: whatever prevents the build is a problem.
            None => {
                return Err(ConfigErrors::one(
                    "the document",
                    "cannot be put into force",
                ));
            }
        };
        Ok(Self {
            document,
            services,
            spec,
            budgets,
            fleet,
        })
    }

    /// Builds a document that differs from this one only in some services. Returns `None` if more differs, or if there
    /// is any problem: only a whole load knows the paths of all problems.
    fn with_changed_services(
        &self,
        document: &Arc<Value>,
        names: &RegisteredNames,
    ) -> Option<Self> {
        // A patch can make a document too large.
        if !document.is_same_without("services", &self.document) || document.check_size().is_err() {
            return None;
        }
        let (old, new) = (
            self.document.map_at("services")?,
            document.map_at("services")?,
        );
        // Everything else is the same, so an equal value makes an equal service. If it names another one that changed,
        // the builder builds it again.
        let (changed, removed) = changes(old, new);
        let problems = Diagnostics::default();
        let is_unchanged = |name: &str| !changed.contains(name);
        let spec = self.spec.with_services(document, &problems, is_unchanged);
        if repeated_rules(&spec) > MAX_REPEATED_RULES {
            return None;
        }
        let builder = self.services.to_builder();
        let builder = removed
            .iter()
            .fold(builder, |builder, name| builder.remove(name));
        let mut all = All::new(&spec, names, &problems, &self.budgets);
        // For the services below it: the builder has the document's own policy already.
        let document_level = all.resolver.resolve_level("document", None, &[&spec.level]);
        let services =
            all.build_services(builder, &document_level, |name| changed.contains(name))?;
        problems.is_empty().then(|| Self {
            document: Arc::clone(document),
            services,
            spec,
            budgets: self.budgets.clone(),
            fleet: self.fleet.clone(),
        })
    }
}

/// Returns the names of new and changed entries, and of those that are gone. Both maps are in the order of their keys, so
/// each is read once.
fn changes<'a>(old: &'a Entries, new: &'a Entries) -> (BTreeSet<&'a str>, Vec<&'a str>) {
    let (mut changed, mut removed) = (BTreeSet::new(), Vec::new());
    let mut old = old.iter().peekable();
    for (name, value) in new {
        while let Some((gone, _)) = old.next_if(|(before, _)| *before < name) {
            removed.push(&**gone);
        }
        let before = old.next_if(|(before, _)| *before == name);
        if before.is_none_or(|(_, before)| before != value) {
            changed.insert(&**name);
        }
    }
    removed.extend(old.map(|(gone, _)| &**gone));
    (changed, removed)
}

/// Returns the fleet of a document. It cannot change, since the old and the new store would each grant a full budget,
/// to half of the requests each.
fn fleet_of(
    spec: &Spec,
    names: &RegisteredNames,
    before: Option<&Live>,
    problems: &Diagnostics,
) -> Option<Fleet> {
    match before {
        // Compared as written: a variable of the environment is read once, at the start.
        Some(before) if before.spec.fleet == spec.fleet => before.fleet.clone(),
        Some(_) => {
            let cause = "cannot change while the program runs: restart it";
            problems.add(&Path::default().key("fleet"), &"", cause);
            None
        }
        None => {
            // Invalid keys are reported already, and would look like missing ones.
            let is_valid = !problems.contains(&"fleet");
            let keys = spec.fleet.as_ref().filter(|_| is_valid);
            fleet::join(keys?, names, problems)
        }
    }
}

/// Returns the budgets by their names; those whose numbers are unchanged keep their tokens.
fn budgets(
    spec: &Spec,
    before: Option<&Live>,
    fleet: Option<&Fleet>,
) -> BTreeMap<String, (BudgetKeys, RetryBudget)> {
    let named = spec.budgets.iter().map(|(name, numbers)| {
        let last = before.and_then(|before| before.budgets.get(name));
        let unchanged = last.filter(|(old, _)| old == numbers);
        let make = || {
            let fleet = fleet.filter(|_| numbers.shared != Some(false));
            let budget = fleet::budget(fleet, name, numbers.builder());
            budget.named(format!("budgets.{name}"))
        };
        let budget = unchanged.map_or_else(make, |(_, budget)| budget.clone());
        (name.clone(), (numbers.clone(), budget))
    });
    named.collect()
}

/// All levels of a document while they are built.
struct All<'a> {
    resolver: Resolver<'a>,
    budgets: &'a BTreeMap<String, (BudgetKeys, RetryBudget)>,
    /// The path of each failover setting, by the level's name for the builder and the service.
    failovers: BTreeMap<(String, Arc<str>), Arc<str>>,
}

impl<'a> All<'a> {
    fn new(
        spec: &'a Spec,
        names: &'a RegisteredNames,
        problems: &'a Diagnostics,
        budgets: &'a BTreeMap<String, (BudgetKeys, RetryBudget)>,
    ) -> Self {
        Self {
            resolver: Resolver {
                spec,
                names,
                problems,
            },
            budgets,
            failovers: BTreeMap::new(),
        }
    }

    fn build(&mut self, before: Option<&Live>, fleet: Option<&Fleet>) -> Option<Services> {
        let spec = self.resolver.spec;
        self.resolver.check_policies();
        self.resolver.check_dialects();
        let document = self
            .resolver
            .resolve_level("document", None, &[&spec.level]);
        let builder = Services::builder(document.policy.clone());
        let budget = self.budget(&document);
        let builder = budget
            .into_iter()
            .fold(builder, ServicesBuilder::rest_budget);
        let from_code = self.resolver.names.budgets.iter();
        let builder = from_code.fold(builder, |builder, (name, budget)| {
            builder.budget(Arc::clone(name), budget.clone())
        });
        // After the budgets of code, since they replace those of the same name.
        let builder = self
            .budgets
            .iter()
            .fold(builder, |builder, (name, (_, budget))| {
                builder.budget(name.as_str(), budget.clone())
            });
        let observers = self.resolver.names.dead_letters.iter();
        let builder = observers.fold(builder, |builder, (name, to)| {
            let to = Arc::clone(to);
            let send = move |letter: &DeadLetter<'_>| to.on_dead_letter(letter);
            builder.dead_letters(Arc::clone(name), send)
        });
        // Services without a budget of their own keep their tokens too.
        let builder = before.iter().fold(builder, |builder, before| {
            builder.following(&before.services)
        });
        let builder = fleet.into_iter().fold(builder, fleet::share);
        self.build_services(builder, &document, |_| true)
    }

    /// Builds the services that `is_new` accepts, beside those that the builder has.
    fn build_services(
        &mut self,
        builder: ServicesBuilder,
        document: &ResolvedLevel,
        is_new: impl Fn(&str) -> bool,
    ) -> Option<Services> {
        let spec = self.resolver.spec;
        self.record_failovers("services", document);
        let new = spec.services.iter().filter(|(name, _)| is_new(name));
        let builder = new.fold(builder, |builder, (name, service)| {
            builder.service(self.service(name, service, document))
        });
        match builder.build_or_all() {
            Ok(services) => Some(services),
            Err(errors) => {
                for error in errors {
                    self.report(&error);
                }
                None
            }
        }
    }

    fn service(&mut self, name: &str, spec: &ServiceSpec, document: &ResolvedLevel) -> Service {
        let layers = [&self.resolver.spec.level, &spec.level];
        let own = self.resolver.resolve_level(name, Some(document), &layers);
        self.record_failovers(&format!("services.{name}"), &own);
        let service = Service::new(name, own.policy.clone());
        let service = spec
            .base_url
            .iter()
            .fold(service, |service, url| service.base_url(url));
        let budget = self.budget(&own);
        let service = budget.into_iter().fold(service, Service::budget);
        let service = match spec.membership {
            Membership::Alone => service.without_fleet(),
            Membership::Member => service,
        };
        let service = service.request_overrides(spec.overrides);
        let service = matched(service, &spec.matching);
        spec.routes.iter().fold(service, |service, route| {
            let label = format!("{name}/{}", route.name);
            let layers = [layers[0], layers[1], &route.level];
            let resolved = self.resolver.resolve_level(&label, Some(&own), &layers);
            self.record_failovers(&format!("services.{label}"), &resolved);
            let built = ServiceRoute::new(Arc::clone(&route.name), resolved.policy.clone());
            let built = route.matching.paths().fold(built, ServiceRoute::path);
            let built = route
                .matching
                .methods()
                .cloned()
                .fold(built, ServiceRoute::method);
            let budget = self.budget(&resolved);
            service.route(budget.into_iter().fold(built, ServiceRoute::budget))
        })
    }

    fn budget(&self, level: &ResolvedLevel) -> Option<RetryBudget> {
        let Name(name) = &level.retry.budget.as_ref()?.value;
        // The document's budget replaces one of code with the same name.
        let own = self.budgets.get(&**name).map(|(_, budget)| budget);
        own.or_else(|| self.resolver.names.budgets.get(name))
            .cloned()
    }

    /// Records the failovers of a level, and checks that their destinations exist.
    fn record_failovers(&mut self, label: &str, level: &ResolvedLevel) {
        for (service, from) in level.failovers.iter() {
            if self.resolver.destination(service, from).is_some() {
                let key = (label.to_owned(), Arc::clone(service));
                self.failovers.insert(key, Arc::clone(from));
            }
        }
    }

    /// Reports an error of the builder at the path that caused it. Other errors have been reported already, in terms of
    /// the document.
    fn report(&self, error: &ConfigError) {
        let Some(label) = error.field().strip_suffix(".failover") else {
            let (problems, given) = (self.resolver.problems, error.given());
            // Without any problem the error would be lost, and the document would count as valid.
            if problems.is_empty() {
                let cause = format!("{given} is not allowed: {}", error.allowed());
                problems.add(&error.field(), &given, cause);
            }
            return;
        };
        let key = (label.to_owned(), Arc::from(error.given()));
        let Some(from) = self.failovers.get(&key) else {
            return;
        };
        let (service, broken) = (error.given(), error.allowed());
        // A failover of the whole document applies at its own destination too, which closes the cycle.
        let is_everywhere = broken.contains("failover cycle") && !from.starts_with("services.");
        let why = if is_everywhere {
            format!(" (what the document says holds at {service} too)")
        } else {
            String::new()
        };
        self.resolver
            .problems
            .add(&from, &service, format!("{broken}{why}"));
    }
}

fn matched(service: Service, matching: &MatchKeys) -> Service {
    let service = matching.hosts().fold(service, Service::host);
    let service = matching.schemes().fold(service, Service::scheme);
    let service = matching.paths().fold(service, Service::path);
    matching.methods().cloned().fold(service, Service::method)
}

/// Returns the number of rules to build besides those that are written: those of the document once for every service and
/// route, those of a service once for each of its routes.
fn repeated_rules(spec: &Spec) -> usize {
    let services = spec.services.values();
    let places = services
        .clone()
        .map(|service| service.routes.len().saturating_add(1));
    let places = places.fold(0, usize::saturating_add);
    let at_routes = services.map(|service| {
        let routes = service.routes.len();
        routes.saturating_mul(service.level.rules.len())
    });
    let of_document = places.saturating_mul(spec.level.rules.len());
    at_routes.fold(of_document, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changes_between_two_maps_are_found() {
        let map = |names: &[(&str, i128)]| -> Entries {
            let entries = names.iter();
            entries
                .map(|(name, number)| (Arc::from(*name), Value::Integer(*number)))
                .collect()
        };
        let all = map(&[("a", 1), ("c", 1), ("e", 1), ("g", 1)]);
        for (new, changed, removed) in [
            (map(&[]), &[][..], &["a", "c", "e", "g"][..]),
            (map(&[("a", 1), ("c", 2), ("e", 1), ("g", 1)]), &["c"], &[]),
            (
                map(&[("b", 1), ("c", 1), ("h", 1)]),
                &["b", "h"],
                &["a", "e", "g"],
            ),
            (all.clone(), &[], &[]),
        ] {
            let (found, gone) = changes(&all, &new);
            assert_eq!(found.into_iter().collect::<Vec<_>>(), changed);
            assert_eq!(gone, removed);
        }
    }
}
