//! OTHERWISE: what decides where no rule holds.

use super::{ActionSpec, EMPTY_RETRY};
use crate::config::fields::{Type, checked, table, word_or_map};
use crate::config::retry::{RetryBlock, retry};
use crate::config::value::Value;
use crate::config::words::words;
use crate::policy::Action;

table! {
    /// A success is handed over; anything else is retried by this block.
    OtherwiseRetry("otherwise_retry", "Retry what is not a success") {
        /// How. May be empty: {} goes by the policy of this place.
        retry: RetryBlock = retry(), required();
    }
}

/// What decides where no rule does.
pub(in crate::config) fn otherwise() -> Type<ActionSpec> {
    Type {
        read: |node| match node.value {
            Value::Map(_) => {
                let nothing = "says nothing: write {retry: RETRY}";
                let map = checked(node, |map: &OtherwiseRetry, block| {
                    if block.is_empty_at("retry") {
                        block.wrong_at("retry", &"", EMPTY_RETRY);
                    }
                    map.retry.is_none().then_some(nothing)
                });
                map?.retry.map(ActionSpec::Retry)
            }
            _ => node.word::<Otherwise>().map(|word| word.0.into()),
        },
        schema: |defs| {
            let says = ["OTHERWISE", "What decides where no rule holds."];
            defs.named("otherwise", says, |defs| {
                word_or_map::<Otherwise, OtherwiseRetry>("{retry: RETRY}", defs)
            })
        },
    }
}

#[derive(Clone)]
struct Otherwise(Action);

words! { Otherwise:
    "classify" => Otherwise(Action::Classify), "accept" => Otherwise(Action::Accept),
    "fail" => Otherwise(Action::Fail), "by_outcome" => Otherwise(Action::ByOutcome),
    "continue" => Otherwise(Action::Accept);
    "retry" => "{retry: RETRY}"
}
