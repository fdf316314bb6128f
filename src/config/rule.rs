//! RULE: what follows when a condition holds, and what does where no rule has a word.

mod otherwise;

pub(super) use otherwise::otherwise;

use super::block::{Block, Node, Path};
use super::dialect::meaning_keys;
use super::fields::{Fields, Type, block, object, table};
use super::headers::set;
use super::retry::{RetryBlock, retry};
use super::schema::{exactly_one, list, only_if, only_with, with};
use super::types::{count, duration, name, read_above_zero, truth, word};
use super::when::when;
use super::words::words;
use crate::dialect::Row;
use crate::policy::{Action, Class, Condition, Failover};
use http::HeaderMap;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

meaning_keys! {
    /// A condition and what follows from it: exactly one of do, as, retry, wait (or requeue) and failover (or jump). The
    /// first rule that holds decides; a rule without when takes every outcome, so it comes last. A rule with as says what
    /// an answer means, and the others see what it says.
    Rule("rule", "RULE", together()) {
        /// What reports and events call the rule. Default its place, such as `services.orders.rules[0]`.
        name: Arc<str> = name();
        /// The condition. Default: every outcome.
        when: Condition = when();
        /// accept (alias continue: the caller gets the outcome as it is), fail (the caller gets an error, where the stack
        /// can report one), stop (aliases break, prune: no more attempts), retry (by the policy of this place).
        verb as "do": ActionSpec = word::<ActionSpec>();
        /// Another attempt, by this block above the policy of this place, or by a policy's name; whatever the outcome's
        /// class.
        retry: RetryBlock = retry();
        /// Another attempt that counts as no retry and costs no token.
        wait: Wait = block::<Wait>();
        /// Another word for wait.
        requeue: Wait = block::<Wait>();
        /// The next attempt goes to this service, which must have a base_url.
        failover: Arc<str> = name();
        /// Another word for failover.
        jump: Arc<str> = name();
        /// With failover: both services tell a repeated request from a new one together, so that an idempotency key (or
        /// RetryOverride::idempotent) that the first knows holds at the second. Default false: a request that may have
        /// been processed fails over only by its method or methods: all.
        same_keys: bool = truth(), default(&false);
        /// What changes in the request before the next attempt; only where there is one. With failover, the credentials of
        /// the new place.
        set: Arc<HeaderMap> = set();
        /// What an answer means: success, transient, throttled, permanent. The policy of this place goes on from there.
        class as "as": Class = word::<Class>();
    }
}

table! {
    /// Another attempt after a while that counts as no retry and costs no token. It must end: by at_most, max, or a
    /// deadline.
    Wait("wait", "A wait") {
        /// Before each attempt, above 0. Default: as long as the server asks, else the policy's backoff.
        delay: Duration = Type {
            read: |node| read_above_zero(node, ", since a wait asks again and again"),
            schema: duration().schema,
        };
        /// How many waits there may be, at least 1. Default: no such limit.
        at_most: u32 = count::<1, { u32::MAX }>();
        /// How long the waits may take in all. Default: no such limit.
        max: Duration = duration();
    }
}

words! { ActionSpec:
    "accept" => Self::Known(Action::Accept), "fail" => Self::Known(Action::Fail),
    "stop" => Self::Known(Action::Stop), "retry" => Self::Retry(None),
    // Other systems' words for the same.
    "continue" => Self::Known(Action::Accept), "break" => Self::Known(Action::Stop),
    "prune" => Self::Known(Action::Stop);
    "wait" => "wait: {at_most: NUMBER}", "failover" => "failover: SERVICE",
    "requeue" => "requeue: {at_most: NUMBER}", "jump" => "jump: SERVICE"
}

fn together() -> Json {
    let one = exactly_one(&["do", "as", "retry", "wait", "requeue", "failover", "jump"]);
    let same_keys = only_with("same_keys", &["failover", "jump"]);
    let mut all = vec![same_keys, only_if("set", "do", &["retry"])];
    all.extend(OF_AS.iter().map(|key| only_with(key, &["as"])));
    with(one, json!({"allOf": all}))
}

/// The keys that say more of `as`.
const OF_AS: [&str; 5] = ["reach", "delay_from", "at_least", "scope_from", "reason"];

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

impl RuleSpec {
    /// What it says that an answer means, if it says no more.
    pub(super) fn judges(&self) -> Option<&Row> {
        match &self.action {
            ActionSpec::Judge(row) => Some(row),
            ActionSpec::Known(_) | ActionSpec::Retry(_) => None,
        }
    }
}

/// What is done about an outcome, as far as it is known before names are looked up.
#[derive(Debug, Clone)]
pub(super) enum ActionSpec {
    Known(Action),
    /// Retry by these settings, above those of the place.
    Retry(RetryBlock),
    /// It says what an answer means, and no more.
    Judge(Box<Row>),
}

/// The rules of one place, in their order.
pub(super) fn rules() -> Type<Vec<RuleSpec>> {
    Type {
        read: read_rules,
        schema: |defs| {
            let about = "Rules in their order; the first that holds decides.";
            defs.named("rules", ["Rules", about], |defs| {
                list(&object::<Rule>(defs))
            })
        },
    }
}

fn read_rules(node: &Node<'_>) -> Option<Vec<RuleSpec>> {
    let items = node.items();
    let read: Vec<RuleSpec> = items.iter().filter_map(rule).collect();
    let judges = |rule: &&RuleSpec| matches!(rule.action, ActionSpec::Judge(_));
    let decide = read.iter().filter(|rule| !judges(rule));
    let mut after = decide.skip_while(|rule| !rule.when.is_always());
    if let (Some(first), Some(next)) = (after.next(), after.next()) {
        let first = &first.path;
        let cause = format!("is never reached: {first} has no when and takes every outcome");
        node.problems.add(&next.path, &next.name, cause);
    }
    Some(read)
}

fn rule(node: &Node<'_>) -> Option<RuleSpec> {
    let path = node.path.clone();
    let mut block = node.block()?;
    let mut rule = Rule::take(&mut block);
    let action = action(&mut rule, &block);
    let is = |of: fn(&ActionSpec) -> bool| action.as_ref().is_none_or(|(action, _)| of(action));
    if rule.same_keys.is_some() && !is(ActionSpec::is_failover) {
        let cause = "same_keys has no effect: this rule does not fail over";
        block.wrong_at("same_keys", &"", cause);
    }
    if rule.set.is_some() && !is(ActionSpec::sends_again) {
        let cause = "set has no effect: this rule sends nothing again";
        block.wrong_at("set", &"", cause);
    }
    if !block.has("as") {
        for key in OF_AS.into_iter().filter(|key| block.has(key)) {
            let cause = format!("{key} has no effect: it says more of as");
            block.wrong_at(key, &"", cause);
        }
    }
    if let Some((ActionSpec::Judge(row), _)) = &action {
        if let Err(refused) = row.check() {
            let cause = refused.allowed().to_owned();
            block.wrong_at("when", &"", cause);
        }
    }
    block.end();
    let (action, said) = action?;
    Some(RuleSpec {
        name: rule.name.unwrap_or_else(|| path.as_str().into()),
        when: rule.when.unwrap_or_default(),
        said: path.key(said),
        set: rule.set,
        path,
        action,
    })
}

/// What is wrong where a block of RETRY is asked for, and there is no value.
const EMPTY_RETRY: &str =
    "has nothing in it: write retry: {max_attempts: 3}, or {} for the settings of this place";

/// The one key that says an action.
fn said(block: &Block<'_>) -> Option<&'static str> {
    let said = [
        block.has("do").then_some("do"),
        block.has("as").then_some("as"),
        block.has("retry").then_some("retry"),
        block.either("wait", "requeue"),
        block.either("failover", "jump"),
    ];
    let mut said = said.into_iter().flatten();
    match (said.next(), said.next()) {
        (Some(key), None) => return Some(key),
        (None, _) if block.is_empty_at("retry") => block.wrong_at("retry", &"", EMPTY_RETRY),
        _ => block.wrong(
            &"",
            "must hold exactly one of do, as, retry, wait and failover",
        ),
    }
    None
}

/// The action, and the key that says it.
fn action(rule: &mut Rule, block: &Block<'_>) -> Option<(ActionSpec, &'static str)> {
    let key = said(block)?;
    let wait = rule.wait.take().or(rule.requeue.take());
    let service = rule.failover.take().or(rule.jump.take());
    let action = match key {
        "do" => rule.verb.take()?,
        "as" => {
            let when = rule.when.clone().unwrap_or_default();
            ActionSpec::Judge(Box::new(Row::on(when).is(rule.meaning()?)))
        }
        "retry" => ActionSpec::Retry(rule.retry.take().flatten()),
        "wait" | "requeue" => {
            let Wait {
                delay,
                at_most,
                max,
            } = wait?;
            Action::Wait(crate::policy::Wait {
                delay,
                at_most,
                max,
            })
            .into()
        }
        _ => {
            let to = Failover {
                service: service?,
                same_keys: rule.same_keys.unwrap_or_default(),
            };
            Action::Failover(to).into()
        }
    };
    Some((action, key))
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
            Self::Judge(_) => false,
        }
    }

    fn is_failover(&self) -> bool {
        matches!(self, Self::Known(Action::Failover(_)))
    }
}
