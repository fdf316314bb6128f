//! The fields of a level that are a word or a map: the methods, the gate, and the settings for calls to language models.

use super::set_given;
use crate::reader::block;
use crate::value::Value;
use crate::values::{
    Cost, Count, MapOr, MethodName, Name, Several, Share, Word, duration_text, leaf, positive,
    word_for, words,
};
use http_retry_core::policy::{Decimal, Hedge, HedgeAfter};
use http_retry_core::{Methods, RetryPolicyBuilder};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

/// The methods that are repeated.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "MapOr<MethodKeys, Word<Methods>>")]
pub(crate) struct RepeatedMethods(pub(crate) Methods);

block! {
    /// The list of the methods that are repeated at all.
    MethodKeys {
        only: Several<MethodName>,
    }
}

words! { Methods:
    "idempotent" => Methods::Idempotent, "all" => Methods::All;
    "" => "{only: [GET]}"
}

impl TryFrom<MapOr<MethodKeys, Word<Methods>>> for RepeatedMethods {
    type Error = &'static str;

    fn try_from(read: MapOr<MethodKeys, Word<Methods>>) -> Result<Self, &'static str> {
        match read {
            MapOr::Other(Word(methods)) => Ok(Self(methods)),
            MapOr::Map(keys) => {
                let Several(names) = keys.only.ok_or("says nothing: write {only: [GET]}")?;
                Ok(Self(Methods::only(
                    names.into_iter().map(|MethodName(name)| name),
                )))
            }
        }
    }
}

impl RepeatedMethods {
    /// Returns its text in an explanation.
    pub(super) fn to_text(&self) -> String {
        match &self.0 {
            Methods::Only(methods) => {
                let names: Vec<&str> = methods.iter().map(http::Method::as_str).collect();
                format!("only {}", names.join(", "))
            }
            word => word_for(word).to_owned(),
        }
    }
}

/// The settings of the gate: one pause for all callers after several 429s in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "MapOr<GateKeys, Word<Gating>>")]
pub(crate) struct Gating {
    /// The longest time that a call waits at the gate; `None` without a gate.
    pub(crate) wait: Option<Duration>,
    /// Set if a quota counts from the first response on; `None` if the preset decides.
    pub(crate) quotas_at_once: Option<bool>,
}

block! {
    /// A gate with a limit of its own.
    GateKeys {
        max_wait: GateWait,
    }
}

positive! {
    /// The longest wait at the gate.
    GateWait = "; write gate: off";

    /// The longest time to the first event of a stream.
    HoldTime = "; write hold_streams: off";

    /// A fixed time after which a hedge follows.
    HedgeDelay = "; write hedge: off";
}

words! { Gating:
    "on" => Self::written(Some(Duration::from_secs(5 * 60))), "off" => Self::written(None)
}

impl TryFrom<MapOr<GateKeys, Word<Self>>> for Gating {
    type Error = &'static str;

    fn try_from(read: MapOr<GateKeys, Word<Self>>) -> Result<Self, &'static str> {
        match read {
            MapOr::Other(Word(gate)) => Ok(gate),
            MapOr::Map(keys) => {
                let GateWait(wait) = keys.max_wait.ok_or("says nothing: write {max_wait: 5m}")?;
                Ok(Self::written(Some(wait)))
            }
        }
    }
}

impl Gating {
    /// Creates the settings of a document, which leave it to the preset when quotas count.
    const fn written(wait: Option<Duration>) -> Self {
        Self {
            wait,
            quotas_at_once: None,
        }
    }

    pub(super) fn set(self, builder: RetryPolicyBuilder) -> RetryPolicyBuilder {
        builder
            .max_gate_wait(self.wait)
            .quotas_at_once(self.quotas_at_once == Some(true))
    }

    /// Returns its text in an explanation.
    pub(crate) fn to_text(self) -> String {
        self.wait.map_or_else(|| "off".to_owned(), duration_text)
    }
}

/// The second copies of slow requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "MapOr<HedgeKeys, Word<HedgeKeys>>")]
pub(crate) struct Hedging(pub(crate) Hedge);

block! {
    /// The time of a hedge, their number, and the price of each.
    HedgeKeys {
        after: HedgeTime,
        max: Count<0, 3>,
        cost: Cost,
    }
}

leaf! {
    /// The time after which a hedge follows: a duration, or the percentile that it is later than.
    HedgeTime(HedgeAfter) = |value| {
        let percent = match value {
            Value::Text(text) => text.strip_prefix('p').filter(|percent| !percent.starts_with('0')),
            _ => None,
        };
        if let Some(Ok(percent)) = percent.map(str::parse::<u16>) {
            let known = u8::try_from(percent).ok().filter(|percent| (50..=99).contains(percent));
            let wrong = || format!("{value} is not allowed: must be p50 to p99");
            return known.map(HedgeAfter::Percentile).ok_or_else(wrong);
        }
        HedgeDelay::try_from(value.clone()).map(|HedgeDelay(delay)| HedgeAfter::Delay(delay))
    };
}

// Each word is short for a map.
words! { HedgeKeys:
    "on" => Self { after: None, max: None, cost: None },
    "off" => Self { after: None, max: Some(Count(0)), cost: None };
    "" => "{after: p95}"
}

impl From<MapOr<HedgeKeys, Word<HedgeKeys>>> for Hedging {
    fn from(read: MapOr<HedgeKeys, Word<HedgeKeys>>) -> Self {
        let keys = match read {
            MapOr::Other(Word(keys)) => keys,
            MapOr::Map(keys) => *keys,
        };
        let hedge = match keys.after {
            Some(HedgeTime(HedgeAfter::Delay(delay))) => Hedge::after(delay),
            Some(HedgeTime(HedgeAfter::Percentile(percent))) => Hedge::percentile(percent),
            _ => Hedge::default(),
        };
        let hedge = set_given(hedge, &keys.max, |hedge, max| hedge.max(max.0));
        Self(set_given(hedge, &keys.cost, |hedge, cost| {
            hedge.cost(cost.0)
        }))
    }
}

impl Hedging {
    /// Returns its text in an explanation.
    pub(crate) fn to_text(self) -> String {
        let Self(hedge) = self;
        let after = match hedge.after {
            _ if hedge.max == 0 => return "off".to_owned(),
            HedgeAfter::Percentile(percent) => format!("p{percent}"),
            HedgeAfter::Delay(delay) => duration_text(delay),
            _ => String::new(),
        };
        format!("after {after}, max {}, cost {}", hedge.max, hedge.cost)
    }
}

/// The choice of dialects at a level.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Several<Name>")]
pub(crate) enum DialectChoice {
    Nobody,
    /// The built-in dialects, each for its hosts.
    ByHost,
    /// These dialects; the first that has a row for a response decides.
    These(Vec<Arc<str>>),
}

impl From<Several<Name>> for DialectChoice {
    fn from(Several(names): Several<Name>) -> Self {
        match names.as_slice() {
            // Only alone: in a list, these would be the names of dialects.
            [Name(name)] if &**name == "none" => Self::Nobody,
            [Name(name)] if &**name == "by_host" => Self::ByHost,
            _ => Self::These(names.into_iter().map(|Name(name)| name).collect()),
        }
    }
}

/// The cut of a request that is too long for the model; `None` if it is not cut.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(from = "MapOr<CutKeys, Word<Truncate>>")]
pub(crate) struct Truncate(pub(crate) Option<(KeptPart, Option<Decimal>)>);

block! {
    /// The settings of a cut.
    CutKeys {
        keep: Word<KeptPart>,
        share: Share,
    }
}

/// The part of a text that a cut keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptPart {
    Head,
    Tail,
    Ends,
}

words! { KeptPart:
    "head" => KeptPart::Head, "tail" => KeptPart::Tail, "ends" => KeptPart::Ends
}

words! { Truncate:
    "off" => Self(None), "head" => Self(Some((KeptPart::Head, None))),
    "tail" => Self(Some((KeptPart::Tail, None))), "ends" => Self(Some((KeptPart::Ends, None)));
    "" => "{keep: tail, share: 0.5}"
}

impl From<MapOr<CutKeys, Word<Self>>> for Truncate {
    fn from(read: MapOr<CutKeys, Word<Self>>) -> Self {
        match read {
            MapOr::Other(Word(cut)) => cut,
            MapOr::Map(keys) => {
                let keep = keys.keep.map_or(KeptPart::Head, |Word(keep)| keep);
                Self(Some((keep, keys.share.map(|Share(share)| share))))
            }
        }
    }
}

impl Truncate {
    pub(super) fn to_text(self) -> String {
        match self.0 {
            None => "off".to_owned(),
            Some((keep, None)) => word_for(&keep).to_owned(),
            Some((keep, Some(share))) => format!("{}, share {share}", word_for(&keep)),
        }
    }
}

/// The hold on the start of a streamed response: `None` turns it off; the inner value is the longest time, if it is
/// set.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "MapOr<HoldKeys, Word<Hold>>")]
pub(crate) struct Hold(pub(crate) Option<Option<FirstEvent>>);

block! {
    /// The limit of a hold.
    HoldKeys {
        first_event_timeout: FirstEvent,
    }
}

leaf! {
    /// The longest time to the first event, or none.
    FirstEvent(Option<Duration>) = |value| match value {
        Value::Text(text) if text == "none" => Ok(None),
        _ => HoldTime::try_from(value.clone()).map(|HoldTime(time)| Some(time)),
    };
}

words! { Hold:
    "on" => Self(Some(None)), "off" => Self(None);
    "" => "{first_event_timeout: 2m}"
}

impl From<MapOr<HoldKeys, Word<Self>>> for Hold {
    fn from(read: MapOr<HoldKeys, Word<Self>>) -> Self {
        match read {
            MapOr::Other(Word(hold)) => hold,
            MapOr::Map(keys) => Self(Some(keys.first_event_timeout)),
        }
    }
}

impl Hold {
    pub(super) fn to_text(&self) -> String {
        match self.0 {
            None => "off".to_owned(),
            Some(None) => "on".to_owned(),
            Some(Some(FirstEvent(None))) => "on, for any time".to_owned(),
            Some(Some(FirstEvent(Some(most)))) => {
                format!("on, for at most {}", duration_text(most))
            }
        }
    }
}
