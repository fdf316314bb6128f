//! A document that is replaced, or changed in one service, while requests go by it.

mod budgets;
mod merged;
mod nested;
mod patches;
mod threads;

use super::client::{Client, STACKS, get, on_tower, send, statuses};
use super::{SECOND, config, delays, document, load, seconds};
use futures_util::FutureExt;
use http_retry::config::RetryConfig;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryReport, StopReason};
use std::pin::pin;
use tower::{Layer, ServiceExt};

fn retries(max: u32) -> String {
    format!("version: 1\nretry: {{backoff: fixed, base: 2s, jitter: none, max_retries: {max}}}")
}

fn replace(config: &RetryConfig, text: &str) {
    config
        .replace(&document(text))
        .unwrap_or_else(|errors| panic!("{errors}"));
}

fn patch(config: &RetryConfig, service: &str, text: &str) {
    let patched = config.patch_service(service, &document(text));
    patched.unwrap_or_else(|errors| panic!("{errors}"));
}

fn attempts(config: &RetryConfig) -> u32 {
    on_tower(config, statuses(&[503])).attempts()
}

#[test]
fn every_clone_and_every_layer_follows_a_replacement() {
    let config = config(&retries(1));
    let layer = RetryLayer::from_config(&config).runtime(ManualRuntime::new());
    let service = layer.layer(Script::new().status(503));
    let made = || {
        let request = service.clone().oneshot(get()).now_or_never();
        let response = request.expect("the call is over").unwrap();
        let report: Option<&RetryReport> = response.extensions().get();
        report.unwrap().attempt_count
    };
    assert_eq!(made(), 2);
    replace(&config.clone(), &retries(3));
    assert_eq!(made(), 4);
    for stack in STACKS {
        let ended = send(stack, &config, &Client::new(statuses(&[503])), get());
        assert_eq!(ended.attempts(), 4);
    }
}

#[test]
fn a_bad_document_leaves_the_old_one_in_force_and_says_why() {
    let config = config(&retries(1));
    let errors = config.replace(&document(
        "version: 1\nretry: {base: 2000, max_attempts: 0}",
    ));
    let wanted = "retry.max_attempts: 0 is not allowed: must be a whole number of at least 1\n\
                  retry.base: 2000 has no unit: write 2000ms or 2000s";
    assert_eq!(errors.unwrap_err().to_string(), wanted);
    assert_eq!(attempts(&config), 2);
    replace(&config, &retries(2));
    assert_eq!(attempts(&config), 3);
}

#[test]
fn a_call_that_is_asleep_goes_on_under_the_old_document() {
    let config = config(&retries(3));
    let runtime = ManualRuntime::paused();
    let client = Script::new().status(503);
    let layer = RetryLayer::from_config(&config).runtime(runtime.clone());
    let service = layer.layer(client.clone());
    let mut call = pin!(service.clone().oneshot(get()));
    assert!(call.as_mut().now_or_never().is_none());
    assert_eq!(client.calls().len(), 1);

    replace(&config, "version: 1\nretry: never");
    let new = service.clone().oneshot(get()).now_or_never();
    assert!(new.is_some(), "a new call goes by the new document");
    let before = client.calls().len();
    for sent in 1..=2 {
        runtime.advance(SECOND * 2);
        assert!(call.as_mut().now_or_never().is_none());
        assert_eq!(client.calls().len(), before + sent);
    }
    runtime.advance(SECOND * 2);
    let response = call.now_or_never().expect("the call is over").unwrap();
    let report: &RetryReport = response.extensions().get().unwrap();
    assert_eq!(report.stop, StopReason::AttemptsExhausted);
    assert_eq!(delays(report), seconds(&[2, 2, 2]));
}

#[test]
fn a_document_that_never_loads_makes_no_config() {
    assert!(load("version: 1\nretry: {base: 5}").is_err());
}
