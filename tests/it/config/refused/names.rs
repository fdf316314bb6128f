//! Names of policies, budgets and services that are not there, and ways that lead back to where they began.

use super::{Case, check};

#[test]
fn a_name_must_be_there() {
    check(NAMES);
}

#[test]
fn what_only_code_can_give_must_be_given() {
    check(OF_CODE);
}

#[test]
fn no_way_leads_back_to_where_it_began() {
    check(CIRCLES);
}

const NAMES: &[Case] = &[
    (
        "retry: {use: gentle}",
        &[
            r#"retry.use: "gentle" is no policy: known are user_facing, background, llm, rate_limited, never"#,
        ],
    ),
    (
        "policies: {gentle: {base: 1s}}\nretry: gentel",
        &[r#"retry: "gentel" is no policy: did you mean gentle?"#],
    ),
    (
        "retry: {use: backgroud}",
        &[r#"retry.use: "backgroud" is no policy: did you mean background?"#],
    ),
    (
        "policies: {gentle: {use: clam}}",
        &[
            r#"policies.gentle.use: "clam" is no policy: known are gentle, user_facing, background, llm, rate_limited, never"#,
        ],
    ),
    (
        "rules: [{when: {status: 500}, retry: gentel}]",
        &[
            r#"rules[0].retry: "gentel" is no policy: known are user_facing, background, llm, rate_limited, never"#,
        ],
    ),
    ("retry: {use: 5}", &["retry.use: 5 is not a text"]),
    (
        "retry: {budget: shared}",
        &[r#"retry.budget: "shared" is no budget: there are none"#],
    ),
    (
        "budgets: {shared: {capacity: 5}}\nretry: {budget: sharde}",
        &[r#"retry.budget: "sharde" is no budget: did you mean shared?"#],
    ),
    (
        "budgets: {shared: {capacity: 5}}\nservices: {a: {match: {host: h}, budget: sharde}}",
        &[r#"services.a.budget: "sharde" is no budget: did you mean shared?"#],
    ),
    (
        "rules: [{when: {status: 500}, retry: {budget: shared}}]",
        &[r#"rules[0].retry.budget: "shared" is no budget: there are none"#],
    ),
    (
        "budgets: {shared: {capacity: 5}}\nservices: {a: {match: {host: h}, budget: shared, retry: {budget: shared}}}",
        &["services.a.budget: retry.budget is set too: give one of the two"],
    ),
    (
        "rules: [{when: {status: 500}, failover: spare}]",
        &[r#"rules[0].failover: "spare" is no service: there are none"#],
    ),
    (
        "services: {spare: {base_url: \"http://spare\"}}\nrules: [{when: {status: 500}, failover: spair}]",
        &[r#"rules[0].failover: "spair" is no service: did you mean spare?"#],
    ),
    (
        "services: {spare: {match: {host: s}}}\nrules: [{when: {status: 500}, failover: spare}]",
        &[r#"rules[0].failover: "spare" has no place to go to: give services.spare.base_url"#],
    ),
    (
        "services: {spare: {base_url: \"http://spare\"}}\nretry: {on_exhausted: {failover: spar}}",
        &[r#"retry.on_exhausted: "spar" is no service: did you mean spare?"#],
    ),
    (
        "retry: {on_exhausted: {dead_letter: letters}}",
        &[
            r#"retry.on_exhausted: "letters" is no dead letter observer of this program: there are none"#,
        ],
    ),
    (
        "retry: {backoff: {custom: squares}}",
        &[
            r#"retry.backoff.custom: "squares" is no custom backoff of this program: there are none"#,
        ],
    ),
];

const OF_CODE: &[Case] = &[
    (
        "retry: {classify_error: [mine]}",
        &[r#"retry.classify_error: "mine" is no error type of this program: there are none"#],
    ),
    (
        "policies: {gentle: {classify_error: mine}}",
        &[
            r#"policies.gentle.classify_error: "mine" is no error type of this program: there are none"#,
        ],
    ),
    (
        "rules: [{when: 500, retry: {hold_streams: on}}]",
        &[
            "rules[0].retry.hold_streams: hold_streams has no effect in a rule: write it in the retry of the service",
        ],
    ),
];

const CIRCLES: &[Case] = &[
    (
        "policies: {a: {use: a}}",
        &["policies.a.use: use cycle: a -> a"],
    ),
    (
        "policies: {a: {use: b}, b: {use: a}}",
        &[
            "policies.a.use: use cycle: b -> a -> b",
            "policies.b.use: use cycle: a -> b -> a",
        ],
    ),
    (
        "policies: {a: {use: b}, b: {use: c}, c: {use: a}}\nretry: a",
        &[
            "policies.a.use: use cycle: b -> c -> a -> b",
            "policies.b.use: use cycle: c -> a -> b -> c",
            "policies.c.use: use cycle: a -> b -> c -> a",
        ],
    ),
    (
        r#"services: {a: {base_url: "http://a", rules: [{when: {status: 500}, failover: a}]}}"#,
        &["services.a.rules[0].failover: failover cycle: a -> a"],
    ),
    (
        r#"services: {a: {base_url: "http://a", retry: {on_exhausted: {failover: a}}}}"#,
        &["services.a.retry.on_exhausted: failover cycle: a -> a"],
    ),
    (
        r#"services: {a: {base_url: "http://a", rules: [{failover: b}]}, b: {base_url: "http://b", rules: [{failover: a}]}}"#,
        &["services.b.rules[0].failover: failover cycle: a -> b -> a"],
    ),
    (
        r#"services: {a: {base_url: "http://a", rules: [{failover: b}]}, b: {base_url: "http://b", rules: [{failover: c}]}, c: {base_url: "http://c", retry: {on_exhausted: {failover: a}}}}"#,
        &["services.c.retry.on_exhausted: failover cycle: a -> b -> c -> a"],
    ),
    (
        "retry: {on_exhausted: {failover: a}}\nservices: {a: {base_url: \"http://a\"}}",
        &["retry.on_exhausted: failover cycle: a -> a (what the document says holds at a too)"],
    ),
    (
        "services: {a: {base_url: \"http://a\"}}\nrules: [{when: {status: 500}, jump: a}]",
        &["rules[0].jump: failover cycle: a -> a (what the document says holds at a too)"],
    ),
    (
        r#"services: {a: {base_url: "http://a", retry: {on_exhausted: {failover: b}}}, b: {base_url: "http://b", routes: [{name: r, match: {path: /x}, rules: [{failover: a}]}]}}"#,
        &["services.b.routes[0].rules[0].failover: failover cycle: a -> b -> a"],
    ),
];
