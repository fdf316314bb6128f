//! One policy for each service, in code.

mod refused;
mod spellings;

use http::{Method, Request, StatusCode};
use http_retry::config::{Document, RetryConfig};
use http_retry::llm::LlmPreset;
use http_retry::report::DeadLetter;
use http_retry::reqwest::RetryMiddleware;
use http_retry::route::{RequestHead, Router};
use http_retry::rules::{Action, Condition, Failover, OnExhausted, Rule};
use http_retry::run::Runner;
use http_retry::services::{RequestOverrides, RouteSummary, Service, ServiceRoute, Services};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, RetryBudget, RetryOverride, RetryPolicy, RetryReport, StopReason};
use http_retry_core::settings::PolicyExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt};

fn retries(max_retries: u32) -> RetryPolicy {
    let policy = RetryPolicy::builder().max_retries(max_retries);
    policy.deadline(Duration::from_secs(60)).build().unwrap()
}

fn conflict() -> Condition {
    Condition::status([409]).unwrap()
}

fn unavailable() -> Condition {
    Condition::status([503]).unwrap()
}

/// What becomes of a GET by these services, at a server that answers 503 for ever.
async fn failed(services: &Services, url: &str, own: Option<RetryOverride>) -> RetryReport {
    let server = Script::new().status(503);
    let layer = RetryLayer::for_services(services).runtime(ManualRuntime::new());
    let mut request = Request::get(url).body(String::new()).unwrap();
    if let Some(own) = own {
        request.extensions_mut().insert(own);
    }
    let response = layer.layer(server).oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    let report = response.extensions().get::<RetryReport>();
    report.unwrap().clone()
}

#[tokio::test]
async fn the_most_specific_service_and_the_first_route_decide() {
    let services = Services::builder(retries(0))
        .service(Service::new("all", retries(1)).host("*.example.com"))
        .service(
            Service::new("orders", retries(2))
                .host("orders.example.com")
                .route(ServiceRoute::new("search", retries(3)).path("/search/*"))
                .route(ServiceRoute::new("reads", retries(4)).method(Method::GET)),
        )
        .service(Service::new("named", retries(5)))
        .build()
        .unwrap();
    for (url, attempts) in [
        ("http://other.test/", 1),
        ("http://a.example.com/", 2),
        ("http://orders.example.com/search/a", 4),
        ("http://ORDERS.example.com:8080/a", 5),
    ] {
        let report = failed(&services, url, None).await;
        assert_eq!(report.attempts.len(), attempts, "{url}");
    }
    let named = RetryOverride::new().service("named");
    let report = failed(&services, "http://orders.example.com/", Some(named)).await;
    assert_eq!(report.attempts.len(), 6);
    let unknown = RetryOverride::new().service("nobody");
    let report = failed(&services, "http://a.example.com/", Some(unknown)).await;
    assert_eq!(report.unknown_service.as_deref(), Some("nobody"));
}

#[tokio::test(start_paused = true)]
async fn the_middleware_goes_by_services_too() {
    let services = Services::builder(retries(0))
        .service(Service::new("orders", retries(2)).host("orders.test"))
        .build()
        .unwrap();
    let retry = RetryMiddleware::for_services(&services).redirects_off();
    for (url, attempts) in [("http://orders.test/", 3), ("http://other.test/", 1)] {
        let server = Script::new().status(503);
        let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
            .with(retry.clone())
            .with(server.clone())
            .build();
        client.get(url).send().await.unwrap();
        assert_eq!(server.calls().len(), attempts, "{url}");
    }
}

#[tokio::test]
async fn a_service_says_what_a_request_may_set() {
    let services = |overrides| {
        let orders = Service::new("orders", retries(2)).host("a.test");
        let orders = orders.request_overrides(overrides);
        Services::builder(retries(0))
            .service(orders)
            .build()
            .unwrap()
    };
    for (overrides, attempts) in [
        (RequestOverrides::Allow, 2),
        (RequestOverrides::FillOnly, 3),
        (RequestOverrides::Deny, 3),
    ] {
        let own = RetryOverride::new().max_retries(1);
        let report = failed(&services(overrides), "http://a.test/", Some(own)).await;
        assert_eq!(report.attempts.len(), attempts, "{overrides:?}");
    }
}

#[tokio::test]
async fn each_service_has_a_budget_of_its_own() {
    let small = RetryBudget::builder().capacity(1).build().unwrap();
    let services = Services::builder(retries(9))
        .service(
            Service::new("small", retries(9))
                .host("small.test")
                .budget(small),
        )
        .service(Service::new("other", retries(3)).host("other.test"))
        .build()
        .unwrap();
    let report = failed(&services, "http://small.test/", None).await;
    let ended = (report.attempts.len(), report.stop);
    assert_eq!(ended, (2, StopReason::BudgetExhausted));
    let report = failed(&services, "http://other.test/", None).await;
    assert_eq!(report.stop, StopReason::AttemptsExhausted);
}

#[tokio::test]
async fn the_routes_of_a_service_share_its_budget() {
    let policy = RetryPolicy::builder().max_retries(15);
    let policy = policy.backoff(Backoff::none()).build().unwrap();
    let search = ServiceRoute::new("search", policy.clone()).path("/search");
    let services = Services::builder(retries(0))
        .service(Service::new("orders", policy).host("a.test").route(search))
        .build()
        .unwrap();
    let report = failed(&services, "http://a.test/search", None).await;
    assert_eq!(report.attempts.len(), 16);
    let report = failed(&services, "http://a.test/", None).await;
    let ended = (report.attempts.len(), report.stop);
    assert_eq!(ended, (6, StopReason::BudgetExhausted));
}

#[tokio::test]
async fn a_rule_pays_from_the_budget_that_it_names() {
    let polls = RetryBudget::builder().capacity(1).build().unwrap();
    let again = RetryPolicy::builder().max_retries(9).budget_named("polls");
    let rule = Rule::when(conflict()).retry(again.build().unwrap());
    let policy = RetryPolicy::builder().rule(rule).build().unwrap();
    let services = Services::builder(policy).budget("polls", polls.clone());
    let services = services.build().unwrap();
    let server = Script::new().status(409);
    let layer = RetryLayer::for_services(&services).runtime(ManualRuntime::new());
    let request = Request::get("http://a.test/").body(String::new()).unwrap();
    let response = layer.layer(server.clone()).oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::CONFLICT);
    assert_eq!(server.calls().len(), 2);
    assert_eq!(polls.available(Duration::ZERO), 0);
}

#[tokio::test]
async fn a_request_goes_on_at_another_service() {
    let to = || Failover::to("backup");
    let at_last = RetryPolicy::builder()
        .max_retries(1)
        .on_exhausted(OnExhausted::failover(to()))
        .build()
        .unwrap();
    let at_once = RetryPolicy::builder()
        .rule(Rule::when(unavailable()).failover(to()))
        .build()
        .unwrap();
    for (policy, attempts) in [(at_last, 4), (at_once, 3)] {
        let services = Services::builder(retries(0))
            .service(Service::new("orders", policy).host("a.test"))
            .service(Service::new("backup", retries(1)).base_url("http://b.test/v2"))
            .build()
            .unwrap();
        let server = Script::new().status(503);
        let keyed = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&keyed);
        let below = server.clone().map_request(move |request: Request<String>| {
            let keyed = request.headers().contains_key("authorization");
            seen.lock().unwrap().push(keyed);
            request
        });
        let layer = RetryLayer::for_services(&services).runtime(ManualRuntime::new());
        let request = Request::get("http://a.test/x?y=1")
            .header("authorization", "secret")
            .body(String::new())
            .unwrap();
        layer.layer(below).oneshot(request).await.unwrap();
        let calls = server.calls();
        assert_eq!(calls.len(), attempts);
        assert_eq!(calls[attempts - 1].1, "http://b.test/v2/x?y=1");
        let here = attempts - 2;
        let wanted = [vec![true; here], vec![false; 2]].concat();
        assert_eq!(*keyed.lock().unwrap(), wanted);
    }
}

#[tokio::test]
async fn an_observer_gets_what_is_lost() {
    let lost = Arc::new(Mutex::new(Vec::new()));
    let policy = RetryPolicy::builder()
        .max_retries(0)
        .on_exhausted(OnExhausted::dead_letter("lost"))
        .build()
        .unwrap();
    let seen = Arc::clone(&lost);
    let services = Services::builder(retries(0))
        .service(Service::new("orders", policy).host("a.test"))
        .dead_letters("lost", move |letter: &DeadLetter<'_>| {
            let line = (letter.service.to_owned(), letter.uri.to_owned());
            seen.lock().unwrap().push(line);
        })
        .build()
        .unwrap();
    failed(&services, "http://a.test/1", None).await;
    failed(&services, "http://other.test/2", None).await;
    let lost = lost.lock().unwrap().clone();
    assert_eq!(lost, [("orders".to_owned(), "http://a.test/1".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn an_operation_goes_by_the_service_that_it_names() {
    let services = Services::builder(retries(0))
        .service(Service::new("database", retries(2)))
        .build()
        .unwrap();
    let runner = Runner::for_services(&services).idempotent(true);
    for (service, attempts) in [("database", 3), ("nobody", 1)] {
        let mut made = 0;
        let judge = |_: &std::io::Error| (http_retry::Class::Transient, http_retry::Reach::Refused);
        let made = &mut made;
        let runner = runner.clone().service(service);
        let run = runner.run(judge, |attempt| {
            *made = attempt.number;
            async { Err::<(), _>(std::io::Error::other("down")) }
        });
        run.await.unwrap_err();
        assert_eq!(*made, attempts, "{service}");
    }
}

/// What a document and code say with the same words is the same.
#[test]
fn a_document_and_code_make_the_same_places() {
    let document: Document = serde_json::from_value(serde_json::json!({
        "version": 1,
        "retry": {"use": "background"},
        "services": {
            "orders": {
                "match": {"host": "orders.example.com"},
                "retry": {"use": "user_facing", "on_exhausted": {"failover": "backup"}},
                "rules": [{"when": {"status": 409}, "do": "stop"}],
                "routes": [{"name": "search", "match": {"path": "/search/*"}}],
            },
            "backup": {"base_url": "https://backup.example.com", "retry": "llm"},
        },
    }))
    .unwrap();
    let by_document = RetryConfig::load(&document).unwrap().routes();
    let orders = RetryPolicy::user_facing()
        .to_builder()
        .on_exhausted(OnExhausted::failover(Failover::to("backup")))
        .rule(Rule::when(conflict()).then(Action::Stop))
        .build()
        .unwrap();
    let by_code = Services::builder(RetryPolicy::background())
        .service(
            Service::new("orders", orders.clone())
                .host("orders.example.com")
                .route(ServiceRoute::new("search", orders).path("/search/*")),
        )
        .service(Service::new("backup", RetryPolicy::llm()).base_url("https://backup.example.com"))
        .build()
        .unwrap()
        .routes();
    let places = |routes: &[RouteSummary]| routes.iter().map(place).collect::<Vec<_>>();
    assert_eq!(places(&by_code), places(&by_document));
}

/// All that can be seen of a place.
fn place(route: &RouteSummary) -> impl PartialEq + std::fmt::Debug + use<> {
    let actions: Vec<String> = route.rules.iter().map(|rule| rule.1.clone()).collect();
    let name = (route.service.clone(), route.route.clone());
    (name, actions, route.worst_case, route.policy.retry_limit())
}

#[test]
fn services_that_stay_as_they_are_are_shared_with_those_before() {
    let service = |name: &str, max_retries: u32| {
        Service::new(name, retries(max_retries)).host(format!("{name}.example"))
    };
    let before = Services::builder(retries(0));
    let before = before
        .service(service("mail", 1))
        .service(service("orders", 1));
    let before = before.service(service("gone", 1)).build().unwrap();
    let after = before.to_builder().service(service("orders", 3));
    let after = after.remove("gone").build().unwrap();
    let route = |services: &Services, name: &str| {
        let uri = format!("https://{name}.example/").parse().unwrap();
        services.route(&RequestHead::new(&Method::GET, &uri), None)
    };
    assert!(Arc::ptr_eq(&route(&before, "mail"), &route(&after, "mail")));
    assert_eq!(route(&after, "orders").policy().retry_limit(), 3);
    assert_eq!(route(&before, "orders").policy().retry_limit(), 1);
    assert_eq!(route(&after, "gone").policy().retry_limit(), 0);
    let twice = after
        .to_builder()
        .service(service("new", 1))
        .service(service("new", 2));
    assert_eq!(twice.build().unwrap_err().given, "new");
}
