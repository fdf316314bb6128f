//! What a call that succeeds at once pays into, where each service has a budget: on both stacks, without the loop.

use allocation_counter::measure;
use futures_util::{FutureExt, stream};
use http::Extensions;
use http_retry::reqwest::RetryMiddleware;
use http_retry::rules::{Condition, Rule};
use http_retry::services::{Service, Services};
use http_retry::testing::Script;
use http_retry::tower::RetryLayer;
use http_retry::{
    Class, Reach, RetryBudget, RetryOverride, RetryPolicy, RetryReport, ServiceBudgets,
};
use reqwest::{Body, Method};
use reqwest_middleware::ClientBuilder;
use std::io;
use std::time::Duration;
use tower::{Layer, ServiceExt};

const URL: &str = "http://a.example:8080/orders";

/// Budgets that hold as many tokens as they have seen successes.
fn counting() -> ServiceBudgets {
    let each = RetryBudget::builder().initial(0).per_success(1);
    ServiceBudgets::new(each).unwrap()
}

/// The successes of this host, of the service "orders", and of a third.
fn counted(budgets: &ServiceBudgets) -> [u64; 3] {
    let names = ["a.example:8080", "orders", "b.example"];
    names.map(|name| budgets.get(name).available(Duration::ZERO))
}

fn policy() -> RetryPolicy {
    RetryPolicy::background()
}

/// A success through a tower layer.
fn by_tower(layer: &RetryLayer, own: Option<RetryOverride>) {
    let mut request = http::Request::get(URL).body(String::new()).unwrap();
    if let Some(own) = own {
        request.extensions_mut().insert(own);
    }
    let sent = layer.layer(Script::new()).oneshot(request).now_or_never();
    assert_eq!(sent.unwrap().unwrap().status(), 200);
}

/// The same through a middleware, with this body.
fn by_reqwest(retries: &RetryMiddleware, body: Option<Body>, own: Option<RetryOverride>) {
    let client = ClientBuilder::new(reqwest::Client::new());
    let client = client.with(retries.clone()).with(Script::new()).build();
    let mut request = reqwest::Request::new(Method::PUT, URL.parse().unwrap());
    *request.body_mut() = body;
    let mut extensions = Extensions::new();
    if let Some(own) = own {
        extensions.insert(own);
    }
    let sent = client.execute_with_extensions(request, &mut extensions);
    assert_eq!(sent.now_or_never().unwrap().unwrap().status(), 200);
}

/// What a request can say of its service, and what counts it then.
fn words() -> [(Option<RetryOverride>, [u64; 3]); 3] {
    [
        (None, [1, 0, 0]),
        (Some(RetryOverride::new().service("orders")), [0, 1, 0]),
        (Some(RetryOverride::off()), [0, 0, 0]),
    ]
}

#[test]
fn a_success_counts_for_its_own_service_alone() {
    for (own, wanted) in words() {
        let budgets = counting();
        let layer = RetryLayer::new(policy()).budgets(budgets.clone());
        by_tower(&layer, own.clone());
        assert_eq!(counted(&budgets), wanted, "tower, {own:?}");
        let budgets = counting();
        let retries = RetryMiddleware::new(policy()).budgets(budgets.clone());
        by_reqwest(&retries, None, own.clone());
        assert_eq!(counted(&budgets), wanted, "reqwest, {own:?}");
    }
}

#[test]
fn a_success_whose_body_was_not_kept_counts_as_well() {
    for (own, wanted) in words() {
        let budgets = counting();
        let layer = RetryLayer::new(policy()).budgets(budgets.clone());
        let layer = layer.copy_body(|_: &String| None);
        let mut request = http::Request::get(URL).body(String::new()).unwrap();
        request.extensions_mut().extend(extensions(own.clone()));
        let sent = layer.layer(Script::new()).oneshot(request);
        sent.now_or_never().unwrap().unwrap();
        assert_eq!(counted(&budgets), wanted, "tower, {own:?}");
        let budgets = counting();
        let retries = RetryMiddleware::new(policy()).budgets(budgets.clone());
        let chunks = stream::iter([io::Result::Ok("x")]);
        let body = Some(Body::wrap_stream(chunks));
        by_reqwest(&retries.replay_limit(0), body, own.clone());
        assert_eq!(counted(&budgets), wanted, "reqwest, {own:?}");
    }
}

fn extensions(own: Option<RetryOverride>) -> Extensions {
    let mut extensions = Extensions::new();
    own.map(|own| extensions.insert(own));
    extensions
}

#[test]
fn budgets_of_the_layer_count_beside_services() {
    let services = Services::builder(policy());
    let services = services.service(Service::new("orders", policy()).host("a.example"));
    let services = services.build().unwrap();
    let budgets = counting();
    let layer = RetryLayer::for_services(&services).budgets(budgets.clone());
    by_tower(&layer, None);
    assert_eq!(counted(&budgets), [0, 1, 0]);
}

/// The report of a request that cannot be sent again, and is answered 503.
fn of_one_not_kept(layer: RetryLayer) -> RetryReport {
    let layer = layer.copy_body(|_: &String| None);
    let request = http::Request::get(URL).body(String::new()).unwrap();
    let server = Script::new().status(503);
    let sent = layer.layer(server).oneshot(request).now_or_never();
    let response = sent.unwrap().unwrap();
    let report = response.extensions().get::<RetryReport>();
    report.unwrap().clone()
}

#[test]
fn a_request_that_was_not_kept_is_judged_by_its_path() {
    let unavailable = Condition::status([503]).unwrap();
    let orders = unavailable.and(Condition::path("/orders").unwrap());
    let policy = policy().to_builder();
    let policy = policy.rule(Rule::when(orders).named("orders").stop());
    let layer = RetryLayer::new(policy.build().unwrap()).budgets(counting());
    let report = of_one_not_kept(layer);
    assert_eq!(report.attempts[0].rule.as_deref(), Some("orders"));
}

#[test]
fn a_request_that_was_not_kept_is_known_to_who_judges_it() {
    let policy = policy().to_builder().classify(|outcome| {
        let of_orders = outcome.request()?.path() == "/orders";
        of_orders.then_some((Class::Permanent, Reach::Answered))
    });
    let with_one_budget = RetryLayer::new(policy.build().unwrap());
    let with_one_each = with_one_budget.clone().budgets(counting());
    for layer in [with_one_budget, with_one_each] {
        let report = of_one_not_kept(layer);
        assert_eq!(report.attempts[0].class, Class::Permanent);
    }
}

#[test]
fn a_success_allocates_no_more_than_with_one_budget() {
    let taken = |layer: RetryLayer| {
        // The first call makes the budget, and the table of the gate.
        by_tower(&layer, None);
        measure(|| by_tower(&layer, None)).count_total
    };
    let one = taken(RetryLayer::new(policy()));
    let each = RetryLayer::new(policy()).budgets(ServiceBudgets::default());
    assert_eq!(taken(each), one);
    let of_reqwest = |retries: RetryMiddleware| {
        by_reqwest(&retries, None, None);
        measure(|| by_reqwest(&retries, None, None)).count_total
    };
    let one = of_reqwest(RetryMiddleware::new(policy()));
    let each = RetryMiddleware::new(policy()).budgets(ServiceBudgets::default());
    assert_eq!(of_reqwest(each), one);
}

#[cfg(feature = "redis")]
#[test]
fn a_success_in_a_fleet_allocates_no_more_either() {
    let store = http_retry::testing::MemoryStore::new();
    let fleet = http_retry::fleet::Fleet::in_memory(&store);
    let taken = |layer: RetryLayer| {
        (0..3).for_each(|_| by_tower(&layer, None));
        measure(|| by_tower(&layer, None)).count_total
    };
    let alone = taken(RetryLayer::new(policy()));
    assert_eq!(taken(RetryLayer::new(policy()).fleet(&fleet)), alone);
}
