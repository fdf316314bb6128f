//! The document's shape: budgets, policies, defaults, services and their routes.

mod place;
mod service;

pub(super) use place::PlaceSpec;
pub(super) use service::ServiceSpec;

use super::block::{Node, Path};
use super::budget::{Budget, budget};
use super::dialect::DialectMap;
use super::fields::{Fields, Type, block, object, table};
use super::fleet::{FleetMap, fleet};
use super::gating::{Gating, gate};
use super::given::Given;
use super::matching::Matches;
use super::problems::Problems;
use super::retry::{Retry, RetryBlock, retry};
use super::schema::{Defs, with};
use super::shown;
use super::types::name_schema;
use super::value::Value;
use crate::policy::Preset;
use place::place_keys;
use serde_json::{Value as Json, json};
use service::service;
use std::collections::BTreeMap;

place_keys! {
    /// What http_retry::config::RetryConfig loads. Every duration carries a unit. What only the loader can see (names that
    /// are not there, circles, limits that do not fit each other) is not checked here.
    Root("document", "http-retry: a document of services, policies and rules") {
        /// The version of this vocabulary: 1.
        version: () = version(), write("version: 1");
        /// What is shared with other processes.
        fleet: FleetMap = fleet();
        /// Budgets by their names.
        budgets: BTreeMap<String, Budget> = Type {
            read: |node| Some(named(node, &budget())),
            schema: |defs| map_of(budget().schema, defs),
        };
        /// Named RETRY blocks, for use. A preset's name is taken.
        policies: BTreeMap<String, RetryBlock> = Type { read: |node| Some(named(node, &retry())), schema: policies };
    } {
        /// Dialects of one's own by their names.
        dialects: BTreeMap<String, DialectMap> = Type {
            read: |node| Some(named(node, &block::<DialectMap>())),
            schema: |defs| map_of(object::<DialectMap>, defs),
        };
        /// One pause for all callers after a 429, at every service that says nothing of it.
        gate: Given<Gating> = gate();
        /// Services by their names. Reports, metrics and RetryOverride::service use the same names.
        services: BTreeMap<String, ServiceSpec> = Type {
            read: |node| Some(named(node, &service())),
            schema: |defs| map_of(service().schema, defs),
        };
    }
}

/// The JSON Schema of a document, made from the tables.
pub(super) fn schema() -> Json {
    let mut defs = Defs::default();
    let _ = object::<Root>(&mut defs);
    defs.rooted(Root::DEF)
}

/// What a document says, before names are resolved and blocks merged.
#[derive(Debug, Clone, Default)]
pub(super) struct Spec {
    pub(super) fleet: Option<FleetMap>,
    pub(super) budgets: BTreeMap<String, Budget>,
    pub(super) policies: BTreeMap<String, RetryBlock>,
    pub(super) dialects: BTreeMap<String, DialectMap>,
    pub(super) place: PlaceSpec,
    pub(super) services: BTreeMap<String, ServiceSpec>,
}

impl Spec {
    pub(super) fn read(document: &Value, problems: &Problems) -> Self {
        let root = Node {
            value: document,
            path: Path::default(),
            problems,
        };
        if let Err(cause) = document.check_size() {
            root.wrong(cause);
            return Self::default();
        }
        let Some(mut block) = root.block() else {
            return Self::default();
        };
        // Where an editor finds what may stand here.
        block.skip("$schema");
        let mut root = Root::take(&mut block);
        block.end();
        // It is 1, or a problem.
        let _ = root.version;
        let place = root.take_place().with(&Retry {
            gate: root.gate,
            ..Retry::default()
        });
        let spec = Self {
            fleet: root.fleet,
            budgets: root.budgets.unwrap_or_default(),
            policies: root.policies.unwrap_or_default(),
            place,
            dialects: root.dialects.unwrap_or_default(),
            services: root.services.unwrap_or_default(),
        };
        spec.check_matches(problems);
        spec
    }

    /// Refuses two services with the same match, since no request would reach the second.
    fn check_matches(&self, problems: &Problems) {
        let mut matches = Matches::default();
        for (name, service) in &self.services {
            let place = Path::default().key("services").key(name).key("match");
            if let Some(matching) = &service.matching {
                matches.add(matching, name, place, problems);
            }
        }
    }
}

fn version() -> Type<()> {
    Type {
        read: |node| match node.value {
            Value::Integer(1) => Some(()),
            other => {
                node.wrong(format!("{other} is not known: write version: 1"));
                None
            }
        },
        schema: |_| json!({"const": 1}),
    }
}

fn named<T>(node: &Node<'_>, of: &Type<T>) -> BTreeMap<String, T> {
    let read = |(name, node): (&str, Node<'_>)| match shown::not_a_name(name) {
        Some(cause) => {
            node.wrong_unseen(cause);
            None
        }
        None => Some((name.to_owned(), (of.read)(&node)?)),
    };
    node.entries().into_iter().filter_map(read).collect()
}

fn map_of(of: fn(&mut Defs) -> Json, defs: &mut Defs) -> Json {
    json!({"type": "object", "propertyNames": name_schema(defs), "additionalProperties": of(defs)})
}

fn policies(defs: &mut Defs) -> Json {
    let presets: Vec<&str> = Preset::ALL.iter().map(|preset| preset.name).collect();
    let taken = json!({"title": "the name of a preset", "enum": presets});
    let names = with(name_schema(defs), json!({"not": taken}));
    with(
        map_of(retry().schema, defs),
        json!({"propertyNames": names}),
    )
}
