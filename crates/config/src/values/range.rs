//! Ranges of numbers: statuses, and numbers of attempts.

use super::{Several, leaf};
use crate::condition::condition_of_word;
use crate::value::Value;
use std::ops::RangeInclusive;

/// Statuses: `429`, `"5xx"`, `"500-599"`, `">=500"`, or a list of them.
pub(crate) type Statuses = Several<Status>;
/// Numbers of attempts: `1`, `"<3"`, `"2-4"`, or a list of them.
pub(crate) type Attempts = Several<Attempt>;

leaf! {
    Status(RangeInclusive<u32>) = |value| {
        let wanted = "a status: write 429, \"5xx\", \"500-599\" or \">=500\"";
        range(value, 100..=999, wanted, hundreds)
    };

    Attempt(RangeInclusive<u32>) = |value| {
        let wanted = "a number of an attempt: write 1, \"<3\" or \"2-4\"";
        range(value, 1..=u32::MAX, wanted, |_| None)
    };

    /// A status in the place of a condition.
    BareStatus(RangeInclusive<u32>) = |value| match value {
        Value::Integer(_) | Value::Text(_) => {
            let status = Status::try_from(value.clone()).map(|Status(range)| range);
            status.map_err(|cause| match condition_of_word(value) {
                Some(write) => format!("{value} is not a status: write {write}"),
                None => cause,
            })
        }
        Value::List(_) => Err(format!("{value} is not a condition: write {{any: [...]}}")),
        _ => Err(format!(
            "{value} is not a condition: write {{status: 429}}, 429 or \"5xx\""
        )),
    };
}

fn hundreds(text: &str) -> Option<RangeInclusive<u32>> {
    let hundreds = text.strip_suffix("xx").or(text.strip_suffix("XX"))?;
    let hundreds: u32 = hundreds.parse().ok()?;
    let least = hundreds.checked_mul(100)?;
    Some(least..=least.checked_add(99)?)
}

fn range(
    value: &Value,
    bounds: RangeInclusive<u32>,
    wanted: &str,
    special: fn(&str) -> Option<RangeInclusive<u32>>,
) -> Result<RangeInclusive<u32>, String> {
    let out_of_bounds = || {
        let (least, most) = (bounds.start(), bounds.end());
        let bounds = match *most {
            u32::MAX => format!("must be at least {least}"),
            _ => format!("must be {least} to {most}"),
        };
        Err(format!("{value} is out of range: {bounds}"))
    };
    let range = match value {
        Value::Integer(number) => match u32::try_from(*number) {
            Ok(number) => number..=number,
            Err(_) => return out_of_bounds(),
        },
        Value::Text(text) => {
            let text = text.trim();
            let range = special(text).or_else(|| compared(text, &bounds));
            range.ok_or_else(|| format!("{value} is not {wanted}"))?
        }
        _ => return Err(format!("{value} is not {wanted}")),
    };
    let (from, to) = (range.start(), range.end());
    if !bounds.contains(from) || !bounds.contains(to) {
        return out_of_bounds();
    }
    if range.is_empty() {
        return Err(format!("{value} runs backwards: write \"{to}-{from}\""));
    }
    Ok(range)
}

fn compared(text: &str, bounds: &RangeInclusive<u32>) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let (least, most) = (*bounds.start(), *bounds.end());
    // `>=` before `>`, which is a prefix of it.
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
