//! Keys that nobody knows, at every level, each with the nearest one that is known.

use super::{Case, check};

#[test]
fn a_key_that_nobody_knows_is_named_with_the_nearest_one() {
    check(KEYS);
}

const KEYS: &[Case] = &[
    (
        "retires: {base: 2s}",
        &["retires: is not a known key: did you mean retry?"],
    ),
    (
        "zzz: 1",
        &[
            "zzz: is not a known key: known are version, fleet, budgets, policies, retry, rules, otherwise, dialect, header_rules, hedge, inspect_success, dialects, gate, services",
        ],
    ),
    (
        "budgets: {shared: {capcity: 5}}",
        &["budgets.shared.capcity: is not a known key: did you mean capacity?"],
    ),
    (
        "policies: {gentle: {fctor: 2}}",
        &["policies.gentle.fctor: is not a known key: did you mean factor?"],
    ),
    (
        "retry: {bse: 2s}",
        &["retry.bse: is not a known key: did you mean base?"],
    ),
    (
        "retry: {Base: 2s}",
        &["retry.Base: is not a known key: did you mean base?"],
    ),
    (
        "retry: {maxRetries: 3}",
        &["retry.maxRetries: is not a known key: did you mean max_retries?"],
    ),
    (
        "retry: {attempts: 3}",
        &["retry.attempts: is not a known key: did you mean max_attempts?"],
    ),
    (
        "retry: {timeout: 2s}",
        &["retry.timeout: is not a known key: did you mean attempt_timeout?"],
    ),
    (
        "retry: {delay: 2s}",
        &["retry.delay: is not a known key: did you mean max_delay?"],
    ),
    (
        "retry: {jitter: {mim: 0.5}}",
        &["retry.jitter.mim: is not a known key: did you mean min?"],
    ),
    (
        "retry: {retry_after: {maximum: 2s}}",
        &["retry.retry_after.maximum: is not a known key: did you mean max?"],
    ),
    (
        "retry: {on_exhausted: {respnd: {status: 503}}}",
        &["retry.on_exhausted.respnd: is not a known key: did you mean respond?"],
    ),
    (
        "retry: {on_exhausted: {respond: {status: 503, header: {a: b}}}}",
        &["retry.on_exhausted.respond.header: is not a known key: did you mean headers?"],
    ),
    (
        "retry: {backoff: {custm: squares}}",
        &["retry.backoff.custm: is not a known key: did you mean custom?"],
    ),
    (
        "retry: {retry_on: [{staus: 500}]}",
        &["retry.retry_on[0].staus: is not a known key: did you mean status?"],
    ),
    (
        "retry: {stop_on: [{not: {cod: x}}]}",
        &["retry.stop_on[0].not.cod: is not a known key: did you mean code?"],
    ),
    (
        "retry: {retry_on: [{any: [{status: 500}, {hedaer: x}]}]}",
        &["retry.retry_on[0].any[1].hedaer: is not a known key: did you mean header?"],
    ),
    (
        "rules: [{wen: {status: 500}, do: stop}]",
        &["rules[0].wen: is not a known key: did you mean when?"],
    ),
    (
        "rules: [{when: {status: 500}, wait: {dely: 1s, at_most: 3}}]",
        &["rules[0].wait.dely: is not a known key: did you mean delay?"],
    ),
    (
        "rules: [{when: {status: 500}, do: retry, set: {header: {a: b}}}]",
        &["rules[0].set.header: is not a known key: did you mean headers?"],
    ),
    (
        "rules: [{when: {status: 500}, retry: {max_atempts: 3}}]",
        &["rules[0].retry.max_atempts: is not a known key: did you mean max_attempts?"],
    ),
    (
        "otherwise: {rtry: {base: 1s}}",
        &["otherwise.rtry: is not a known key: did you mean retry?"],
    ),
    (
        "otherwise: {retry: {backof: none}}",
        &["otherwise.retry.backof: is not a known key: did you mean backoff?"],
    ),
    (
        "services: {a: {mtach: {host: h}}}",
        &["services.a.mtach: is not a known key: did you mean match?"],
    ),
    (
        "services: {a: {match: {hots: h}}}",
        &["services.a.match.hots: is not a known key: did you mean host?"],
    ),
    (
        "services: {a: {match: {host: h}, retry: {deadlin: 2s}}}",
        &["services.a.retry.deadlin: is not a known key: did you mean deadline?"],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: r, match: {path: /a}, retires: {base: 1s}}]}}",
        &["services.a.routes[0].retires: is not a known key: did you mean retry?"],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: r, match: {host: b}}]}}",
        &["services.a.routes[0].match.host: is not a known key: known are path, method"],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: r, match: {path: /a}, rules: [{do: stop, naem: x}]}]}}",
        &["services.a.routes[0].rules[0].naem: is not a known key: did you mean name?"],
    ),
];

#[test]
fn a_key_of_retry_beside_it_is_sent_there() {
    check(BESIDE);
}

const BESIDE: &[Case] = &[
    (
        "max_attempts: 2",
        &["max_attempts: is a key of retry: write retry: {max_attempts: ..}"],
    ),
    (
        "services: {a: {match: {host: h}, max_attempts: 2, deadline: 1s}}",
        &[
            "services.a.deadline: is a key of retry: write retry: {deadline: ..}",
            "services.a.max_attempts: is a key of retry: write retry: {max_attempts: ..}",
        ],
    ),
    (
        "services: {a: {match: {host: h}, routes: [{name: r, match: {path: /a}, use: background}]}}",
        &["services.a.routes[0].use: is a key of retry: write retry: {use: ..}"],
    ),
    (
        "rules: [{when: 500, do: retry, backoff: none}]",
        &["rules[0].backoff: is a key of retry: write retry: {backoff: ..}"],
    ),
    // There is no retry in a budget.
    (
        "budgets: {b: {max_attempts: 2}}",
        &[
            "budgets.b.max_attempts: is not a known key: known are per_second, initial, per_success, min_per_second, capacity, retry_cost, timeout_cost, gated_cost, growth, shared",
        ],
    ),
];

#[test]
fn a_key_with_nothing_in_it_says_what_is_missing() {
    check(EMPTY);
}

const EMPTY: &[Case] = &[
    (
        "rules: [{when: 500, retry: }]",
        &[
            "rules[0].retry: has nothing in it: write retry: {max_attempts: 3}, or {} for the settings of this place",
        ],
    ),
    (
        "otherwise: {retry: }",
        &[
            "otherwise.retry: has nothing in it: write retry: {max_attempts: 3}, or {} for the settings of this place",
        ],
    ),
    (
        "policies: {a: }",
        &["policies.a: has nothing in it: write {max_attempts: 3}, or the name of a preset"],
    ),
];
