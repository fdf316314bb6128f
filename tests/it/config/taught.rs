//! What code teaches and the document decides: verdicts, error types, budgets.

use super::client::{Client, Stack, get, send, statuses};
use super::{document, origin, policy};
use futures_util::FutureExt;
use http::Request;
use http_retry::config::{RetryConfig, RetryConfigBuilder};
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Class, Outcome, Reach, RetryBudget, RetryReport};
use reqwest_middleware::ClientBuilder;
use std::io;
use tower::{Layer, ServiceExt};

const STACKS: [Stack; 2] = [Stack::Tower, Stack::Reqwest];

/// The attempts of one call on each stack.
fn attempts(builder: &RetryConfigBuilder, text: &str, script: Script) -> [u32; 2] {
    let config = builder.clone().load(&document(text)).unwrap();
    let client = Client::new(script);
    // The script goes on where it ended: with its last answer.
    STACKS.map(|stack| send(stack, &config, &client, get()).attempts())
}

fn locked(outcome: &Outcome<'_>) -> Option<(Class, Reach)> {
    let locked = outcome.status().is_some_and(|status| status == 409);
    locked.then_some((Class::Transient, Reach::Refused))
}

#[test]
fn code_says_what_an_outcome_means_and_the_document_how_often() {
    let plain = RetryConfig::builder();
    let taught = RetryConfig::builder().classify(locked);
    let conflict = || statuses(&[409]);
    for (text, wanted) in [
        ("{version: 1, retry: {max_attempts: 3}}", 3),
        (
            "{version: 1, retry: {max_attempts: 4}, services: {a: {match: {host: api.example}}}}",
            4,
        ),
        ("{version: 1, retry: {stop_on: [409]}}", 1),
        ("{version: 1, rules: [{when: 409, do: stop}]}", 1),
        (
            "{version: 1, rules: [{when: {retryable: true}, retry: {max_attempts: 2}}]}",
            2,
        ),
        ("{version: 1, retry: never}", 1),
    ] {
        assert_eq!(attempts(&taught, text, conflict()), [wanted; 2], "{text}");
        assert_eq!(attempts(&plain, text, conflict()), [1; 2], "{text}");
    }
}

/// The preset `llm` reads bodies; what code leaves open is still its to say.
#[test]
fn what_code_leaves_open_the_preset_says() {
    let plain = RetryConfig::builder();
    let taught = plain.clone().classify(|outcome| {
        let unfinished = outcome.status().is_some_and(|status| status == 404);
        unfinished.then_some((Class::Transient, Reach::Answered))
    });
    let text = "{version: 1, retry: {use: llm, max_attempts: 2}}";
    assert_eq!(attempts(&plain, text, statuses(&[404])), [1; 2]);
    assert_eq!(attempts(&taught, text, statuses(&[404])), [2; 2]);
    let no_credit = r#"{"error": {"code": "insufficient_quota"}}"#;
    let spent = Script::new().status(429).body(no_credit);
    assert_eq!(attempts(&taught, text, spent), [1; 2]);
}

/// An I/O error of this kind is worth a retry by the standard tables.
fn reset() -> Script {
    Script::new().error(io::ErrorKind::ConnectionReset)
}

fn final_error(_: &io::Error) -> (Class, Reach) {
    (Class::Permanent, Reach::Answered)
}

#[test]
fn an_error_type_has_its_meaning_at_every_place() {
    let taught = RetryConfig::builder().classify_error(final_error);
    let text = "{version: 1, retry: {max_attempts: 2}}";
    assert_eq!(attempts(&RetryConfig::builder(), text, reset()), [2; 2]);
    assert_eq!(attempts(&taught, text, reset()), [1; 2]);
}

#[test]
fn a_named_error_type_has_its_meaning_where_the_document_says() {
    let taught = RetryConfig::builder().error_type("final", final_error);
    for (text, wanted) in [
        ("{version: 1, retry: {max_attempts: 2}}", 2),
        (
            "{version: 1, retry: {max_attempts: 2, classify_error: final}}",
            1,
        ),
        (
            "{version: 1, retry: {max_attempts: 2}, services: {a: {match: {host: api.example}, retry: {classify_error: [final]}}}}",
            1,
        ),
        (
            "{version: 1, retry: {max_attempts: 2}, services: {a: {match: {host: b.example}, retry: {classify_error: final}}}}",
            2,
        ),
    ] {
        assert_eq!(attempts(&taught, text, reset()), [wanted; 2], "{text}");
    }
    let text = "{version: 1, retry: {classify_error: [final]}}";
    let config = taught.load(&document(text)).unwrap();
    let told = Some(("final".to_owned(), "retry.classify_error".to_owned()));
    assert_eq!(origin(&policy(&config, None, None), "classify_error"), told);
}

/// The attempts of calls one after the other, on a layer with a budget of two tokens for each stack.
fn with_budget(text: &str, calls: usize) -> [Vec<u32>; 2] {
    let config = RetryConfig::load(&document(text)).unwrap();
    let two = || RetryBudget::builder().capacity(2).per_success(0).build();
    let script = statuses(&[503]);
    let url = "http://api.example/";
    let layer = RetryLayer::from_config(&config).budget(two().unwrap());
    let tower = layer.runtime(ManualRuntime::new()).layer(script.clone());
    let on_tower = (0..calls).map(|_| {
        let slot = RetryReport::slot();
        let mut request = Request::get(url).body(String::new()).unwrap();
        request.extensions_mut().insert(slot.clone());
        let sent = tower.clone().oneshot(request).now_or_never();
        sent.unwrap().unwrap();
        slot.take().unwrap().attempt_count
    });
    let on_tower = on_tower.collect();
    let retries = RetryMiddleware::from_config(&config).budget(two().unwrap());
    let client = ClientBuilder::new(reqwest::Client::new());
    let client = client.with(retries.runtime(ManualRuntime::new()));
    let client = client.with(script).build();
    let on_reqwest = (0..calls).map(|_| {
        let slot = RetryReport::slot();
        let request = client.get(url).with_extension(slot.clone());
        request.send().now_or_never().unwrap().unwrap();
        slot.take().unwrap().attempt_count
    });
    [on_tower, on_reqwest.collect()]
}

#[test]
fn a_layers_budget_pays_where_the_document_names_none() {
    let none = "{version: 1, retry: {max_attempts: 3}}";
    let service =
        "{version: 1, retry: {max_attempts: 3}, services: {a: {match: {host: api.example}}}}";
    for text in [none, service] {
        assert_eq!(with_budget(text, 2), [[3, 1]; 2], "{text}");
    }
    let named = "{version: 1, budgets: {b: {capacity: 9}}, retry: {max_attempts: 3, budget: b}}";
    assert_eq!(with_budget(named, 1), [[3]; 2]);
}

/// A success on the short way brings its tokens to the layer's budget, too.
#[test]
fn a_success_pays_into_the_layers_budget() {
    let config = RetryConfig::load(&document("{version: 1}")).unwrap();
    let budget = RetryBudget::builder().capacity(5).initial(0).per_success(1);
    let budget = budget.build().unwrap();
    let layer = RetryLayer::from_config(&config).budget(budget.clone());
    let layer = layer.runtime(ManualRuntime::new());
    let request = Request::new(String::new());
    let sent = layer.layer(statuses(&[200])).oneshot(request);
    sent.now_or_never().unwrap().unwrap();
    let tokens = budget.tokens_at(std::time::Duration::ZERO).unwrap();
    assert_eq!(tokens.to_string(), "1");
}

#[test]
fn a_budget_of_code_pays_where_the_document_names_it() {
    let shared = RetryBudget::builder().capacity(2).per_success(0);
    let shared = shared.build().unwrap();
    let builder = RetryConfig::builder().budget("of the program", shared.clone());
    let text = "{version: 1, retry: {budget: of the program, backoff: none}}";
    let [first, second] = STACKS.map(|stack| {
        let config = builder.clone().load(&document(text)).unwrap();
        send(stack, &config, &Client::new(statuses(&[503])), get()).attempts()
    });
    // Two tokens are there for all.
    assert_eq!((first, second), (3, 1));
    let own = "{version: 1, budgets: {of the program: {capacity: 9}}, retry: {budget: of the program, backoff: none}}";
    assert_eq!(attempts(&builder, own, statuses(&[503])), [5; 2]);
}
