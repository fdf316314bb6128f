//! Rules and their conditions.

use super::{Choices, SERVICES, block, count, duration, list, method, one_of, retry, some};
use libfuzzer_sys::arbitrary::Result;
use serde_json::{Value, json};

pub(super) fn rules(from: Choices<'_, '_>) -> Result<Value> {
    list(from, rule)
}

fn rule(from: Choices<'_, '_>) -> Result<Value> {
    let (key, then) = match from.int_in_range(0..=4)? {
        0 => (
            "do",
            one_of(
                from,
                &[
                    "accept", "fail", "stop", "retry", "continue", "break", "prune",
                ],
            )?,
        ),
        1 => ("wait", wait(from)?),
        2 => ("failover", one_of(from, &SERVICES)?),
        _ => ("retry", retry(from)?),
    };
    let mut rule = block(from, &[("name", |from| one_of(from, &["one", "two"]))])?;
    rule[key] = then;
    if from.ratio(15, 16)? {
        rule["when"] = when(from)?;
    }
    Ok(rule)
}

fn wait(from: Choices<'_, '_>) -> Result<Value> {
    block(
        from,
        &[("delay", duration), ("at_most", count), ("max", duration)],
    )
}

pub(super) fn when(from: Choices<'_, '_>) -> Result<Value> {
    if from.ratio(1, 4)? {
        return status(from);
    }
    block(
        from,
        &[
            ("outcome", |from| one_of(from, &["ok", "error"])),
            ("status", status),
            ("error", |from| {
                some(from, |from| {
                    one_of(from, &["connect", "timeout", "reset", "any"])
                })
            }),
            ("code", |from| one_of(from, &["slow_down", "1213"])),
            ("message", |from| one_of(from, &["Overloaded", "\u{130}"])),
            ("header", |from| one_of(from, &["retry-after", "x-a"])),
            ("method", method),
            ("attempt", |from| one_of(from, &["<3", "2-4", ">=1", "<1"])),
            ("retryable", |from| Ok(json!(from.arbitrary::<bool>()?))),
            ("idempotent", |from| Ok(json!(from.arbitrary::<bool>()?))),
            ("any", |from| list(from, when)),
            ("all", |from| list(from, when)),
            ("not", when),
        ],
    )
}

fn status(from: Choices<'_, '_>) -> Result<Value> {
    let statuses = [
        json!(200),
        json!(409),
        json!("5xx"),
        json!("200-299"),
        json!(">=400"),
        json!("99"),
        json!(1000),
    ];
    Ok(from.choose(&statuses)?.clone())
}
