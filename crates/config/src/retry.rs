//! RETRY: one layer of optional settings, merging of layers, and presets as layers.

mod blocks;
mod limits;

pub(super) use blocks::{ExhaustedAction, Growth};
pub(super) use limits::{DialectChoice, FirstEvent, Gating, Hedging, KeptPart};

use super::condition::Conditions;
use super::reader::{Spanned, show};
use super::value::Value;
use super::values::{
    Bytes, Count, Duration, DurationOrNone, Few, HeaderKey, MapOr, Name, Number, Word,
    duration_text, leaf, words,
};
use blocks::{Backoff, Jitter, OnExhausted, RetryAfter};
use http_retry_core::rules::Counter;
use http_retry_core::settings::PolicyExt;
use http_retry_core::{RetryPolicy, RetryPolicyBuilder};
use http_retry_dialects::llm::LlmPreset;
use limits::{Hold, RepeatedMethods, Truncate};
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;

/// A setting that can be merged over another: a field, or a block of fields.
pub(super) trait Layer: Clone {
    /// Fills missing settings from the layer below.
    fn merge_below(&mut self, below: &Self);

    /// Adds each field that is set, under its name.
    fn fields(&self, name: Cow<'static, str>, all: &mut Vec<Field>);
}

/// A field as it was written: its name, its text and its path.
pub(super) type Field = (Cow<'static, str>, Arc<str>, Arc<str>);

impl<T: Clone> Layer for Spanned<T> {
    // The layer above wins.
    fn merge_below(&mut self, _: &Self) {}

    fn fields(&self, name: Cow<'static, str>, all: &mut Vec<Field>) {
        all.push((name, Arc::clone(&self.text), Arc::clone(&self.from)));
    }
}

/// A block of fields, which most places leave out.
impl<L: Layer> Layer for Box<L> {
    fn merge_below(&mut self, below: &Self) {
        (**self).merge_below(below);
    }

    fn fields(&self, name: Cow<'static, str>, all: &mut Vec<Field>) {
        (**self).fields(name, all);
    }
}

pub(super) fn merge<L: Layer>(above: &mut Option<L>, below: Option<&L>) {
    match (above, below) {
        (Some(above), Some(below)) => above.merge_below(below),
        (above, Some(below)) => *above = Some(below.clone()),
        (_, None) => {}
    }
}

/// Returns the name of a field inside of a block; the block's own word has no name of its own.
pub(super) fn inside(block: &str, key: &'static str) -> Cow<'static, str> {
    match (block, key) {
        ("", key) => key.into(),
        (block, "") => block.to_owned().into(),
        (block, key) => format!("{block}.{key}").into(),
    }
}

/// Implements [`Layer`] for a struct of optional fields.
macro_rules! layer {
    ($name:ident { $($field:ident $(as $key:literal)?,)+ }) => {
        impl crate::retry::Layer for $name {
            fn merge_below(&mut self, below: &Self) {
                $(crate::retry::merge(&mut self.$field, below.$field.as_ref());)+
            }

            fn fields(&self, name: std::borrow::Cow<'static, str>, all: &mut Vec<crate::retry::Field>) {
                $(if let Some(field) = &self.$field {
                    let key = crate::retry::layer!(@key $field $($key)?);
                    field.fields(crate::retry::inside(&name, key), all);
                })+
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
}

pub(super) use layer;

/// Sets a value on what is built, if it is given.
pub(super) fn set_given<B, L: Clone>(builder: B, given: &Option<L>, set: fn(B, L) -> B) -> B {
    match given {
        Some(given) => set(builder, given.clone()),
        None => builder,
    }
}

/// Defines the settings: each key once, with its type and, if it depends on nothing else, its effect on a policy.
macro_rules! settings {
    ($(#[$about:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident $(as $key:literal)?: $type:ty $(=> $set:expr)?,)+
     } of the level {
        $($(#[$level_doc:meta])* $level_field:ident: $level_type:ty $(=> $level_set:expr)?,)+
     }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, Deserialize)]
        #[serde(default)]
        pub(crate) struct $name {
            $(
                $(#[$doc])*
                #[serde($(rename = $key,)? deserialize_with = "crate::reader::optional")]
                pub(crate) $field: Option<$type>,
            )+
            $(
                $(#[$level_doc])*
                #[serde(skip)]
                pub(crate) $level_field: Option<$level_type>,
            )+
        }

        impl $name {
            pub(crate) const KEYS: &'static [&'static str] = &[$(layer!(@key $field $($key)?)),+];

            /// Sets the settings that depend on one key alone.
            pub(crate) fn set_plain(&self, builder: RetryPolicyBuilder) -> RetryPolicyBuilder {
                $($(let builder = set_given(builder, &self.$field, $set);)?)+
                $($(let builder = set_given(builder, &self.$level_field, $level_set);)?)+
                builder
            }

            /// Returns each key with its form in the schema, if its type says it.
            #[cfg(test)]
            pub(crate) fn forms() -> Vec<(&'static str, Option<serde_json::Value>)> {
                vec![$((
                    layer!(@key $field $($key)?),
                    <$type as crate::retry::tests::Form>::form(),
                )),+]
            }
        }

        layer! { $name { $($field $(as $key)?,)+ $($level_field,)+ } }
    };
}

settings! {
    /// The settings of retries. A setting that is left out is that of the layer below.
    Retry {
        uses as "use": Spanned<Name>,
        max_retries: Spanned<Limit<0>>,
        max_attempts: Spanned<Limit<1>>,
        max_refused: Spanned<Count<0, { u32::MAX }>>,
        backoff: Box<Backoff>,
        base: Spanned<Duration>,
        factor: Spanned<Number<1, 1_000>>,
        first_step: Spanned<Count<0, 1>>,
        max_delay: Spanned<DurationOrNone>,
        jitter: Box<Jitter>,
        cap: Spanned<Word<CapMode>>,
        retry_on: Spanned<Conditions> => |builder, list| builder.retry_on([list.value.0]),
        stop_on: Spanned<Conditions> => |builder, list| builder.stop_on([list.value.0]),
        retry_after: Box<RetryAfter> => |builder, block| block.set(builder),
        methods: Spanned<RepeatedMethods> => |builder, methods| builder.methods(methods.value.0),
        deadline: Spanned<DurationOrNone> => |builder, time| builder.deadline(time.value.0),
        attempt_timeout: Spanned<DurationOrNone> => |builder, time| builder.attempt_timeout(time.value.0),
        whole_responses: Spanned<Bytes> => |builder, size| builder.whole_responses(size.value.0),
        counter: Spanned<Word<Counter>> => |builder, word| builder.counter(word.value.0),
        budget: Spanned<Name>,
        classify_error: Spanned<Few<Name>>,
        truncate: Spanned<Truncate>,
        hold_streams: Spanned<Hold>,
        on_exhausted: Box<OnExhausted>,
        credentials: Spanned<Few<HeaderKey>> => |builder, list| {
            builder.credentials(list.value.0.into_iter().map(|name| name.0))
        },
    } of the level {
        gate: Spanned<Gating> => |builder, gate| gate.value.set(builder),
        hedge: Box<Spanned<Hedging>> => |builder, hedge| builder.hedge(hedge.value.0),
        dialect: Spanned<DialectChoice>,
        header_rules: Spanned<bool> => |builder, rules| builder.header_rules(rules.value),
        inspect_success: Spanned<bool>,
        /// Set if the preset reads bodies.
        classifier: Spanned<bool>,
    }
}

/// A RETRY block, or the name of a policy to use.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "MapOr<Retry, Spanned<UsedName>>")]
pub(super) struct RetryBlock(pub(super) Box<Retry>);

leaf! {
    /// The name of a policy in the place of a block.
    UsedName(Name) = |value| match value {
        Value::Text(_) => Name::try_from(value.clone()),
        Value::Null => Err(
            "has nothing in it: write {max_attempts: 3}, or the name of a preset".to_owned()
        ),
        Value::Bool(false) => Err("false is not a map: write never".to_owned()),
        other => Err(format!("{other} is not a map")),
    };
}

impl From<MapOr<Retry, Spanned<UsedName>>> for RetryBlock {
    fn from(read: MapOr<Retry, Spanned<UsedName>>) -> Self {
        let mut retry = match read {
            MapOr::Map(retry) => retry,
            MapOr::Other(Spanned {
                value: UsedName(name),
                text,
                from,
            }) => Box::new(Retry {
                uses: spanned(&from, name, text),
                ..Retry::default()
            }),
        };
        // An explanation shows the names rather than only that there is a list.
        show(&mut retry.classify_error, |list| {
            joined(list, |name| &name.0)
        });
        show(&mut retry.credentials, |list| {
            joined(list, |name| name.0.as_str())
        });
        // The same for settings, of which it would show only that there is a map.
        show(&mut retry.truncate, |cut| cut.to_text());
        show(&mut retry.hold_streams, Hold::to_text);
        show(&mut retry.methods, RepeatedMethods::to_text);
        Self(retry)
    }
}

pub(super) fn value<T: Clone>(given: &Option<Spanned<T>>) -> Option<T> {
    given.as_ref().map(|given| given.value.clone())
}

pub(super) fn deadline(retry: &Retry) -> Option<std::time::Duration> {
    value(&retry.deadline).and_then(|deadline| deadline.0)
}

fn joined<T>(Few(names): &Few<T>, name: fn(&T) -> &str) -> String {
    let names: Vec<&str> = names.iter().map(name).collect();
    names.join(", ")
}

impl Retry {
    /// Merges this layer over another one, field by field.
    pub(super) fn merged_over(mut self, below: &Self) -> Self {
        // A header that any layer calls a credential stays one.
        if let (Some(own), Some(below)) = (&mut self.credentials, &below.credentials) {
            let own_names = &own.value.0;
            let more = below
                .value
                .0
                .iter()
                .filter(|name| !own_names.contains(name));
            let all: Vec<_> = own_names.iter().chain(more).cloned().collect();
            own.value = Few(all);
            own.text = joined(&own.value, |name| name.0.as_str()).into();
        }
        // A gate that sets only its longest wait keeps the preset's choice of when quotas count.
        if let (Some(own), Some(below)) = (&mut self.gate, &below.gate) {
            own.value.quotas_at_once = own.value.quotas_at_once.or(below.value.quotas_at_once);
        }
        // An own limit bounds all attempts, so the preset's separate limit for refused attempts no longer applies.
        if let (Some(limit), None, Some(_)) =
            (&self.max_retries, &self.max_refused, &below.max_refused)
        {
            self.max_refused = Some(limit.with(Count(0), "0"));
        }
        self.merge_below(below);
        self
    }

    /// Returns every field that is set.
    pub(super) fn given(&self) -> Vec<Field> {
        let mut all = Vec::new();
        self.fields("".into(), &mut all);
        all
    }

    /// Returns the lists of outcomes that are set.
    pub(super) fn given_lists(&self) -> Vec<Field> {
        let mut all = Vec::new();
        let lists = [("retry_on", &self.retry_on), ("stop_on", &self.stop_on)];
        for (name, list) in lists {
            if let Some(list) = list {
                list.fields(name.into(), &mut all);
            }
        }
        all
    }
}

/// A number of retries or attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) enum Limit<const LEAST: u32> {
    /// The preset without retries.
    Never,
    Retries(u32),
    Unlimited,
}

impl<const LEAST: u32> TryFrom<Value> for Limit<LEAST> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        // The largest number stands for no limit, and one more attempt than retries must fit.
        const MOST: u32 = u32::MAX - 1;
        match value {
            Value::Text(text) if text == "unlimited" => Ok(Self::Unlimited),
            Value::Integer(_) => {
                let Count(number) = Count::<LEAST, MOST>::try_from(value)?;
                Ok(Self::Retries(number))
            }
            _ => Err(format!("{value} is not a whole number or unlimited")),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CapMode {
    Both,
    Before,
    After,
}

words! { CapMode:
    "both" => CapMode::Both, "before" => CapMode::Before, "after" => CapMode::After
}

words! { Counter:
    "request" => Counter::Request, "rule" => Counter::Rule
}

/// Words that people write for the preset `never`.
pub(super) const MEANS_NEVER: [&str; 6] = ["off", "none", "no", "false", "disabled", "0"];

type Preset = (&'static str, fn() -> RetryPolicy);

/// The presets by their names.
pub(super) const PRESETS: [Preset; 5] = [
    ("user_facing", RetryPolicy::user_facing),
    ("background", RetryPolicy::background),
    ("llm", RetryPolicy::llm),
    ("rate_limited", RetryPolicy::rate_limited),
    ("never", RetryPolicy::never),
];

impl Retry {
    /// Returns a preset as a layer.
    pub(super) fn preset(name: &str) -> Option<Self> {
        let (_, policy) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        let from = format!("preset {name}").into();
        let is_llm = name == "llm";
        let classifier = if is_llm { "llm" } else { "by status" };
        Some(Self {
            classifier: spanned(&from, is_llm, classifier),
            ..Self::of_policy(&policy(), &from)
        })
    }

    /// Returns the defaults of a document: those of `background`, but with a longest delay that a longer base raises.
    pub(super) fn defaults() -> Self {
        // The limit of `background` would make a longer base an error.
        Self {
            max_delay: None,
            ..Self::of_policy(&RetryPolicy::background(), &"default".into())
        }
    }

    fn of_policy(policy: &RetryPolicy, from: &Arc<str>) -> Self {
        let limit = match policy.retry_limit() {
            0 => Limit::Never,
            retries => Limit::Retries(retries),
        };
        let gating = Gating {
            wait: policy.gate_wait_limit(),
            quotas_at_once: Some(policy.obeys_quotas_at_once()),
        };
        let refused = Some(policy.refused_limit()).filter(|refused| *refused > 0);
        // Every preset grows exponentially and reaches its longest delay.
        let (base, longest) = (
            policy.own_backoff().ceiling(1),
            policy.own_backoff().ceiling(u32::MAX),
        );
        let server_max = policy.server_delay_limit();
        let server_max_text = server_max.map_or_else(|| "none".to_owned(), duration_text);
        let methods = RepeatedMethods(policy.retried_methods().clone());
        let text = methods.to_text();
        Self {
            max_retries: spanned(from, limit, policy.retry_limit().to_string()),
            max_refused: refused.and_then(|most| spanned(from, Count(most), most.to_string())),
            backoff: Some(Box::new(Backoff {
                growth: spanned(from, Growth::Exponential, "exponential"),
                args: None,
            })),
            base: spanned(from, Duration(base), duration_text(base)),
            max_delay: spanned(from, DurationOrNone(Some(longest)), duration_text(longest)),
            retry_after: Some(Box::new(RetryAfter {
                max: spanned(from, DurationOrNone(server_max), server_max_text),
                ..RetryAfter::default()
            })),
            methods: spanned(from, methods, text),
            gate: spanned(from, gating, gating.to_text()),
            ..Self::default()
        }
    }
}

fn spanned<T>(from: &Arc<str>, value: T, text: impl Into<Arc<str>>) -> Option<Spanned<T>> {
    Some(Spanned {
        value,
        text: text.into(),
        from: Arc::clone(from),
    })
}

#[cfg(test)]
mod tests;
