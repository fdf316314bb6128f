//! The fields of RETRY on delays that are a word or a map: `backoff`, `jitter`, `retry_after`.
//!
//! What the word says is a row too, which no map can hold; an explanation calls it by the name of the whole field.

use crate::config::block::Node;
use crate::config::fields::{Layer, Type, block, checked, object, table, told, word_or_map};
use crate::config::given::Given;
use crate::config::schema::{any_given, forms, list, text_like};
use crate::config::types::{
    duration, duration_or_none, duration_schema, name, number, truth, word,
};
use crate::config::value::Value;
use crate::config::words::{words, words_of};
use crate::policy::{Decimal, Origin, ServerDelays};
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

const MOST_ARGS: usize = 256;
const MOST_ARGS_TEXT: usize = 16 * 1024;

/// How the ceilings grow.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::config) enum Growth {
    None,
    Fixed,
    Linear,
    Exponential,
    Schedule(Arc<[Duration]>),
    Custom(Arc<str>),
}

/// A jitter that is a word.
#[derive(Clone, Copy)]
struct Spread {
    least: Decimal,
    most: Decimal,
    decorrelated: bool,
}

table! { layered
    /// A schedule that the program gives a name to with RetryConfig::builder().backoff(NAME, ..).
    Backoff("custom_backoff", "A schedule of your own", any_given(&["custom", "args"])) {
        /// How it grows.
        growth as "": Given<Growth> = told(word::<Growth>()), unsaid();
        /// The schedule's name. An unknown one is an error when the document is loaded.
        custom: Given<Arc<str>> = told(name());
        /// What the schedule is made from: whatever its type reads. Maps are merged with those of the layers below.
        args: Args = Type { read: args, schema: |_| json!({}) };
    }
}

table! { layered
    /// The delay is drawn from the ceiling times min to the ceiling times max, both included. A jitter range coefficient j
    /// is {min: j, max: 1}.
    Jitter("jitter_interval", "An interval of the ceiling") {
        /// Whether each delay depends on the one before.
        decorrelated as "": Given<bool> = told(truth()), unsaid();
        /// The least part of the ceiling, 0 to 1000, at most max; six decimal places. Default 0.
        min: Given<Decimal> = told(number::<0, 1_000>()), default(&0);
        /// The greatest part of the ceiling, 0 to 1000; six decimal places. Default 1. Above 1, a delay may exceed
        /// max_delay where cap is before.
        max: Given<Decimal> = told(number::<0, 1_000>()), default(&1);
    }
}

table! { layered
    /// How long a server may make the request wait.
    RetryAfter("server_delays", "What a server may ask for") {
        /// Whether the server is not heard.
        ignored as "": Given<bool> = told(truth()), unsaid();
        /// The longest wait that a server may ask for, or none for any. Default 15 min, or the preset's. The wait itself
        /// may be longer by a spread of up to a fifth, at most 10 s, so that clients do not come back all at once.
        max: Given<Option<Duration>> = told(duration_or_none()), default(&"15m");
        /// What is done where it asks for more: stop (default: the caller gets the answer at once, since retrying earlier
        /// breaks the server's wish and waiting longer the caller's) or clamp (wait for max and try then).
        over: Given<ServerDelays> = told(word::<ServerDelays>()), default(&"stop");
    }
}

words! { Growth:
    "none" => Growth::None, "fixed" => Growth::Fixed, "linear" => Growth::Linear,
    "exponential" => Growth::Exponential;
    "schedule" => "[1s, 5s]", "custom" => "{custom: NAME}"
}

pub(super) fn backoff() -> Type<Backoff> {
    Type {
        read: read_backoff,
        schema: |defs| {
            forms([
                ("a word", words_of::<Growth>()),
                ("a list of durations", list(&duration_schema(defs))),
                ("a schedule of your own", object::<Backoff>(defs)),
            ])
        },
    }
}

fn read_backoff(node: &Node<'_>) -> Option<Backoff> {
    let growth = match node.value {
        Value::Map(_) => return read_custom(node),
        Value::List(_) => {
            let delays = node.items();
            let read = delays.iter().filter_map(|delay| (duration().read)(delay));
            let read: Arc<[Duration]> = read.collect();
            let words: Vec<String> = read.iter().map(|d| format!("{d:?}")).collect();
            let text = format!("[{}]", words.join(", "));
            Given::at(node, Growth::Schedule(read)).in_words(text)
        }
        _ => Given::at(node, node.word()?),
    };
    Some(Backoff {
        growth: Some(growth).filter(|given| given.value != Growth::Schedule(Arc::new([]))),
        ..Backoff::default()
    })
}

fn read_custom(node: &Node<'_>) -> Option<Backoff> {
    let mut read = checked(node, |read: &Backoff, _| {
        let nothing = read.custom.is_none() && read.args.is_none();
        nothing.then_some("names no custom backoff: write {custom: NAME}")
    })?;
    read.growth = read.custom.take().map(|name| Given {
        text: format!("custom {}", name.value).into(),
        value: Growth::Custom(name.value),
        from: name.from,
    });
    Some(read)
}

/// The arguments of a custom backoff are a block too.
#[derive(Debug, Clone)]
pub(in crate::config) struct Args(pub(in crate::config) Given<Arc<Value>>);

impl Layer for Args {
    fn lay_on(&mut self, below: &Self) {
        let own = Arc::make_mut(&mut self.0.value);
        if let (Value::Map(own), Value::Map(below)) = (own, &*below.0.value) {
            for (key, value) in below {
                own.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }

    fn tell(&self, name: Cow<'static, str>, told: &mut Vec<Origin>) {
        self.0.tell(name, told);
    }
}

/// They are handed to the program at every place where the backoff holds.
fn args(node: &Node<'_>) -> Option<Args> {
    if node.value.is_larger_than(MOST_ARGS, MOST_ARGS_TEXT) {
        let cause = format!("holds more than {MOST_ARGS} values or {MOST_ARGS_TEXT} bytes of text");
        node.wrong_unseen(cause);
        return None;
    }
    // An explanation tells a number, and of a text only that it is there.
    let given = Given::at(node, Arc::new(node.value.clone()));
    let is_text = matches!(node.value, Value::Text(_));
    Some(Args(if is_text {
        given.in_words("given")
    } else {
        given
    }))
}

words! { Spread:
    "none" => Spread::between(1_000_000, 1_000_000), "full" => Spread::between(0, 1_000_000),
    "equal" => Spread::between(500_000, 1_000_000),
    "decorrelated" => Spread { decorrelated: true, ..Spread::between(0, 1_000_000) };
    "" => "\"20%\"", "" => "{min: 0.5, max: 1}"
}

impl Spread {
    /// In millionths of the ceiling.
    const fn between(least: u64, most: u64) -> Self {
        Self {
            least: Decimal::from_micros(least),
            most: Decimal::from_micros(most),
            decorrelated: false,
        }
    }

    /// `20%` is 0.8 to 1.2 times the ceiling.
    fn around(text: &str) -> Option<Self> {
        let percent: u32 = text.strip_suffix('%')?.trim().parse().ok()?;
        let part = u64::from(percent).saturating_mul(10_000);
        let least = 1_000_000_u64.checked_sub(part)?;
        Some(Self::between(least, 1_000_000_u64.saturating_add(part)))
    }
}

pub(super) fn jitter() -> Type<Jitter> {
    Type {
        read: read_jitter,
        schema: |defs| {
            forms([
                ("a word", words_of::<Spread>()),
                (
                    "a percentage: \"20%\"",
                    text_like("^\\s*\\+?0*(?:100|[0-9]{1,2})\\s*%$"),
                ),
                ("an interval: {min, max}", object::<Jitter>(defs)),
            ])
        },
    }
}

fn read_jitter(node: &Node<'_>) -> Option<Jitter> {
    let spread = match node.value {
        Value::Map(_) => {
            return Some(Jitter {
                decorrelated: Some(Given::at(node, false).in_words("between min and max")),
                ..(block::<Jitter>().read)(node)?
            });
        }
        Value::Text(text) if text.ends_with('%') => Spread::around(text).or_else(|| {
            let allowed = "must be \"0%\" to \"100%\", in whole numbers";
            node.wrong(format!("{} is not allowed: {allowed}", node.value));
            None
        })?,
        _ => node.word::<Spread>()?,
    };
    let number = |number: Decimal| Some(Given::at(node, number).in_words(number.to_string()));
    Some(Jitter {
        decorrelated: Some(Given::at(node, spread.decorrelated)),
        min: number(spread.least),
        max: number(spread.most),
    })
}

/// Whether a server is heard that asks for a wait.
#[derive(Clone, Copy)]
struct Ignored(bool);

words! { Ignored:
    "respect" => Ignored(false), "ignore" => Ignored(true);
    "clamp" => "{max: 30s, over: clamp}"
}

// What is done where it asks for more than max.
words! { ServerDelays:
    "stop" => ServerDelays::Respect, "clamp" => ServerDelays::Clamp
}

pub(super) fn retry_after() -> Type<RetryAfter> {
    Type {
        read: |node| {
            let (ignored, read) = match node.value {
                Value::Map(_) => {
                    let read = (block::<RetryAfter>().read)(node)?;
                    (Given::at(node, false).in_words("respect"), read)
                }
                _ => {
                    let Ignored(ignored) = node.word()?;
                    (Given::at(node, ignored), RetryAfter::default())
                }
            };
            let ignored = Some(ignored);
            Some(RetryAfter { ignored, ..read })
        },
        schema: |defs| word_or_map::<Ignored, RetryAfter>("a limit: {max, over}", defs),
    }
}
