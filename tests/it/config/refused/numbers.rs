//! Numbers out of their range.

use super::{Case, check};

#[test]
fn a_number_out_of_its_range_is_told_the_range() {
    check(NUMBERS);
}

const NUMBERS: &[Case] = &[
    (
        "hedge: {after: p49}",
        &[r#"hedge.after: "p49" is not allowed: must be p50 to p99"#],
    ),
    (
        "hedge: {after: p100}",
        &[r#"hedge.after: "p100" is not allowed: must be p50 to p99"#],
    ),
    (
        "hedge: {after: 0s}",
        &["hedge.after: 0s is not allowed: must be above 0; write hedge: off"],
    ),
    (
        "hedge: {after: 200}",
        &["hedge.after: 200 has no unit: write 200ms or 200s"],
    ),
    (
        "hedge: {max: 4}",
        &["hedge.max: 4 is not allowed: must be at most 3"],
    ),
    (
        "hedge: p95",
        &[r#"hedge: "p95" is not known: known are on, off, {after: p95}"#],
    ),
    (
        "retry: {factor: 0.5}",
        &["retry.factor: 0.5 is not allowed: must be 1 to 1000"],
    ),
    (
        "retry: {factor: 1001}",
        &["retry.factor: 1001 is not allowed: must be 1 to 1000"],
    ),
    (
        "retry: {factor: .nan}",
        &["retry.factor: NaN is not allowed: must be 1 to 1000"],
    ),
    (
        "retry: {factor: .inf}",
        &["retry.factor: inf is not allowed: must be 1 to 1000"],
    ),
    (
        "retry: {factor: -2}",
        &["retry.factor: -2 is not allowed: must be 1 to 1000"],
    ),
    (
        "retry: {factor: 1.2345678}",
        &[
            "retry.factor: 1.2345678 is not allowed: must be 1 to 1000, with at most six decimal places",
        ],
    ),
    (
        r#"retry: {factor: "2"}"#,
        &[r#"retry.factor: "2" is not a number: write 2"#],
    ),
    (
        "budgets: {b: {per_success: 20%}}",
        &[r#"budgets.b.per_success: "20%" is not a number: write 0.2"#],
    ),
    (
        "retry: {truncate: {keep: tail, share: 12.5 %}}",
        &[r#"retry.truncate.share: "12.5 %" is not a number: write 0.125"#],
    ),
    (
        "retry: {factor: twice}",
        &[r#"retry.factor: "twice" is not a number"#],
    ),
    (
        "retry: {first_step: 2}",
        &["retry.first_step: 2 is not allowed: must be 0 or 1"],
    ),
    (
        "retry: {first_step: true}",
        &["retry.first_step: true is not allowed: must be 0 or 1"],
    ),
    (
        "retry: {jitter: {min: 0.8, max: 0.5}}",
        &["retry.jitter.min: 0.8 is not allowed: must be 0 to the jitter's max, which is 0.5"],
    ),
    (
        "retry: {jitter: {min: -0.1}}",
        &["retry.jitter.min: -0.1 is not allowed: must be 0 to 1000"],
    ),
    (
        "retry: {jitter: {max: 1001}}",
        &["retry.jitter.max: 1001 is not allowed: must be 0 to 1000"],
    ),
    (
        "retry: {jitter: {min: 2}}",
        &["retry.jitter.min: 2 is not allowed: must be 0 to the jitter's max, which is 1"],
    ),
    (
        "retry: {jitter: {max: 0.5}}\nservices: {a: {match: {host: h}, retry: {jitter: {min: 0.8}}}}",
        &[
            "services.a.retry.jitter.min: 0.8 is not allowed: must be 0 to the jitter's max, which is 0.5 (retry.jitter.max)",
        ],
    ),
    (
        "retry: {jitter: {min: 0.8}}\nservices: {a: {match: {host: h}, retry: {jitter: {max: 0.5}}}}",
        &[
            "retry.jitter.min: 0.8 is not allowed: must be 0 to the jitter's max, which is 0.5 (services.a.retry.jitter.max)",
        ],
    ),
    (
        "budgets: {shared: {capacity: 5, initial: 6}}",
        &["budgets.shared.initial: 6 is not allowed: must be 0 to 5, which is the capacity"],
    ),
    (
        "budgets: {shared: {capacity: 0}}",
        &["budgets.shared.capacity: 0 is not allowed: must be above 0, up to 1000000000"],
    ),
    (
        "budgets: {shared: {capacity: 0.5}}",
        &["budgets.shared.capacity: 0.5 is not allowed: must be at least retry_cost, which is 1"],
    ),
    (
        "budgets: {shared: {capacity: 2000000000}}",
        &["budgets.shared.capacity: 2000000000 is not allowed: must be above 0, up to 1000000000"],
    ),
    (
        "budgets: {shared: {capacity: ten}}",
        &[r#"budgets.shared.capacity: "ten" is not a number"#],
    ),
    (
        "budgets: {shared: {per_second: -1}}",
        &["budgets.shared.per_second: -1 is not allowed: must be 0 to 1000000"],
    ),
    (
        "budgets: {shared: {per_success: 1001}}",
        &["budgets.shared.per_success: 1001 is not allowed: must be 0 to 1000"],
    ),
    (
        "budgets: {shared: {per_success: 10}}",
        &[
            "budgets.shared.per_success: 10 is not allowed: must be 0 to 1, what a retry costs: 0.1 is a retry for ten successes",
        ],
    ),
    (
        "budgets: {shared: {per_success: 0.1234567}}",
        &[
            "budgets.shared.per_success: 0.1234567 is not allowed: must be 0 to 1000, with at most six decimal places",
        ],
    ),
    (
        "budgets: {shared: {capacity: 2, retry_cost: 3}}",
        &[
            "budgets.shared.retry_cost: 3 is not allowed: must be 0.000001 to 2, which is the capacity",
        ],
    ),
    (
        "budgets: {shared: {capacity: 2, timeout_cost: 3}}",
        &[
            "budgets.shared.timeout_cost: 3 is not allowed: must be 0.000001 to 2, which is the capacity",
        ],
    ),
    (
        "budgets: {shared: {capacity: 2, gated_cost: 3}}",
        &["budgets.shared.gated_cost: 3 is not allowed: must be 0 to 2, which is the capacity"],
    ),
    (
        "budgets: {shared: {growth: 250}}",
        &["budgets.shared.growth: 250 has no unit: write 250ms or 250s"],
    ),
    (
        "retry: {truncate: {share: 1}}",
        &["retry.truncate.share: 1 is not allowed: must be above 0 and below 1"],
    ),
    (
        "retry: {truncate: {share: 0}}",
        &["retry.truncate.share: 0 is not allowed: must be above 0 and below 1"],
    ),
    (
        "retry: {hold_streams: {first_event_timeout: 0s}}",
        &[
            "retry.hold_streams.first_event_timeout: 0s is not allowed: must be above 0; write hold_streams: off",
        ],
    ),
    (
        "budgets: {shared: {retry_cost: 0}}",
        &["budgets.shared.retry_cost: 0 is not allowed: must be above 0, up to the capacity"],
    ),
    (
        "retry: {retry_on: [99]}",
        &["retry.retry_on[0]: 99 is out of range: must be 100 to 999"],
    ),
    (
        "retry: {retry_on: [1000]}",
        &["retry.retry_on[0]: 1000 is out of range: must be 100 to 999"],
    ),
    (
        r#"retry: {retry_on: ["600-500"]}"#,
        &[r#"retry.retry_on[0]: "600-500" runs backwards: write "500-600""#],
    ),
    (
        r#"retry: {retry_on: ["9xxx"]}"#,
        &[r#"retry.retry_on[0]: "9xxx" is not a status: write 429, "5xx", "500-599" or ">=500""#],
    ),
    (
        "retry: {retry_on: [0xx]}",
        &[r#"retry.retry_on[0]: "0xx" is out of range: must be 100 to 999"#],
    ),
    (
        r#"retry: {stop_on: ["<100"]}"#,
        &[r#"retry.stop_on[0]: "<100" is out of range: must be 100 to 999"#],
    ),
    (
        r#"retry: {retry_on: [">999"]}"#,
        &[r#"retry.retry_on[0]: ">999" is out of range: must be 100 to 999"#],
    ),
    (
        "retry: {retry_on: [-500]}",
        &["retry.retry_on[0]: -500 is out of range: must be 100 to 999"],
    ),
    (
        r#"rules: [{when: {status: "50x"}, do: stop}]"#,
        &[r#"rules[0].when.status: "50x" is not a status: write 429, "5xx", "500-599" or ">=500""#],
    ),
    (
        "rules: [{when: {status: [429, 99]}, do: stop}]",
        &["rules[0].when.status[1]: 99 is out of range: must be 100 to 999"],
    ),
    (
        "rules: [{when: {attempt: 0}, do: stop}]",
        &["rules[0].when.attempt: 0 is out of range: must be at least 1"],
    ),
    (
        r#"rules: [{when: {attempt: "<1"}, do: stop}]"#,
        &[r#"rules[0].when.attempt: "<1" is out of range: must be at least 1"#],
    ),
    (
        "rules: [{when: {attempt: first}, do: stop}]",
        &[
            r#"rules[0].when.attempt: "first" is not a number of an attempt: write 1, "<3" or "2-4""#,
        ],
    ),
    (
        r#"rules: [{when: {attempt: "4-2"}, do: stop}]"#,
        &[r#"rules[0].when.attempt: "4-2" runs backwards: write "2-4""#],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 99}}}",
        &[
            "retry.on_exhausted.respond.status: 99 is not allowed: must be a whole number from 200 to 599",
        ],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 1000}}}",
        &["retry.on_exhausted.respond.status: 1000 is not allowed: must be at most 599"],
    ),
    (
        r#"retry: {on_exhausted: {respond: {status: "503"}}}"#,
        &[
            r#"retry.on_exhausted.respond.status: "503" is not allowed: must be a whole number from 200 to 599"#,
        ],
    ),
];
