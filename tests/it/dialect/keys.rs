//! The header in which a service takes a key of idempotency is data of its table.

use futures_util::FutureExt;
use http::{Extensions, HeaderName, Request, Response};
use http_retry::config::RetryConfig;
use http_retry::dialect::Dialect;
use http_retry::policy::Verdict;
use http_retry::reqwest::RetryMiddleware;
use http_retry::route::RequestHead;
use http_retry::run::Runner;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Class, Outcome, Reach, RetryPolicy, RetryReport};
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use serde_json::json;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

fn attempts(dialect: Option<Dialect>, name: &str) -> u32 {
    let builder = RetryPolicy::background().to_builder();
    let builder = match dialect {
        Some(dialect) => builder.dialect(dialect),
        None => builder,
    };
    let layer = RetryLayer::new(builder.build().unwrap()).runtime(ManualRuntime::new());
    let slot = RetryReport::slot();
    let request = Request::post("http://api.example/orders").header(name, "7");
    let request = request.extension(slot.clone()).body(String::new()).unwrap();
    let server = Script::new().status(503).status(201);
    let sent = layer.layer(server).oneshot(request).now_or_never();
    assert!(sent.unwrap().is_ok());
    slot.take().unwrap().attempt_count
}

#[test]
fn a_key_counts_in_the_header_of_its_service() {
    assert_eq!(attempts(None, "paypal-request-id"), 1);
    assert_eq!(attempts(Some(Dialect::paypal()), "paypal-request-id"), 2);
    assert_eq!(
        attempts(Some(Dialect::paypal()), "chargebee-idempotency-key"),
        1
    );
    assert_eq!(attempts(Some(Dialect::paypal()), "idempotency-key"), 2);
    assert_eq!(attempts(None, "opc-retry-token"), 1);
    assert_eq!(attempts(Some(Dialect::oci()), "opc-retry-token"), 2);
}

#[test]
fn a_classifier_sees_the_key_of_a_first_success() {
    let keyed = |name: &'static str| {
        let seen = Arc::new(Mutex::new(None));
        let log = Arc::clone(&seen);
        let see = move |outcome: &Outcome<'_>| -> Option<Verdict> {
            *log.lock().unwrap() = outcome.request().and_then(RequestHead::is_keyed);
            None
        };
        let builder = RetryPolicy::builder().classify(see);
        let policy = builder.dialect(Dialect::paypal()).build().unwrap();
        let layer = RetryLayer::new(policy).runtime(ManualRuntime::new());
        let request = Request::post("http://api.example/orders").header(name, "7");
        let request = request.body(String::new()).unwrap();
        let sent = layer.layer(Script::new().status(201)).oneshot(request);
        assert_eq!(sent.now_or_never().unwrap().unwrap().status(), 201);
        *seen.lock().unwrap()
    };
    assert_eq!(keyed("paypal-request-id"), Some(true));
    assert_eq!(keyed("idempotency-key"), Some(true));
    assert_eq!(keyed("x-request-id"), Some(false));
}

#[test]
fn an_operation_says_when_to_come_back() {
    let clock = ManualRuntime::new();
    let runner = Runner::on(clock.clone(), RetryPolicy::background()).one_request();
    let busy = Verdict::new(Class::Throttled, Reach::Refused);
    let judge = |_: &()| busy.asking_for(Duration::from_secs(90));
    let run = runner.run(judge, |attempt| async move {
        if attempt.number < 2 { Err(()) } else { Ok(()) }
    });
    assert_eq!(run.now_or_never(), Some(Ok(())));
    assert!(clock.sleeps()[0] >= Duration::from_secs(90));
}

/// The keys in this header that a layer of this policy sends: two attempts have one.
fn made_by(layer: &RetryLayer, name: &'static str) -> String {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let server = service_fn(move |request: Request<String>| {
        let key = request.headers().get(name).cloned();
        let mut log = log.lock().unwrap();
        log.push(key.unwrap().to_str().unwrap().to_owned());
        let status = if log.len() == 1 { 503 } else { 201 };
        let answer = Response::builder().status(status).body(String::new());
        async move { Ok::<_, Infallible>(answer.unwrap()) }
    });
    let request = Request::post("http://api.example/orders").body(String::new());
    let sent = layer.layer(server).oneshot(request.unwrap());
    assert_eq!(sent.now_or_never().unwrap().unwrap().status(), 201);
    let seen = seen.lock().unwrap().clone();
    assert_eq!((seen.len(), &seen[0]), (2, &seen[1]));
    seen[0].clone()
}

fn is_quoted_uuid(key: &str) -> bool {
    key.len() == 38 && key.starts_with('"') && key.ends_with('"')
}

#[test]
fn a_key_goes_out_in_quotes_where_the_service_wants_it() {
    let layer = |dialect: Dialect| {
        let policy = RetryPolicy::background().to_builder().dialect(dialect);
        let layer = RetryLayer::new(policy.build().unwrap());
        layer.runtime(ManualRuntime::new()).idempotency_keys()
    };
    let usual = "idempotency-key";
    assert_eq!(made_by(&layer(Dialect::idempotency()), usual).len(), 36);
    let quoted = Dialect::idempotency().quoted_keys(true);
    assert!(is_quoted_uuid(&made_by(&layer(quoted), usual)));
    // What a dialect is made from says it as well, unless its own word is another.
    let quoted = || Dialect::paypal().quoted_keys(true);
    let own = layer(Dialect::named("own").and(quoted()));
    assert!(is_quoted_uuid(&made_by(&own, "paypal-request-id")));
    let plain = layer(Dialect::named("own").quoted_keys(false).and(quoted()));
    assert_eq!(made_by(&plain, "paypal-request-id").len(), 36);
    let other = Dialect::named("own").key_header(HeaderName::from_static("x-order-key"));
    assert_eq!(made_by(&layer(other), "x-order-key").len(), 36);
}

#[test]
fn a_document_names_the_header_of_keys_and_their_quotes() {
    let document = json!({
        "version": 1,
        "gate": "off",
        "dialect": "ours",
        "dialects": {"ours": {"key_header": "x-order-key", "quoted_keys": true}},
    });
    let document = serde_json::from_value(document).unwrap();
    let config = RetryConfig::load(&document).unwrap();
    let layer = RetryLayer::from_config(&config).runtime(ManualRuntime::new());
    let key = made_by(&layer.idempotency_keys(), "x-order-key");
    assert!(is_quoted_uuid(&key));
}

/// The keys that were sent.
#[derive(Clone, Default)]
struct Keys(Arc<Mutex<Vec<String>>>);

#[async_trait::async_trait]
impl Middleware for Keys {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let key = request.headers()["idempotency-key"].to_str().unwrap();
        self.0.lock().unwrap().push(key.to_owned());
        next.run(request, extensions).await
    }
}

#[test]
fn a_middleware_of_reqwest_sends_keys_in_quotes_too() {
    let quoted = Dialect::stripe().quoted_keys(true);
    let policy = RetryPolicy::background().to_builder().dialect(quoted);
    let retries = RetryMiddleware::new(policy.build().unwrap()).idempotency_keys();
    let keys = Keys::default();
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(retries.runtime(ManualRuntime::new()))
        .with(keys.clone())
        .with(Script::new().status(503).status(201))
        .build();
    let request = client.post("http://api.example/orders").body("order");
    let answer = request.send().now_or_never().unwrap().unwrap();
    assert_eq!(answer.status(), 201);
    let keys = keys.0.lock().unwrap().clone();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
    assert!(is_quoted_uuid(&keys[0]), "{keys:?}");
}
