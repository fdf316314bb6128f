//! The document: its keys and their types, before names are resolved and layers are merged.

mod matches;

pub(super) use matches::MatchKeys;

use super::problems::{Diagnostics, Path};
use super::reader::{Checked, Reader, Spanned, block, show};
use super::retry::{DialectChoice, Gating, Hedging, Retry, RetryBlock, set_given};
use super::rule::{Otherwise, RowKeys, Rule};
use super::shown;
use super::value::{DocumentSize, Entries, Value};
use super::values::{
    AddedHeader, BaseUrl, Capacity, Cost, Duration, List, MAX_TOKENS, Name, Number, Word, leaf,
    words,
};
use http_retry_core::budget::{RetryBudget, RetryBudgetBuilder};
use http_retry_core::policy::RequestOverrides;
use http_retry_core::settings::SharedMap;
use matches::{Matches, RouteMatch, ServiceMatch};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Entries by their names.
type ByName<T> = BTreeMap<String, Checked<Spanned<T>>>;

/// Defines a block with the keys that the document, a service and a route have in common, between keys of its own.
macro_rules! place_block {
    ($(#[$about:meta])* $name:ident { $($before:tt)* } { $($after:tt)* }) => {
        block! {
            $(#[$about])*
            $name {
                $($before)*
                retry: RetryBlock,
                rules: List<Spanned<Rule>>,
                otherwise: Spanned<Otherwise>,
                dialect: Spanned<DialectChoice>,
                header_rules: Spanned<bool>,
                hedge: Spanned<Hedging>,
                inspect_success: Spanned<bool>,
                $($after)*
            }
        }

        impl $name {
            /// Takes out the keys of the level itself.
            fn take_level(&mut self, gate: Option<Spanned<Gating>>) -> LevelSpec {
                let mut own = self.retry.take().map(|RetryBlock(retry)| retry).unwrap_or_default();
                // These keys are beside `retry`, and are merged with its fields as one layer.
                own.gate = gate;
                show(&mut own.gate, |gate| gate.to_text());
                show(&mut self.hedge, |hedge| hedge.to_text());
                own.hedge = self.hedge.take().map(Box::new);
                own.dialect = self.dialect.take();
                own.header_rules = self.header_rules.take();
                own.inspect_success = self.inspect_success.take();
                LevelSpec {
                    retry: (!own.given().is_empty()).then_some(own),
                    rules: self.rules.take().map_or_else(Vec::new, |List(rules)| rules),
                    otherwise: self.otherwise.take(),
                }
            }
        }
    };
}

place_block! {
    Root {
        // For editors only.
        schema as "$schema": IgnoredAny,
        version: Version,
        fleet: FleetKeys,
        budgets: ByName<BudgetKeys>,
        policies: ByName<RetryBlock>,
    } {
        dialects: ByName<DialectKeys>,
        gate: Spanned<Gating>,
        // Read one by one from the untyped document, so that a reload can skip unchanged ones.
        services: IgnoredAny,
    }
}

place_block! {
    /// A service: the requests that belong to it, and their settings.
    ServiceKeys {} {
        budget: Spanned<Name>,
        gate: Spanned<Gating>,
        fleet: Word<Membership>,
        matching as "match": ServiceMatch,
        base_url: BaseUrl,
        request_overrides: Word<RequestOverrides>,
        routes: List<Spanned<RouteKeys>>,
    }
}

place_block! {
    /// Requests of a service with settings of their own.
    RouteKeys {
        name: Name,
        matching as "match": RouteMatch,
    } {}
}

leaf! {
    /// The version of the document format.
    Version(()) = |value| match value {
        Value::Integer(1) => Ok(()),
        other => Err(format!("{other} is not known: write version: 1")),
    };
}

block! {
    /// The store that processes share, and its settings.
    #[derive(PartialEq)]
    FleetKeys {
        redis: FleetUrl,
        redis_env: Name,
        uses as "use": Name,
        prefix: String,
        wait: Duration,
    }
}

leaf! {
    /// The address of a store. An error never repeats it: a text that is no URL may still hold a secret.
    FleetUrl(Arc<str>) = |value| match value {
        Value::Text(url) if url.contains(['@', '?']) => Err(
            "holds a user, a password or a query, which belong in no document: put the URL into an environment variable and write redis_env: VARIABLE".to_owned()
        ),
        Value::Text(url) => Ok(url.as_str().into()),
        other => Err(format!("{} is not a text", other.kind())),
    };
}

/// The membership of a service in the fleet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Membership {
    #[default]
    Member,
    Alone,
}

words! { Membership: "on" => Membership::Member, "off" => Membership::Alone }

words! { RequestOverrides:
    "allow" => Self::Allow, "fill_only" => Self::FillOnly, "deny" => Self::Deny
}

block! {
    /// A token bucket. If its numbers stay the same, it keeps its tokens when a document changes.
    #[derive(PartialEq)]
    BudgetKeys {
        per_second: Number<0, 1_000_000>,
        initial: Number<0, MAX_TOKENS>,
        per_success: Number<0, 1_000>,
        min_per_second: Number<0, 1_000_000>,
        capacity: Capacity,
        retry_cost: Cost,
        timeout_cost: Cost,
        gated_cost: Number<0, MAX_TOKENS>,
        growth: Duration,
        shared: bool,
    }
}

impl BudgetKeys {
    pub(super) fn builder(&self) -> RetryBudgetBuilder {
        let budget = RetryBudget::builder();
        let budget = set_given(budget, &self.per_second, |budget, n| budget.per_second(n.0));
        let budget = set_given(budget, &self.initial, |budget, n| budget.initial(n.0));
        let budget = set_given(budget, &self.per_success, |budget, n| {
            budget.per_success(n.0)
        });
        let budget = set_given(budget, &self.min_per_second, |budget, n| {
            budget.min_per_second(n.0)
        });
        let budget = set_given(budget, &self.capacity, |budget, n| budget.capacity(n.0));
        let budget = set_given(budget, &self.retry_cost, |budget, n| budget.retry_cost(n.0));
        let budget = set_given(budget, &self.timeout_cost, |budget, n| {
            budget.timeout_cost(n.0)
        });
        let budget = set_given(budget, &self.gated_cost, |budget, n| budget.gated_cost(n.0));
        set_given(budget, &self.growth, |budget, time| budget.growth(time.0))
    }
}

block! {
    /// A dialect that the document defines.
    DialectKeys {
        from: Spanned<DialectChoice>,
        key_header: AddedHeader,
        quoted_keys: bool,
        rows: List<Spanned<RowKeys>>,
    }
}

/// A document whose parts are each valid. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Spec {
    pub(super) fleet: Option<FleetKeys>,
    pub(super) budgets: Arc<BTreeMap<String, BudgetKeys>>,
    pub(super) policies: Arc<BTreeMap<String, Retry>>,
    pub(super) dialects: Arc<BTreeMap<String, Spanned<DialectKeys>>>,
    pub(super) level: Arc<LevelSpec>,
    pub(super) services: SharedMap<Arc<ServiceSpec>>,
    pub(super) size: DocumentSize,
}

/// The settings that the document, a service and a route have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct LevelSpec {
    pub(super) retry: Option<Box<Retry>>,
    pub(super) rules: Vec<Spanned<Rule>>,
    pub(super) otherwise: Option<Spanned<Otherwise>>,
}

#[derive(Debug, Clone)]
pub(super) struct ServiceSpec {
    /// The map that it was read from.
    written: Arc<Entries>,
    pub(super) level: LevelSpec,
    pub(super) membership: Membership,
    pub(super) matching: MatchKeys,
    pub(super) base_url: Option<String>,
    pub(super) overrides: RequestOverrides,
    pub(super) routes: Vec<RouteSpec>,
}

#[derive(Debug, Clone)]
pub(super) struct RouteSpec {
    pub(super) name: Arc<str>,
    pub(super) level: LevelSpec,
    pub(super) matching: MatchKeys,
}

impl ServiceSpec {
    /// Returns the value that it was read from.
    pub(super) fn written(&self) -> Value {
        Value::Map(Arc::clone(&self.written))
    }
}

impl LevelSpec {
    /// Returns `true` if this block changes nothing.
    pub(super) fn is_noop(&self) -> bool {
        self.retry.is_none() && self.rules.is_empty() && self.otherwise.is_none()
    }
}

impl Spec {
    /// Reads a document, and reports every problem within one part of it.
    pub(super) fn read<'a>(document: &'a Value, problems: &'a Diagnostics) -> Self {
        let size = match DocumentSize::of(document) {
            Ok(size) => size,
            Err(cause) => {
                problems.add(&Path::default(), document, cause);
                return Self::default();
            }
        };
        if *document == Value::Null {
            problems.add(&Path::default(), &"", "is empty: write version: 1");
            return Self::default();
        }
        let Some(mut root) = Reader::read::<Root>(document, problems, Retry::KEYS) else {
            return Self::default();
        };
        let parts = Parts {
            path: Path::default(),
            problems,
        };
        parts.required("version", root.version.is_some(), "version: 1");
        let gate = root.gate.take();
        let budgets = parts.named("budgets", root.budgets.take());
        parts.check_fleet(root.fleet.as_ref());
        let budgets = budgets.into_iter();
        let budgets = budgets.map(|(name, given)| (name, parts.budget(given)));
        let budgets = Arc::new(budgets.collect());
        let policies = parts.named("policies", root.policies.take()).into_iter();
        let policies = policies.map(|(name, given)| (name, *given.value.0));
        Self {
            fleet: root.fleet.take(),
            budgets,
            policies: Arc::new(policies.collect()),
            dialects: Arc::new(parts.named("dialects", root.dialects.take())),
            level: Arc::new(root.take_level(gate)),
            services: parts.services(document),
            size,
        }
    }

    /// Changes or removes services. Returns `None` if there is any problem.
    pub(super) fn with_changes(&self, changes: &ServiceChanges) -> Option<Self> {
        let problems = Diagnostics::default();
        let parts = Parts {
            path: Path::default(),
            problems: &problems,
        };
        let mut spec = self.clone();
        for (name, value) in changes {
            let before = match value {
                Some(value) => {
                    let service = parts.service_at(name, value)?;
                    spec.services.insert(Arc::clone(name), service)
                }
                None => spec.services.remove(name),
            };
            let before = before.map(|before| before.written());
            let size = spec
                .size
                .with_service(name, before.as_ref(), value.as_ref());
            spec.size = size.ok()?;
        }
        let fits = spec.size.check().is_ok();
        (fits && problems.is_empty()).then_some(spec)
    }
}

/// The new values of services, by name; `None` for a service that is removed.
pub(super) type ServiceChanges = BTreeMap<Arc<str>, Option<Value>>;

/// A block whose parts are checked together.
struct Parts<'a> {
    path: Path<'a>,
    problems: &'a Diagnostics,
}

impl<'a> Parts<'a> {
    fn required(&self, key: &str, is_given: bool, write: &str) {
        let path = self.path.key(key);
        if !is_given && !self.problems.contains(&path) {
            let cause = format!("is missing: write {write}");
            self.problems.add(&path, &"", cause);
        }
    }

    fn check_fleet(&self, keys: Option<&FleetKeys>) {
        let path = self.path.key("fleet");
        // A key that could not be read would look like a missing one.
        let Some(keys) = keys.filter(|_| !self.problems.are_within(&path)) else {
            return;
        };
        // A fleet of the program has its own settings.
        let needless = [
            ("prefix", keys.prefix.is_some()),
            ("wait", keys.wait.is_some()),
        ];
        let mut needless = needless.into_iter().filter(|(_, is_given)| *is_given);
        if let Some((key, _)) = needless.next().filter(|_| keys.uses.is_some()) {
            let cause = "has no effect with use: the program sets it";
            self.problems.add(&path.key(key), &"", cause);
            return;
        }
        let ways = [
            keys.redis.is_some(),
            keys.redis_env.is_some(),
            keys.uses.is_some(),
        ];
        match ways.iter().filter(|is_given| **is_given).count() {
            0 => {
                let cause = "names no store: write redis: URL, redis_env: VARIABLE or use: NAME";
                self.problems.add(&path, &"", cause);
            }
            1 => {}
            _ => {
                let cause = "names several stores: give one of redis, redis_env and use";
                self.problems.add(&path, &"", cause);
            }
        }
    }

    /// Returns the entries that have valid names.
    fn named<T>(&self, key: &str, entries: Option<ByName<T>>) -> BTreeMap<String, Spanned<T>> {
        let path = self.path.key(key);
        let mut named = BTreeMap::new();
        for (name, Checked(value)) in entries.into_iter().flatten() {
            if let Some(cause) = shown::not_a_name(&name) {
                self.problems.add(&path.key(&name), &"", cause);
            } else if let Some(value) = value {
                named.insert(name, value);
            }
        }
        named
    }

    /// Checks that the numbers of a budget fit each other.
    fn budget(&self, given: Spanned<BudgetKeys>) -> BudgetKeys {
        let path = given.path();
        // A number that could not be read would look like a missing one.
        let is_read = !self.problems.are_within(&path);
        if let (true, Err(error)) = (is_read, given.value.builder().build()) {
            let field = error.field.trim_start_matches("budget.");
            let bound = match field {
                "initial" | "retry_cost" | "timeout_cost" | "gated_cost" => {
                    ", which is the capacity"
                }
                _ => "",
            };
            let cause = format!("{} is not allowed: {}{bound}", error.given, error.allowed);
            self.problems.add(&path.key(field), &error.given, cause);
        }
        given.value
    }

    fn services(&self, document: &'a Value) -> SharedMap<Arc<ServiceSpec>> {
        let path = self.path.key("services");
        let Some(services) = document.map_at("services") else {
            // A key with a null counts as absent.
            if let Some(other) = document
                .at("services")
                .filter(|value| **value != Value::Null)
            {
                let cause = format!("{} is not a map", other.kind());
                self.problems.add(&path, other, cause);
            }
            return SharedMap::default();
        };
        let (mut matches, mut all) = (Matches::default(), SharedMap::default());
        for (name, value) in services {
            if let Some(service) = self.service_at(name, value) {
                let path = path.key(name).key("match");
                matches.add(&service.matching, name, path, self.problems);
                all.insert(Arc::clone(name), service);
            }
        }
        all
    }

    /// Reads one service. They are read separately, so that a reload can skip unchanged ones.
    fn service_at(&self, name: &'a str, value: &'a Value) -> Option<Arc<ServiceSpec>> {
        let path = self.path.key("services").key(name);
        // Read even if the name is invalid, so that the problems inside are reported too.
        let read = Reader::read_at(value, path.clone(), self.problems, Retry::KEYS);
        if let Some(cause) = shown::not_a_name(name) {
            self.problems.add(&path, &"", cause);
            return None;
        }
        match (read, value) {
            (Some(given), Value::Map(written)) => Some(Arc::new(self.service(given, written))),
            // What is no map is reported already.
            _ => None,
        }
    }

    fn service(&self, given: Spanned<ServiceKeys>, written: &Arc<Entries>) -> ServiceSpec {
        let path = given.path();
        let mut service = given.value;
        let gate = service.gate.take();
        let mut level = service.take_level(gate);
        if let Some(budget) = service.budget {
            let own = &mut level.retry.get_or_insert_default().budget;
            if own.is_some() {
                let cause = "retry.budget is set too: give one of the two";
                self.problems.add(&path.key("budget"), &budget.text, cause);
            }
            // Set even then, so that the name is checked as well.
            *own = Some(budget);
        }
        let routes = service.routes.map_or_else(Vec::new, |List(routes)| routes);
        ServiceSpec {
            written: Arc::clone(written),
            level,
            membership: service.fleet.map(|Word(fleet)| fleet).unwrap_or_default(),
            matching: service.matching.unwrap_or_default().0,
            base_url: service.base_url.map(|BaseUrl(url)| url),
            overrides: service
                .request_overrides
                .map(|Word(overrides)| overrides)
                .unwrap_or_default(),
            routes: self.routes(routes),
        }
    }

    fn routes(&self, given: Vec<Spanned<RouteKeys>>) -> Vec<RouteSpec> {
        let mut routes: Vec<RouteSpec> = Vec::new();
        let mut names = std::collections::BTreeSet::new();
        let mut matches = Matches::default();
        for route in given {
            let parts = Parts {
                path: route.path(),
                problems: self.problems,
            };
            let mut route = route.value;
            parts.required("name", route.name.is_some(), "name: NAME");
            let write = "match: {method: METHOD, path: \"/PATH\"}";
            parts.required("match", route.matching.is_some(), write);
            let level = route.take_level(None);
            let (Some(Name(name)), Some(RouteMatch(matching))) = (route.name, route.matching)
            else {
                continue;
            };
            matches.add(&matching, &name, parts.path.key("match"), self.problems);
            if !names.insert(Arc::clone(&name)) {
                let cause = format!("{name} is a duplicate");
                self.problems.add(&parts.path.key("name"), &name, cause);
            }
            routes.push(RouteSpec {
                name,
                level,
                matching,
            });
        }
        routes
    }
}
