//! The document's shape: budgets, policies, defaults and services.

use super::block::{Block, Node, Path};
use super::matching::{Matches, Matching};
use super::problems::Problems;
use super::retry::{Gating, Given, RetryBlock};
use super::rule::{ActionSpec, RuleSpec, otherwise, rules};
use super::scalar::{above_zero, decimal, duration, words};
use super::shown;
use super::value::Value;
use crate::budget::{RetryBudget, RetryBudgetBuilder};
use crate::policy::Decimal;
use http::Uri;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a document says, before names are resolved and blocks merged.
#[derive(Debug, Clone, Default)]
pub(super) struct Spec {
    pub(super) budgets: BTreeMap<String, BudgetSpec>,
    pub(super) policies: BTreeMap<String, RetryBlock>,
    pub(super) place: PlaceSpec,
    pub(super) services: BTreeMap<String, ServiceSpec>,
}

/// What the document, a service and a route have in common.
#[derive(Debug, Clone, Default)]
pub(super) struct PlaceSpec {
    pub(super) retry: RetryBlock,
    pub(super) rules: Vec<RuleSpec>,
    pub(super) otherwise: Option<ActionSpec>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ServiceSpec {
    pub(super) place: PlaceSpec,
    pub(super) matching: Option<Matching>,
    pub(super) base_url: Option<Uri>,
    pub(super) overrides: OverridesSpec,
    pub(super) routes: Vec<RouteSpec>,
}

#[derive(Debug, Clone)]
pub(super) struct RouteSpec {
    pub(super) name: String,
    pub(super) place: PlaceSpec,
    pub(super) matching: Matching,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OverridesSpec {
    #[default]
    Allow,
    FillOnly,
    Deny,
}

/// A budget's numbers; equal numbers keep the tokens when a document changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BudgetSpec {
    per_second: Option<Decimal>,
    capacity: Option<Decimal>,
    initial: Option<Decimal>,
    retry_cost: Option<Decimal>,
    timeout_cost: Option<Decimal>,
    per_success: Option<Decimal>,
}

const MOST_TOKENS: u32 = 1_000_000_000;
const MOST_PER_SECOND: u32 = 1_000_000;
const MOST_PER_SUCCESS: u32 = 1_000;

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
        read_version(&mut block);
        let spec = Self {
            budgets: named(block.take("budgets"), BudgetSpec::read),
            policies: named(block.take("policies"), RetryBlock::read),
            place: PlaceSpec::read(&mut block).with_gate(&mut block),
            services: named(block.take("services"), ServiceSpec::read),
        };
        block.end();
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

fn read_version(block: &mut Block<'_>) {
    match block.take("version") {
        None => block
            .key("version")
            .wrong(&"", "is missing: write version: 1"),
        Some(node) if *node.value == Value::Integer(1) => {}
        Some(node) => node.wrong(format!("{} is not known: write version: 1", node.value)),
    }
}

fn named<T>(node: Option<Node<'_>>, read: fn(Node<'_>) -> T) -> BTreeMap<String, T> {
    let entries = node.map(|node| node.entries()).unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|(name, node)| {
            let why_not = shown::not_a_name(name);
            if let Some(cause) = why_not {
                node.problems.add(&node.path, &"", cause);
            }
            why_not.is_none().then(|| (name.to_owned(), read(node)))
        })
        .collect()
}

impl PlaceSpec {
    /// Whether this block changes nothing.
    pub(super) fn says_nothing(&self) -> bool {
        self.retry.says_nothing() && self.rules.is_empty() && self.otherwise.is_none()
    }

    fn read(block: &mut Block<'_>) -> Self {
        Self {
            retry: block
                .take("retry")
                .map(RetryBlock::read)
                .unwrap_or_default(),
            rules: block
                .take("rules")
                .map(|node| rules(&node))
                .unwrap_or_default(),
            otherwise: block.take("otherwise").and_then(otherwise),
        }
    }

    fn with_gate(mut self, block: &mut Block<'_>) -> Self {
        if let Some(gate) = block.take("gate") {
            let read = read_gate(&gate);
            self.retry.own_mut().gate = read.map(|(value, text)| Given {
                value,
                text: text.into(),
                from: gate.path.as_str().into(),
            });
        }
        self
    }
}

impl ServiceSpec {
    fn read(node: Node<'_>) -> Self {
        let Some(mut block) = node.block() else {
            return Self::default();
        };
        let mut place = PlaceSpec::read(&mut block);
        if let Some(budget) = block.take("budget") {
            let own = &mut place.retry.own_mut().budget;
            if own.is_some() {
                budget.wrong("retry.budget is set too: give one of the two");
            }
            *own = budget.name().map(|name| Given {
                value: name.into(),
                text: name.into(),
                from: budget.path.as_str().into(),
            });
        }
        let service = Self {
            place: place.with_gate(&mut block),
            matching: block.take("match").and_then(Matching::of_service),
            base_url: block.take("base_url").and_then(|node| base_url(&node)),
            overrides: block
                .take("request_overrides")
                .and_then(|node| {
                    node.word(&[
                        ("allow", OverridesSpec::Allow),
                        ("fill_only", OverridesSpec::FillOnly),
                        ("deny", OverridesSpec::Deny),
                    ])
                })
                .unwrap_or_default(),
            routes: block
                .take("routes")
                .map(|node| routes(&node))
                .unwrap_or_default(),
        };
        block.end();
        service
    }
}

/// The longest total wait at the gate; `on` is that of the `llm` preset.
fn read_gate(node: &Node<'_>) -> Option<(Gating, String)> {
    const ON: Duration = Duration::from_secs(5 * 60);
    let (wait, text) = match node.value {
        Value::Map(_) => {
            let mut block = node.clone().block()?;
            let wait = block.take("max_wait").and_then(|node| {
                let wait = duration(&node)?;
                if wait.is_zero() {
                    node.wrong("0s is not allowed: must be above 0; write gate: off");
                    return None;
                }
                Some(wait)
            });
            let missing = wait
                .is_none()
                .then_some("says nothing: write {max_wait: 5m}");
            block.end_or(missing);
            (Some(wait?), words(wait?))
        }
        _ => match node.word(&[("on", true), ("off", false)])? {
            true => (Some(ON), words(ON)),
            false => (None, "off".to_owned()),
        },
    };
    let gating = Gating {
        wait,
        quotas_at_once: None,
    };
    Some((gating, text))
}

fn routes(node: &Node<'_>) -> Vec<RouteSpec> {
    let mut routes: Vec<RouteSpec> = Vec::new();
    let mut names = BTreeSet::new();
    let mut matches = Matches::default();
    for node in node.items() {
        let Some(mut block) = node.clone().block() else {
            continue;
        };
        let given = block.take("name");
        let name = given.as_ref().and_then(Node::name);
        if given.is_none() {
            block.key("name").wrong(&"", "is missing: write name: NAME");
        }
        let given = block.take("match");
        let is_missing = given.is_none();
        let matching = given.and_then(Matching::of_route);
        if is_missing {
            block.key("match").wrong(
                &"",
                "is missing: write match: {method: METHOD, path: \"/PATH\"}",
            );
        }
        let place = PlaceSpec::read(&mut block);
        block.end();
        let (Some(name), Some(matching)) = (name, matching) else {
            continue;
        };
        matches.add(&matching, name, node.path.key("match"), node.problems);
        if !names.insert(name) {
            node.problems.add(
                &node.path.key("name"),
                &name,
                format!("{name} is there twice"),
            );
        }
        routes.push(RouteSpec {
            name: name.to_owned(),
            place,
            matching,
        });
    }
    routes
}

fn base_url(node: &Node<'_>) -> Option<Uri> {
    let text = node.text()?;
    let uri: Option<Uri> = text.parse().ok().filter(|_| !text.contains('#'));
    let http = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    let fits = uri.filter(|uri| {
        let user = uri.authority().is_some_and(|at| at.as_str().contains('@'));
        http(uri) && !user && uri.query().is_none()
    });
    if fits.is_none() {
        // It may hold a password.
        let cause = "is no base URL: write http:// or https://, a host and perhaps a path, without user info, query and fragment";
        node.problems.add(&node.path, &"", cause);
    }
    fits
}

impl BudgetSpec {
    fn read(node: Node<'_>) -> Self {
        let (path, problems) = (node.path.clone(), node.problems);
        let Some(mut block) = node.block() else {
            return Self::default();
        };
        let mut number = |key, most: u32| {
            let node = block.take(key)?;
            decimal(&node, Decimal::ZERO, Decimal::from(most))
        };
        let per_second = number("per_second", MOST_PER_SECOND);
        let initial = number("initial", MOST_TOKENS);
        let per_success = number("per_success", MOST_PER_SUCCESS);
        let mut tokens = |key, words: &str| {
            let node = block.take(key)?;
            above_zero(&node, Decimal::from(MOST_TOKENS), words)
        };
        let spec = Self {
            per_second,
            capacity: tokens("capacity", &MOST_TOKENS.to_string()),
            initial,
            retry_cost: tokens("retry_cost", "the capacity"),
            timeout_cost: tokens("timeout_cost", "the capacity"),
            per_success,
        };
        block.end();
        // What was not read would look like what is not given.
        if problems.are_within(path.as_str()) {
            return spec;
        }
        if let Err(error) = spec.builder().build() {
            let field = error.field().trim_start_matches("budget.");
            let of = match field {
                "initial" | "retry_cost" | "timeout_cost" => ", which is the capacity",
                _ => "",
            };
            let cause = format!("{} is not allowed: {}{of}", error.given(), error.allowed());
            problems.add(&path.key(field), &error.given(), cause);
        }
        spec
    }

    fn builder(&self) -> RetryBudgetBuilder {
        let given =
            |builder: RetryBudgetBuilder,
             value: Option<Decimal>,
             set: fn(RetryBudgetBuilder, Decimal) -> RetryBudgetBuilder| {
                match value {
                    Some(value) => set(builder, value),
                    None => builder,
                }
            };
        let builder = RetryBudget::builder();
        let builder = given(builder, self.per_second, RetryBudgetBuilder::per_second);
        let builder = given(builder, self.capacity, RetryBudgetBuilder::capacity);
        let builder = given(builder, self.initial, RetryBudgetBuilder::initial);
        let builder = given(builder, self.retry_cost, RetryBudgetBuilder::retry_cost);
        let builder = given(builder, self.timeout_cost, RetryBudgetBuilder::timeout_cost);
        given(builder, self.per_success, RetryBudgetBuilder::per_success)
    }

    /// A bucket with these numbers, which are checked when they are read.
    pub(super) fn build(&self) -> RetryBudget {
        self.builder().build().unwrap_or_default()
    }
}
