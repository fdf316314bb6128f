//! The fields of RETRY that are a word or a map.
//!
//! The word itself is a field too, which no map can hold; explanations give it the name of the whole block.

use super::{Layer, layer, spanned, value};
use crate::reader::{Hidden, Spanned, block, show};
use crate::value::Value;
use crate::values::{
    Count, Duration, DurationOrNone, Headers, List, ListOr, MapOr, Name, Number, Set, Word, leaf,
    word, words,
};
use http::HeaderMap;
use http_retry_core::policy::Decimal;
use http_retry_core::rules::{Failover, ServerDelays};
use http_retry_core::{self as policies, RetryPolicyBuilder};
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration as Time;

/// The growth of the ceilings of the delays.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "BackoffForm")]
pub(crate) struct Backoff {
    pub(crate) growth: Option<Spanned<Growth>>,
    pub(crate) args: Option<Args>,
}

layer! { Backoff { growth as "", args, } }

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Growth {
    None,
    Fixed,
    Linear,
    Exponential,
    Schedule(Arc<[Time]>),
    Custom(Arc<str>),
}

type BackoffForm = Spanned<MapOr<CustomKeys, ListOr<Duration, Word<Growth>>>>;

block! {
    /// A schedule that the program registers with `RetryConfig::builder().backoff(NAME, ..)`.
    CustomKeys {
        custom: Spanned<Name>,
        args: Spanned<ArgsValue>,
    }
}

words! { Growth:
    "none" => Growth::None, "fixed" => Growth::Fixed, "linear" => Growth::Linear,
    "exponential" => Growth::Exponential;
    "schedule" => "[1s, 5s]", "custom" => "{custom: NAME}"
}

impl TryFrom<BackoffForm> for Backoff {
    type Error = &'static str;

    fn try_from(Spanned { value, text, from }: BackoffForm) -> Result<Self, &'static str> {
        let growth = match value {
            MapOr::Map(keys) => return Self::custom(*keys),
            MapOr::Other(ListOr::List(List(delays))) => {
                let delays: Arc<[Time]> = delays.iter().map(|delay| delay.0).collect();
                let texts: Vec<String> = delays.iter().map(|d| format!("{d:?}")).collect();
                let text = format!("[{}]", texts.join(", "));
                spanned(&from, Growth::Schedule(delays), text)
            }
            MapOr::Other(ListOr::Other(Word(growth))) => spanned(&from, growth, text),
        };
        Ok(Self { growth, args: None })
    }
}

impl Backoff {
    fn custom(keys: CustomKeys) -> Result<Self, &'static str> {
        // `args` alone is allowed: the name may be in a layer below.
        if keys.custom.is_none() && keys.args.is_none() {
            return Err("names no custom backoff: write {custom: NAME}");
        }
        let growth = keys.custom.map(|name| {
            let text = format!("custom {}", name.value.0);
            name.with(Growth::Custom(Arc::clone(&name.value.0)), text)
        });
        let args = keys.args.map(|args| {
            // Only the program knows if a text of its own is a secret, so an explanation does not show it.
            let text = match *args.value.0 {
                Value::Text(_) => "given".into(),
                _ => args.text,
            };
            Args(Spanned { text, ..args })
        });
        Ok(Self { growth, args })
    }
}

leaf! {
    /// The arguments of a program's own schedule, in the form that its type reads.
    ArgsValue(Arc<Value>) = |value| {
        const MOST: usize = 256;
        const MAX_TEXT_BYTES: usize = 16 * 1024;
        // They are passed to the program once for every level that uses the backoff.
        if value.is_larger_than(MOST, MAX_TEXT_BYTES) {
            return Err(format!("holds more than {MOST} values or {MAX_TEXT_BYTES} bytes of text"));
        }
        Ok(Arc::new(value.clone()))
    };
}

/// The arguments of a custom backoff; a map is merged like a block.
#[derive(Debug, Clone)]
pub(crate) struct Args(pub(crate) Spanned<ArgsValue>);

impl Layer for Args {
    fn merge_below(&mut self, below: &Self) {
        // Other arguments than maps replace those below, like any value.
        let own = Arc::make_mut(&mut self.0.value.0);
        if let (Value::Map(own), Value::Map(below)) = (own, &*below.0.value.0) {
            let own = Arc::make_mut(own);
            for (key, value) in &**below {
                own.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }

    fn fields(&self, name: Cow<'static, str>, all: &mut Vec<super::Field>) {
        self.0.fields(name, all);
    }
}

/// The range of a delay, as a share of its ceiling.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "JitterForm")]
pub(crate) struct Jitter {
    /// Set if each delay depends on the one before.
    pub(crate) decorrelated: Option<Spanned<bool>>,
    pub(crate) min: Option<Spanned<Decimal>>,
    pub(crate) max: Option<Spanned<Decimal>>,
}

layer! { Jitter { decorrelated as "", min, max, } }

type JitterForm = Spanned<MapOr<JitterKeys, JitterWord>>;

block! {
    /// The bounds of the range, as factors of the ceiling.
    JitterKeys {
        min: Spanned<Number<0, 1_000>>,
        max: Spanned<Number<0, 1_000>>,
    }
}

words! { policies::Jitter:
    "none" => Self::Between { min: Decimal::ONE, max: Decimal::ONE },
    "full" => Self::Between { min: Decimal::ZERO, max: Decimal::ONE },
    "equal" => Self::Between { min: Decimal::from_micros(500_000), max: Decimal::ONE },
    "decorrelated" => Self::Decorrelated;
    "" => "\"20%\"", "" => "{min: 0.5, max: 1}"
}

leaf! {
    /// A word for a range, or a percentage.
    JitterWord(policies::Jitter) = |value| match value {
        Value::Text(text) if text.ends_with('%') => around(text).ok_or_else(|| {
            format!("{value} is not allowed: must be \"0%\" to \"100%\", in whole numbers")
        }),
        _ => word(value),
    };
}

/// Parses a percentage: `20%` is 0.8 to 1.2 times the ceiling.
fn around(text: &str) -> Option<policies::Jitter> {
    let percent: u32 = text.strip_suffix('%')?.trim().parse().ok()?;
    let part = u64::from(percent).saturating_mul(10_000);
    let least = Decimal::from_micros(1_000_000_u64.checked_sub(part)?);
    let most = Decimal::from_micros(1_000_000_u64.saturating_add(part));
    Some(policies::Jitter::between(least, most))
}

impl From<JitterForm> for Jitter {
    fn from(Spanned { value, text, from }: JitterForm) -> Self {
        match value {
            MapOr::Map(keys) => {
                let part = |given: Spanned<Number<0, 1_000>>| {
                    given.with(given.value.0, given.value.0.to_string())
                };
                Self {
                    // Ends a `decorrelated` of a layer below.
                    decorrelated: spanned(&from, false, "between min and max"),
                    min: keys.min.map(part),
                    max: keys.max.map(part),
                }
            }
            // A word sets both bounds, so that none of a layer below shows through.
            MapOr::Other(JitterWord(jitter)) => {
                let (min, max) = match jitter {
                    policies::Jitter::Between { min, max } => (min, max),
                    _ => (Decimal::ZERO, Decimal::ONE),
                };
                let is_decorrelated = jitter == policies::Jitter::Decorrelated;
                Self {
                    decorrelated: spanned(&from, is_decorrelated, text),
                    min: spanned(&from, min, min.to_string()),
                    max: spanned(&from, max, max.to_string()),
                }
            }
        }
    }
}

/// The limits on delays that a server asks for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "RetryAfterForm")]
pub(crate) struct RetryAfter {
    /// Set if delays that the server asks for are ignored.
    pub(crate) ignored: Option<Spanned<bool>>,
    pub(crate) max: Option<Spanned<DurationOrNone>>,
    pub(crate) over: Option<Spanned<Word<ServerDelays>>>,
}

layer! { RetryAfter { ignored as "", max, over, } }

type RetryAfterForm = Spanned<MapOr<RetryAfterKeys, Word<Ignored>>>;

block! {
    /// The limits on a server's delay.
    RetryAfterKeys {
        max: Spanned<DurationOrNone>,
        over: Spanned<Word<ServerDelays>>,
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Ignored(bool);

words! { Ignored:
    "respect" => Ignored(false), "ignore" => Ignored(true);
    "clamp" => "{max: 30s, over: clamp}"
}

// The action for a delay above max.
words! { ServerDelays:
    "stop" => ServerDelays::Respect, "clamp" => ServerDelays::Clamp
}

impl From<RetryAfterForm> for RetryAfter {
    fn from(Spanned { value, text, from }: RetryAfterForm) -> Self {
        match value {
            MapOr::Other(Word(Ignored(ignored))) => Self {
                ignored: spanned(&from, ignored, text),
                ..Self::default()
            },
            MapOr::Map(keys) => Self {
                // Ends an `ignore` of a layer below.
                ignored: spanned(&from, false, "respect"),
                max: keys.max,
                over: keys.over,
            },
        }
    }
}

impl RetryAfter {
    pub(super) fn set(&self, builder: RetryPolicyBuilder) -> RetryPolicyBuilder {
        let over = value(&self.over).map(|Word(over)| over);
        let delays = match value(&self.ignored) {
            Some(true) => ServerDelays::Ignore,
            _ => over.unwrap_or_default(),
        };
        let max = value(&self.max).and_then(|max| max.0);
        builder.server_delays(delays).max_server_delay(max)
    }
}

/// The action for a request that has no retries left.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "ExhaustedForm")]
pub(crate) struct OnExhausted {
    pub(crate) end: Option<Spanned<ExhaustedAction>>,
    pub(crate) respond: Option<Response>,
    /// The keys that have no effect without failover, and their paths.
    pub(crate) needless: Vec<(&'static str, Arc<str>)>,
}

layer! { OnExhausted { end as "", respond, } }

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExhaustedAction {
    Last,
    Fail,
    Respond,
    Failover(Failover, Option<Arc<HeaderMap>>),
    DeadLetter(Arc<str>),
}

words! { ExhaustedAction:
    "last" => ExhaustedAction::Last, "fail" => ExhaustedAction::Fail;
    "respond" => "{respond: {status: 503}}", "failover" => "{failover: SERVICE}",
    "dead_letter" => "{dead_letter: NAME}"
}

type ExhaustedForm = Spanned<MapOr<ExhaustedKeys, Word<ExhaustedAction>>>;

block! {
    /// Exactly one of respond, failover and dead_letter.
    ExhaustedKeys {
        respond: Hidden<Response>,
        failover: Name,
        same_keys: Spanned<bool>,
        set: Spanned<Set>,
        dead_letter: Name,
    }
}

block! {
    /// A response that no server has sent. Its contents may be secret.
    Response {
        status: Spanned<Count<200, 599>>,
        headers: Spanned<Headers>,
        body: Spanned<Body>,
    }
}

layer! { Response { status, headers, body, } }

leaf! {
    /// The body of a response.
    Body(Arc<str>) = |value| match value {
        Value::Text(text) => Ok(text.as_str().into()),
        other => Err(format!("{} is not a text", other.kind())),
    };
}

impl TryFrom<ExhaustedForm> for OnExhausted {
    type Error = &'static str;

    fn try_from(Spanned { value, text, from }: ExhaustedForm) -> Result<Self, &'static str> {
        let keys = match value {
            MapOr::Map(keys) => keys,
            MapOr::Other(Word(end)) => {
                return Ok(Self {
                    end: spanned(&from, end, text),
                    ..Self::default()
                });
            }
        };
        let (end, text) = keys
            .end()
            .ok_or("must hold exactly one of respond, failover and dead_letter")?;
        let mut needless = Vec::new();
        if keys.failover.is_none() {
            let same_keys = keys.same_keys.iter().map(|given| &given.from);
            needless.extend(same_keys.map(|from| ("same_keys", Arc::clone(from))));
            let set = keys.set.iter().map(|given| &given.from);
            needless.extend(set.map(|from| ("set", Arc::clone(from))));
        }
        let mut respond = keys.respond.map(|Hidden(response)| response);
        if let Some(response) = &mut respond {
            // The rest of a response may be a secret, but its status is not.
            show(&mut response.status, |status| status.0.to_string());
        }
        Ok(Self {
            end: spanned(&from, end, text),
            respond,
            needless,
        })
    }
}

impl ExhaustedKeys {
    /// Returns the one action that is given, and its text.
    fn end(&self) -> Option<(ExhaustedAction, String)> {
        match (&self.respond, &self.failover, &self.dead_letter) {
            (Some(_), None, None) => Some((ExhaustedAction::Respond, "respond".to_owned())),
            (None, None, Some(Name(name))) => {
                let text = format!("dead_letter {name}");
                Some((ExhaustedAction::DeadLetter(Arc::clone(name)), text))
            }
            (None, Some(Name(service)), None) => {
                let to = Failover::to(Arc::clone(service));
                let set = self.set.as_ref().map(|set| Arc::clone(&set.value.0));
                let same_keys = self.same_keys.as_ref();
                Some(if same_keys.is_some_and(|same| same.value) {
                    let text = format!("failover {service}, same keys");
                    (ExhaustedAction::Failover(to.same_keys(), set), text)
                } else {
                    (
                        ExhaustedAction::Failover(to, set),
                        format!("failover {service}"),
                    )
                })
            }
            _ => None,
        }
    }
}
