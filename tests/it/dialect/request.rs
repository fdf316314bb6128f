//! Who judges an outcome sees what request it is about, of an answer and of an error, on both stacks.

use futures_util::FutureExt;
use http::Request;
use http_retry::RetryPolicy;
use http_retry::policy::Verdict;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use reqwest_middleware::ClientBuilder;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use tower::{Layer, ServiceExt};

const URL: &str = "http://api.example:8080/orders/7?token=secret";

type Seen = Arc<Mutex<Vec<String>>>;

fn policy() -> (RetryPolicy, Seen) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let policy = RetryPolicy::background()
        .to_builder()
        .classify(move |outcome| {
            let request = outcome.request().unwrap();
            let method = request.method().unwrap();
            let (authority, path) = (request.authority().unwrap(), request.path());
            let status = outcome.status().map_or(0, |status| status.as_u16());
            let line = format!("{method} {authority} {path} {status}");
            log.lock().unwrap().push(line);
            None::<Verdict>
        });
    (policy.build().unwrap(), seen)
}

fn script() -> Script {
    Script::new()
        .status(503)
        .error(ErrorKind::ConnectionRefused)
        .status(404)
}

fn lines(seen: &Seen) -> Vec<String> {
    let of = |status: u16| format!("PUT api.example:8080 /orders/7 {status}");
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen, [of(503), of(0), of(404)]);
    seen
}

#[test]
fn a_classifier_sees_method_path_and_authority() {
    let (policy, seen) = policy();
    let layer = RetryLayer::new(policy).runtime(ManualRuntime::new());
    let request = Request::put(URL).body(String::new()).unwrap();
    let sent = layer.layer(script()).oneshot(request).now_or_never();
    assert_eq!(sent.unwrap().unwrap().status(), 404);
    assert_eq!(lines(&seen).len(), 3);
}

#[test]
fn a_classifier_sees_the_same_in_the_middleware() {
    let (policy, seen) = policy();
    let retries = RetryMiddleware::new(policy).runtime(ManualRuntime::new());
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(retries)
        .with(script())
        .build();
    let sent = client.put(URL).body("order").send().now_or_never();
    assert_eq!(sent.unwrap().unwrap().status(), 404);
    assert_eq!(lines(&seen).len(), 3);
}
