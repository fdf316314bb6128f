//! A document that is replaced, or changed in one service, while requests go by it.

use super::client::{Client, STACKS, get, on_tower, send, statuses, with_own};
use super::{SECOND, config, delays, document, load, origin, policy, seconds};
use futures_util::FutureExt;
use http_retry::config::RetryConfig;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryOverride, RetryReport, StopReason};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
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
        report.unwrap().attempt_count()
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
    assert_eq!(report.stop(), StopReason::AttemptsExhausted);
    assert_eq!(delays(report), seconds(&[2, 2, 2]));
}

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
    let before = sent().report.tokens_left().unwrap().to_string();
    patch(&config, "a", "retry: {max_retries: 0}");
    let after = sent().report.tokens_left().unwrap().to_string();
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
fn a_patch_merges_maps_replaces_lists_and_takes_keys_away() {
    let config = config(
        "
version: 1
budgets: {shared: {}}
services:
  a:
    match: {host: api.example}
    budget: shared
    retry: {backoff: [1s, 2s], jitter: none, max_retries: 3, deadline: 1h}
    rules: [{when: {status: 404}, do: retry}, {when: {status: 405}, do: stop}]
",
    );
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

#[test]
fn patches_from_many_threads_lose_nothing() {
    const THREADS: usize = 8;
    const EACH: usize = 10;
    let config = config("version: 1");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let config = config.clone();
            scope.spawn(move || {
                for n in 0..EACH {
                    let own =
                        format!("{{match: {{host: h{thread}}}, retry: {{max_retries: {n}}}}}");
                    patch(&config, &format!("own-{thread}"), &own);
                    let route = format!("{{name: n{n}, match: {{path: /{n}}}}}");
                    patch(
                        &config,
                        &format!("s-{thread}-{n}"),
                        &format!("routes: [{route}]"),
                    );
                }
            });
        }
    });
    let routes = config.routes();
    let own = |thread: usize| policy(&config, Some(&format!("own-{thread}")), None).max_retries();
    for thread in 0..THREADS {
        assert_eq!(own(thread) as usize, EACH - 1);
    }
    let added = routes.iter().filter(|place| place.route.is_some()).count();
    assert_eq!(added, THREADS * EACH);
}

#[test]
fn threads_that_patch_the_same_service_keep_each_others_fields() {
    let config = config("version: 1");
    let fields = [
        ("base", "3s"),
        ("factor", "1.5"),
        ("max_delay", "1m"),
        ("deadline", "1h"),
        ("methods", "all"),
        ("cap", "after"),
        ("counter", "rule"),
        ("attempt_timeout", "9s"),
    ];
    std::thread::scope(|scope| {
        for (field, value) in fields {
            let config = &config;
            scope.spawn(move || patch(config, "a", &format!("retry: {{{field}: {value}}}")));
        }
    });
    for (field, value) in fields {
        let found = origin(&policy(&config, Some("a"), None), field);
        assert_eq!(found.map(|(value, _)| value), Some(value.into()), "{field}");
    }
}

/// Each call sees one document or the other, and never a part of each.
#[test]
fn a_call_never_sees_half_a_document() {
    let text = |n: u64| {
        format!(
            "version: 1\nretry: {{backoff: fixed, base: {n}s, jitter: none, max_retries: {n}, budget: b}}\nbudgets: {{b: {{capacity: 1000000}}}}"
        )
    };
    let config = config(&text(1));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..200 {
                replace(&config, &text(1 + 2 * (round % 2)));
            }
            over.store(true, Ordering::Relaxed);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    let waited = delays(&on_tower(&config, statuses(&[503])).report);
                    assert!(
                        waited == seconds(&[1]) || waited == seconds(&[3, 3, 3]),
                        "{waited:?}"
                    );
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
    });
}

#[test]
fn a_document_that_never_loads_makes_no_config() {
    assert!(load("version: 1\nretry: {base: 5}").is_err());
}
