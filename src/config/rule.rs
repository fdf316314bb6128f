//! RULE: what follows when a condition holds, and what does where no rule has a word.

use super::block::{Block, Node, Path};
use super::headers::{headers, is_map};
use super::retry::RetryBlock;
use super::scalar::duration;
use super::value::Value;
use super::when;
use crate::policy::{Action, Condition, Failover, Wait};
use http::HeaderMap;
use std::sync::Arc;

/// A rule as it stands in the document.
#[derive(Debug, Clone)]
pub(super) struct RuleSpec {
    /// Its name, or its place.
    pub(super) name: Arc<str>,
    path: Path,
    pub(super) when: Condition,
    pub(super) action: ActionSpec,
    /// The key that says the action.
    pub(super) said: Path,
    pub(super) set: Option<Arc<HeaderMap>>,
}

/// What is done about an outcome, as far as it is known before names are looked up.
#[derive(Debug, Clone)]
pub(super) enum ActionSpec {
    Known(Action),
    /// Retry by these settings, above those of the place.
    Retry(Box<RetryBlock>),
}

/// The rules of one place, in their order.
pub(super) fn rules(node: &Node<'_>) -> Vec<RuleSpec> {
    let items = node.items();
    let read: Vec<RuleSpec> = items.into_iter().filter_map(rule).collect();
    let mut after = read.iter().skip_while(|rule| !rule.when.is_always());
    if let (Some(first), Some(next)) = (after.next(), after.next()) {
        let cause = format!(
            "is never reached: {} has no when and takes every outcome",
            first.path
        );
        node.problems.add(&next.path, &next.name, cause);
    }
    read
}

/// Verdicts that say more than a word.
const OTHERS: [(&str, &str); 4] = [
    ("wait", "wait: {at_most: NUMBER}"),
    ("failover", "failover: SERVICE"),
    ("requeue", "requeue: {at_most: NUMBER}"),
    ("jump", "jump: SERVICE"),
];

fn rule(node: Node<'_>) -> Option<RuleSpec> {
    let mut block = node.block()?;
    let name = block.take("name").and_then(|node| node.name());
    let path = block.path().clone();
    let name = name.map_or_else(|| path.as_str().into(), Arc::from);
    let when = block.take("when").map(when::read).unwrap_or_default();
    let set = block.take("set").and_then(read_set);
    let same_keys = block.take("same_keys").and_then(|node| node.truth());
    let action = read_action(&mut block, same_keys);
    let is = |of: fn(&ActionSpec) -> bool| action.as_ref().is_none_or(|(action, _)| of(action));
    if same_keys.is_some() && !is(ActionSpec::is_failover) {
        let cause = "same_keys has no effect: this rule does not fail over";
        block.key("same_keys").wrong(&"", cause);
    }
    if set.is_some() && !is(ActionSpec::sends_again) {
        let cause = "set has no effect: this rule sends nothing again";
        block.key("set").wrong(&"", cause);
    }
    block.end();
    let (action, said) = action?;
    Some(RuleSpec {
        name,
        path,
        when,
        action,
        said,
        set,
    })
}

/// The action, and the key that says it.
fn read_action(block: &mut Block<'_>, same_keys: Option<bool>) -> Option<(ActionSpec, Path)> {
    let word = block.take("do").map(|node| {
        let words = [
            ("accept", Action::Accept.into()),
            ("fail", Action::Fail.into()),
            ("stop", Action::Stop.into()),
            ("retry", ActionSpec::Retry(Box::default())),
            // Other systems' words for the same.
            ("continue", Action::Accept.into()),
            ("break", Action::Stop.into()),
            ("prune", Action::Stop.into()),
        ];
        Some((node.word_or(&words, &OTHERS)?, node.path))
    });
    let retry = block.take("retry").map(|node| {
        let path = node.path.clone();
        Some((ActionSpec::Retry(Box::new(RetryBlock::read(node))), path))
    });
    let wait = block.take_either("wait", "requeue").map(|node| {
        let path = node.path.clone();
        Some((Action::Wait(read_wait(node)?).into(), path))
    });
    let failover = block.take_either("failover", "jump").map(|node| {
        let to = Failover {
            service: node.name()?.into(),
            same_keys: same_keys.unwrap_or_default(),
        };
        Some((Action::Failover(to).into(), node.path))
    });
    let all = [word, retry, wait, failover];
    let mut found: Vec<_> = all.into_iter().flatten().collect();
    if found.len() != 1 {
        let cause = "must hold exactly one of do, retry, wait and failover";
        block.wrong(&"", cause);
        return None;
    }
    found.pop().flatten()
}

impl From<Action> for ActionSpec {
    fn from(action: Action) -> Self {
        Self::Known(action)
    }
}

impl ActionSpec {
    fn sends_again(&self) -> bool {
        match self {
            Self::Known(action) => action.sends_again(),
            Self::Retry(_) => true,
        }
    }

    fn is_failover(&self) -> bool {
        matches!(self, Self::Known(Action::Failover(_)))
    }
}

pub(super) fn read_set(node: Node<'_>) -> Option<Arc<HeaderMap>> {
    if !is_map(&node) {
        return None;
    }
    let mut block = node.block()?;
    let read = block.take("headers").and_then(|node| headers(&node));
    let nothing = "sets nothing: write {headers: {NAME: VALUE}}";
    let is_nothing = read.as_ref().is_none_or(HeaderMap::is_empty);
    block.end_or(is_nothing.then_some(nothing));
    read.map(Arc::new)
}

fn read_wait(node: Node<'_>) -> Option<Wait> {
    let mut block = node.block()?;
    let wait = Wait {
        delay: block.take("delay").and_then(|node| {
            let delay = duration(&node)?;
            if delay.is_zero() {
                node.wrong("0s is not allowed: must be above 0, since a wait asks again and again");
            }
            Some(delay)
        }),
        at_most: block
            .take("at_most")
            .and_then(|node| node.count(1, u32::MAX)),
        max: block.take("max").and_then(|node| duration(&node)),
    };
    block.end();
    Some(wait)
}

/// What decides where no rule does.
pub(super) fn otherwise(node: Node<'_>) -> Option<ActionSpec> {
    if let Value::Map(_) = node.value {
        let mut block = node.block()?;
        let retry = block.take("retry").map(RetryBlock::read);
        let nothing = "says nothing: write {retry: RETRY}";
        block.end_or(retry.is_none().then_some(nothing));
        return retry.map(|retry| ActionSpec::Retry(Box::new(retry)));
    }
    let words = [
        ("classify", Action::Classify),
        ("accept", Action::Accept),
        ("fail", Action::Fail),
        ("by_outcome", Action::ByOutcome),
        ("continue", Action::Accept),
    ];
    let action = node.word_or(&words, &[("retry", "{retry: RETRY}")]);
    action.map(ActionSpec::Known)
}
