//! A document in force: its services, and the budgets that outlive it.

use super::builder::RetryConfigBuilder;
use super::document::{BudgetKeys, MatchKeys, Membership, ServiceChanges, ServiceSpec, Spec};
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
use std::collections::BTreeMap;
use std::sync::Arc;

/// A document that applies to every request until the next one is loaded.
pub(super) struct Live {
    /// The document without its services, whose values are in `spec`.
    document: Value,
    pub(super) services: Services,
    spec: Spec,
    names: Arc<RetryConfigBuilder>,
    /// The number of rules that apply elsewhere than where they are written.
    repeated_rules: usize,
    budgets: Arc<Budgets>,
    pub(super) fleet: Option<Fleet>,
}

/// The budgets of a document by their names, and the numbers of each.
pub(super) type Budgets = BTreeMap<String, (BudgetKeys, RetryBudget)>;

/// The key of a document's services.
const SERVICES: &str = "services";

/// The most times that rules apply elsewhere than where they are written: a rule of the document at every service, one
/// of a service at every route of it.
const MAX_REPEATED_RULES: usize = 20_000;

impl Live {
    /// Builds a document, and keeps the budgets of the last one whose numbers are the same.
    pub(super) fn load(
        document: &Value,
        names: &Arc<RetryConfigBuilder>,
        before: Option<&Self>,
    ) -> Result<Self, ConfigErrors> {
        let problems = Diagnostics::default();
        let spec = Spec::read(document, &problems);
        let fleet = fleet_of(&spec, names, before, &problems);
        let budgets = budgets(&spec, before, fleet.as_ref());
        let services = spec.services.in_order().into_iter();
        let repeated_rules = services
            .map(|(_, service)| repeated_rules(&spec, service))
            .fold(0, usize::saturating_add);
        // Counted before anything is built, since a short document can expand to very many rules.
        let built = if repeated_rules > MAX_REPEATED_RULES {
            let cause = format!(
                "repeats rules more than {MAX_REPEATED_RULES} times: those of the document at every service and \
                 route, those of a service at its routes"
            );
            problems.add(&Path::default(), &"", cause);
            None
        } else {
            let mut resolver = Resolver::new(&spec, names, &problems, &budgets);
            resolver.build(before, fleet.as_ref())
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
            document: document.without(SERVICES),
            services,
            spec,
            names: Arc::clone(names),
            repeated_rules,
            budgets: Arc::new(budgets),
            fleet,
        })
    }

    /// Builds the document that replaces this one, or returns `None` if the two are equal. If only services differ, the
    /// others are neither read nor built.
    pub(super) fn replaced(&self, document: &Value) -> Result<Option<Self>, ConfigErrors> {
        let changes = self.changes_to(document);
        if changes.as_ref().is_some_and(ServiceChanges::is_empty) {
            return Ok(None);
        }
        let changed = changes.and_then(|changes| self.with_changes(&changes));
        match changed {
            Some(live) => Ok(Some(live)),
            None => Self::load(document, &self.names, Some(self)).map(Some),
        }
    }

    /// Builds the document with a change of one service, or returns `None` if that changes nothing.
    pub(super) fn patched(
        &self,
        service: &str,
        change: &Value,
    ) -> Result<Option<Self>, ConfigErrors> {
        let before = self.spec.services.get(service);
        let before = before.map(|before| before.written());
        let mut value = before.clone().unwrap_or(Value::Null);
        value.merge(change);
        if before.as_ref() == Some(&value) {
            return Ok(None);
        }
        let changes = BTreeMap::from([(service.into(), Some(value))]);
        match self.with_changes(&changes) {
            Some(live) => Ok(Some(live)),
            None => Self::load(&self.document_with(changes), &self.names, Some(self)).map(Some),
        }
    }

    /// Returns the services by which a document differs from this one, or `None` if more differs.
    fn changes_to(&self, document: &Value) -> Option<ServiceChanges> {
        if document.without(SERVICES) != self.document {
            return None;
        }
        let (old, new) = (&self.spec.services, document.map_at(SERVICES)?);
        let changed = new.iter().filter(|(name, value)| {
            let before = old.get(name);
            before.is_none_or(|before| before.written() != **value)
        });
        let changed = changed.map(|(name, value)| (Arc::clone(name), Some(value.clone())));
        let old = old.in_order().into_iter();
        let removed = old.filter(|(name, _)| !new.contains_key(*name));
        let removed = removed.map(|(name, _)| (Arc::clone(name), None));
        Some(changed.chain(removed).collect())
    }

    /// Returns the whole document with some services changed.
    fn document_with(&self, changes: ServiceChanges) -> Value {
        let services = self.spec.services.in_order().into_iter();
        let services = services.map(|(name, service)| (Arc::clone(name), service.written()));
        let mut services: Entries = services.collect();
        for (name, value) in changes {
            match value {
                Some(value) => services.insert(name, value),
                None => services.remove(&name),
            };
        }
        let mut document = self.document.clone();
        *document.entry(SERVICES) = Value::Map(Arc::new(services));
        document
    }

    /// Builds the document with some services changed, at a cost that does not depend on the number of the others.
    /// Returns `None` if there is any problem: only a whole load knows the paths of all problems.
    fn with_changes(&self, changes: &ServiceChanges) -> Option<Self> {
        // The first service also adds the map of all.
        if self.spec.services.is_empty() {
            return None;
        }
        // Everything else is the same, so an equal value makes an equal service. If it fails over to one that changed,
        // the builder builds it again.
        let spec = self.spec.with_changes(changes)?;
        let rules = |spec: &Spec| {
            let changed = changes.keys().filter_map(|name| spec.services.get(name));
            changed
                .map(|service| repeated_rules(spec, service))
                .fold(0, usize::saturating_add)
        };
        let unchanged = self.repeated_rules.saturating_sub(rules(&self.spec));
        let repeated_rules = unchanged.saturating_add(rules(&spec));
        if repeated_rules > MAX_REPEATED_RULES {
            return None;
        }
        let problems = Diagnostics::default();
        let mut resolver = Resolver::new(&spec, &self.names, &problems, &self.budgets);
        // For the services below it: the builder has the document's own policy already.
        let document_level = resolver.resolve_level("document", None, &[&spec.level]);
        let removed = changes.iter().filter(|(_, value)| value.is_none());
        let builder = removed.fold(self.services.to_builder(), |builder, (name, _)| {
            builder.remove(name)
        });
        let services = resolver.build_services(builder, &document_level, changes.keys())?;
        problems.is_empty().then(|| Self {
            document: self.document.clone(),
            services,
            spec,
            names: Arc::clone(&self.names),
            repeated_rules,
            budgets: Arc::clone(&self.budgets),
            fleet: self.fleet.clone(),
        })
    }
}

/// Returns the fleet of a document. It cannot change, since the old and the new store would each grant a full budget,
/// to half of the requests each.
fn fleet_of(
    spec: &Spec,
    names: &RetryConfigBuilder,
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
fn budgets(spec: &Spec, before: Option<&Live>, fleet: Option<&Fleet>) -> Budgets {
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

impl Resolver<'_> {
    fn build(&mut self, before: Option<&Live>, fleet: Option<&Fleet>) -> Option<Services> {
        let spec = self.spec;
        self.check_policies();
        self.check_dialects();
        let document = self.resolve_level("document", None, &[&spec.level]);
        let builder = Services::builder(document.policy.clone());
        let budget = self.budget(&document);
        let builder = budget
            .into_iter()
            .fold(builder, ServicesBuilder::rest_budget);
        let from_code = self.names.budgets.iter();
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
        let observers = self.names.dead_letters.iter();
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
        let services = spec.services.in_order().into_iter();
        self.build_services(builder, &document, services.map(|(name, _)| name))
    }

    /// Builds the services with these names, beside those that the builder has.
    fn build_services<'n>(
        &mut self,
        builder: ServicesBuilder,
        document: &ResolvedLevel,
        names: impl Iterator<Item = &'n Arc<str>>,
    ) -> Option<Services> {
        let spec = self.spec;
        self.record_failovers("services", document);
        let new = names.filter_map(|name| Some((name, spec.services.get(name)?)));
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
        let layers = [&self.spec.level, &spec.level];
        let own = self.resolve_level(name, Some(document), &layers);
        self.record_failovers(&format!("services.{name}"), &own);
        let service = Service::new(name, own.policy.clone());
        let service = spec.base_url.iter().fold(service, Service::base_url);
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
            let resolved = self.resolve_level(&label, Some(&own), &layers);
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
        own.or_else(|| self.names.budgets.get(name)).cloned()
    }

    /// Records the failovers of a level, and checks that their destinations exist.
    fn record_failovers(&mut self, label: &str, level: &ResolvedLevel) {
        for (service, from) in level.failovers.iter() {
            if self.destination(service, from).is_some() {
                let key = (label.to_owned(), Arc::clone(service));
                self.failovers.insert(key, Arc::clone(from));
            }
        }
    }

    /// Reports an error of the builder at the path that caused it. Other errors have been reported already, in terms of
    /// the document.
    fn report(&self, error: &ConfigError) {
        let Some(label) = error.field.strip_suffix(".failover") else {
            let (problems, given) = (self.problems, &error.given);
            // Without any problem the error would be lost, and the document would count as valid.
            if problems.is_empty() {
                let cause = format!("{given} is not allowed: {}", error.allowed);
                problems.add(&error.field, given, cause);
            }
            return;
        };
        let key = (label.to_owned(), Arc::from(&*error.given));
        let Some(from) = self.failovers.get(&key) else {
            return;
        };
        let (service, broken) = (&error.given, &error.allowed);
        // A failover of the whole document applies at its own destination too, which closes the cycle.
        let is_everywhere = broken.contains("failover cycle") && !from.starts_with("services.");
        let why = if is_everywhere {
            format!(" (what the document says holds at {service} too)")
        } else {
            String::new()
        };
        self.problems.add(&from, service, format!("{broken}{why}"));
    }
}

fn matched(service: Service, matching: &MatchKeys) -> Service {
    let service = matching.hosts().fold(service, Service::host);
    let service = matching.schemes().fold(service, Service::scheme);
    let service = matching.paths().fold(service, Service::path);
    matching.methods().cloned().fold(service, Service::method)
}

/// Returns the number of rules to build at a service besides those that are written there: those of the document for it
/// and each of its routes, its own for each of its routes.
fn repeated_rules(spec: &Spec, service: &ServiceSpec) -> usize {
    let routes = service.routes.len();
    let of_document = routes.saturating_add(1);
    let of_document = of_document.saturating_mul(spec.level.rules.len());
    of_document.saturating_add(routes.saturating_mul(service.level.rules.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    /// Loads the whole document that a change leaves.
    fn loaded(live: &Live) -> Live {
        let document = live.document_with(BTreeMap::new());
        Live::load(&document, &Arc::default(), None).unwrap()
    }

    #[test]
    fn a_patch_counts_what_a_load_counts() {
        let rules = r#"[{"when": {"status": 409}, "do": "retry"}]"#;
        let text = format!(r#"{{"version": 1, "rules": {rules}, "services": {{"a": {{}}}}}}"#);
        let mut live = Live::load(&value(&text), &Arc::default(), None).unwrap();
        let routes = r#"{"routes": [{"name": "r", "match": {"path": "/r"}}]}"#;
        for (service, change) in [
            ("a", r#"{"retry": {"base": "1s"}}"#),
            ("b", routes),
            ("b", &format!(r#"{{"rules": {rules}}}"#)),
            ("a", r#"{"retry": null}"#),
            ("b", r#"{"routes": null}"#),
        ] {
            let changed = live.patched(service, &value(change)).unwrap();
            live = changed.unwrap();
            let loaded = loaded(&live);
            assert_eq!(live.spec.size, loaded.spec.size);
            assert_eq!(live.repeated_rules, loaded.repeated_rules);
        }
        assert!(live.patched("a", &value("{}")).unwrap().is_none());
    }

    #[test]
    fn the_changes_between_two_documents_are_found() {
        let document = |services: &[(&str, u32)]| {
            let services = services.iter();
            let services = services
                .map(|(name, max)| format!(r#""{name}": {{"retry": {{"max_retries": {max}}}}}"#));
            let services = services.collect::<Vec<_>>().join(", ");
            value(&format!(r#"{{"version": 1, "services": {{{services}}}}}"#))
        };
        let all = document(&[("a", 1), ("c", 1), ("e", 1), ("g", 1)]);
        let live = Live::load(&all, &Arc::default(), None).unwrap();
        for (new, changed, removed) in [
            (document(&[]), &[][..], &["a", "c", "e", "g"][..]),
            (
                document(&[("a", 1), ("c", 2), ("e", 1), ("g", 1)]),
                &["c"],
                &[],
            ),
            (
                document(&[("b", 1), ("c", 1), ("h", 1)]),
                &["b", "h"],
                &["a", "e", "g"],
            ),
            (all.clone(), &[], &[]),
        ] {
            let changes = live.changes_to(&new).unwrap();
            let names = |is_removed: bool| {
                let changes = changes.iter();
                let changes = changes.filter(move |(_, value)| value.is_none() == is_removed);
                changes.map(|(name, _)| &**name).collect::<Vec<_>>()
            };
            assert_eq!(
                (names(false), names(true)),
                (changed.to_vec(), removed.to_vec())
            );
        }
        assert!(
            live.changes_to(&value(
                r#"{"version": 1, "retry": "never", "services": {}}"#
            ))
            .is_none()
        );
    }
}
