//! From what a document says to policies: names are looked up, and layers lie upon each other.

mod checks;

use super::document::{PlaceSpec, Spec};
use super::names::Names;
use super::problems::{Problems, Unknown};
use super::retry::{Exhausted, Given, Growth, Limit, Over, Retry, RetryBlock};
use super::rule::{OtherwiseSpec, RuleSpec, ThenSpec};
use super::value::Value;
use crate::error::ConfigError;
use crate::policy::{
    Backoff, CannedResponse, Directives, Jitter, OnExhausted, Origin, Otherwise, Preset,
    RetryPolicy, Rule, ServerDelays, Then,
};
use std::sync::Arc;
use std::time::Duration;

/// Looks names up in one document.
pub(super) struct Resolver<'a> {
    pub(super) spec: &'a Spec,
    pub(super) names: &'a Names,
    pub(super) problems: &'a Problems,
}

/// A place of the document that requests can come to: the document itself, a service or a route.
pub(super) struct Place {
    pub(super) policy: RetryPolicy,
    pub(super) retry: Retry,
    /// The other budgets that its rules pay from.
    pub(super) budgets: Vec<String>,
    /// The services that it fails over to, and where it says so.
    pub(super) failovers: Vec<(String, Arc<str>)>,
    pub(super) dead_letters: Vec<String>,
    pub(super) responds: bool,
}

/// The longest chain of policies that use each other, and of services that fail over to each other.
pub(super) const LONGEST_CHAIN: usize = 16;

impl Resolver<'_> {
    /// The place at the end of these layers, the most general first.
    pub(super) fn place(&self, name: &str, layers: &[&PlaceSpec]) -> Place {
        let mut retry = Retry::defaults();
        for layer in layers {
            retry = self.layer(&layer.retry).over(&retry);
        }
        let mut place = Place {
            policy: RetryPolicy::default(),
            budgets: Vec::new(),
            failovers: Vec::new(),
            dead_letters: Vec::new(),
            responds: false,
            retry: retry.clone(),
        };
        let rules = layers.iter().rev().flat_map(|layer| &layer.rules);
        let rules: Vec<Rule> = rules
            .map(|rule| self.rule(rule, &retry, &mut place))
            .collect();
        let otherwise = layers
            .iter()
            .rev()
            .find_map(|layer| layer.otherwise.as_ref());
        let otherwise = self.otherwise(otherwise, &retry, &mut place);
        let directives = Directives {
            rules: rules.into(),
            otherwise,
            ..self.directives(&retry, &mut place)
        };
        place.policy = self.policy(name, &retry, directives);
        place
    }

    /// A block above what it uses.
    pub(super) fn layer(&self, block: &RetryBlock) -> Retry {
        self.layer_after(block, &mut Vec::new())
    }

    fn layer_after(&self, block: &RetryBlock, trail: &mut Vec<String>) -> Retry {
        let own = block.own.clone();
        let Some(uses) = &block.uses else {
            return own;
        };
        if let Some(preset) = Preset::ALL.iter().find(|preset| preset.name == uses.value) {
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
        let Some(used) = self.spec.policies.get(&uses.value) else {
            let own_names = self.spec.policies.keys().map(String::as_str);
            let presets = Preset::ALL.iter().map(|preset| preset.name);
            self.unknown(uses, &uses.value, "is no policy", own_names.chain(presets));
            return own;
        };
        trail.push(uses.value.clone());
        own.over(&self.layer_after(used, trail))
    }

    fn rule(&self, spec: &RuleSpec, retry: &Retry, place: &mut Place) -> Rule {
        let then = match &spec.then {
            ThenSpec::Accept => Then::Accept,
            ThenSpec::Fail => Then::Fail,
            ThenSpec::Stop => Then::Stop,
            ThenSpec::Retry(block) => Then::Retry(self.own_policy(&spec.name, block, retry, place)),
            ThenSpec::Wait(wait, path) => {
                let is_backoff_none = value(&retry.growth) == Some(Growth::None);
                if wait.delay.is_none() && is_backoff_none {
                    let cause = "has no delay, and the backoff is none: give delay";
                    self.problems.add(path, &"", cause);
                }
                let ends = wait.at_most.is_some() || wait.max.is_some();
                let read = !self.problems.are_within(path.as_str());
                if read && !ends && deadline(retry).is_none() {
                    let cause = "never ends: give at_most, max or a deadline";
                    let cause = format!("{cause}{}", no_deadline(retry));
                    self.problems.add(path, &"", cause);
                }
                Then::Wait(wait.clone())
            }
            ThenSpec::Failover(to, path) => {
                let from = path.as_str().into();
                place.failovers.push((to.service.to_string(), from));
                Then::Failover(to.clone())
            }
        };
        Rule {
            name: Arc::clone(&spec.name),
            when: spec.when.clone(),
            then,
            set: spec.set.clone(),
        }
    }

    /// A policy of a rule's own. Where it retries is the rule's to say, so a list from outside does not narrow it.
    fn own_policy(
        &self,
        name: &str,
        block: &RetryBlock,
        outer: &Retry,
        place: &mut Place,
    ) -> RetryPolicy {
        let outer = Retry {
            retry_on: None,
            ..outer.clone()
        };
        let retry = self.layer(block).over(&outer);
        let directives = self.directives(&retry, place);
        self.policy(name, &retry, directives)
    }

    fn otherwise(
        &self,
        spec: Option<&OtherwiseSpec>,
        retry: &Retry,
        place: &mut Place,
    ) -> Otherwise {
        match spec {
            None | Some(OtherwiseSpec::Classify) => Otherwise::Classify,
            Some(OtherwiseSpec::Accept) => Otherwise::Accept,
            Some(OtherwiseSpec::Fail) => Otherwise::Fail,
            Some(OtherwiseSpec::ByOutcome) => Otherwise::ByOutcome,
            Some(OtherwiseSpec::Retry(block)) => {
                Otherwise::Retry(self.own_policy("otherwise", block, retry, place))
            }
        }
    }

    fn directives(&self, retry: &Retry, place: &mut Place) -> Directives {
        let own_budget = value(&place.retry.budget);
        let budget = value(&retry.budget).filter(|name| Some(name) != own_budget.as_ref());
        if let Some(given) = &retry.budget {
            self.check_budget(given);
        }
        place.budgets.extend(budget.clone());
        let ignores = value(&retry.ignores_server).unwrap_or_default();
        let origins = retry.given().into_iter();
        Directives {
            retry_on: value(&retry.retry_on),
            stop_on: value(&retry.stop_on).unwrap_or_default(),
            counter: value(&retry.counter).unwrap_or_default(),
            server_delays: match value(&retry.over) {
                _ if ignores => ServerDelays::Ignore,
                Some(Over::Clamp) => ServerDelays::Clamp,
                _ => ServerDelays::Respect,
            },
            budget: budget.map(Arc::from),
            on_exhausted: self.on_exhausted(retry, place),
            credentials: value(&retry.credentials).unwrap_or_default(),
            origins: origins
                .map(|(field, value, from)| Origin { field, value, from })
                .collect(),
            ..Directives::default()
        }
    }

    fn on_exhausted(&self, retry: &Retry, place: &mut Place) -> OnExhausted {
        let Some(given) = &retry.exhausted else {
            return OnExhausted::Last;
        };
        match &given.value {
            Exhausted::Last => OnExhausted::Last,
            Exhausted::Fail => OnExhausted::Fail,
            Exhausted::Failover(to, set) => {
                let from = Arc::clone(&given.from);
                place.failovers.push((to.service.to_string(), from));
                OnExhausted::Failover(to.clone(), set.clone())
            }
            Exhausted::DeadLetter(name) => {
                self.check_dead_letter(given, name);
                place.dead_letters.push(name.clone());
                OnExhausted::DeadLetter(name.as_str().into())
            }
            Exhausted::Respond => {
                let Some(status) = value(&retry.respond_status) else {
                    if !self.problems.are_within(&given.from) {
                        let cause = "respond has no status: write {respond: {status: 503}}";
                        self.wrong(given, cause);
                    }
                    return OnExhausted::Last;
                };
                place.responds = true;
                OnExhausted::Respond(Arc::new(CannedResponse {
                    status,
                    headers: value(&retry.respond_headers).unwrap_or_default(),
                    body: value(&retry.respond_body).unwrap_or_default().into(),
                }))
            }
        }
    }

    /// The policy of some settings, by the builder that everybody else uses.
    fn policy(&self, name: &str, retry: &Retry, directives: Directives) -> RetryPolicy {
        let limit = match (value(&retry.limit), &retry.limit) {
            (Some(Limit::Never), _) => 0,
            (Some(Limit::Retries(retries)), _) => retries,
            (_, Some(given)) => {
                if deadline(retry).is_none() {
                    let also = no_deadline(retry);
                    let cause = format!("unlimited needs a deadline: write deadline: 2m{also}");
                    self.wrong(given, cause);
                }
                u32::MAX
            }
            _ => 0,
        };
        let builder = RetryPolicy::builder()
            .directives(name.to_owned(), directives)
            .never(value(&retry.limit) == Some(Limit::Never))
            .max_retries(limit)
            .backoff(self.backoff(retry))
            .deadline(deadline(retry))
            .attempt_timeout(value(&retry.attempt_timeout).flatten())
            .max_server_delay(value(&retry.max_server_delay).flatten())
            .methods(value(&retry.methods).unwrap_or(crate::policy::Methods::Idempotent));
        let builder = builder.max_gate_wait(value(&retry.gate).flatten());
        #[cfg(feature = "llm")]
        let builder = match value(&retry.reads_bodies) {
            Some(true) => builder.classifier(crate::llm::LlmClassifier::new()),
            _ => builder,
        };
        builder.build().unwrap_or_else(|error| {
            self.refused(retry, &error);
            RetryPolicy::default()
        })
    }

    fn backoff(&self, retry: &Retry) -> Backoff {
        let base = value(&retry.base).unwrap_or_default();
        let backoff = match value(&retry.growth) {
            Some(Growth::None) => Backoff::none(),
            Some(Growth::Fixed) => Backoff::fixed(base),
            Some(Growth::Linear) => Backoff::linear(base),
            None | Some(Growth::Exponential) => Backoff::exponential(base),
            Some(Growth::Schedule(delays)) => Backoff::schedule(delays),
            Some(Growth::Custom(name)) => self.custom(&name, retry),
        };
        let jitter = match (
            value(&retry.decorrelated),
            value(&retry.jitter_min),
            value(&retry.jitter_max),
        ) {
            (Some(true), ..) => Jitter::Decorrelated,
            (_, None, None) => Jitter::Full,
            (_, min, max) => Jitter::between(
                min.unwrap_or(crate::policy::Decimal::ZERO),
                max.unwrap_or(crate::policy::Decimal::ONE),
            ),
        };
        let backoff = backoff.jitter(jitter.named());
        let backoff = set(backoff, &retry.factor, Backoff::factor);
        let backoff = set(backoff, &retry.first_step, Backoff::first_step);
        let backoff = set(backoff, &retry.max_delay, Backoff::max_delay);
        set(backoff, &retry.cap, Backoff::cap)
    }

    fn custom(&self, name: &str, retry: &Retry) -> Backoff {
        let Some(given) = &retry.growth else {
            return Backoff::none();
        };
        let Some(make) = self.names.backoffs.get(name) else {
            let known = self.names.backoffs.keys().map(|name| &**name);
            self.unknown(given, name, "is no custom backoff of this program", known);
            return Backoff::none();
        };
        let args = retry.args.as_ref().map_or(&Value::Null, |args| &args.value);
        match make(args) {
            Ok(ceiling) => Backoff::custom(move |retry| ceiling(retry)),
            Err(cause) => {
                let from = retry.args.as_ref().map_or(&given.from, |args| &args.from);
                self.problems.at(from, &name, cause);
                Backoff::none()
            }
        }
    }

    /// The builder's word on a field, where the document says it.
    fn refused(&self, retry: &Retry, error: &ConfigError) {
        let field = error.field().trim_start_matches("backoff.");
        let field = match field {
            "schedule" => "backoff",
            other => other,
        };
        let bound = match field {
            "base" => "max_delay",
            "attempt_timeout" => "deadline",
            "jitter.min" => "jitter.max",
            _ => "",
        };
        let given = retry.given();
        let of = |wanted| given.iter().find(|(name, ..)| *name == wanted);
        let (text, from) = of(field).map_or((error.given(), field), |(_, text, from)| (text, from));
        let (place, cause) = match of(bound) {
            Some((_, most, at)) if is_built_in(from) && !is_built_in(at) => {
                let least = format!("must be at least {field}, which is {text} ({from})");
                let cause = format!("{most} is not allowed: {least}: give {field} too");
                (&**at, cause)
            }
            other => {
                let allowed = error.allowed().replace("use Backoff::none()", NO_BACKOFF);
                let far = other.filter(|(.., at)| block_of(at) != block_of(from));
                let at = far.map_or_else(String::new, |(.., at)| format!(" ({at})"));
                (from, format!("{text} is not allowed: {allowed}{at}"))
            }
        };
        self.problems.at(place, &text, cause);
    }

    fn wrong<T>(&self, given: &Given<T>, cause: impl Into<String>) {
        self.problems.at(&given.from, &given.text, cause);
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
        self.problems.unknown(&given.from, &given.text, unknown);
    }
}

pub(super) fn value<T: Clone>(given: &Option<Given<T>>) -> Option<T> {
    given.as_ref().map(|given| given.value.clone())
}

const NO_BACKOFF: &str = "write backoff: none";

/// Whether a value does not stand in the document.
fn is_built_in(from: &str) -> bool {
    from == "default" || from.starts_with("preset ")
}

fn block_of(from: &str) -> Option<&str> {
    let (block, _) = from.rsplit_once('.')?;
    Some(block.trim_end_matches(".jitter"))
}

/// Where the document takes a deadline away.
fn no_deadline(retry: &Retry) -> String {
    let given = retry.deadline.as_ref();
    given.map_or_else(String::new, |given| format!(" ({} is none)", given.from))
}

fn deadline(retry: &Retry) -> Option<Duration> {
    value(&retry.deadline).flatten()
}

fn set<T: Clone>(
    backoff: Backoff,
    given: &Option<Given<T>>,
    setter: fn(Backoff, T) -> Backoff,
) -> Backoff {
    match given {
        Some(given) => setter(backoff, given.value.clone()),
        None => backoff,
    }
}
