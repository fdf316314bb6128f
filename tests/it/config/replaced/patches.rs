//! Documents that are changed in one service.

use super::super::client::{on_tower, statuses};
use super::super::{config, delays, document, origin, policy, seconds};
use super::{attempts, patch, replace, retries};
use http_retry::StopReason;

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
