//! Budgets whose document is replaced: they keep their tokens while their own numbers stay.

use super::super::client::{Client, STACKS, get, send, statuses, with_own};
use super::super::{SECOND, config, document};
use super::{attempts, patch, replace};
use futures_util::FutureExt;
use http_retry::RetryOverride;
use http_retry::config::RetryConfig;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use std::pin::pin;
use tower::{Layer, ServiceExt};

const SPENT: &str = "
version: 1
budgets: {shared: {capacity: 10, initial: 5, per_success: 0}}
retry: {backoff: none, max_retries: 2, budget: shared}
";

fn tokens(config: &RetryConfig) -> String {
    config.routes().last().unwrap().tokens.unwrap().to_string()
}

/// A document whose budget has three tokens of five left.
fn spent() -> RetryConfig {
    let config = config(SPENT);
    assert_eq!(attempts(&config), 3);
    assert_eq!(tokens(&config), "3");
    config
}

#[test]
fn a_budget_keeps_its_tokens_while_its_own_numbers_stay() {
    let config = spent();
    replace(
        &config,
        &format!(
            "{}services: {{a: {{match: {{host: h}}}}}}",
            SPENT.replace("backoff: none", "base: 3s")
        ),
    );
    assert_eq!(tokens(&config), "3");
    replace(&config, &SPENT.replace("capacity: 10", "capacity: 10.0"));
    assert_eq!(tokens(&config), "3", "the same number in other words");
    patch(&config, "a", "{match: {host: a.example}}");
    assert_eq!(tokens(&config), "3");
    assert_eq!(attempts(&config), 3);
    assert_eq!(tokens(&config), "1");
}

#[test]
fn a_budget_starts_anew_when_its_own_numbers_change() {
    for (old, new, wanted) in [
        ("initial: 5", "initial: 6", "6"),
        ("capacity: 10", "capacity: 11", "5"),
        ("per_success: 0", "per_success: 0.5", "5"),
        ("initial: 5", "initial: 5, per_second: 1", "5"),
    ] {
        let config = spent();
        replace(&config, &SPENT.replace(old, new));
        assert_eq!(tokens(&config), wanted, "{new}");
    }
}

#[test]
fn a_budget_that_was_away_starts_anew() {
    let config = spent();
    replace(&config, "version: 1");
    replace(&config, SPENT);
    assert_eq!(tokens(&config), "5");
}

#[test]
fn a_refused_document_spends_and_gives_nothing() {
    let config = spent();
    let bad = SPENT
        .replace("initial: 5", "initial: 9")
        .replace("max_retries: 2", "max_retries: x");
    assert!(config.replace(&document(&bad)).is_err());
    assert_eq!(tokens(&config), "3");
}

#[test]
fn budgets_that_have_no_name_keep_their_tokens_too() {
    let text = "
version: 1
retry: {backoff: none}
services: {a: {match: {host: api.example}}}
";
    let config = config(text);
    let left = || config.routes()[0].tokens.unwrap().to_string();
    assert_eq!((attempts(&config), left()), (5, "16".into()));
    patch(&config, "a", "retry: {max_retries: 1}");
    assert_eq!((attempts(&config), left()), (2, "15".into()));

    let other = || {
        with_own(
            http::Request::get("http://other.example/")
                .body(String::new())
                .unwrap(),
            RetryOverride::new(),
        )
    };
    let sent = || send(STACKS[0], &config, &Client::new(statuses(&[503])), other());
    let before = sent().report.tokens_left.unwrap().to_string();
    patch(&config, "a", "retry: {max_retries: 0}");
    let after = sent().report.tokens_left.unwrap().to_string();
    assert_eq!((before, after), ("16".into(), "12".into()));
}

#[test]
fn a_call_in_flight_pays_from_the_budget_it_began_with() {
    let config = spent();
    let runtime = ManualRuntime::paused();
    let layer = RetryLayer::from_config(&config).runtime(runtime.clone());
    replace(
        &config,
        &SPENT
            .replace("backoff: none", "backoff: [2s]")
            .replace("retry: {", "retry: {jitter: none, "),
    );
    let service = layer.layer(Script::new().status(503));
    let mut call = pin!(service.oneshot(get()));
    assert!(call.as_mut().now_or_never().is_none());
    assert_eq!(tokens(&config), "2");
    replace(&config, &SPENT.replace("initial: 5", "initial: 9"));
    runtime.advance(SECOND * 2);
    assert!(call.as_mut().now_or_never().is_none());
    assert_eq!(tokens(&config), "9", "the new budget is not touched");
}

#[test]
fn a_look_at_a_budget_starts_no_clock() {
    let text = "
version: 1
budgets: {shared: {capacity: 50, initial: 5, per_second: 1}}
retry: {backoff: none, max_retries: 1, budget: shared}
";
    let config = config(text);
    assert_eq!(tokens(&config), "5");
    let runtime = ManualRuntime::new();
    runtime.advance(SECOND * 3600);
    let layer = RetryLayer::from_config(&config).runtime(runtime);
    let service = layer.layer(Script::new().status(503));
    let request = get();
    service.oneshot(request).now_or_never().unwrap().unwrap();
    assert_eq!(tokens(&config), "4");
}
