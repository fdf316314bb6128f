//! The budgets and gates that a document shares, the fleets that it cannot have, and reloads.

use crate::{ConfigErrors, Document, RetryConfig};
use http_retry_fleet::Fleet;
use serde_json::json;

fn document(text: &str) -> Document {
    serde_yaml_ng::from_str(text).unwrap()
}

fn load(text: &str) -> Result<RetryConfig, ConfigErrors> {
    RetryConfig::load(&document(text))
}

fn messages(errors: &ConfigErrors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Returns for each service whether its budget is shared; the last entry is the fallback.
fn shared(config: &RetryConfig) -> Vec<(Option<String>, bool)> {
    let routes = config.routes().into_iter();
    routes.map(|route| (route.service, route.shared)).collect()
}

const SERVICES: &str = "
budgets: {both: {capacity: 50}, own: {shared: false}}
services:
  a: {}
  b: {fleet: off}
  c: {budget: both}
  d: {budget: own}
";

fn services(shared: [bool; 5]) -> Vec<(Option<String>, bool)> {
    let names = ["a", "b", "c", "d"].map(|name| Some(name.to_owned()));
    names.into_iter().chain([None]).zip(shared).collect()
}

#[test]
fn budgets_are_shared_unless_opted_out() {
    let with = |fleet: &str| load(&format!("version: 1\n{fleet}\n{SERVICES}")).unwrap();
    let config = with("");
    assert_eq!(shared(&config), services([false; 5]));
    assert!(config.fleet().is_none());
    let config = with("fleet: {redis: \"redis://cache:6379\", prefix: shop, wait: 20ms}");
    let wanted = services([true, false, true, false, true]);
    assert_eq!(shared(&config), wanted);
    let shown = config.fleet().unwrap().to_string();
    assert_eq!(shown, "store cache:6379, prefix shop, wait 20ms");
}

#[test]
fn gates_are_shared_unless_opted_out() {
    let with = |fleet: &str| {
        let config = load(&format!(
            "version: 1\n{fleet}\n{SERVICES}  e: {{gate: off}}\n"
        ));
        let routes = config.unwrap().routes().into_iter();
        let gates = routes.map(|route| (route.service, route.shares_gate));
        gates.collect::<Vec<_>>()
    };
    assert!(with("").iter().all(|(_, shared)| !shared));
    let names = ["a", "b", "c", "d", "e"].map(|name| Some(name.to_owned()));
    let wanted = [true, false, true, true, false, true];
    let wanted = names.into_iter().chain([None]).zip(wanted);
    let shared = with("fleet: {redis: \"redis://cache:6379\"}");
    assert_eq!(shared, wanted.collect::<Vec<_>>());
}

#[test]
fn a_registered_fleet_is_used_by_name() {
    let fleet = Fleet::builder().prefix("mine").redis("redis://h").unwrap();
    let builder = RetryConfig::builder().fleet("main", &fleet);
    let config = builder
        .clone()
        .load(&document("{version: 1, fleet: {use: main}}"));
    let shown = config.unwrap().fleet().unwrap().to_string();
    assert_eq!(shown, fleet.to_string());
    let unknown = builder.load(&document("{version: 1, fleet: {use: mane}}"));
    let wanted = r#"fleet.use: "mane" is no fleet of this program: did you mean main?"#;
    assert_eq!(messages(&unknown.unwrap_err()), [wanted]);
}

/// Fleets as a document writes them, and their errors.
const IMPOSSIBLE: [(&str, &str); 9] = [
    (
        "{}",
        "fleet: names no store: write redis: URL, redis_env: VARIABLE or use: NAME",
    ),
    (
        "{redis: \"redis://h\", use: a}",
        "fleet: names several stores: give one of redis, redis_env and use",
    ),
    (
        "{use: a, wait: 20ms}",
        "fleet.wait: has no effect with use: the program sets it",
    ),
    (
        "{redis: \"http://h\"}",
        "fleet.redis: must be the URL of a server, such as redis://user:password@host:6379/0",
    ),
    (
        "{redis: \"redis://:hunter2@h\"}",
        "fleet.redis: holds a user, a password or a query, which belong in no document: put the URL into an environment variable and write redis_env: VARIABLE",
    ),
    (
        "{redis_env: NO_SUCH_VARIABLE}",
        "fleet.redis_env: the environment has no NO_SUCH_VARIABLE",
    ),
    (
        "{redis_env: PATH}",
        "fleet.redis_env: must be the URL of a server, such as redis://user:password@host:6379/0",
    ),
    (
        "{redis: \"redis://h\", prefix: \"a b\"}",
        "fleet.prefix: must be 1 to 64 of the characters A-Z a-z 0-9 . _ - :",
    ),
    (
        "{redis: \"redis://h\", wait: 2s}",
        "fleet.wait: must be 1 ms to 1 s",
    ),
];

#[test]
fn an_invalid_fleet_is_reported_at_its_key() {
    for (fleet, wanted) in IMPOSSIBLE {
        let errors = load(&format!("version: 1\nfleet: {fleet}")).map(|_| ());
        assert_eq!(messages(&errors.unwrap_err()), [wanted], "of {fleet}");
    }
}

#[test]
fn fleet_errors_hold_no_secret() {
    for text in [
        "redis://user:hunter2@h",
        "redis+unix:///s?pass=hunter2",
        "hunter2 hunter2",
        "Bearer hunter2",
        "http://h/#hunter2",
    ] {
        for key in ["redis", "redis_env", "use", "prefix", "wait"] {
            let mut fleet = json!({"redis": "redis://h"});
            if ["redis_env", "use"].contains(&key) {
                fleet = json!({});
            }
            fleet[key] = json!(text);
            let document = serde_json::from_value(json!({"version": 1, "fleet": fleet}));
            let errors = RetryConfig::load(&document.unwrap()).unwrap_err();
            let shown = format!("{errors} {errors:?}");
            assert!(
                !shown.contains("user:hunter2") && !shown.contains("pass=hunter2"),
                "{shown}"
            );
            assert!(
                !shown.contains("hunter2") || !["redis", "prefix"].contains(&key),
                "{shown}"
            );
        }
    }
}

#[test]
fn a_reload_keeps_the_fleet_and_may_opt_services_out() {
    const FLEET: &str = "version: 1\nfleet: {redis: \"redis://h\"}\n";
    let config = load(&format!("{FLEET}services: {{a: {{}}}}")).unwrap();
    let wanted = ["fleet: cannot change while the program runs: restart it"];
    for other in [
        "version: 1",
        "{version: 1, fleet: {redis: \"redis://h\", prefix: other}}",
    ] {
        let errors = config.replace(&document(other)).unwrap_err();
        assert_eq!(messages(&errors), wanted, "of {other}");
    }
    let alone = format!("{FLEET}services: {{a: {{fleet: off}}}}");
    config.replace(&document(&alone)).unwrap();
    assert_eq!(
        shared(&config),
        [(Some("a".to_owned()), false), (None, true)]
    );
    config.patch_service("a", &document("fleet: on")).unwrap();
    assert_eq!(
        shared(&config),
        [(Some("a".to_owned()), true), (None, true)]
    );
    let plain = load("version: 1").unwrap();
    let errors = plain.replace(&document(FLEET)).unwrap_err();
    assert_eq!(messages(&errors), wanted);
}
