//! The log says what code or a document asks for in vain.

use super::journal::Journal;
use futures_util::FutureExt;
use http_retry::config::{Document, RetryConfig};
use http_retry::report::DeadLetter;
use http_retry::reqwest::RetryMiddleware;
use http_retry::rules::{Condition, Failover, OnExhausted, Rule};
use http_retry::run::Runner;
use http_retry::services::{Service, Services};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryBudgetBuilder, RetryOverride, RetryPolicy, ServiceBudgets};
use serde_json::{Value, json};
use std::future::Future;
use tower::{Layer, ServiceExt};

/// The warnings of what is done here.
fn warnings<T>(run: impl FnOnce() -> T) -> Vec<String> {
    let (lines, _) = Journal::of(run);
    let warned = lines.into_iter().filter(|line| line.starts_with("WARN"));
    warned.collect()
}

fn background() -> RetryPolicy {
    RetryPolicy::background()
}

fn fixed(tokens: u32) -> RetryBudgetBuilder {
    RetryBudget::builder().capacity(tokens).per_success(0)
}

#[test]
fn a_budget_that_never_refills_is_warned_of() {
    let spent = || fixed(5).build().unwrap();
    let each = || ServiceBudgets::new(fixed(5)).unwrap();
    for warned in [
        warnings(|| RetryLayer::new(background()).budget(spent())),
        warnings(|| RetryLayer::new(background()).budgets(each())),
        warnings(|| RetryMiddleware::new(background()).budget(spent())),
        warnings(|| Runner::on(ManualRuntime::new(), background()).budget(spent())),
        warnings(|| {
            let orders = Service::new("orders", background()).budget(spent());
            Services::builder(background())
                .service(orders)
                .build()
                .unwrap()
        }),
    ] {
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].contains("never refills"), "{warned:?}");
    }
    let earning = || fixed(5).per_second(1).build().unwrap();
    let unlimited = RetryBudget::unlimited;
    let layer = || RetryLayer::new(background());
    assert_eq!(warnings(|| layer().budget(earning())), [""; 0]);
    assert_eq!(warnings(|| layer().budget(unlimited())), [""; 0]);
    assert_eq!(warnings(layer), [""; 0]);
}

fn load(document: &Value) -> RetryConfig {
    serde_json::from_value(document.clone()).unwrap()
}

#[test]
fn a_document_warns_of_each_new_budget_that_never_refills() {
    let budgets = json!({"spent": {"per_success": 0}, "fine": {"per_success": 0, "per_second": 1}});
    let document = json!({"version": 1, "budgets": budgets});
    let (lines, config) = Journal::of(|| load(&document));
    let warned = |lines: &[String]| {
        lines
            .iter()
            .filter(|line| line.contains("never refills"))
            .count()
    };
    assert_eq!(warned(&lines), 1, "{lines:?}");
    assert!(lines.concat().contains("spent"), "{lines:?}");
    let same: Document = serde_json::from_value(document).unwrap();
    let (lines, _) = Journal::of(|| config.replace(&same).unwrap());
    assert_eq!(warned(&lines), 0, "{lines:?}");
}

#[test]
fn a_name_that_only_services_know_is_warned_of_without_them() {
    let to = |end: OnExhausted| background().to_builder().on_exhausted(end).build().unwrap();
    let rule = Rule::when(Condition::status([503]).unwrap()).failover(Failover::to("backup"));
    let by_rule = background().to_builder().rule(rule).build().unwrap();
    let named = background()
        .to_builder()
        .budget_named("shared")
        .build()
        .unwrap();
    for (policy, name) in [
        (to(OnExhausted::failover(Failover::to("backup"))), "backup"),
        (to(OnExhausted::dead_letter("letters")), "letters"),
        (by_rule, "backup"),
        (named, "shared"),
    ] {
        let of = policy.clone();
        let warned = warnings(|| RetryLayer::new(of));
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(
            warned[0].contains(name) && warned[0].contains("services"),
            "{warned:?}"
        );
        let warned = warnings(|| RetryMiddleware::new(policy));
        assert_eq!(warned.len(), 1, "{warned:?}");
    }
    let services = || {
        let backup = Service::new("backup", background()).base_url("http://b.example");
        let policy = to(OnExhausted::failover(Failover::to("backup")));
        let builder = Services::builder(policy).service(backup);
        builder
            .dead_letters("letters", |_: &DeadLetter<'_>| {})
            .build()
            .unwrap()
    };
    assert_eq!(warnings(|| RetryLayer::for_services(&services())), [""; 0]);
}

#[test]
fn the_first_unknown_name_of_a_service_is_warned_of() {
    let orders = Service::new("orders", background());
    let services = Services::builder(background())
        .service(orders)
        .build()
        .unwrap();
    let layer = RetryLayer::for_services(&services).runtime(ManualRuntime::new());
    let service = layer.layer(Script::new().status(200));
    let send = |name: &str| {
        let request = http::Request::get("http://api.example/").body(String::new());
        let mut request = request.unwrap();
        request
            .extensions_mut()
            .insert(RetryOverride::new().service(name));
        let service = service.clone();
        warnings(|| service.oneshot(request).now_or_never().unwrap().unwrap())
    };
    assert_eq!(send("orders"), [""; 0]);
    let warned = send("ordres");
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("ordres"), "{warned:?}");
    assert_eq!(send("ordres"), [""; 0]);
}

/// Returns the warnings about redirects that a POST to a closed port brings, once and once more.
fn warnings_of_orders<F: Future>(order: impl Fn() -> F) -> [usize; 2] {
    let mut executor = tokio::runtime::Builder::new_current_thread();
    let executor = executor.enable_all().build().unwrap();
    [(); 2].map(|()| {
        let warned = warnings(|| executor.block_on(order()));
        let about = |line: &&String| line.contains("reqwest::build(");
        warned.iter().filter(about).count()
    })
}

/// Nobody listens on the port of a listener that is gone.
fn closed_port() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    format!("http://{}/orders", listener.local_addr().unwrap())
}

#[test]
fn a_missing_word_on_redirects_is_warned_of_once_on_each_stack() {
    let url = closed_port();
    let client = reqwest::Client::new();
    let retries = || RetryMiddleware::new(background()).runtime(ManualRuntime::new());
    let middleware = |retries: RetryMiddleware| {
        let client = reqwest_middleware::ClientBuilder::new(client.clone());
        let client = client.with(retries).build();
        let url = url.clone();
        warnings_of_orders(move || client.post(&url).body("one").send())
    };
    assert_eq!(middleware(retries()), [1, 0]);
    assert_eq!(middleware(retries().redirects_off()), [0, 0]);

    let layer = RetryLayer::new(background()).runtime(ManualRuntime::new());
    let service = layer.layer(client.clone());
    let order = || {
        let order = client.post(&url).body("one").build().unwrap();
        service.clone().oneshot(order)
    };
    assert_eq!(warnings_of_orders(order), [1, 0]);

    let runner = Runner::on(ManualRuntime::new(), background()).one_request();
    let order = || runner.run_by_policy(|_| client.post(&url).body("one").send());
    assert_eq!(warnings_of_orders(order), [1, 0]);
}
