//! RETRY: one layer of settings, each field given or not, and how layers lie upon each other.

mod read;

use super::scalar::words;
use super::value::Value;
use crate::policy::{Cap, Condition, Counter, Decimal, Failover, Methods, Preset};
use http::{HeaderMap, HeaderName, StatusCode};
use std::sync::Arc;
use std::time::Duration;

/// A field's value, how it was written, and where.
#[derive(Debug, Clone)]
pub(super) struct Given<T> {
    pub(super) value: T,
    pub(super) text: Arc<str>,
    pub(super) from: Arc<str>,
}

/// How the ceilings grow.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Growth {
    None,
    Fixed,
    Linear,
    Exponential,
    Schedule(Arc<[Duration]>),
    Custom(Arc<str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// The preset without retries.
    Never,
    Retries(u32),
    Unlimited,
}

/// What is made of a longer delay than the policy allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Stop,
    Clamp,
}

/// What is said of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gating {
    /// How long a call waits there in all; nothing where there is no gate.
    pub(super) wait: Option<Duration>,
    /// Whether a quota counts from the first answer on; nothing where that is left to the preset.
    pub(super) quotas_at_once: Option<bool>,
}

/// What becomes of a request that has no retries left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exhausted {
    Last,
    Fail,
    Respond,
    Failover(Failover, Option<Arc<HeaderMap>>),
    DeadLetter(Arc<str>),
}

macro_rules! fields {
    ($($field:ident $name:literal: $type:ty,)*) => {
        /// One layer, or several that lie upon each other.
        #[derive(Debug, Clone, Default)]
        pub(super) struct Retry {
            $(pub(super) $field: Option<Given<$type>>,)*
        }

        impl Retry {
            /// This layer above another one, field by field.
            pub(super) fn over(self, below: &Self) -> Self {
                let args = merged_args(self.args.as_ref(), below.args.as_ref());
                let credentials = both(self.credentials.as_ref(), below.credentials.as_ref());
                let gate = gating(self.gate.as_ref(), below.gate.as_ref());
                Self {
                    $($field: self.$field.or_else(|| below.$field.clone()),)*
                }
                .with(args, credentials, gate)
            }

            fn is_empty(&self) -> bool {
                true $(&& self.$field.is_none())*
            }

            /// The same, unless no field is given.
            fn unless_empty(self) -> Option<Box<Self>> {
                (!self.is_empty()).then(|| Box::new(self))
            }

            /// Every field that is given: its name, how it was written, and where.
            pub(super) fn given(&self) -> Vec<(&'static str, Arc<str>, Arc<str>)> {
                let mut given = Vec::new();
                $(if let Some(field) = &self.$field {
                    given.push(($name, Arc::clone(&field.text), Arc::clone(&field.from)));
                })*
                given
            }
        }
    };
}

fields! {
    limit "max_retries": Limit,
    growth "backoff": Growth,
    args "backoff.args": Arc<Value>,
    base "base": Duration,
    factor "factor": Decimal,
    first_step "first_step": u32,
    max_delay "max_delay": Option<Duration>,
    decorrelated "jitter": bool,
    jitter_min "jitter.min": Decimal,
    jitter_max "jitter.max": Decimal,
    cap "cap": Cap,
    retry_on "retry_on": Arc<[Condition]>,
    stop_on "stop_on": Arc<[Condition]>,
    ignores_server "retry_after": bool,
    max_server_delay "retry_after.max": Option<Duration>,
    over "retry_after.over": Over,
    methods "methods": Methods,
    deadline "deadline": Option<Duration>,
    attempt_timeout "attempt_timeout": Option<Duration>,
    counter "counter": Counter,
    budget "budget": Arc<str>,
    gate "gate": Gating,
    reads_bodies "classifier": bool,
    exhausted "on_exhausted": Exhausted,
    respond_status "on_exhausted.respond.status": StatusCode,
    respond_headers "on_exhausted.respond.headers": Arc<HeaderMap>,
    respond_body "on_exhausted.respond.body": Arc<str>,
    credentials "credentials": Arc<[HeaderName]>,
}

/// A layer as it stands in the document: what it uses lies below it.
#[derive(Debug, Clone, Default)]
pub(super) struct RetryBlock {
    pub(super) uses: Option<Given<Arc<str>>>,
    /// Nothing where no field is given.
    pub(super) own: Option<Box<Retry>>,
}

impl RetryBlock {
    pub(super) fn says_nothing(&self) -> bool {
        self.uses.is_none() && self.own.is_none()
    }

    /// Its own fields, to add one.
    pub(super) fn own_mut(&mut self) -> &mut Retry {
        self.own.get_or_insert_default()
    }
}

impl Retry {
    /// The fields that add up where others replace each other.
    fn with(
        self,
        args: Option<Given<Arc<Value>>>,
        credentials: Option<Given<Arc<[HeaderName]>>>,
        gate: Option<Given<Gating>>,
    ) -> Self {
        Self {
            args,
            credentials,
            gate,
            ..self
        }
    }

    /// A preset as a layer.
    pub(super) fn preset(preset: &Preset) -> Self {
        Self::numbers(preset, &format!("preset {}", preset.name))
    }

    /// What holds where the document says nothing: `background`, whose longest delay a longer base raises.
    pub(super) fn defaults() -> Self {
        Self {
            max_delay: None,
            reads_bodies: None,
            ..Self::numbers(&Preset::BACKGROUND, "default")
        }
    }

    fn numbers(preset: &Preset, from: &str) -> Self {
        let from: Arc<str> = from.into();
        let methods = match preset.methods {
            Methods::Idempotent => "idempotent",
            Methods::All => "all",
        };
        let asked = preset.max_server_delay;
        let gate = preset.max_gate_wait.map_or_else(|| "off".to_owned(), words);
        let gating = Gating {
            wait: preset.max_gate_wait,
            quotas_at_once: Some(preset.quotas_at_once),
        };
        let is_llm = preset.name == Preset::LLM.name;
        let classifier = if is_llm { "llm" } else { "by status" };
        Self {
            limit: given(
                match preset.max_retries {
                    0 => Limit::Never,
                    retries => Limit::Retries(retries),
                },
                &preset.max_retries,
                &from,
            ),
            growth: given(Growth::Exponential, &"exponential", &from),
            base: given(preset.base, &words(preset.base), &from),
            max_delay: given(Some(preset.max_delay), &words(preset.max_delay), &from),
            max_server_delay: given(Some(asked), &words(asked), &from),
            methods: given(preset.methods, &methods, &from),
            gate: given(gating, &gate, &from),
            reads_bodies: given(is_llm, &classifier, &from),
            ..Self::default()
        }
    }
}

fn given<T>(value: T, text: &dyn std::fmt::Display, from: &Arc<str>) -> Option<Given<T>> {
    Some(Given {
        value,
        text: text.to_string().into(),
        from: Arc::clone(from),
    })
}

/// The arguments of a custom backoff are a block too.
fn merged_args(
    above: Option<&Given<Arc<Value>>>,
    below: Option<&Given<Arc<Value>>>,
) -> Option<Given<Arc<Value>>> {
    match (above, below) {
        (Some(above), Some(below)) => {
            let mut merged = above.clone();
            let own = Arc::make_mut(&mut merged.value);
            if let (Value::Map(one), Value::Map(other)) = (own, &*below.value) {
                for (key, value) in other {
                    one.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            Some(merged)
        }
        (above, below) => above.or(below).cloned(),
    }
}

/// Who says how long to wait at the gate leaves it to the preset below when a quota counts there.
fn gating(above: Option<&Given<Gating>>, below: Option<&Given<Gating>>) -> Option<Given<Gating>> {
    let mut layers = [above, below].into_iter().flatten();
    let quotas_at_once = layers.find_map(|given| given.value.quotas_at_once);
    above.or(below).map(|given| Given {
        value: Gating {
            quotas_at_once,
            ..given.value
        },
        ..given.clone()
    })
}

/// No layer makes public what another one calls a credential.
fn both(
    above: Option<&Given<Arc<[HeaderName]>>>,
    below: Option<&Given<Arc<[HeaderName]>>>,
) -> Option<Given<Arc<[HeaderName]>>> {
    let (Some(above), Some(below)) = (above, below) else {
        return above.or(below).cloned();
    };
    let new = |name: &&HeaderName| !above.value.contains(*name);
    let more: Vec<HeaderName> = below.value.iter().filter(new).cloned().collect();
    if more.is_empty() {
        return Some(above.clone());
    }
    let all: Arc<[HeaderName]> = above.value.iter().cloned().chain(more).collect();
    let names: Vec<&str> = all.iter().map(HeaderName::as_str).collect();
    Some(Given {
        text: names.join(", ").into(),
        from: Arc::clone(&above.from),
        value: all,
    })
}
