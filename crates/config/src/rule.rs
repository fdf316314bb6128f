//! RULE and ROW: conditions with their actions, and the meanings of responses.

use super::condition::{JsonPlace, When};
use super::reader::block;
use super::retry::{RetryBlock, set_given};
use super::values::{
    Count, Duration, HeaderKey, MapOr, Name, Set, Several, Word, Words, positive, words,
};
use http_retry_core::policy::{Reason, Scope, Unit};
use http_retry_core::rules::{self, Action, Failover};
use http_retry_core::{Class, Reach};
use http_retry_dialects::dialect::{Interpretation, Location, Row};
use serde::Deserialize;
use std::sync::Arc;

/// Defines a block with the keys for the meaning of a response, after some of its own.
macro_rules! meaning_block {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        block! {
            $(#[$about])*
            $name {
                $($own)*
                class as "as": Word<Class>,
                reach: Word<Reach>,
                delay_from: Several<DelayFrom>,
                at_least: Duration,
                scope_from: ScopeFrom,
                reason: Word<Reason>,
            }
        }

        impl $name {
            /// Returns the meaning of a response, or `None` if there is no class.
            pub(super) fn meaning(&self) -> Option<Interpretation> {
                let meaning = Interpretation::of(self.class?.0);
                let meaning = match self.reach {
                    Some(Word(Reach::Refused)) => meaning.refused(),
                    Some(_) => meaning.answered(),
                    // The class has a default of its own.
                    None => meaning,
                };
                let delays = self.delay_from.iter().flat_map(|delays| &delays.0).cloned();
                let meaning = delays.fold(meaning, |meaning, delay| meaning.delay(delay.at, delay.unit));
                let meaning = set_given(meaning, &self.at_least, |meaning, least| meaning.at_least(least.0));
                let meaning = match self.scope_from.clone() {
                    Some(ScopeFrom::This(scope)) => meaning.scope(scope),
                    Some(ScopeFrom::Named(at)) => meaning.scope_from(at),
                    None => meaning,
                };
                Some(set_given(meaning, &self.reason, |meaning, reason| meaning.because(reason.0)))
            }
        }
    };
}

meaning_block! {
    /// A condition and its effect.
    Rule {
        /// The rule's name in reports and events. Default: its path.
        name: Name,
        when: When,
        verb as "do": Word<RuleEffect<'static>>,
        retry: RetryBlock,
        wait: Wait,
        requeue: Wait,
        failover: Name,
        jump: Name,
        same_keys: bool,
        set: Set,
    }
}

meaning_block! {
    /// A row of a dialect: a condition on a response, and its meaning.
    RowKeys {
        when: When,
    }
}

block! {
    /// Another attempt after a delay, which does not count as a retry and costs no token.
    Wait {
        delay: WaitDelay,
        at_most: Count<1, { u32::MAX }>,
        max: Duration,
    }
}

positive! {
    /// The delay of a rule.
    WaitDelay = ", since a wait asks again and again";
}

/// The effect of a rule, before names are looked up.
#[derive(Debug, Clone)]
pub(super) enum RuleEffect<'a> {
    Action(Action),
    Retry(Option<&'a RetryBlock>),
    /// Classifies a response, and has no action.
    Classify(Box<Row>),
}

words! { RuleEffect<'static>:
    "accept" => Self::Action(Action::Accept), "fail" => Self::Action(Action::Fail),
    "stop" => Self::Action(Action::Stop), "retry" => Self::Retry(None),
    // Synonyms from other systems.
    "continue" => Self::Action(Action::Accept), "break" => Self::Action(Action::Stop),
    "prune" => Self::Action(Action::Stop);
    "wait" => "wait: {at_most: NUMBER}", "failover" => "failover: SERVICE",
    "requeue" => "requeue: {at_most: NUMBER}", "jump" => "jump: SERVICE"
}

/// The action if no rule matches.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "MapOr<OtherwiseRetry, Word<Otherwise>>")]
pub(super) enum Otherwise {
    Action(Action),
    Retry(RetryBlock),
}

block! {
    /// Accepts a success, and retries anything else.
    OtherwiseRetry {
        retry: RetryBlock,
    }
}

words! { Otherwise:
    "classify" => Self::Action(Action::Classify), "accept" => Self::Action(Action::Accept),
    "fail" => Self::Action(Action::Fail), "by_outcome" => Self::Action(Action::ByOutcome),
    "continue" => Self::Action(Action::Accept);
    "retry" => "{retry: RETRY}"
}

impl TryFrom<MapOr<OtherwiseRetry, Word<Self>>> for Otherwise {
    type Error = &'static str;

    fn try_from(read: MapOr<OtherwiseRetry, Word<Self>>) -> Result<Self, &'static str> {
        match read {
            MapOr::Other(Word(action)) => Ok(action),
            MapOr::Map(keys) => {
                let block = keys.retry.ok_or("says nothing: write {retry: RETRY}")?;
                Ok(Self::Retry(block))
            }
        }
    }
}

block! {
    /// The location of a delay in a response.
    DelayKeys {
        header: HeaderKey,
        part: Name,
        json: JsonPlace,
        prose: bool,
        unit: Word<Unit>,
    }
}

/// The location of a delay in a response, and its unit.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "DelayKeys")]
pub(super) struct DelayFrom {
    at: Location,
    unit: Unit,
}

impl TryFrom<DelayKeys> for DelayFrom {
    type Error = &'static str;

    fn try_from(keys: DelayKeys) -> Result<Self, &'static str> {
        let prose = keys.prose == Some(true);
        if keys.part.is_some() && keys.header.is_none() {
            return Err("part has no effect: only a header has parts");
        }
        if keys.unit.is_some() && prose {
            return Err("unit has no effect: prose names its units");
        }
        let at = match (&keys.header, &keys.json, &keys.part) {
            (Some(HeaderKey(name)), None, Some(Name(part))) if !prose => {
                Some(Location::header_part(name.as_str(), part))
            }
            (None, None, None) if prose => Some(Location::prose()),
            (header, json, _) if !prose => location(header.as_ref(), json.as_ref()),
            _ => None,
        };
        let at = at.ok_or("must hold exactly one of header, json and prose")?;
        let unit = keys.unit.map_or(Unit::Auto, |Word(unit)| unit);
        Ok(Self { at, unit })
    }
}

/// Returns the location if exactly one of a header and a JSON pointer is given.
fn location(header: Option<&HeaderKey>, json: Option<&JsonPlace>) -> Option<Location> {
    match (header, json) {
        (Some(HeaderKey(name)), None) => Some(Location::header(name.as_str())),
        (None, Some(JsonPlace(pointer))) => Some(Location::json(pointer)),
        _ => None,
    }
}

/// The calls that a limit stops: a word, or the location of the limit's name in the response.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "MapOr<ScopeKeys, Word<Scope>>")]
pub(super) enum ScopeFrom {
    This(Scope),
    Named(Location),
}

block! {
    /// The location of the limit's name in a response.
    ScopeKeys {
        header: HeaderKey,
        json: JsonPlace,
    }
}

impl TryFrom<MapOr<ScopeKeys, Word<Scope>>> for ScopeFrom {
    type Error = &'static str;

    fn try_from(read: MapOr<ScopeKeys, Word<Scope>>) -> Result<Self, &'static str> {
        let keys = match read {
            MapOr::Other(Word(scope)) => return Ok(Self::This(scope)),
            MapOr::Map(keys) => keys,
        };
        let at = location(keys.header.as_ref(), keys.json.as_ref());
        at.map(Self::Named)
            .ok_or("must hold exactly one of header and json")
    }
}

words! { Reach:
    "answered" => Reach::Answered, "refused" => Reach::Refused
}

words! { Scope:
    "account" => Scope::Account, "route" => Scope::Route, "method_route" => Scope::MethodRoute,
    "request" => Scope::Request
}

impl Words for Class {
    const WORDS: &'static [(&'static str, Self)] = Self::NAMES;
}

impl Words for Unit {
    const WORDS: &'static [(&'static str, Self)] = Self::NAMES;
}

impl Words for Reason {
    const WORDS: &'static [(&'static str, Self)] = Self::NAMES;
}

/// A key that has no effect, and the reason.
type UnusedKey = (&'static str, &'static str);

impl Rule {
    /// Returns the effect of the rule and its key; on error the cause, and the key if there is one to blame.
    pub(super) fn effect(
        &self,
    ) -> Result<(&'static str, RuleEffect<'_>), (Option<&'static str>, String)> {
        // Before the count of effects, which would call a key and its synonym two of them.
        for (key, alias, both) in [
            (
                "wait",
                "requeue",
                self.wait.is_some() && self.requeue.is_some(),
            ),
            (
                "failover",
                "jump",
                self.failover.is_some() && self.jump.is_some(),
            ),
        ] {
            if both {
                let cause = format!("{alias} means the same as {key}: give one of the two");
                return Err((Some(alias), cause));
            }
        }
        let wait = |key, wait: &Option<Wait>| {
            let wait = wait.as_ref()?;
            Some((key, RuleEffect::Action(Action::Wait(wait.build()))))
        };
        let failover = |key, to: &Option<Name>| {
            let to = Failover::to(Arc::clone(&to.as_ref()?.0));
            let to = if self.same_keys == Some(true) {
                to.same_keys()
            } else {
                to
            };
            Some((key, RuleEffect::Action(Action::Failover(to))))
        };
        let classifies = || {
            let when = self.when.clone().map(|When(when)| when).unwrap_or_default();
            let row = Row::on(when).is(self.meaning()?);
            Some(("as", RuleEffect::Classify(Box::new(row))))
        };
        let effects = [
            self.verb.clone().map(|Word(effect)| ("do", effect)),
            classifies(),
            self.retry
                .as_ref()
                .map(|block| ("retry", RuleEffect::Retry(Some(block)))),
            wait("wait", &self.wait),
            wait("requeue", &self.requeue),
            failover("failover", &self.failover),
            failover("jump", &self.jump),
        ];
        let mut effects = effects.into_iter().flatten();
        match (effects.next(), effects.next()) {
            (Some(effect), None) => Ok(effect),
            _ => {
                let cause = "must hold exactly one of do, as, retry, wait and failover";
                Err((None, cause.to_owned()))
            }
        }
    }

    /// Returns the keys that have no effect beside the effect of the rule.
    pub(super) fn needless(&self, effect: &RuleEffect<'_>) -> Vec<UnusedKey> {
        let (fails_over, sends) = match effect {
            RuleEffect::Action(Action::Failover(_)) => (true, true),
            RuleEffect::Action(Action::Wait(_)) | RuleEffect::Retry(_) => (false, true),
            RuleEffect::Action(_) | RuleEffect::Classify(_) => (false, false),
        };
        let classifies = matches!(effect, RuleEffect::Classify(_));
        let all = [
            (
                "same_keys",
                self.same_keys.is_some() && !fails_over,
                "this rule does not fail over",
            ),
            (
                "set",
                self.set.is_some() && !sends,
                "this rule sends nothing again",
            ),
            ("reach", self.reach.is_some() && !classifies, MORE_AS_HINT),
            (
                "delay_from",
                self.delay_from.is_some() && !classifies,
                MORE_AS_HINT,
            ),
            (
                "at_least",
                self.at_least.is_some() && !classifies,
                MORE_AS_HINT,
            ),
            (
                "scope_from",
                self.scope_from.is_some() && !classifies,
                MORE_AS_HINT,
            ),
            ("reason", self.reason.is_some() && !classifies, MORE_AS_HINT),
        ];
        let needless = all.into_iter().filter(|(_, is_needless, _)| *is_needless);
        needless.map(|(key, _, why)| (key, why)).collect()
    }
}

impl RowKeys {
    /// Returns the row, or `None` if one of its two keys is missing.
    pub(super) fn row(&self) -> Option<Row> {
        let when = self.when.as_ref()?.0.clone();
        Some(Row::on(when).is(self.meaning()?))
    }
}

const MORE_AS_HINT: &str = "it says more of as";

impl Wait {
    fn build(&self) -> rules::Wait {
        let wait = set_given(rules::Wait::new(), &self.delay, |wait, delay| {
            wait.delay(delay.0)
        });
        let wait = set_given(wait, &self.at_most, |wait, times| wait.at_most(times.0));
        set_given(wait, &self.max, |wait, max| wait.max(max.0))
    }

    /// Returns `true` if it has an end of its own; otherwise a deadline must end it.
    pub(super) fn ends(&self) -> bool {
        self.at_most.is_some() || self.max.is_some()
    }
}
