//! RETRY: one layer of settings, each field given or not, and how layers lie upon each other.

mod delays;
mod exhausted;
mod llm;
mod presets;

pub(super) use delays::Growth;
pub(super) use exhausted::Exhausted;
#[cfg(feature = "llm")]
pub(super) use llm::Kept;
pub(super) use llm::{Hold, NEEDS_LLM, Truncate};

use super::block::{Block, Node};
use super::dialect::Speaks;
use super::fields::{Fields, Layer, Type, object, table, told, told_as};
use super::gating::{Gating, gate};
use super::given::Given;
use super::headers::header_names;
use super::schema::{Defs, forms, not_both};
use super::sizes::bytes;
use super::types::{count, duration, duration_or_none, name, names, number, word};
use super::value::Value;
use super::when::conditions;
use super::words::words;
use crate::policy::{Cap, Condition, Counter, Decimal, Methods, Origin};
use http::HeaderName;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// The preset without retries.
    Never,
    Retries(u32),
    Unlimited,
}

table! { layered
    /// How to retry. What is not said here is as in the layer below: use, then rule > route > service > document >
    /// default. Lists replace, but credentials add up; blocks are merged field by field.
    Retry("retry_map", "RETRY", not_both("max_retries", "max_attempts")) {
        /// A policy of this document or a preset (user_facing, background, llm, rate_limited, never), whose fields lie
        /// directly below those that stand beside it.
        uses as "use": Given<Arc<str>> = told(name());
        /// How many retries may follow the first attempt: 0 to 4294967294, or unlimited, which needs a deadline.
        /// Default 4: half a minute of trouble, or a restart. Give this or max_attempts.
        max_retries: Given<Limit> = told(limit::<0>()), default(&4);
        /// How many attempts there may be in all, max_retries + 1: 1 to 4294967294, or unlimited, which needs a deadline.
        /// Default 5. Give this or max_retries.
        max_attempts: Given<Limit> = told(limit::<1>()), default(&5);
        /// How many attempts a rate limit may refuse without a retry counted, while the call waits at the gate: 0 to
        /// 4294967295. Default 0: max_attempts bounds all that is sent; 300 in llm, 900 in rate_limited, which wait for a
        /// limit. max_retries or max_attempts sets it to 0 for the layers below.
        max_refused: Given<u32> = told(count::<0, { u32::MAX }>()), default(&0);
        /// How the ceilings of the delays grow, for retry n = 1, 2, ..: none (no delay), fixed (base), linear (base * n),
        /// exponential (base * factor^(n-1), the default), a list of durations (the last one repeats), or
        /// {custom: NAME, args: ..}.
        backoff: delays::Backoff = delays::backoff(), default(&"exponential");
        /// The first ceiling; above 0 for linear and exponential, at most max_delay. Default 2 s, so that half a minute is
        /// ridden out in five attempts.
        base: Given<Duration> = told(duration()), default(&"2s");
        /// The factor of exponential growth, 1 to 1000, six decimal places. Default 2.
        factor: Given<Decimal> = told(number::<1, 1_000>()), default(&2);
        /// The exponent of the first retry in exponential growth. Default 0: the first ceiling is base; 1: it is
        /// base * factor, as some systems have it.
        first_step: Given<u32> = told(count::<0, 1>()), default(&0);
        /// The longest delay of one's own accord, or none. Default 60 s for linear and exponential growth (or base, where
        /// longer), so that no schedule reaches hours by accident; none for the others.
        max_delay: Given<Option<Duration>> = told(duration_or_none()), default(&"60s");
        /// What part of the ceiling is waited: none (all of it), full (0 to all, the default, since it spreads clients the
        /// most), equal (half to all), decorrelated (base to three times the delay before), "20%" (0.8 to 1.2 times), or
        /// {min, max}.
        jitter: delays::Jitter = delays::jitter(), default(&"full");
        /// Where max_delay cuts: both (default) and after: no delay exceeds it; before: the ceiling only, so that a jitter
        /// above 1 may exceed it.
        cap: Given<Cap> = told(word::<Cap>()), default(&"both");
        /// Only outcomes that meet one of these conditions are retried, and those whatever their class. Default: what the
        /// standard tables call transient or throttled. It does not narrow what a rule retries.
        retry_on: Given<Arc<[Condition]>> = told(conditions());
        /// Outcomes that meet one of these conditions are never retried, whatever retry_on or a rule says.
        stop_on: Given<Arc<[Condition]>> = told(conditions());
        /// What is made of a server's wish (Retry-After and its kin): respect (default; never earlier than asked), ignore,
        /// or {max, over}.
        retry_after: delays::RetryAfter = delays::retry_after(), default(&"respect");
        /// Which methods may be sent again after the server may have processed the request: idempotent (default; GET,
        /// HEAD, OPTIONS, TRACE, PUT, DELETE, QUERY, or an Idempotency-Key) or all.
        methods: Given<Methods> = told(word::<Methods>()), default(&"idempotent");
        /// How long the request may take in all, waits included, from the start of its first attempt; above 0, or none,
        /// the default. A retry that would start after it is not waited for.
        deadline: Given<Option<Duration>> = told(duration_or_none()), default(&"none");
        /// How long one attempt may take up to its response head; above 0, at most the deadline, or none, the default.
        attempt_timeout: Given<Option<Duration>> = told(duration_or_none()), default(&"none");
        /// Reads an answer of at most so many bytes whole before the caller gets it, so that one that breaks is a failed
        /// attempt: 512KiB, 2MiB or a number of bytes, at most 64MiB. Default 0, off. Not those that go on, such as event
        /// streams.
        whole_answers: Given<usize> = told(bytes()), default(&0);
        /// What a rule's limit counts: request (default), all retries of the request; rule, those of the rule alone.
        counter: Given<Counter> = told(word::<Counter>()), default(&"request");
        /// The budget that pays for the retries, by its name under budgets. Default: one of the service's own, or of the
        /// host's where no service matches.
        budget: Given<Arc<str>> = told(name());
        /// What errors of the program's own types mean: a name, or a list of up to 100, that the program gives with
        /// RetryConfig::builder().error_type(NAME, ..). Not in a rule's own block. Default none.
        classify_error: Given<Arc<[Arc<str>]>> = told_as(names(), |names| names.join(", "));
        /// For calls to language models: cuts the longest text of a request that is too long for the model, and sends it
        /// again: off (default, since text of the caller is lost), head, tail or ends (what stays), or {keep, share}.
        truncate: Given<Option<Truncate>> = told_as(llm::truncate(), llm::cut_in_words), default(&"off");
        /// For calls to language models: holds back the start of a streamed answer until its first output, so that a stream
        /// that begins with an error is retried: off (default), on, or {first_event_timeout}. Not in a rule's own block.
        hold_streams: Given<Option<Hold>> = told_as(llm::hold_streams(), llm::hold_in_words), default(&"off");
        /// The gate of the service or the document.
        gate: Given<Gating> = gate(), unsaid();
        /// The dialects of the service or the document.
        dialect: Given<Speaks> = told(super::dialect::speaks()), unsaid();
        /// Whether the header rules hold there.
        header_rules: Given<bool> = told(super::types::truth()), unsaid();
        /// Whether a dialect by host may read successes there.
        inspect_success: Given<bool> = told(super::types::truth()), unsaid();
        /// Whether the preset reads bodies.
        classifier: Given<bool> = told(super::types::truth()), unsaid();
        /// What becomes of a request that has no retries left (limit, deadline, budget, a wait that is too long or too
        /// many): last (default: the caller gets the last outcome), fail (an error, where the stack can report one),
        /// {respond}, {failover} or {dead_letter}.
        on_exhausted: exhausted::OnExhausted = exhausted::on_exhausted(), default(&"last");
        /// Request headers that a failover to another server (scheme, host and port) leaves out, besides Authorization,
        /// Proxy-Authorization, Cookie, Cookie2, Api-Key, X-Api-Key, X-Auth-Token, X-Goog-Api-Key, X-Amz-Security-Token
        /// and every value that is marked sensitive. At most 100 names; the lists of all layers add up. Default: none.
        credentials: Given<Arc<[HeaderName]>> = told_as(header_names(), |names| joined(names));
    }
}

/// A layer as it stands in the document: what it uses lies below it. Nothing where it says nothing.
pub(super) type RetryBlock = Option<Box<Retry>>;

/// A RETRY block, or the name of another one that stands for it.
pub(super) fn retry() -> Type<RetryBlock> {
    Type {
        read: |node| Some(read(node)),
        schema,
    }
}

fn read(node: &Node<'_>) -> RetryBlock {
    if let Value::Text(_) = node.value {
        let uses = Given::at(node, node.name()?.into());
        return Some(Box::new(Retry {
            uses: Some(uses),
            ..Retry::default()
        }));
    }
    if let Value::Null = node.value {
        node.wrong("has nothing in it: write {max_attempts: 3}, or the name of a preset");
        return None;
    }
    let mut block = node.block()?;
    let mut read = Retry::take(&mut block);
    read.one_limit(&block);
    block.end();
    (!read.is_empty()).then(|| Box::new(read))
}

fn schema(defs: &mut Defs) -> Json {
    let about = "How to retry: a map, or the name of a policy or preset.";
    defs.named("retry", ["RETRY", about], |defs| {
        let name = json!({"type": "string", "examples": ["background"]});
        let map = object::<Retry>(defs);
        forms([
            ("the name of a policy or a preset", name),
            ("a map of settings", map),
        ])
    })
}

impl Retry {
    /// This layer above another one, field by field.
    pub(super) fn over(mut self, below: &Self) -> Self {
        // No layer makes public what another one calls a credential.
        if let (Some(own), Some(below)) = (&mut self.credentials, &below.credentials) {
            let new = |name: &&HeaderName| !own.value.contains(*name);
            let more: Vec<HeaderName> = below.value.iter().filter(new).cloned().collect();
            if !more.is_empty() {
                own.value = own.value.iter().cloned().chain(more).collect();
                own.text = joined(&own.value).into();
            }
        }
        // Who says how long to wait at the gate leaves it to the preset below when a quota counts there.
        if let (Some(own), Some(below)) = (&mut self.gate, &below.gate) {
            own.value.quotas_at_once = own.value.quotas_at_once.or(below.value.quotas_at_once);
        }
        // A limit of one's own bounds all that is sent, the refused attempts of the preset below included.
        if let (Some(limit), None, Some(_)) =
            (&self.max_retries, &self.max_refused, &below.max_refused)
        {
            self.max_refused = Some(Given {
                value: 0,
                text: "0".into(),
                from: limit.from.clone(),
            });
        }
        self.lay_on(below);
        self
    }

    /// Every field that is given.
    pub(super) fn given(&self) -> Vec<Origin> {
        let mut told = Vec::new();
        self.tell("".into(), &mut told);
        told
    }

    /// What becomes of a request that has no retries left.
    pub(super) fn exhausted(&self) -> Option<&Given<Exhausted>> {
        self.on_exhausted.as_ref()?.end.as_ref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given().is_empty()
    }

    /// Two words for one field, which an explanation calls `max_retries`.
    fn one_limit(&mut self, block: &Block<'_>) {
        let Some(attempts) = self.max_attempts.take() else {
            return;
        };
        if let Some(retries) = &self.max_retries {
            let cause = format!(
                "max_retries is set too, to {}: give one of the two",
                retries.text
            );
            block.wrong_at("max_attempts", &attempts.text, cause);
            return;
        }
        self.max_retries = Some(match attempts.value {
            Limit::Retries(attempts_in_all) => {
                let retries = attempts_in_all.saturating_sub(1);
                Given {
                    value: Limit::Retries(retries),
                    ..attempts
                }
                .in_words(retries.to_string())
            }
            Limit::Never | Limit::Unlimited => attempts,
        });
    }
}

fn joined(names: &[HeaderName]) -> String {
    let names: Vec<&str> = names.iter().map(HeaderName::as_str).collect();
    names.join(", ")
}

/// A number of retries or attempts.
const fn limit<const LEAST: u32>() -> Type<Limit> {
    Type {
        read: |node| match node.value {
            Value::Text(text) if text == "unlimited" => Some(Limit::Unlimited),
            Value::Integer(_) => node.count(LEAST, u32::MAX - 1).map(Limit::Retries),
            _ => {
                node.not("a whole number or unlimited");
                None
            }
        },
        schema: |_| {
            forms([
                (
                    "a number",
                    json!({"type": "integer", "minimum": LEAST, "maximum": u32::MAX - 1}),
                ),
                ("unlimited", json!({"const": "unlimited"})),
            ])
        },
    }
}

words! { Cap:
    "both" => Cap::Both, "before" => Cap::Before, "after" => Cap::After
}

words! { Methods:
    "idempotent" => Methods::Idempotent, "all" => Methods::All
}

words! { Counter:
    "request" => Counter::Request, "rule" => Counter::Rule
}
