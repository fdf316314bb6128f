//! What is said of the gate.

use super::fields::{Type, checked, table, word_or_map};
use super::given::Given;
use super::types::{duration, duration_text, read_above_zero};
use super::value::Value;
use super::words::words;
use std::time::Duration;

/// What is said of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gating {
    /// How long a call waits there in all; nothing where there is no gate.
    pub(super) wait: Option<Duration>,
    /// Whether a quota counts from the first answer on; nothing where that is left to the preset.
    pub(super) quotas_at_once: Option<bool>,
}

table! {
    /// A gate with a limit of its own.
    GateMap("gate_map", "A gate's limit") {
        /// How long one call may wait at the gate in all, above 0; past it the call is sent all the same.
        max_wait: Duration = Type {
            read: |node| read_above_zero(node, "; write gate: off"),
            schema: duration().schema,
        }, required();
    }
}

#[derive(Clone)]
struct GateWord(Option<Duration>);

words! { GateWord:
    "on" => GateWord(Some(Duration::from_secs(5 * 60))), "off" => GateWord(None)
}

/// The longest total wait at the gate.
pub(super) fn gate() -> Type<Given<Gating>> {
    Type {
        read: |node| {
            let wait = match node.value {
                Value::Map(_) => {
                    let nothing = "says nothing: write {max_wait: 5m}";
                    let gate = checked(node, |gate: &GateMap, _| {
                        gate.max_wait.is_none().then_some(nothing)
                    });
                    Some(gate?.max_wait?)
                }
                _ => node.word::<GateWord>()?.0,
            };
            let gating = Gating {
                wait,
                quotas_at_once: None,
            };
            let text = wait.map_or_else(|| "off".to_owned(), duration_text);
            Some(Given::at(node, gating).in_words(text))
        },
        schema: |defs| {
            let about = "One pause for all callers after a 429. Default as the preset has it: 5m in background (which holds \
                where no preset is named) and llm, 15m in rate_limited, off in user_facing and never. on: each call waits \
                for at most 5m in all its waits together.";
            defs.named("gate", ["A gate", about], |defs| {
                word_or_map::<GateWord, GateMap>("{max_wait: DURATION}", defs)
            })
        },
    }
}
