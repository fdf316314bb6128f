//! RULE: what follows when a condition holds, and what does where no rule has a word.

use super::block::{Block, Node, Path};
use super::headers::{headers, is_map};
use super::retry::RetryBlock;
use super::scalar::duration;
use super::value::Value;
use super::when;
use crate::policy::{Condition, Failover, Wait};
use http::HeaderMap;
use std::sync::Arc;

/// A rule as it stands in the document.
#[derive(Debug, Clone)]
pub(super) struct RuleSpec {
    /// Its name, or its place.
    pub(super) name: Arc<str>,
    path: Path,
    pub(super) when: Condition,
    pub(super) then: ThenSpec,
    pub(super) set: Option<Arc<HeaderMap>>,
}

#[derive(Debug, Clone)]
pub(super) enum ThenSpec {
    Accept,
    Fail,
    Stop,
    Retry(Box<RetryBlock>),
    Wait(Wait, Path),
    Failover(Failover, Path),
}

/// What decides where no rule does.
#[derive(Debug, Clone)]
pub(super) enum OtherwiseSpec {
    Classify,
    Accept,
    Fail,
    ByOutcome,
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

const WORDS: [(&str, ThenWord); 7] = [
    ("accept", ThenWord::Accept),
    ("fail", ThenWord::Fail),
    ("stop", ThenWord::Stop),
    ("retry", ThenWord::Retry),
    // Other systems' words for the same.
    ("continue", ThenWord::Accept),
    ("break", ThenWord::Stop),
    ("prune", ThenWord::Stop),
];

/// Verdicts that say more than a word.
const OTHERS: [(&str, &str); 4] = [
    ("wait", "wait: {at_most: NUMBER}"),
    ("failover", "failover: SERVICE"),
    ("requeue", "requeue: {at_most: NUMBER}"),
    ("jump", "jump: SERVICE"),
];

#[derive(Clone, Copy)]
enum ThenWord {
    Accept,
    Fail,
    Stop,
    Retry,
}

fn rule(node: Node<'_>) -> Option<RuleSpec> {
    let mut block = node.block()?;
    let name = block.take("name").and_then(|node| node.name());
    let path = block.path().clone();
    let name = name.map_or_else(|| path.as_str().into(), Arc::from);
    let when = block.take("when").map(when::read).unwrap_or_default();
    let set = block.take("set").and_then(read_set);
    let same_keys = block.take("same_keys").and_then(|node| node.truth());
    let then = read_then(&mut block, same_keys);
    if same_keys.is_some() && !matches!(then, None | Some(ThenSpec::Failover(..))) {
        let cause = "same_keys has no effect: this rule does not fail over";
        block.key("same_keys").wrong(&"", cause);
    }
    if set.is_some() && then.as_ref().is_some_and(|then| !then.sends_again()) {
        let cause = "set has no effect: this rule sends nothing again";
        block.key("set").wrong(&"", cause);
    }
    block.end();
    Some(RuleSpec {
        name,
        path,
        when,
        then: then?,
        set,
    })
}

fn read_then(block: &mut Block<'_>, same_keys: Option<bool>) -> Option<ThenSpec> {
    let word = block.take("do").map(|node| {
        let word = node.word_or(&WORDS, &OTHERS)?;
        Some(match word {
            ThenWord::Accept => ThenSpec::Accept,
            ThenWord::Fail => ThenSpec::Fail,
            ThenWord::Stop => ThenSpec::Stop,
            ThenWord::Retry => ThenSpec::Retry(Box::default()),
        })
    });
    let retry = block
        .take("retry")
        .map(|node| Some(ThenSpec::Retry(Box::new(RetryBlock::read(node)))));
    let wait = block.take_either("wait", "requeue").map(|node| {
        let path = node.path.clone();
        Some(ThenSpec::Wait(read_wait(node)?, path))
    });
    let failover = block.take_either("failover", "jump").map(|node| {
        let to = Failover {
            service: node.name()?.into(),
            same_keys: same_keys.unwrap_or_default(),
        };
        Some(ThenSpec::Failover(to, node.path))
    });
    let all = [word, retry, wait, failover];
    let mut found: Vec<Option<ThenSpec>> = all.into_iter().flatten().collect();
    if found.len() != 1 {
        let cause = "must hold exactly one of do, retry, wait and failover";
        block.wrong(&"", cause);
        return None;
    }
    found.pop().flatten()
}

impl ThenSpec {
    fn sends_again(&self) -> bool {
        matches!(self, Self::Retry(_) | Self::Wait(..) | Self::Failover(..))
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

pub(super) fn otherwise(node: Node<'_>) -> Option<OtherwiseSpec> {
    if let Value::Map(_) = node.value {
        let mut block = node.block()?;
        let retry = block.take("retry").map(RetryBlock::read);
        let nothing = "says nothing: write {retry: RETRY}";
        block.end_or(retry.is_none().then_some(nothing));
        return retry.map(|retry| OtherwiseSpec::Retry(Box::new(retry)));
    }
    let words = [
        ("classify", OtherwiseSpec::Classify),
        ("accept", OtherwiseSpec::Accept),
        ("fail", OtherwiseSpec::Fail),
        ("by_outcome", OtherwiseSpec::ByOutcome),
        ("continue", OtherwiseSpec::Accept),
    ];
    node.word_or(&words, &[("retry", "{retry: RETRY}")])
}
