//! From what a document says to policies: names are looked up, and layers lie upon each other.

mod backoff;
mod checks;
mod dialect;
mod rules;
mod taught;

use super::document::{PlaceSpec, Spec};
use super::given::Given;
use super::names::Names;
use super::problems::{Problems, Unknown};
use super::retry::{Limit, NEEDS_LLM, Retry};
use crate::budget::RetryBudget;
use crate::dialect::Dialect;
use crate::policy::{Methods, Preset, RetryPolicy, Rule, Rules};
use crate::report::DeadLetters;
use crate::route::Destination;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Looks names up in one document.
pub(super) struct Resolver<'a> {
    pub(super) spec: &'a Spec,
    pub(super) names: &'a Names,
    pub(super) problems: &'a Problems,
}

/// A place of the document that requests can come to: the document itself, a service or a route.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) policy: RetryPolicy,
    pub(super) retry: Arc<Retry>,
    pub(super) names: Rc<PlaceNames>,
}

/// Where a place leads to.
#[derive(Default)]
pub(super) struct PlaceNames {
    /// The services that it fails over to, and where it says so.
    pub(super) failovers: Vec<(Arc<str>, Arc<str>)>,
    /// What the names in its policy and its rules stand for, once that is known.
    pub(super) found: OnceCell<Found>,
}

/// What a place names, for its route.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) budgets: Arc<BTreeMap<Arc<str>, RetryBudget>>,
    pub(super) destinations: Arc<BTreeMap<Arc<str>, Destination>>,
    pub(super) dead_letters: Arc<BTreeMap<Arc<str>, Arc<dyn DeadLetters>>>,
}

/// What is found out on the way through a place.
struct Inside<'a> {
    /// The budget of the place itself.
    budget: Option<Arc<str>>,
    names: &'a mut PlaceNames,
}

/// The longest chain of policies and of dialects that use each other.
const LONGEST_CHAIN: usize = crate::route::chains::LONGEST_CHAIN;

impl Resolver<'_> {
    /// The place at the end of these layers, the most general first. What it does not change is the place around it.
    pub(super) fn place(&self, name: &str, around: Option<&Place>, layers: &[&PlaceSpec]) -> Place {
        match (around, layers.last()) {
            (Some(around), Some(own)) if own.says_nothing() => Place {
                policy: around.policy.named(name.to_owned()),
                ..around.clone()
            },
            (around, _) => self.place_of_its_own(name, around, layers),
        }
    }

    fn place_of_its_own(&self, name: &str, around: Option<&Place>, layers: &[&PlaceSpec]) -> Place {
        let outer = match around {
            Some(around) => Arc::clone(&around.retry),
            None => Arc::new(Retry::defaults()),
        };
        let retry = match layers.last().and_then(|own| own.retry.as_deref()) {
            Some(own) => Arc::new(self.layer(own).over(&outer)),
            None => outer,
        };
        let mut names = PlaceNames::default();
        let mut inside = Inside {
            budget: value(&retry.budget),
            names: &mut names,
        };
        let rules = || layers.iter().rev().flat_map(|layer| &layer.rules);
        let list: Vec<Rule> = rules()
            .filter(|rule| rule.judges().is_none())
            .map(|rule| self.rule(rule, &retry, &mut inside))
            .collect();
        let judging = rules().filter_map(|rule| Some((Arc::clone(&rule.name), rule.judges()?)));
        let judged = judging.fold(Dialect::named("rules"), |judged, (name, row)| {
            judged.rule(name, row.clone())
        });
        let otherwise = layers
            .iter()
            .rev()
            .find_map(|layer| layer.otherwise.as_ref());
        let otherwise = otherwise.map(|spec| self.action(spec, &retry, &mut inside));
        let rules = Rules {
            list: list.into(),
            otherwise: otherwise.unwrap_or_default(),
            origins: retry.given().into(),
            ..self.rules(&retry, &mut inside)
        };
        Place {
            policy: self.policy(name.to_owned(), &retry, (rules, judged)),
            retry,
            names: Rc::new(names),
        }
    }

    /// A block above what it uses.
    pub(super) fn layer(&self, block: &Retry) -> Retry {
        self.layer_after(block, &mut Vec::new())
    }

    fn layer_after(&self, block: &Retry, trail: &mut Vec<Arc<str>>) -> Retry {
        let mut own = block.clone();
        let Some(uses) = &own.uses.take() else {
            return own;
        };
        if let Some(preset) = Preset::ALL
            .iter()
            .find(|preset| preset.name == &*uses.value)
        {
            // By status alone it would be another preset.
            if preset.name == Preset::LLM.name && cfg!(not(feature = "llm")) {
                self.wrong(uses, format!("the preset llm {NEEDS_LLM}"));
            }
            return own.over(&Retry::preset(preset));
        }
        if trail.len() >= LONGEST_CHAIN {
            let cause = format!("use goes through more than {LONGEST_CHAIN} policies");
            self.wrong(uses, cause);
            return own;
        }
        if trail.contains(&uses.value) {
            trail.push(uses.value.clone());
            let cause = format!("use goes round in a circle: {}", trail.join(" -> "));
            self.wrong(uses, cause);
            return own;
        }
        let Some(used) = self.spec.policies.get(&*uses.value) else {
            let own_names = self.spec.policies.keys().map(String::as_str);
            let presets = Preset::ALL.iter().map(|preset| preset.name);
            self.unknown(uses, &uses.value, "is no policy", own_names.chain(presets));
            return own;
        };
        let Some(used) = used.as_deref() else {
            return own;
        };
        trail.push(uses.value.clone());
        own.over(&self.layer_after(used, trail))
    }

    /// The policy of some settings, by the builder that everybody else uses.
    fn policy(
        &self,
        name: impl Into<Cow<'static, str>>,
        retry: &Retry,
        (rules, judged): (Rules, Dialect),
    ) -> RetryPolicy {
        let limit = value(&retry.max_retries);
        let retries = match (limit, &retry.max_retries) {
            (Some(Limit::Retries(retries)), _) => retries,
            (Some(Limit::Unlimited), Some(given)) => {
                self.check_ends(given, retry);
                u32::MAX
            }
            _ => 0,
        };
        let builder = RetryPolicy::builder()
            .of_document(name, rules)
            .never(limit == Some(Limit::Never))
            .max_retries(retries)
            .max_refused(value(&retry.max_refused).unwrap_or_default())
            .backoff(self.backoff(retry))
            .deadline(deadline(retry))
            .attempt_timeout(value(&retry.attempt_timeout).flatten())
            .whole_answers(value(&retry.whole_answers).unwrap_or_default())
            .max_server_delay(of(&retry.retry_after, |delays| &delays.max).flatten())
            .methods(value(&retry.methods).unwrap_or(Methods::Idempotent));
        let gate = value(&retry.gate);
        let builder = builder
            .max_gate_wait(gate.and_then(|gate| gate.wait))
            .quotas_at_once(gate.and_then(|gate| gate.quotas_at_once) == Some(true));
        let builder = match judged.is_empty() {
            true => builder,
            false => builder.classifier(judged),
        };
        let builder = self.with_dialect(builder, retry);
        self.taught(builder, retry).build().unwrap_or_else(|error| {
            self.refused(retry, &error);
            RetryPolicy::default()
        })
    }

    fn wrong<T>(&self, given: &Given<T>, cause: impl Into<String>) {
        self.problems
            .at(&given.from.to_string(), &given.text, cause);
    }

    /// A name that must be among the known ones, and is not.
    fn unknown<'k, T>(
        &self,
        given: &Given<T>,
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) {
        let what = format!("\"{name}\" {what}");
        let unknown = Unknown { name, what, known };
        self.problems
            .unknown(&given.from.to_string(), &given.text, unknown);
    }
}

pub(super) fn value<T: Clone>(given: &Option<Given<T>>) -> Option<T> {
    given.as_ref().map(|given| given.value.clone())
}

/// A field of a part of RETRY.
pub(super) fn of<P, T: Clone>(part: &Option<P>, field: fn(&P) -> &Option<Given<T>>) -> Option<T> {
    value(field(part.as_ref()?))
}

const NO_BACKOFF: &str = "write backoff: none";

/// Where the document takes a deadline away.
fn no_deadline(retry: &Retry) -> String {
    let given = retry.deadline.as_ref();
    given.map_or_else(String::new, |given| format!(" ({} is none)", given.from))
}

fn deadline(retry: &Retry) -> Option<Duration> {
    value(&retry.deadline).flatten()
}
