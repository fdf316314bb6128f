//! Layers upon layers: the more specific wins, field by field.

use super::client::{Client, Stack, get, on_tower, send, statuses};
use super::{SECOND, config, delays, document, origin, policy, seconds};
use http_retry::config::RetryConfig;
use http_retry::testing::Script;
use std::time::Duration;

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
    assert_eq!(policy(&config, Some("a"), Some("r")).max_retries(), 2);
    let config = layered("{max_attempts: 9}", "", "{max_retries: 3}");
    assert_eq!(policy(&config, Some("a"), Some("r")).max_retries(), 3);
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
    assert_eq!(policy(&never, Some("a"), Some("r")).max_retries(), 0);
}

#[test]
fn jitter_merges_inside_and_a_word_takes_the_place_of_a_block() {
    let config = layered("{jitter: {min: 0.5, max: 2.5}}", "{jitter: {max: 1.5}}", "");
    is_from(&config, "jitter.min", "0.5", "retry.jitter.min");
    is_from(&config, "jitter.max", "1.5", "services.a.retry.jitter.max");

    let config = layered("{jitter: {min: 0.5}}", "{jitter: full}", "");
    is_from(&config, "jitter.min", "0", "services.a.retry.jitter");
    is_from(&config, "jitter.max", "1", "services.a.retry.jitter");

    let config = layered("{jitter: decorrelated}", "{jitter: {min: 0.5}}", "");
    is_from(
        &config,
        "jitter",
        "between min and max",
        "services.a.retry.jitter",
    );
    is_from(&config, "jitter.min", "0.5", "services.a.retry.jitter.min");
    let text = policy(&config, Some("a"), Some("r")).explain();
    assert!(text.contains("equal jitter"), "{text}");
}

#[test]
fn a_percentage_is_a_jitter_around_the_whole() {
    let config = layered("{jitter: 20%}", "{jitter: {max: 1.1}}", "");
    is_from(&config, "jitter.min", "0.8", "retry.jitter");
    is_from(&config, "jitter.max", "1.1", "services.a.retry.jitter.max");
    let text = policy(&config, Some("a"), Some("r")).explain();
    assert!(text.contains("jitter 0.8 to 1.1"), "{text}");
}

#[test]
fn the_servers_wish_merges_inside() {
    let outer = "{max_retries: 1, backoff: none, retry_after: {max: 5s, over: clamp}}";
    let config = layered(outer, "{retry_after: {max: 50s}}", "");
    is_from(
        &config,
        "retry_after.max",
        "50s",
        "services.a.retry.retry_after.max",
    );
    is_from(
        &config,
        "retry_after.over",
        "clamp",
        "retry.retry_after.over",
    );
    let wish = Script::new().status(503).header("retry-after", "600");
    let delay = delays(&on_tower(&config, wish.clone()).report)[0];
    assert!((SECOND * 50..=SECOND * 60).contains(&delay), "{delay:?}");

    let ignoring = layered(outer, "{retry_after: ignore}", "");
    assert_eq!(
        delays(&on_tower(&ignoring, wish.clone()).report),
        seconds(&[0])
    );
    let again = layered(
        "{max_retries: 1, backoff: none, retry_after: ignore}",
        "",
        "{retry_after: {max: 5s, over: clamp}}",
    );
    let delay = delays(&on_tower(&again, wish).report)[0];
    assert!((SECOND * 5..=SECOND * 6).contains(&delay), "{delay:?}");
}

#[test]
fn a_response_merges_inside() {
    let outer =
        "{max_retries: 0, on_exhausted: {respond: {status: 503, headers: {x-a: b}, body: outer}}}";
    let config = layered(outer, "{on_exhausted: {respond: {body: inner}}}", "");
    let ended = on_tower(&config, statuses(&[500]));
    assert_eq!((ended.status, ended.body.as_str()), (Some(503), "inner"));
    assert_eq!(ended.headers["x-a"], "b");
    let status = "on_exhausted.respond.status";
    is_from(&config, status, "503", "retry.on_exhausted.respond.status");

    let config = layered(outer, "", "{on_exhausted: last}");
    assert_eq!(on_tower(&config, statuses(&[500])).status, Some(500));
}

#[test]
fn the_arguments_of_a_custom_backoff_merge_inside() {
    #[derive(serde::Deserialize)]
    struct Line {
        start: u64,
        step: u64,
    }
    let text = "
version: 1
retry: {jitter: none, max_retries: 2, backoff: {custom: line, args: {start: 1, step: 1}}}
services: {a: {match: {host: api.example}, retry: {backoff: {args: {step: 10}}}}}
";
    let line =
        |line: Line| move |n: u32| Duration::from_secs(line.start + line.step * u64::from(n));
    let config = RetryConfig::builder()
        .backoff("line", line)
        .load(&document(text))
        .unwrap();
    assert_eq!(
        delays(&on_tower(&config, statuses(&[503])).report),
        seconds(&[11, 21])
    );
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

#[test]
fn a_rule_lies_above_the_route_and_uses_lies_below_it_there_too() {
    let text = "
version: 1
policies: {slow: {base: 30s, max_retries: 9}}
retry: {backoff: fixed, base: 1s, jitter: none, max_retries: 4}
services:
  a:
    match: {host: api.example}
    retry: {base: 2s}
    routes: [{name: r, match: {path: /v1/*}, retry: {base: 3s}, rules: [
      {when: {status: 404}, retry: {max_retries: 2}},
      {when: {status: 405}, retry: {base: 4s, max_retries: 1}},
      {when: {status: 406}, retry: {use: slow, max_retries: 1}},
      {when: {status: 407}, retry: slow}]}]
    rules: [{when: {status: 408}, retry: {max_retries: 1}}]
";
    let config = config(text);
    let waited = |status| delays(&on_tower(&config, statuses(&[status])).report);
    assert_eq!(waited(404), seconds(&[3, 3]));
    assert_eq!(waited(405), seconds(&[4]));
    assert_eq!(waited(406), seconds(&[30]));
    assert_eq!(waited(407), seconds(&[30; 9]));
    assert_eq!(waited(408), seconds(&[3]), "by the route's settings");
    assert_eq!(waited(500), seconds(&[3; 4]));
}

#[test]
fn each_place_has_its_own_policy() {
    let config = layered("{max_retries: 1}", "{max_retries: 2}", "{max_retries: 3}");
    let at = |uri: &str| {
        let request = http::Request::get(uri).body(String::new()).unwrap();
        let client = Client::new(statuses(&[503]));
        send(Stack::Tower, &config, &client, request).attempts()
    };
    assert_eq!(at("http://other.example/v1/x"), 2);
    assert_eq!(at("http://api.example/v2/x"), 3);
    assert_eq!(at("http://api.example/v1/x"), 4);
    let places: Vec<_> = config.routes();
    let names: Vec<_> = places
        .iter()
        .map(|place| (place.service.as_deref(), place.route.as_deref()))
        .collect();
    assert_eq!(
        names,
        [(Some("a"), Some("r")), (Some("a"), None), (None, None)]
    );
}

#[test]
fn the_nearest_budget_pays() {
    let text = "
version: 1
budgets: {wide: {capacity: 5, per_success: 0}, narrow: {capacity: 1, per_success: 0}}
retry: {budget: wide, backoff: none}
services: {a: {match: {host: api.example}, budget: narrow}}
";
    let config = config(text);
    let client = Client::new(statuses(&[503]));
    let ended = send(Stack::Reqwest, &config, &client, get());
    assert_eq!(ended.attempts(), 2);
    let budgets: Vec<_> = config
        .routes()
        .into_iter()
        .map(|place| place.budget)
        .collect();
    assert_eq!(budgets, [Some("narrow".into()), Some("wide".into())]);
    let tokens = |at: usize| config.routes()[at].tokens.unwrap().to_string();
    assert_eq!((tokens(0), tokens(1)), ("0".into(), "5".into()));
}
