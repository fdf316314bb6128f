//! The fields of RETRY for calls to language models: `truncate` and `hold_streams`.

use crate::config::block::Node;
use crate::config::fields::{Type, block, table, word_or_map};
use crate::config::types::{duration_or_none, duration_text, read_above_zero, word};
use crate::config::value::Value;
use crate::config::words::{word_for, words};
use crate::policy::Decimal;
use serde_json::json;
use std::time::Duration;

table! {
    /// How a request that is too long for the model is cut.
    #[derive(Copy, PartialEq)]
    Truncate("truncate_map", "A cut") {
        /// What stays of the longest text: its head (default), its tail, or both ends.
        keep: Kept = word::<Kept>(), default(&"head");
        /// The share of the text's characters that stays, above 0 and below 1; six decimal places. Default: as the error
        /// states, else three quarters.
        share: Decimal = Type {
            read: read_share,
            schema: |_| json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        };
    }
}

table! {
    /// For how long the start of a streamed answer is held back.
    #[derive(Copy, PartialEq)]
    Hold("hold_streams_map", "How long a stream is held") {
        /// The longest time from the head of the answer to the first event with output, above 0, or none. Default 10 min.
        first_event_timeout: Option<Duration> = Type {
            read: |node| match node.value {
                Value::Text(text) if text == "none" => Some(None),
                _ => read_above_zero(node, "; write hold_streams: off").map(Some),
            },
            schema: duration_or_none().schema,
        }, default(&"10m");
    }
}

/// What stays of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum Kept {
    Head,
    Tail,
    Ends,
}

words! { Kept:
    "head" => Kept::Head, "tail" => Kept::Tail, "ends" => Kept::Ends
}

/// A word that stands for a cut, or for none.
#[derive(Clone, Copy)]
struct CutWord(Option<Kept>);

words! { CutWord:
    "off" => CutWord(None), "head" => CutWord(Some(Kept::Head)), "tail" => CutWord(Some(Kept::Tail)),
    "ends" => CutWord(Some(Kept::Ends));
    "" => "{keep: tail, share: 0.5}"
}

#[derive(Clone, Copy)]
struct HoldWord(bool);

words! { HoldWord:
    "on" => HoldWord(true), "off" => HoldWord(false);
    "" => "{first_event_timeout: 2m}"
}

pub(super) fn truncate() -> Type<Option<Truncate>> {
    Type {
        read: |node| {
            let cut = match node.value {
                Value::Map(_) => Some((block::<Truncate>().read)(node)?),
                _ => node.word::<CutWord>()?.0.map(|keep| Truncate {
                    keep: Some(keep),
                    share: None,
                }),
            };
            in_this_build(node, cut)
        },
        schema: |defs| word_or_map::<CutWord, Truncate>("{keep, share}", defs),
    }
}

pub(super) fn hold_streams() -> Type<Option<Hold>> {
    Type {
        read: |node| {
            let hold = match node.value {
                Value::Map(_) => Some((block::<Hold>().read)(node)?),
                _ => node.word::<HoldWord>()?.0.then(Hold::default),
            };
            in_this_build(node, hold)
        },
        schema: |defs| word_or_map::<HoldWord, Hold>("{first_event_timeout}", defs),
    }
}

/// What is wrong with a setting for language models, or the preset, in a program without the feature.
pub(in crate::config) const NEEDS_LLM: &str =
    "needs a program that is built with the feature llm of http-retry";

/// What needs a feature is refused without it, and not passed over.
fn in_this_build<T>(node: &Node<'_>, wanted: Option<T>) -> Option<Option<T>> {
    if wanted.is_some() && cfg!(not(feature = "llm")) {
        node.wrong_unseen(NEEDS_LLM);
        return None;
    }
    Some(wanted)
}

fn read_share(node: &Node<'_>) -> Option<Decimal> {
    const ALMOST_ALL: u64 = 999_999;
    let (least, most) = (Decimal::from_micros(1), Decimal::from_micros(ALMOST_ALL));
    crate::config::types::decimal(node, least, most, "must be above 0 and below 1")
}

/// How an explanation shows a cut.
pub(super) fn cut_in_words(cut: &Option<Truncate>) -> String {
    let Some(cut) = cut else {
        return "off".to_owned();
    };
    let keep = word_for(&cut.keep.unwrap_or(Kept::Head));
    match cut.share {
        Some(share) => format!("{keep}, share {share}"),
        None => keep.to_owned(),
    }
}

/// How an explanation shows a hold.
pub(super) fn hold_in_words(hold: &Option<Hold>) -> String {
    match hold.map(|hold| hold.first_event_timeout) {
        None => "off".to_owned(),
        Some(None) => "on".to_owned(),
        Some(Some(None)) => "on, for any time".to_owned(),
        Some(Some(Some(most))) => format!("on, for at most {}", duration_text(most)),
    }
}
