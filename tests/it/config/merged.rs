//! Layers upon layers: the more specific wins, field by field.

mod blocks;
mod places;

use super::client::{on_tower, statuses};
use super::{config, delays, origin, policy, seconds};
use http_retry::config::RetryConfig;
use http_retry_core::settings::PolicyExt;

const SERVICE: &str = "services.a.retry";
const ROUTE: &str = "services.a.routes[0].retry";

/// What three layers say, each a RETRY block or nothing; the policy of the route.
fn layered(document: &str, service: &str, route: &str) -> RetryConfig {
    let layer = |block: &str| match block {
        "" => "{}".to_owned(),
        block => block.to_owned(),
    };
    config(&format!(
        "
version: 1
budgets: {{one: {{}}, two: {{}}, three: {{}}}}
policies: {{gentle: {{base: 5s, factor: 1.5, jitter: none}}, gentler: {{use: gentle, base: 7s}}}}
retry: {}
services:
  a:
    match: {{host: api.example}}
    retry: {}
    routes: [{{name: r, match: {{path: /v1/*}}, retry: {}}}]
",
        layer(document),
        layer(service),
        layer(route)
    ))
}

fn found(config: &RetryConfig, field: &str) -> Option<(String, String)> {
    origin(&policy(config, Some("a"), Some("r")), field)
}

fn is_from(config: &RetryConfig, field: &str, value: &str, from: &str) {
    let wanted = Some((value.to_owned(), from.to_owned()));
    assert_eq!(found(config, field), wanted, "{field}");
}

/// Fields, and three values of each.
const FIELDS: [(&str, [&str; 3]); 17] = [
    ("max_retries", ["1", "2", "3"]),
    ("backoff", ["fixed", "linear", "none"]),
    ("base", ["1s", "2s", "3s"]),
    ("factor", ["1.5", "2.5", "3.5"]),
    ("first_step", ["0", "1", "0"]),
    ("max_delay", ["10s", "20s", "none"]),
    ("cap", ["both", "before", "after"]),
    ("methods", ["all", "idempotent", "all"]),
    ("deadline", ["10m", "none", "30m"]),
    ("attempt_timeout", ["1s", "2s", "none"]),
    ("counter", ["rule", "request", "rule"]),
    ("budget", ["one", "two", "three"]),
    ("jitter", ["equal", "none", "decorrelated"]),
    ("retry_after", ["ignore", "respect", "ignore"]),
    ("retry_on", ["[500]", "[502]", "[503]"]),
    ("stop_on", ["[500]", "[502]", "[503]"]),
    ("on_exhausted", ["last", "fail", "last"]),
];

#[test]
fn the_more_specific_layer_wins_field_by_field_and_says_so() {
    for (field, values) in FIELDS {
        for given in 0..8_usize {
            let of = |layer: usize| match given & (1 << layer) {
                0 => String::new(),
                _ => format!("{{{field}: {}}}", values[layer]),
            };
            let config = layered(&of(0), &of(1), &of(2));
            let winner = (0..3).rev().find(|layer| given & (1 << layer) != 0);
            let Some(winner) = winner else {
                let from = found(&config, field).map(|(_, from)| from);
                assert!(from.is_none_or(|from| from == "default"), "{field}");
                continue;
            };
            let place = ["retry", SERVICE, ROUTE][winner];
            let value = match values[winner] {
                list if list.starts_with('[') => "a list",
                value => value,
            };
            is_from(&config, field, value, &format!("{place}.{field}"));
        }
    }
}

#[test]
fn fields_of_different_layers_stand_side_by_side() {
    let config = layered(
        "{base: 3s, jitter: none}",
        "{backoff: linear}",
        "{max_attempts: 3}",
    );
    let ended = on_tower(&config, statuses(&[503]));
    assert_eq!(delays(&ended.report), seconds(&[3, 6]));
    is_from(&config, "base", "3s", "retry.base");
    is_from(&config, "backoff", "linear", "services.a.retry.backoff");
    is_from(
        &config,
        "max_retries",
        "2",
        &format!("{ROUTE}.max_attempts"),
    );
}

#[test]
fn what_the_document_does_not_say_is_the_default() {
    let config = layered("", "", "");
    for (field, value) in [
        ("max_retries", "4"),
        ("backoff", "exponential"),
        ("base", "2s"),
        ("retry_after.max", "15m"),
        ("methods", "idempotent"),
    ] {
        is_from(&config, field, value, "default");
    }
    for field in [
        "deadline",
        "attempt_timeout",
        "max_delay",
        "budget",
        "jitter",
        "on_exhausted",
    ] {
        assert_eq!(found(&config, field), None, "{field}");
    }
}

#[test]
fn two_words_for_the_limit_are_one_field() {
    let config = layered("{max_retries: 9}", "{max_attempts: 3}", "");
    assert_eq!(policy(&config, Some("a"), Some("r")).retry_limit(), 2);
    let config = layered("{max_attempts: 9}", "", "{max_retries: 3}");
    assert_eq!(policy(&config, Some("a"), Some("r")).retry_limit(), 3);
}

#[test]
fn what_a_block_uses_lies_below_it_and_above_the_outer_layers() {
    let outer = "{base: 1s, factor: 3.5, max_retries: 1}";
    let config = layered(outer, "{use: gentle, base: 6s}", "");
    is_from(&config, "base", "6s", "services.a.retry.base");
    is_from(&config, "factor", "1.5", "policies.gentle.factor");
    is_from(&config, "max_retries", "1", "retry.max_retries");

    let config = layered(outer, "{factor: 4.5}", "{use: gentler}");
    is_from(&config, "base", "7s", "policies.gentler.base");
    is_from(&config, "factor", "1.5", "policies.gentle.factor");
}

#[test]
fn a_name_alone_stands_for_a_block_that_uses_it() {
    let config = layered("", "gentler", "");
    is_from(&config, "base", "7s", "policies.gentler.base");
    is_from(&config, "jitter", "none", "policies.gentle.jitter");
}

#[test]
fn a_preset_is_a_block_of_all_its_numbers() {
    let config = layered(
        "{max_retries: 9, base: 1s}",
        "{use: user_facing, max_retries: 5}",
        "",
    );
    is_from(&config, "max_retries", "5", "services.a.retry.max_retries");
    for (field, value) in [
        ("base", "500ms"),
        ("max_delay", "2s"),
        ("retry_after.max", "2s"),
    ] {
        is_from(&config, field, value, "preset user_facing");
    }
    let never = layered("", "never", "");
    assert_eq!(policy(&never, Some("a"), Some("r")).retry_limit(), 0);
}

#[test]
fn a_list_takes_the_place_of_another_list() {
    let config = layered(
        "{max_retries: 1, retry_on: [404, 500]}",
        "{retry_on: [502]}",
        "",
    );
    for (status, attempts) in [(404, 1), (500, 1), (502, 2)] {
        assert_eq!(on_tower(&config, statuses(&[status])).attempts(), attempts);
    }
    let config = layered(
        "{jitter: none, backoff: [1s, 2s, 3s]}",
        "{backoff: [9s]}",
        "",
    );
    let ended = on_tower(&config, statuses(&[503]));
    assert_eq!(delays(&ended.report), seconds(&[9, 9, 9, 9]));
    is_from(&config, "backoff", "[9s]", "services.a.retry.backoff");
}
