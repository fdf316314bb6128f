//! Retries and waits that would not end, and times that cannot work.

use super::{Case, check};

#[test]
fn retries_and_waits_must_end() {
    check(LIMITS);
}

#[test]
fn a_duration_has_a_unit_and_fits_the_others() {
    check(DURATIONS);
}

const LIMITS: &[Case] = &[
    (
        "retry: {max_retries: 2, max_attempts: 3}",
        &["retry.max_attempts: max_retries is set too, to 2: give one of the two"],
    ),
    (
        "policies: {gentle: {max_retries: 1, max_attempts: 2}}",
        &["policies.gentle.max_attempts: max_retries is set too, to 1: give one of the two"],
    ),
    (
        "retry: {max_attempts: 0}",
        &["retry.max_attempts: 0 is not allowed: must be a whole number of at least 1"],
    ),
    (
        "retry: {max_retries: -1}",
        &["retry.max_retries: -1 is not allowed: must be a whole number of at least 0"],
    ),
    (
        "retry: {max_refused: -1}",
        &["retry.max_refused: -1 is not allowed: must be a whole number of at least 0"],
    ),
    (
        "retry: {max_retries: 2.5}",
        &["retry.max_retries: 2.5 is not a whole number or unlimited"],
    ),
    (
        "retry: {max_retries: 99999999999}",
        &["retry.max_retries: 99999999999 is not allowed: must be at most 4294967294"],
    ),
    (
        r#"retry: {max_retries: "3"}"#,
        &[r#"retry.max_retries: "3" is not a whole number or unlimited"#],
    ),
    (
        "retry: {max_retries: unlimitd}",
        &[r#"retry.max_retries: "unlimitd" is not a whole number or unlimited"#],
    ),
    (
        "retry: {max_retries: unlimited}",
        &["retry.max_retries: unlimited needs a deadline: write deadline: 2m"],
    ),
    (
        "retry: {max_attempts: unlimited, deadline: none}",
        &[
            "retry.max_attempts: unlimited needs a deadline: write deadline: 2m (retry.deadline is none)",
        ],
    ),
    (
        "services: {a: {match: {host: h}, retry: {max_retries: unlimited}}}",
        &["services.a.retry.max_retries: unlimited needs a deadline: write deadline: 2m"],
    ),
    (
        "rules: [{when: {status: 500}, retry: {max_retries: unlimited}}]",
        &["rules[0].retry.max_retries: unlimited needs a deadline: write deadline: 2m"],
    ),
    (
        "policies: {gentle: {max_retries: unlimited}}\nretry: gentle",
        &["policies.gentle.max_retries: unlimited needs a deadline: write deadline: 2m"],
    ),
    (
        "retry: {max_retries: unlimited, deadline: 1m}\nservices: {a: {match: {host: h}, retry: {deadline: none}}}",
        &[
            "retry.max_retries: unlimited needs a deadline: write deadline: 2m (services.a.retry.deadline is none)",
        ],
    ),
    (
        "retry: {whole_responses: 65MiB}",
        &[
            "retry.whole_responses: 65MiB is not allowed: must be 0 to 64 MiB: a longer body is a download",
        ],
    ),
    (
        "services: {a: {match: {host: h}, retry: {whole_responses: 67108865}}}",
        &[
            "services.a.retry.whole_responses: 67108865 is not allowed: must be 0 to 64 MiB: a longer body is a download",
        ],
    ),
    (
        "retry: {whole_responses: 2MB}",
        &[r#"retry.whole_responses: "2MB" is not a size: write 512KiB, 2MiB or a number of bytes"#],
    ),
    (
        "retry: {whole_responses: -1}",
        &["retry.whole_responses: -1 is not a size: write 512KiB, 2MiB or a number of bytes"],
    ),
    (
        "rules: [{when: {status: 500}, wait: {}}]",
        &["rules[0].wait: never ends: give at_most, max or a deadline"],
    ),
    (
        "rules: [{when: {status: 500}, wait: {delay: 1s}}]",
        &["rules[0].wait: never ends: give at_most, max or a deadline"],
    ),
    (
        "rules: [{when: {status: 500}, requeue: {delay: 1s}}]",
        &["rules[0].requeue: never ends: give at_most, max or a deadline"],
    ),
    (
        "rules: [{when: {status: 500}, wait: {at_most: 0}}]",
        &["rules[0].wait.at_most: 0 is not allowed: must be a whole number of at least 1"],
    ),
    (
        "retry: {deadline: 1m}\nrules: [{when: {status: 202}, wait: {}}]\nservices: {a: {match: {host: h}, retry: {deadline: none}}}",
        &[
            "rules[0].wait: never ends: give at_most, max or a deadline (services.a.retry.deadline is none)",
        ],
    ),
];

const DURATIONS: &[Case] = &[
    (
        "services: {openai: {match: {host: api.openai.com}, retry: {base: 2000}}}",
        &["services.openai.retry.base: 2000 has no unit: write 2000ms or 2000s"],
    ),
    (
        "retry: {base: 2.5}",
        &["retry.base: 2.5 has no unit: write 2.5ms or 2.5s"],
    ),
    (
        r#"retry: {base: "2000"}"#,
        &["retry.base: 2000 has no unit: write 2000ms or 2000s"],
    ),
    (
        "retry: {base: -5}",
        &["retry.base: -5 is not a duration: write 500ms, 2s or 1h 30m"],
    ),
    (
        r#"retry: {base: "-5s"}"#,
        &[r#"retry.base: "-5s" is not a duration: write 500ms, 2s or 1h 30m"#],
    ),
    (
        "retry: {base: soon}",
        &[r#"retry.base: "soon" is not a duration: write 500ms, 2s or 1h 30m"#],
    ),
    (
        r#"retry: {base: ""}"#,
        &[r#"retry.base: "" is not a duration: write 500ms, 2s or 1h 30m"#],
    ),
    (
        "retry: {base: 5 parsecs}",
        &[r#"retry.base: "5 parsecs" is not a duration: write 500ms, 2s or 1h 30m"#],
    ),
    (
        "retry: {base: 1h30}",
        &[r#"retry.base: "1h30" is not a duration: write 500ms, 2s or 1h 30m"#],
    ),
    (
        "retry: {base: 99999999999999999999s}",
        &[r#"retry.base: "99999999999999999999s" is too long: write 1h 30m or 30days"#],
    ),
    (
        "retry: {base: 0.33333333333333331s}",
        &[
            r#"retry.base: "0.33333333333333331s" has too many decimal places: write 1.5s or 1500ms"#,
        ],
    ),
    (
        "retry: {base: 3.14159h}",
        &[r#"retry.base: "3.14159h" has too many decimal places: write 1.5s or 1500ms"#],
    ),
    (
        "retry: {base: 99999999999999999999.5s}",
        &[r#"retry.base: "99999999999999999999.5s" is too long: write 1h 30m or 30days"#],
    ),
    (
        "retry: {base: .nan}",
        &["retry.base: NaN is not a duration: write 500ms, 2s or 1h 30m"],
    ),
    (
        "retry: {base: [2s]}",
        &["retry.base: a list is not a duration: write 500ms, 2s or 1h 30m"],
    ),
    (
        "retry: {base: true}",
        &["retry.base: true is not a duration: write 500ms, 2s or 1h 30m"],
    ),
    (
        "retry: {base: none}",
        &[r#"retry.base: "none" is not a duration: write 500ms, 2s or 1h 30m"#],
    ),
    (
        "retry: {max_delay: never}",
        &[r#"retry.max_delay: "never" is not a duration: write 500ms, 2s or 1h 30m"#],
    ),
    (
        "retry: {deadline: 30}",
        &["retry.deadline: 30 has no unit: write 30ms or 30s"],
    ),
    (
        "retry: {attempt_timeout: 0}",
        &["retry.attempt_timeout: 0 has no unit: write 0ms or 0s"],
    ),
    (
        "retry: {retry_after: {max: 30}}",
        &["retry.retry_after.max: 30 has no unit: write 30ms or 30s"],
    ),
    (
        "retry: {backoff: [1s, 2]}",
        &["retry.backoff[1]: 2 has no unit: write 2ms or 2s"],
    ),
    (
        "rules: [{when: {status: 500}, wait: {delay: 5, at_most: 3}}]",
        &["rules[0].wait.delay: 5 has no unit: write 5ms or 5s"],
    ),
    (
        "rules: [{when: {status: 500}, wait: {max: 5}}]",
        &["rules[0].wait.max: 5 has no unit: write 5ms or 5s"],
    ),
    (
        "retry: {base: 0s}",
        &["retry.base: 0s is not allowed: must be above 0; for no delay write backoff: none"],
    ),
    (
        "retry: {deadline: 0s}",
        &["retry.deadline: 0s is not allowed: must be above 0"],
    ),
    (
        "retry: {attempt_timeout: 0s}",
        &["retry.attempt_timeout: 0s is not allowed: must be above 0"],
    ),
    (
        "retry: {deadline: 10s}\nservices: {a: {match: {host: h}, retry: {attempt_timeout: 0s}}}",
        &["services.a.retry.attempt_timeout: 0s is not allowed: must be above 0"],
    ),
    (
        "retry: {attempt_timeout: 30s, deadline: 10s}",
        &["retry.attempt_timeout: 30s is not allowed: must be at most the deadline, which is 10s"],
    ),
    (
        "retry: {deadline: 10s}\nservices: {a: {match: {host: h}, retry: {attempt_timeout: 30s}}}",
        &[
            "services.a.retry.attempt_timeout: 30s is not allowed: must be at most the deadline, which is 10s (retry.deadline)",
        ],
    ),
    (
        "retry: {attempt_timeout: 10s}\nservices: {a: {match: {host: h}, retry: {deadline: 5s}}}",
        &[
            "retry.attempt_timeout: 10s is not allowed: must be at most the deadline, which is 5s (services.a.retry.deadline)",
        ],
    ),
    (
        "retry: {base: 1s, max_delay: 500ms}",
        &["retry.base: 1s is not allowed: must be at most max_delay, which is 500ms"],
    ),
    (
        "retry: {base: 2s}\nservices: {a: {match: {host: h}, retry: {max_delay: 1s}}}",
        &[
            "retry.base: 2s is not allowed: must be at most max_delay, which is 1s (services.a.retry.max_delay)",
        ],
    ),
    (
        "retry: {base: 1s, max_delay: 1s}\nservices: {a: {match: {host: h}, retry: {base: 2s}}}",
        &[
            "services.a.retry.base: 2s is not allowed: must be at most max_delay, which is 1s (retry.max_delay)",
        ],
    ),
    (
        "services: {a: {match: {host: h}, retry: {max_delay: 1s}}}",
        &[
            "services.a.retry.max_delay: 1s is not allowed: must be at least base, which is 2s (default): give base too",
        ],
    ),
    (
        "services: {a: {match: {host: h}, retry: {use: llm, max_delay: 500ms}}}",
        &[
            "services.a.retry.max_delay: 500ms is not allowed: must be at least base, which is 1s (preset llm): give base too",
        ],
    ),
    (
        "services: {a: {match: {host: h}, retry: {use: user_facing, base: 3s}}}",
        &[
            "services.a.retry.base: 3s is not allowed: must be at most max_delay, which is 2s (preset user_facing)",
        ],
    ),
];
