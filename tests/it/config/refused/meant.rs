//! What people write by mistake, and what they are told to write instead.

use super::{Case, check};
use crate::config::load;

#[test]
fn two_services_cannot_have_the_same_match() {
    check(SAME);
}

#[test]
fn a_unit_above_days_is_refused_and_what_was_meant_is_said() {
    check(UNITS);
}

#[test]
fn a_mistake_is_answered_by_what_to_write() {
    check(MEANT);
}

/// The messages say `write 1m`, `write 30d` and so on.
#[test]
fn days_and_what_is_below_them_are_units() {
    for duration in [
        "1m", "30d", "7d", "14 days", "365day", "1h 30m", "100ns", "5us", "1d 2h",
    ] {
        let text = format!("version: 1\nretry: {{deadline: {duration}}}");
        assert!(load(&text).is_ok(), "{duration}");
    }
}

const SAME: &[Case] = &[
    (
        "services: {b: {match: {host: h}}, a: {match: {host: h}}}",
        &["services.b.match: is the same as services.a.match: no request would match b"],
    ),
    (
        "services: {a: {match: {host: [g, H], method: get}}, b: {match: {method: [GET], host: [h, g, h]}}}",
        &["services.b.match: is the same as services.a.match: no request would match b"],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: x, match: {path: /p}}, {name: y, match: {path: /p}}]}}",
        &[
            "services.a.routes[1].match: is the same as services.a.routes[0].match: no request would match y",
        ],
    ),
];

const UNITS: &[Case] = &[
    (
        "retry: {deadline: 1M}",
        &[r#"retry.deadline: "1M" is a month: write 1m for minutes, or 30d"#],
    ),
    (
        "retry: {deadline: 5M}",
        &[r#"retry.deadline: "5M" is 5 months: write 5m for minutes, or 150d"#],
    ),
    (
        "retry: {deadline: 2 months}",
        &[r#"retry.deadline: "2 months" is in months: the largest unit is d: write 60d"#],
    ),
    (
        "retry: {deadline: 1w}",
        &[r#"retry.deadline: "1w" is in weeks: the largest unit is d: write 7d"#],
    ),
    (
        "retry: {deadline: 1h 2weeks}",
        &[r#"retry.deadline: "1h 2weeks" is in weeks: the largest unit is d: write 14d"#],
    ),
    (
        "retry: {deadline: 1y}",
        &[r#"retry.deadline: "1y" is in years: the largest unit is d: write 365d"#],
    ),
    (
        "retry: {deadline: 1.5years}",
        &[r#"retry.deadline: "1.5years" is in years: the largest unit is d"#],
    ),
];

const MEANT: &[Case] = &[
    ("retry: off", &[r#"retry: "off" is no policy: write never"#]),
    ("retry: false", &["retry: false is not a map: write never"]),
    (
        "services: {a: {match: {host: h}, retry: none, routes: [{name: r, match: {path: /p}, retry: false}]}}",
        &[
            "services.a.routes[0].retry: false is not a map: write never",
            r#"services.a.retry: "none" is no policy: write never"#,
        ],
    ),
    (
        "rules: [{when: 500, retry: false}]",
        &["rules[0].retry: false is not a map: write never"],
    ),
    ("retry: true", &["retry: true is not a map"]),
    (
        "retry: {retry_on: [timeout]}",
        &[r#"retry.retry_on[0]: "timeout" is not a status: write {error: timeout}"#],
    ),
    (
        "retry: {stop_on: [429, Refused, eof, connect_timeout, error]}",
        &[
            r#"retry.stop_on[1]: "Refused" is not a status: write {error: connect}"#,
            r#"retry.stop_on[2]: "eof" is not a status: write {error: reset}"#,
            r#"retry.stop_on[3]: "connect_timeout" is not a status: write {error: connect}"#,
            r#"retry.stop_on[4]: "error" is not a status: write {outcome: error}"#,
        ],
    ),
    (
        "retry: {retry_on: timeout}",
        &[
            r#"retry.retry_on: "timeout" is not a list: write [{error: timeout}], or ["5xx", 429, {error: timeout}]"#,
        ],
    ),
    (
        "rules: [{when: dns, do: stop}]",
        &[r#"rules[0].when: "dns" is not a status: write {error: dns}"#],
    ),
    (
        "rules: [{when: 429, as: throttled, delay_from: {json: /a, part: b}}]",
        &["rules[0].delay_from: part has no effect: only a header has parts"],
    ),
    (
        "rules: [{when: 429, as: throttled, delay_from: [{header: x, part: b}, {prose: true, part: b}]}]",
        &["rules[0].delay_from[1]: part has no effect: only a header has parts"],
    ),
    (
        "rules: [{when: 429, as: throttled, delay_from: {prose: true, unit: s}}]",
        &["rules[0].delay_from: unit has no effect: prose names its units"],
    ),
    (
        "rules: [{when: {error: refused}, do: stop}]",
        &[r#"rules[0].when.error: "refused" is not known: write connect"#],
    ),
    (
        "rules: [{when: {error: [unreachable, incomplete, certificate, connect_timeout]}, do: stop}]",
        &[
            r#"rules[0].when.error[0]: "unreachable" is not known: write connect"#,
            r#"rules[0].when.error[1]: "incomplete" is not known: write reset"#,
            r#"rules[0].when.error[2]: "certificate" is not known: write tls"#,
            r#"rules[0].when.error[3]: "connect_timeout" is not known: write connect, or timeout for all timeouts"#,
        ],
    ),
    (
        "budgets: {b: {capacity: -5}}",
        &["budgets.b.capacity: -5 is not allowed: must be above 0, up to 1000000000"],
    ),
    (
        "budgets: {b: {capacity: -0.5, retry_cost: 30}}",
        &["budgets.b.capacity: -0.5 is not allowed: must be above 0, up to 1000000000"],
    ),
    (
        "budgets: {b: {retry_cost: -1}}",
        &["budgets.b.retry_cost: -1 is not allowed: must be above 0, up to the capacity"],
    ),
    (
        "retry: {retry_on: \"5xx\"}",
        &[
            r#"retry.retry_on: "5xx" is not a list: write ["5xx"], or ["5xx", 429, {error: timeout}]"#,
        ],
    ),
    (
        "retry: {stop_on: 501}",
        &[r#"retry.stop_on: 501 is not a list: write [501], or ["5xx", 429, {error: timeout}]"#],
    ),
    (
        "retry: {retry_on: {status: 501}}",
        &[r#"retry.retry_on: a map is not a list: write ["5xx", 429, {error: timeout}]"#],
    ),
];
