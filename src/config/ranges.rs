//! Ranges of numbers: statuses, and numbers of attempts.

use super::block::Node;
use super::fields::Type;
use super::schema::{Defs, forms, one_or_more, text_like};
use super::value::Value;
use serde_json::{Value as Json, json};
use std::ops::RangeInclusive;

/// Statuses: `429`, `"5xx"`, `"500-599"`, `">=500"`, or a list of them.
pub(super) const fn statuses() -> Type<Vec<RangeInclusive<u16>>> {
    Type {
        read: read_statuses,
        schema: |defs| one_or_more("a status", status_schema(defs)),
    }
}

pub(super) fn status_schema(defs: &mut Defs) -> Json {
    let pattern = "^\\s*(?:\\+?0*[1-9](?:xx|XX)|(?:>=|<=|=)?\\s*\\+?0*[1-9][0-9]{2}|>\\s*\\+?0*(?:99|[1-9][0-9]{2})|\
        <\\s*\\+?0*(?:[1-9][0-9]{2}|1000)|\\+?0*[1-9][0-9]{2}\\s*-\\s*\\+?0*[1-9][0-9]{2})\\s*$";
    let number = json!({"type": "integer", "minimum": 100, "maximum": 999});
    let range = (
        "a range: \"5xx\", \"500-599\" or \">=500\"",
        text_like(pattern),
    );
    let about = "429, \"5xx\", \"500-599\" or \">=500\"; 100 to 999.";
    defs.named("status", ["A status", about], |_| {
        forms([("a number: 429", number), range])
    })
}

fn read_statuses(node: &Node<'_>) -> Option<Vec<RangeInclusive<u16>>> {
    let wanted = "a status: write 429, \"5xx\", \"500-599\" or \">=500\"";
    let ranges = ranges(node, 100..=999, wanted, |text| {
        let hundreds = text.strip_suffix("xx").or(text.strip_suffix("XX"))?;
        let hundreds: u32 = hundreds.parse().ok()?;
        let least = hundreds.checked_mul(100)?;
        Some(least..=least.checked_add(99)?)
    });
    let narrow = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    let ranges = ranges.into_iter();
    Some(
        ranges
            .map(|range| narrow(*range.start())..=narrow(*range.end()))
            .collect(),
    )
}

/// Numbers of attempts: `1`, `"<3"`, `"2-4"`, or a list of them.
pub(super) const fn attempts() -> Type<Vec<RangeInclusive<u32>>> {
    Type {
        read: |node| {
            let wanted = "a number of an attempt: write 1, \"<3\" or \"2-4\"";
            Some(ranges(node, 1..=u32::MAX, wanted, |_| None))
        },
        schema: |_| {
            let pattern =
                "^\\s*(?:(?:>=|<=|<|>|=)?\\s*\\+?[0-9]+|\\+?[0-9]+\\s*-\\s*\\+?[0-9]+)\\s*$";
            let attempt = forms([
                (
                    "a number: 1",
                    json!({"type": "integer", "minimum": 1, "maximum": u32::MAX}),
                ),
                ("a range: \"<3\" or \"2-4\"", text_like(pattern)),
            ]);
            one_or_more("an attempt", attempt)
        },
    }
}

fn ranges(
    node: &Node<'_>,
    bounds: RangeInclusive<u32>,
    wanted: &str,
    special: impl Fn(&str) -> Option<RangeInclusive<u32>>,
) -> Vec<RangeInclusive<u32>> {
    let read = |node: &Node<'_>| {
        let (range, is_number) = match node.value {
            Value::Integer(number) => (u32::try_from(*number).ok().map(|n| n..=n), true),
            Value::Text(text) => {
                let text = text.trim();
                (special(text).or_else(|| range(text, &bounds)), false)
            }
            _ => (None, false),
        };
        let Some(range) = range else {
            match is_number {
                true => out_of_bounds(node, &bounds),
                false => node.not(wanted),
            }
            return None;
        };
        let (from, to) = (range.start(), range.end());
        if !bounds.contains(from) || !bounds.contains(to) {
            out_of_bounds(node, &bounds);
            return None;
        }
        if range.is_empty() {
            node.wrong(format!(
                "{} runs backwards: write \"{to}-{from}\"",
                node.value
            ));
            return None;
        }
        Some(range)
    };
    node.one_or_more().iter().filter_map(read).collect()
}

fn out_of_bounds(node: &Node<'_>, bounds: &RangeInclusive<u32>) {
    let (least, most) = (bounds.start(), bounds.end());
    let bounds = match *most {
        u32::MAX => format!("must be at least {least}"),
        _ => format!("must be {least} to {most}"),
    };
    node.wrong(format!("{} is out of range: {bounds}", node.value));
}

fn range(text: &str, bounds: &RangeInclusive<u32>) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let (least, most) = (*bounds.start(), *bounds.end());
    // Longer signs first.
    for sign in [">=", "<=", ">", "<", "="] {
        let Some(rest) = text.strip_prefix(sign) else {
            continue;
        };
        let number = number(rest)?;
        return Some(match sign {
            ">=" => number..=most,
            "<=" => least..=number,
            ">" => number.checked_add(1)?..=most,
            "<" => least..=number.checked_sub(1)?,
            _ => number..=number,
        });
    }
    match text.split_once('-') {
        Some((from, to)) => Some(number(from)?..=number(to)?),
        None => number(text).map(|number| number..=number),
    }
}
