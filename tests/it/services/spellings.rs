//! Spellings of one URI: none of them leaves its service, its rules, its dialect, its gate or its budget, and each is
//! sent as it was written.

use super::{Service, ServiceRoute, Services, retries};
use http::{Method, Request};
use http_retry::config::{Document, RetryConfig};
use http_retry::dialect::{Dialect, Dialects};
use http_retry::gate::Gate;
use http_retry::reqwest::RetryMiddleware;
use http_retry::route::{RequestHead, Route, Router};
use http_retry::rules::{Action, Condition, Failover, Rule};
use http_retry::runtime::Runtime;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, RetryBudget, RetryPolicy, ServiceBudgets};
use std::sync::Arc;
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// Spellings of `http://a.test/v1/pay`.
const SPELLINGS: [&str; 19] = [
    "http://a.test/v1/pay",
    "http://a.test//v1/pay",
    "http://a.test/v1///pay",
    "http://a.test/%76%31/pay",
    "http://a.test/v1/p%61y",
    "http://a.test/./v1/pay",
    "http://a.test/v1/./pay",
    "http://a.test/../v1/pay",
    "http://a.test/x/../v1/pay",
    "http://a.test/x/%2e%2E/v1/pay",
    "http://a.test//x/y/%2E.//../../v1/%2e/pay",
    "http://a.test./v1/pay",
    "http://A.Test/v1/pay",
    "http://a.test:80/v1/pay",
    "http://a.test:080/v1/pay",
    "http://a.test:/v1/pay",
    "http://a.test.:80//v1/pay",
    "http://user:password@a.test/v1/pay",
    "http://a.test/v1/pay?a=%76",
];

/// Those with a final slash, which patterns ignore.
const WITH_SLASH: [&str; 4] = [
    "http://a.test/v1/pay/",
    "http://a.test/v1/pay//",
    "http://a.test/v1/pay/.",
    "http://a.test//v1/pay/x/%2E%2e",
];

/// URIs that look like `http://a.test/v1/pay`, and are others.
const OTHERS: [&str; 8] = [
    "http://a.test/v1%2Fpay",
    "http://a.test/v1%2fpay",
    "http://a.test/v1/pay;a=b",
    "http://a.test/v1/%2570ay",
    "http://a.test/V1/pay",
    "http://a.test/v1/pay/..",
    "http://b.test/v1/pay",
    "http://a.test:8080/v1/pay",
];

/// The requests that a client with this router sends for a POST to which the server answers 408 for ever.
async fn sent_by_layer(layer: RetryLayer, url: &str) -> Vec<String> {
    let server = Script::new().status(408);
    let request = Request::post(url).body(String::new()).unwrap();
    let layer = layer.runtime(ManualRuntime::new());
    layer.layer(server.clone()).oneshot(request).await.unwrap();
    server
        .calls()
        .into_iter()
        .map(|(_, url)| url.to_string())
        .collect()
}

async fn sent_by_middleware(middleware: RetryMiddleware, url: &str) -> Vec<String> {
    let server = Script::new().status(408);
    let middleware = middleware.redirects_off().runtime(ManualRuntime::new());
    let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
        .with(middleware)
        .with(server.clone())
        .build();
    client.post(url).send().await.unwrap();
    server
        .calls()
        .into_iter()
        .map(|(_, url)| url.to_string())
        .collect()
}

/// Four services and documents that forbid retries of a POST to `/v1/pay` at `a.test`, and repeat all else.
fn protections() -> Vec<(&'static str, Services)> {
    let never = RetryPolicy::never();
    let payments = || Service::new("payments", never.clone()).host("a.test");
    let built = |service: Service| {
        let services = Services::builder(retries(3)).service(service);
        services.build().unwrap()
    };
    let route = ServiceRoute::new("pay", never.clone())
        .path("/v1/pay")
        .method(Method::POST);
    vec![
        (
            "a path",
            built(payments().host("a.test:80").path("/v1/pay")),
        ),
        (
            "a path and a port",
            built(
                Service::new("p", never.clone())
                    .host("a.test:80")
                    .path("/v1/*ay"),
            ),
        ),
        (
            "a spelled path",
            built(payments().host("A.test.").path("//v1/./%70ay")),
        ),
        (
            "any host",
            built(
                Service::new("payments", never.clone())
                    .scheme("http")
                    .path("/v1/pay"),
            ),
        ),
        (
            "a route",
            built(Service::new("shop", retries(3)).host("a.test").route(route)),
        ),
    ]
}

#[tokio::test]
async fn no_spelling_of_a_url_escapes_its_service() {
    for (what, services) in protections() {
        for url in SPELLINGS.into_iter().chain(WITH_SLASH) {
            let sent = sent_by_layer(RetryLayer::for_services(&services), url).await;
            assert_eq!(sent, [url], "{what}");
            let sent = sent_by_middleware(RetryMiddleware::for_services(&services), url).await;
            assert_eq!(sent.len(), 1, "{what}: {url}");
        }
    }
}

#[tokio::test]
async fn another_url_does_not_belong_to_the_service() {
    let payments = Service::new("payments", RetryPolicy::never()).host("a.test:80");
    let services = Services::builder(retries(3)).rest_budget(RetryBudget::unlimited());
    let services = services.service(payments.path("/v1/pay"));
    let services = services.build().unwrap();
    for url in OTHERS {
        let sent = sent_by_layer(RetryLayer::for_services(&services), url).await;
        assert_eq!(sent, [url; 4]);
    }
}

fn config(json: serde_json::Value) -> RetryConfig {
    let document: Document = serde_json::from_value(json).unwrap();
    RetryConfig::load(&document).unwrap()
}

#[tokio::test]
async fn no_spelling_of_a_url_escapes_a_document() {
    let config = config(serde_json::json!({
        "version": 1,
        "retry": "background",
        "services": {
            "payments": {
                "match": {"host": "A.test.", "path": "/x/../v1/%70ay", "scheme": "HTTP"},
                "retry": "never",
            },
        },
    }));
    for url in SPELLINGS.into_iter().chain(WITH_SLASH) {
        let sent = sent_by_layer(RetryLayer::from_config(&config), url).await;
        assert_eq!(sent, [url]);
    }
    let sent = sent_by_layer(RetryLayer::from_config(&config), OTHERS[0]).await;
    assert_eq!(sent.len(), 5);
}

#[test]
fn the_same_match_in_another_spelling_is_refused() {
    let at =
        |name: &str, host: &str, path: &str| Service::new(name, retries(1)).host(host).path(path);
    let services = Services::builder(retries(0))
        .service(at("a", "a.test", "/v1/pay"))
        .service(at("b", "A.test.", "//v1/x/../p%61y"));
    let refused = services.build().unwrap_err().to_string();
    assert!(
        refused.contains("no request would match it: a has the same match"),
        "{refused}"
    );
    for path in ["/v1/*/../pay", "*/..", "/*/%2e%2E/pay"] {
        let refused = at("a", "a.test", path).check().unwrap_err().to_string();
        assert!(refused.contains("leave out the .. behind a *"), "{refused}");
        assert!(Condition::path(path).is_err());
    }
    let refused = at("a", "b\u{fc}cher.example", "/")
        .check()
        .unwrap_err()
        .to_string();
    assert!(refused.contains("as xn--"), "{refused}");
}

#[tokio::test]
async fn no_spelling_of_a_path_escapes_a_rule() {
    for pattern in ["/v1/pay", "//v1/./p%61y", "/v1/*"] {
        let stop = Rule::when(Condition::path(pattern).unwrap()).then(Action::Stop);
        let policy = retries(3).to_builder().rule(stop).build().unwrap();
        for url in SPELLINGS.into_iter().chain(WITH_SLASH) {
            let sent = sent_by_layer(RetryLayer::new(policy.clone()), url).await;
            assert_eq!(sent, [url]);
            let sent = sent_by_middleware(RetryMiddleware::new(policy.clone()), url).await;
            assert_eq!(sent.len(), 1, "{url}");
        }
    }
}

#[tokio::test]
async fn no_spelling_of_a_host_escapes_its_dialect() {
    // A table that knows a permanent 429 by the header of the answer below.
    let dialects = Dialects::by_host().host("A.test.", Dialect::github());
    let policy = retries(3).to_builder().dialect(dialects).build().unwrap();
    for url in SPELLINGS {
        let server = Script::new()
            .status(403)
            .header("x-ratelimit-remaining", "0");
        let layer = RetryLayer::new(policy.clone()).runtime(ManualRuntime::new());
        let request = Request::get(url).body(String::new()).unwrap();
        layer.layer(server.clone()).oneshot(request).await.unwrap();
        assert_eq!(server.calls().len(), 4, "{url}");
    }
}

#[tokio::test]
async fn all_spellings_of_a_host_spend_one_budget() {
    let each = RetryBudget::builder().initial(3).per_success(0);
    let budgets = ServiceBudgets::new(each).unwrap();
    let policy = RetryPolicy::builder()
        .max_retries(1)
        .backoff(Backoff::none());
    let policy = policy.build().unwrap();
    let mut sent = 0;
    for url in SPELLINGS {
        let layer = RetryLayer::new(policy.clone()).budgets(budgets.clone());
        sent += sent_by_layer(layer, url).await.len();
        let middleware = RetryMiddleware::new(policy.clone()).budgets(budgets.clone());
        sent += sent_by_middleware(middleware, url).await.len();
    }
    assert_eq!(sent, 2 * SPELLINGS.len() + 3);
    assert_eq!(budgets.get("a.test").available(Duration::ZERO), 0);
}

/// Refused calls close the gate, and so do refused probes: then the next call waits.
#[tokio::test]
async fn all_spellings_of_a_host_wait_at_one_gate() {
    let policy = RetryPolicy::rate_limited().to_builder();
    let policy = policy.max_retries(0).max_refused(0).build().unwrap();
    let (gate, clock) = (Gate::new(), ManualRuntime::new());
    for url in SPELLINGS.iter().rev().take(8) {
        let server = Script::new().status(429).header("retry-after", "7");
        let layer = RetryLayer::new(policy.clone()).gate(gate.clone());
        let request = Request::get(*url).body(String::new()).unwrap();
        let client = layer.runtime(clock.clone()).layer(server);
        client.oneshot(request).await.unwrap();
    }
    assert!(clock.now() >= Duration::from_secs(7), "{:?}", clock.now());
}

#[tokio::test]
async fn a_spelled_path_fails_over_to_the_same_place() {
    let failed = Rule::when(Condition::status([503]).unwrap()).failover(Failover::to("backup"));
    let policy = retries(0).to_builder().rule(failed).build().unwrap();
    let services = Services::builder(retries(0))
        .service(
            Service::new("shop", policy)
                .host("a.test")
                .base_url("http://a.test/v1"),
        )
        .service(Service::new("backup", retries(0)).base_url("http://b.test/api"))
        .build()
        .unwrap();
    for url in &SPELLINGS[..18] {
        let server = Script::new().status(503).status(200);
        let layer = RetryLayer::for_services(&services).runtime(ManualRuntime::new());
        let request = Request::get(*url).body(String::new()).unwrap();
        layer.layer(server.clone()).oneshot(request).await.unwrap();
        assert_eq!(server.calls()[1].1, "http://b.test/api/pay", "{url}");
    }
}

/// A router of one's own compares paths too.
#[tokio::test]
async fn a_router_sees_the_normal_form() {
    struct Own([Arc<Route>; 2]);

    impl Router for Own {
        fn route(&self, head: &RequestHead<'_>, _: Option<&str>) -> Arc<Route> {
            let is_payment = head.authority() == Some("a.test") && head.path() == "/v1/pay";
            self.0[usize::from(is_payment)].clone()
        }
    }

    for url in SPELLINGS {
        let routes = [retries(3), RetryPolicy::never()];
        let routes = routes.map(|policy| Arc::new(Route::new(policy)));
        assert_eq!(
            sent_by_layer(RetryLayer::routed(Own(routes)), url).await,
            [url]
        );
    }
}
