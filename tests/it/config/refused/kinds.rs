//! A map where a list belongs, and the other way round; rules without a verdict, or with two.

use super::{Case, check};

#[test]
fn a_value_of_another_kind_is_told_what_belongs_there() {
    check(KINDS);
}

#[test]
fn a_rule_has_one_verdict_and_can_be_reached() {
    check(VERDICTS);
}

const KINDS: &[Case] = &[
    ("budgets: [5]", &["budgets: a list is not a map"]),
    ("budgets: {shared: 5}", &["budgets.shared: 5 is not a map"]),
    (
        "budgets: {shared: }",
        &["budgets.shared: nothing is not a map"],
    ),
    ("policies: [a]", &["policies: a list is not a map"]),
    ("policies: {a: [1]}", &["policies.a: a list is not a map"]),
    ("retry: [1]", &["retry: a list is not a map"]),
    ("retry: 5", &["retry: 5 is not a map"]),
    ("services: [a]", &["services: a list is not a map"]),
    ("services: {a: 5}", &["services.a: 5 is not a map"]),
    ("services: {a: }", &["services.a: nothing is not a map"]),
    (
        "retry: {retry_on: []}",
        &["retry.retry_on: is an empty list: give at least one item, or leave the key out"],
    ),
    (
        "retry: {stop_on: []}",
        &["retry.stop_on: is an empty list: give at least one item, or leave the key out"],
    ),
    (
        "retry: {backoff: []}",
        &["retry.backoff: is an empty list: give at least one item, or leave the key out"],
    ),
    (
        "retry: {retry_on: 500}",
        &[r#"retry.retry_on: 500 is not a list: write [500], or ["5xx", 429, {error: timeout}]"#],
    ),
    (
        "retry: {retry_on: {status: 500}}",
        &[r#"retry.retry_on: a map is not a list: write ["5xx", 429, {error: timeout}]"#],
    ),
    (
        "retry: {retry_on: [500.5]}",
        &[r#"retry.retry_on[0]: 500.5 is not a condition: write {status: 429}, 429 or "5xx""#],
    ),
    (
        "retry: {retry_on: [{any: []}]}",
        &["retry.retry_on[0].any: is an empty list: give at least one item, or leave the key out"],
    ),
    (
        "retry: {retry_on: [{status: []}]}",
        &[
            "retry.retry_on[0].status: is an empty list: give at least one item, or leave the key out",
        ],
    ),
    (
        "retry: {retry_on: [{any: {status: 500}}]}",
        &["retry.retry_on[0].any: a map is not a list"],
    ),
    (
        "retry: {retry_on: [{not: {}}]}",
        &["retry.retry_on[0].not: is empty: give at least one condition, such as {status: 429}"],
    ),
    (
        "rules: [{when: {status: {min: 500}}, do: stop}]",
        &[r#"rules[0].when.status: a map is not a status: write 429, "5xx", "500-599" or ">=500""#],
    ),
    (
        r#"rules: [{when: {retryable: "yes"}, do: stop}]"#,
        &[r#"rules[0].when.retryable: "yes" is not true or false"#],
    ),
    (
        "rules: [{when: {idempotent: 1}, do: stop}]",
        &["rules[0].when.idempotent: 1 is not true or false"],
    ),
    (
        r#"rules: [{when: {method: "GE T"}, do: stop}]"#,
        &[r#"rules[0].when.method: "GE T" is not a method: write GET or POST"#],
    ),
    (
        "rules: [{when: {method: 5}, do: stop}]",
        &["rules[0].when.method: 5 is not a text"],
    ),
    (
        r#"rules: [{when: {message: ""}, do: stop}]"#,
        &["rules[0].when.message: holds an empty text: give something to look for"],
    ),
    (
        r#"rules: [{when: {code: [a, ""]}, do: stop}]"#,
        &["rules[0].when.code: holds an empty text: give something to look for"],
    ),
    (
        "rules: [{when: {code: {a: b}}, do: stop}]",
        &["rules[0].when.code: a map is not a text"],
    ),
    (
        r#"rules: [{when: {header: "a b"}, do: stop}]"#,
        &["rules[0].when.header: holds what is no header name: write letters, digits and hyphens"],
    ),
    (
        "rules: [{when: {header: {x: false}}, do: stop}]",
        &["rules[0].when.header.x: false is not a text"],
    ),
    (
        "retry: {on_exhausted: {}}",
        &["retry.on_exhausted: must hold exactly one of respond, failover and dead_letter"],
    ),
    (
        "retry: {on_exhausted: {failover: a, respond: {status: 503}}}",
        &["retry.on_exhausted: must hold exactly one of respond, failover and dead_letter"],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 503}, same_keys: true, set: {headers: {a: b}}}}",
        &[
            "retry.on_exhausted.same_keys: same_keys has no effect without failover",
            "retry.on_exhausted.set: set has no effect without failover",
        ],
    ),
    (
        "rules: [{when: 500, do: retry, same_keys: true}]",
        &["rules[0].same_keys: same_keys has no effect: this rule does not fail over"],
    ),
    (
        "retry: {credentials: [a b, 5]}",
        &[
            "retry.credentials[0]: holds what is no header name: write letters, digits and hyphens",
            "retry.credentials[1]: 5 is not a text",
        ],
    ),
    (
        "retry: {on_exhausted: {failover: 5}}",
        &["retry.on_exhausted.failover: 5 is not a text"],
    ),
    (
        "retry: {on_exhausted: {respond: {}}}",
        &["retry.on_exhausted: respond has no status: write {respond: {status: 503}}"],
    ),
    (
        "retry: {on_exhausted: {respond: {body: x}}}",
        &["retry.on_exhausted: respond has no status: write {respond: {status: 503}}"],
    ),
    (
        "retry: {on_exhausted: {respond: 503}}",
        &["retry.on_exhausted.respond: a number is not a map"],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 503, body: {a: b}}}}",
        &["retry.on_exhausted.respond.body: a map is not a text"],
    ),
    (
        "retry: {backoff: {}}",
        &["retry.backoff: names no custom backoff: write {custom: NAME}"],
    ),
];

const VERDICTS: &[Case] = &[
    (
        "rules: []",
        &["rules: is an empty list: give at least one item, or leave the key out"],
    ),
    ("rules: {do: stop}", &["rules: a map is not a list"]),
    ("rules: [stop]", &[r#"rules[0]: "stop" is not a map"#]),
    (
        "rules: [{}]",
        &["rules[0]: must hold exactly one of do, as, retry, wait and failover"],
    ),
    (
        "rules: [{when: {status: 500}, name: x}]",
        &["rules[0]: must hold exactly one of do, as, retry, wait and failover"],
    ),
    (
        "rules: [{when: {status: 500}, do: stop, retry: {}}]",
        &["rules[0]: must hold exactly one of do, as, retry, wait and failover"],
    ),
    (
        "rules: [{when: {status: 500}, do: stop, wait: {at_most: 1}}]",
        &["rules[0]: must hold exactly one of do, as, retry, wait and failover"],
    ),
    (
        "rules: [{when: {status: 500}, wait: {at_most: 1}, requeue: {at_most: 2}}]",
        &["rules[0].requeue: requeue means the same as wait: give one of the two"],
    ),
    (
        "rules: [{do: stop}, {when: {status: 500}, do: retry}]",
        &["rules[1]: is never reached: rules[0] has no when and takes every outcome"],
    ),
    (
        "services: {a: {match: {host: h}, rules: [{do: stop}, {do: retry}]}}",
        &[
            "services.a.rules[1]: is never reached: services.a.rules[0] has no when and takes every outcome",
        ],
    ),
    (
        "rules: [{when: {status: 500}, do: accept, set: {headers: {a: b}}}]",
        &["rules[0].set: set has no effect: this rule sends nothing again"],
    ),
    (
        "rules: [{when: {status: 500}, do: stop, set: {headers: {a: b}}}]",
        &["rules[0].set: set has no effect: this rule sends nothing again"],
    ),
    (
        "rules: [{when: {status: 500}, do: retry, set: {}}]",
        &["rules[0].set: sets nothing: write {headers: {NAME: VALUE}}"],
    ),
    (
        "rules: [{when: {}, do: stop}]",
        &["rules[0].when: is empty: give at least one condition, such as {status: 429}"],
    ),
    (
        "rules: [{when: [500, 502], do: stop}]",
        &["rules[0].when: a list is not a condition: write {any: [...]}"],
    ),
    (
        "rules: [{when: {status: null}, do: stop}]",
        &["rules[0].when: is empty: give at least one condition, such as {status: 429}"],
    ),
    (
        "rules: [{when: true, do: stop}]",
        &[r#"rules[0].when: true is not a condition: write {status: 429}, 429 or "5xx""#],
    ),
    (
        "rules: [{name: 5, do: stop}]",
        &["rules[0].name: 5 is not a text"],
    ),
    (
        "otherwise: {}",
        &["otherwise: says nothing: write {retry: RETRY}"],
    ),
    (
        "otherwise: {retry: 5}",
        &["otherwise.retry: 5 is not a map"],
    ),
];
