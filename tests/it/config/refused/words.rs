//! Words that nobody knows, and words that need more than themselves.

use super::{Case, check};

#[test]
fn a_word_that_nobody_knows_is_named_with_those_that_are_known() {
    check(WORDS);
}

const WORDS: &[Case] = &[
    (
        "retry: {backoff: exponental}",
        &[r#"retry.backoff: "exponental" is not known: did you mean exponential?"#],
    ),
    (
        "retry: {backoff: quadratic}",
        &[
            r#"retry.backoff: "quadratic" is not known: known are none, fixed, linear, exponential, [1s, 5s], {custom: NAME}"#,
        ],
    ),
    (
        "retry: {backoff: custom}",
        &[r#"retry.backoff: "custom" does not stand alone: write {custom: NAME}"#],
    ),
    (
        "retry: {backoff: 5}",
        &[
            "retry.backoff: 5 is not one of none, fixed, linear, exponential, [1s, 5s], {custom: NAME}",
        ],
    ),
    (
        "retry: {jitter: ful}",
        &[r#"retry.jitter: "ful" is not known: did you mean full?"#],
    ),
    (
        "retry: {jitter: wide}",
        &[
            r#"retry.jitter: "wide" is not known: known are none, full, equal, decorrelated, "20%", {min: 0.5, max: 1}"#,
        ],
    ),
    (
        "retry: {jitter: 120%}",
        &[r#"retry.jitter: "120%" is not allowed: must be "0%" to "100%", in whole numbers"#],
    ),
    (
        "retry: {jitter: 12.5%}",
        &[r#"retry.jitter: "12.5%" is not allowed: must be "0%" to "100%", in whole numbers"#],
    ),
    (
        "retry: {jitter: -20%}",
        &[r#"retry.jitter: "-20%" is not allowed: must be "0%" to "100%", in whole numbers"#],
    ),
    (
        "retry: {jitter: 0.2}",
        &[
            r#"retry.jitter: 0.2 is not one of none, full, equal, decorrelated, "20%", {min: 0.5, max: 1}"#,
        ],
    ),
    (
        "retry: {cap: befor}",
        &[r#"retry.cap: "befor" is not known: did you mean before?"#],
    ),
    (
        "retry: {truncate: middle}",
        &[
            r#"retry.truncate: "middle" is not known: known are off, head, tail, ends, {keep: tail, share: 0.5}"#,
        ],
    ),
    (
        "retry: {truncate: true}",
        &["retry.truncate: true is not one of off, head, tail, ends, {keep: tail, share: 0.5}"],
    ),
    (
        "retry: {methods: idempotnt}",
        &[r#"retry.methods: "idempotnt" is not known: did you mean idempotent?"#],
    ),
    (
        "retry: {methods: [GET]}",
        &["retry.methods: a list is not one of idempotent, all, {only: [GET]}"],
    ),
    (
        "retry: {counter: rules}",
        &[r#"retry.counter: "rules" is not known: did you mean rule?"#],
    ),
    (
        "retry: {retry_after: ignor}",
        &[r#"retry.retry_after: "ignor" is not known: did you mean ignore?"#],
    ),
    (
        "retry: {retry_after: clamp}",
        &[r#"retry.retry_after: "clamp" does not stand alone: write {max: 30s, over: clamp}"#],
    ),
    (
        "retry: {retry_after: {max: 2s, over: clam}}",
        &[r#"retry.retry_after.over: "clam" is not known: did you mean clamp?"#],
    ),
    (
        "retry: {on_exhausted: lst}",
        &[r#"retry.on_exhausted: "lst" is not known: did you mean last?"#],
    ),
    (
        "retry: {on_exhausted: failover}",
        &[r#"retry.on_exhausted: "failover" does not stand alone: write {failover: SERVICE}"#],
    ),
    (
        "retry: {on_exhausted: 5}",
        &[
            "retry.on_exhausted: 5 is not one of last, fail, {respond: {status: 503}}, {failover: SERVICE}, {dead_letter: NAME}",
        ],
    ),
    (
        "rules: [{do: retyr}]",
        &[r#"rules[0].do: "retyr" is not known: did you mean retry?"#],
    ),
    (
        "rules: [{do: failover}]",
        &[r#"rules[0].do: "failover" does not stand alone: write failover: SERVICE"#],
    ),
    (
        "rules: [{do: requeue}]",
        &[r#"rules[0].do: "requeue" does not stand alone: write requeue: {at_most: NUMBER}"#],
    ),
    (
        "rules: [{when: {status: 500}, do: [stop]}]",
        &[
            "rules[0].do: a list is not one of accept, fail, stop, retry, continue, break, prune, wait: {at_most: NUMBER}, failover: SERVICE, requeue: {at_most: NUMBER}, jump: SERVICE",
        ],
    ),
    (
        "otherwise: clasify",
        &[r#"otherwise: "clasify" is not known: did you mean classify?"#],
    ),
    (
        "otherwise: retry",
        &[r#"otherwise: "retry" does not stand alone: write {retry: RETRY}"#],
    ),
    (
        "otherwise: 5",
        &[
            "otherwise: 5 is not one of classify, accept, fail, by_outcome, continue, {retry: RETRY}",
        ],
    ),
    (
        "rules: [{when: {outcome: okay}, do: stop}]",
        &[r#"rules[0].when.outcome: "okay" is not known: did you mean ok?"#],
    ),
    (
        "rules: [{when: {error: timeot}, do: stop}]",
        &[r#"rules[0].when.error: "timeot" is not known: did you mean timeout?"#],
    ),
    (
        "rules: [{when: {error: 500}, do: stop}]",
        &["rules[0].when.error: 500 is not one of any, connect, timeout, reset, dns, tls, body"],
    ),
    (
        "services: {a: {match: {host: h}, request_overrides: deni}}",
        &[r#"services.a.request_overrides: "deni" is not known: did you mean deny?"#],
    ),
    (
        "services: {a: {match: {host: h}, request_overrides: true}}",
        &["services.a.request_overrides: true is not one of allow, fill_only, deny"],
    ),
    (
        "services: {a: {match: {host: h}, gate: {max_wait: 0s}}}",
        &["services.a.gate.max_wait: 0s is not allowed: must be above 0; write gate: off"],
    ),
    (
        "services: {a: {match: {host: h}, gate: 1}}",
        &["services.a.gate: 1 is not one of on, off"],
    ),
];
