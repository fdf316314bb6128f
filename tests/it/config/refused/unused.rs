//! What would stay unseen until somebody uses it.

use super::{Case, check};

#[test]
fn a_block_that_nobody_uses_must_be_right_all_the_same() {
    check(UNUSED);
}

const UNUSED: &[Case] = &[
    (
        "policies: {gentle: {budget: shared}}",
        &[r#"policies.gentle.budget: "shared" is no budget: there are none"#],
    ),
    (
        "policies: {gentle: {on_exhausted: {failover: spare}}}",
        &[r#"policies.gentle.on_exhausted: "spare" is no service: there are none"#],
    ),
    (
        "policies: {gentle: {on_exhausted: {dead_letter: letters}}}",
        &[
            r#"policies.gentle.on_exhausted: "letters" is no dead letter observer of this program: there are none"#,
        ],
    ),
    (
        "policies: {gentle: {backoff: {custom: squares}}}",
        &[
            r#"policies.gentle.backoff.custom: "squares" is no custom backoff of this program: there are none"#,
        ],
    ),
    (
        "policies: {llm: {base: 1s}}",
        &[r#"policies.llm: "llm" is the name of a preset: give the block another one"#],
    ),
    (
        "rules: [{when: {header: {}}, do: stop}]",
        &["rules[0].when.header: is empty: give at least one header, or leave the key out"],
    ),
];
