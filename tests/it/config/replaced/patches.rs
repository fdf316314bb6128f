//! Documents that are changed in one service.

use super::super::client::{on_tower, statuses};
use super::super::{config, delays, document, origin, policy, seconds};
use super::{attempts, patch, replace, retries};
use http::{Method, Uri};
use http_retry::StopReason;
use http_retry::config::RetryConfig;
use http_retry::route::{RequestHead, Route, Router};
use http_retry_core::settings::PolicyExt;
use std::sync::Arc;

#[test]
fn a_bad_patch_leaves_the_old_document_in_force_and_says_why() {
    let config = config(&format!(
        "{}\nservices: {{a: {{match: {{host: api.example}}}}}}",
        retries(1)
    ));
    let errors = config.patch_service("a", &document("retry: {max_retries: 3, bse: 1s}"));
    let wanted = "services.a.retry.bse: is not a known key: did you mean base?";
    assert_eq!(errors.unwrap_err().to_string(), wanted);
    assert_eq!(attempts(&config), 2);
    patch(&config, "a", "{match: {path: /v1/*}}");
    assert_eq!(
        attempts(&config),
        2,
        "the bad patch is not part of the next one"
    );
}

#[test]
fn a_patch_that_breaks_another_service_is_refused() {
    let config = config(
        "
version: 1
services:
  api: {match: {host: api.example}, rules: [{when: {status: 503}, failover: spare}]}
  spare: {base_url: \"http://spare.example\"}
",
    );
    let errors = config.patch_service("spare", &document("base_url: null"));
    let wanted = "services.api.rules[0].failover: \"spare\" has no place to go to: give services.spare.base_url";
    assert_eq!(errors.unwrap_err().to_string(), wanted);
    assert_eq!(on_tower(&config, statuses(&[503, 200])).status, Some(200));
}

const WITH_LISTS: &str = "
version: 1
budgets: {shared: {}}
services:
  a:
    match: {host: api.example}
    budget: shared
    retry: {backoff: [1s, 2s], jitter: none, max_retries: 3, deadline: 1h}
    rules: [{when: {status: 404}, do: retry}, {when: {status: 405}, do: stop}]
";

#[test]
fn a_patch_merges_maps_replaces_lists_and_takes_keys_away() {
    let config = config(WITH_LISTS);
    let field =
        |name: &str| origin(&policy(&config, Some("a"), None), name).map(|(value, _)| value);
    patch(&config, "a", "retry: {max_retries: 2, backoff: [7s]}");
    let ended = on_tower(&config, statuses(&[404]));
    assert_eq!(delays(&ended.report), seconds(&[7, 7]));
    assert_eq!(field("deadline"), Some("1h".into()));

    patch(
        &config,
        "a",
        "{retry: {deadline: null, backoff: null}, budget: null, routes: null}",
    );
    assert_eq!(field("deadline"), None);
    assert_eq!(field("budget"), None);
    assert_eq!(field("backoff"), Some("exponential".into()));
    assert_eq!(
        field("max_retries"),
        Some("2".into()),
        "what is not named stays"
    );

    patch(&config, "a", "rules: [{when: {status: 406}, do: stop}]");
    let stop = |status| on_tower(&config, statuses(&[status])).stop();
    assert_eq!(
        (stop(406), stop(405)),
        (StopReason::Stopped, StopReason::NotRetryable)
    );
}

#[test]
fn a_patch_can_add_a_service() {
    let config = config(&retries(1));
    patch(
        &config,
        "new",
        "{match: {host: api.example}, retry: {max_retries: 2}}",
    );
    assert_eq!(attempts(&config), 3);
    let names: Vec<_> = config
        .routes()
        .into_iter()
        .map(|place| place.service)
        .collect();
    assert_eq!(names, [Some("new".into()), None]);
}

#[test]
fn a_replacement_forgets_the_patches_before_it() {
    let config = config(&retries(1));
    patch(
        &config,
        "new",
        "{match: {host: api.example}, retry: {max_retries: 2}}",
    );
    replace(&config, &retries(3));
    assert_eq!(attempts(&config), 4);
    assert_eq!(config.routes().len(), 1);
}

/// The route that a request to a host gets.
fn route(config: &RetryConfig, host: &str) -> Arc<Route> {
    let uri: Uri = format!("https://{host}/v1").parse().unwrap();
    config.route(&RequestHead::new(&Method::GET, &uri), None)
}

const FAMILY: &str = "
version: 1
budgets: {shared: {capacity: 50}}
retry: {max_retries: 1}
services:
  alone: {match: {host: alone.example}}
  backup: {base_url: 'https://backup.example', match: {host: backup.example}}
  changed: {match: {host: changed.example}}
  failing:
    match: {host: failing.example}
    retry: {on_exhausted: {failover: changed}}
    base_url: 'https://failing.example'
  paying: {match: {host: paying.example}, budget: shared}
";

#[test]
fn a_patch_builds_only_the_service_and_those_that_name_it() {
    let family = FAMILY.replace(
        "changed: {",
        "changed: {base_url: 'https://changed.example', ",
    );
    let config = config(&family);
    let hosts = ["alone", "backup", "changed", "failing", "paying"];
    let routes = || hosts.map(|host| route(&config, &format!("{host}.example")));
    let before = routes();
    patch(&config, "changed", "retry: {max_retries: 5}");
    let after = routes();
    let is_same = |index: usize| Arc::ptr_eq(&before[index], &after[index]);
    assert_eq!(
        [0, 1, 2, 3, 4].map(is_same),
        [true, true, false, false, true]
    );
    assert_eq!(after[2].policy().retry_limit(), 5);
    let (name, backup) = &after[3].destinations()[0];
    assert_eq!(&**name, "changed");
    let uri = Uri::from_static("https://changed.example/v1");
    let there = backup
        .service
        .route(&RequestHead::new(&Method::GET, &uri), None);
    assert_eq!(there.policy().retry_limit(), 5);
}

#[test]
fn a_change_of_the_whole_document_reaches_every_service() {
    let config = config("version: 1\nservices: {a: {match: {host: a.example}}}");
    let before = route(&config, "a.example").policy().retry_limit();
    replace(
        &config,
        "version: 1\nretry: {max_retries: 7}\nservices: {a: {match: {host: a.example}}}",
    );
    let after = route(&config, "a.example").policy().retry_limit();
    assert_ne!((before, after), (7, before));
    assert_eq!(after, 7);
}

#[test]
fn a_patch_that_breaks_another_service_changes_nothing() {
    let config = config(&FAMILY.replace("failover: changed", "failover: backup"));
    let problem = |service: &str, text: &str| {
        let errors = config.patch_service(service, &document(text)).unwrap_err();
        errors.to_string()
    };
    let gone = problem("backup", "base_url: null");
    assert!(
        gone.contains("services.failing.retry.on_exhausted:"),
        "{gone}"
    );
    let twice = problem("changed", "match: {host: alone.example}");
    assert!(twice.contains("services.changed.match"), "{twice}");
    let cycle = problem("backup", "retry: {on_exhausted: {failover: failing}}");
    assert!(cycle.contains("failover cycle"), "{cycle}");
    let unknown = problem("changed", "budget: nobodys");
    assert!(unknown.contains("services.changed.budget"), "{unknown}");
    assert_eq!(route(&config, "changed.example").policy().retry_limit(), 1);
}
