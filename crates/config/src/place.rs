//! The levels of a document that a request can match: the document itself, a service or a route.

use super::document::LevelSpec;
use super::layers::Resolver;
use super::policy::{LevelParts, no_deadline};
use super::reader::Spanned;
use super::retry::{ExhaustedAction, Growth, Retry, RetryBlock, deadline, value};
use super::rule::{Otherwise, Rule, RuleEffect};
use super::values::Set;
use http_retry_core::RetryPolicy;
use http_retry_core::rules::{self, Action};
use http_retry_rules::Condition;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// A level with its layers merged.
#[derive(Clone)]
pub(super) struct ResolvedLevel {
    pub(super) policy: RetryPolicy,
    pub(super) retry: Arc<Retry>,
    /// The services that it fails over to, each with the first path that names it.
    pub(super) failovers: Failovers,
}

pub(super) type Failovers = Rc<BTreeMap<Arc<str>, Arc<str>>>;

impl Resolver<'_> {
    /// Returns the level of these layers, the most general first. If the last layer changes nothing, it is the
    /// enclosing level.
    pub(super) fn resolve_level(
        &self,
        name: &str,
        around: Option<&ResolvedLevel>,
        layers: &[&LevelSpec],
    ) -> ResolvedLevel {
        match (around, layers.last()) {
            (Some(around), Some(own)) if own.is_noop() => around.clone(),
            _ => self.own_level(name, around, layers),
        }
    }

    fn own_level(
        &self,
        name: &str,
        around: Option<&ResolvedLevel>,
        layers: &[&LevelSpec],
    ) -> ResolvedLevel {
        let outer = match around {
            Some(around) => Arc::clone(&around.retry),
            None => Arc::new(Retry::defaults()),
        };
        // Only the last layer is merged here: the enclosing level has merged the others.
        let retry = match layers.last().and_then(|own| own.retry.as_deref()) {
            Some(own) => Arc::new(self.layer(own).merged_over(&outer)),
            None => outer,
        };
        let mut parts = LevelParts {
            budget: value(&retry.budget).map(|name| name.0),
            origins: retry.given(),
            ..LevelParts::of(&retry)
        };
        // The first matching rule decides, so the most specific layer comes first.
        for layer in layers.iter().rev() {
            self.check_reached(&layer.rules);
            for rule in &layer.rules {
                self.rule(rule, &mut parts);
            }
        }
        // Unlike rules, which add up, the most specific `otherwise` replaces the others.
        let mut inner_first = layers.iter().rev();
        let otherwise = inner_first.find_map(|layer| layer.otherwise.as_ref());
        if let Some(given) = otherwise {
            let action = match &given.value {
                Otherwise::Action(action) => action.clone(),
                Otherwise::Retry(block) => self.retry_by(Some(block), &mut parts),
            };
            let (text, from) = (action.to_string().into(), Arc::clone(&given.from));
            parts.origins.push(("otherwise".into(), text, from));
            parts.otherwise = Some(action);
        }
        parts.add_exhausted_failover(&retry);
        let failovers = Rc::new(std::mem::take(&mut parts.failovers));
        ResolvedLevel {
            policy: self.policy(name.to_owned(), parts),
            failovers,
            retry,
        }
    }

    /// Reports the first rule that follows a rule without a condition.
    fn check_reached(&self, rules: &[Spanned<Rule>]) {
        // A rule with `as` classifies and lets the following ones decide, so it hides none of them.
        let decide = rules.iter().filter(|rule| rule.value.class.is_none());
        let mut after = decide.skip_while(|rule| rule.value.when.is_some());
        if let (Some(first), Some(next)) = (after.next(), after.next()) {
            let first = &first.from;
            let cause = format!("is never reached: {first} has no when and takes every outcome");
            let name = next.value.name.as_ref().map_or(&next.from, |name| &name.0);
            self.problems.add(&next.from, name, cause);
        }
    }

    fn rule(&self, given: &Spanned<Rule>, level: &mut LevelParts<'_>) {
        let (rule, path) = (&given.value, given.path());
        let (key, effect) = match rule.effect() {
            Ok(effect) => effect,
            Err((Some(key), cause)) => return self.problems.add(&path.key(key), &"", cause),
            Err((None, cause)) => {
                // A key that could not be read would look like a missing one.
                if !self.problems.are_within(&path) {
                    self.problems.add(&path, &"", cause);
                }
                return;
            }
        };
        let needless = rule.needless(&effect);
        for (key, why) in &needless {
            let cause = format!("{key} has no effect: {why}");
            self.problems.add(&path.key(key), &"", cause);
        }
        // A rule without a name is called by its path.
        let name = rule.name.as_ref().map_or(&given.from, |name| &name.0);
        let from: Arc<str> = path.key(key).to_string().into();
        let action = match effect {
            RuleEffect::Classify(row) => {
                if let Err(error) = row.check() {
                    self.problems.add(&path.key("when"), &"", error.allowed);
                    return;
                }
                let rows = level.class_rows.clone();
                let row = row.origin(Arc::clone(&given.from));
                level.class_rows = rows.rule(Arc::clone(name), row);
                return;
            }
            RuleEffect::Retry(block) => self.retry_by(block, level),
            RuleEffect::Action(action) => action,
        };
        match &action {
            Action::Wait(_) if !self.check_wait(rule, &from, level.retry) => return,
            Action::Failover(to) => {
                let service = Arc::clone(&to.service);
                // The first path is kept: it is the most specific, and an error about the service points there.
                level.failovers.entry(service).or_insert(from);
            }
            _ => {}
        }
        let when = rule.when.as_ref().map(|when| when.0.clone());
        let builder = rules::Rule::when(when.unwrap_or_else(Condition::always));
        let builder = builder.origin(Arc::clone(&given.from));
        // Names have at most 128 bytes, which the path of an unnamed rule may exceed. Such a rule stays unnamed.
        let name = Some(name).filter(|name| name.len() <= 128);
        let builder = name
            .into_iter()
            .fold(builder, |rule, name| rule.named(Arc::clone(name)));
        // The builder would reject it, and the problem is reported already.
        let has_effect = !needless.iter().any(|(key, _)| *key == "set");
        let set = rule.set.iter().filter(|_| has_effect);
        let builder = set.fold(builder, |rule, Set(set)| rule.set_headers(Arc::clone(set)));
        let takes_all = |rule: &rules::Rule| rule.condition().is_always();
        // A rule of an outer level is never reached after a rule without a condition.
        if !level.rules.last().is_some_and(takes_all) {
            level.rules.push(builder.then(action));
        }
    }

    fn check_wait(&self, rule: &Rule, from: &str, retry: &Retry) -> bool {
        let wait = rule.wait.as_ref().or(rule.requeue.as_ref());
        let has_delay = wait.is_some_and(|wait| wait.delay.is_some());
        let ends = wait.is_some_and(super::rule::Wait::ends) || deadline(retry).is_some();
        let growth = retry
            .backoff
            .as_ref()
            .and_then(|backoff| value(&backoff.growth));
        let delays = has_delay || growth != Some(Growth::None);
        // A value that could not be read would look like a missing one.
        let is_read = !self.problems.are_within(&from);
        if is_read && !delays {
            let cause = "has no delay, and the backoff is none: give delay";
            self.problems.add(&from, &"", cause);
        }
        if is_read && !ends {
            let also = no_deadline(retry);
            let cause = format!("never ends: give at_most, max or a deadline{also}");
            self.problems.add(&from, &"", cause);
        }
        delays && ends
    }

    /// Returns the action of a rule that retries. The rule decides on retries, so a `retry_on` of an outer level does
    /// not narrow it.
    fn retry_by(&self, block: Option<&RetryBlock>, level: &mut LevelParts<'_>) -> Action {
        let outer = Retry {
            retry_on: None,
            ..level.retry.clone()
        };
        let retry = match block {
            Some(RetryBlock(block)) => {
                self.check_outside_of_rules(&block.classify_error, "classify_error");
                self.check_outside_of_rules(&block.hold_streams, "hold_streams");
                self.layer(block).merged_over(&outer)
            }
            None => outer,
        };
        // A failover of the rule's own block must exist too.
        level.add_exhausted_failover(&retry);
        let parts = LevelParts {
            budget: level.budget.clone(),
            origins: retry.given_lists(),
            ..LevelParts::of(&retry)
        };
        Action::Retry(self.policy("rule".to_owned(), parts))
    }

    /// Reports a key that has no effect in a rule, since outcomes are judged before rules are tried.
    fn check_outside_of_rules<T>(&self, given: &Option<Spanned<T>>, key: &str) {
        if let Some(given) = given {
            let cause =
                format!("{key} has no effect in a rule: write it in the retry of the service");
            self.wrong(given, cause);
        }
    }
}

impl LevelParts<'_> {
    fn add_exhausted_failover(&mut self, retry: &Retry) {
        let end = retry.on_exhausted.as_ref().and_then(|end| end.end.as_ref());
        if let Some((ExhaustedAction::Failover(to, _), from)) =
            end.map(|end| (&end.value, &end.from))
        {
            let service = Arc::clone(&to.service);
            self.failovers
                .entry(service)
                .or_insert_with(|| Arc::clone(from));
        }
    }
}
