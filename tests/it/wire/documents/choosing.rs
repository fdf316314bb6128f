//! Which service a request belongs to: by what it is like, or by the name that it gives.

use super::super::server::{Act, FaultServer, Received};
use super::clock::Clock;
use super::stacks::{Kit, STACKS, Stack, document};
use crate::in_time::in_time;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use http_retry::config::RetryConfig;
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{RetryOverride, RetryReport};
use hyper_util::rt::TokioIo;
use reqwest_middleware::ClientBuilder;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tower::{Layer, ServiceExt, service_fn};

/// A service whose only rule tells its name.
fn service(name: &str, matching: Value) -> Value {
    let rules = json!([{"name": name, "when": {"status": 503}, "do": "stop"}]);
    match matching {
        Value::Null => json!({"rules": rules}),
        matching => json!({"match": matching, "rules": rules}),
    }
}

fn services() -> Value {
    let matches = [
        ("exact", json!({"host": "api.example.test"})),
        (
            "exact-chat",
            json!({"host": "api.example.test", "path": "/v1/chat/*"}),
        ),
        (
            "exact-writes",
            json!({"host": "api.example.test", "method": ["POST", "PUT"], "path": "/v1/*"}),
        ),
        ("labels", json!({"host": "*.example.test"})),
        ("more-labels", json!({"host": "*.eu.example.test"})),
        ("several", json!({"host": ["one.test", "two.test"]})),
        ("secure", json!({"host": "one.test", "scheme": "https"})),
        ("paths", json!({"path": "/shared/*"})),
        ("deletes", json!({"method": "DELETE"})),
        ("by-name", Value::Null),
    ];
    let services = matches.map(|(name, matching)| (name.to_owned(), service(name, matching)));
    json!({
        "version": 1,
        "services": Value::Object(services.into_iter().collect()),
        "rules": [{"name": "none", "when": {"status": 503}, "do": "stop"}],
    })
}

/// Method, host and path, and the service that they lead to.
const CASES: [(&str, &str, &str, &str); 17] = [
    ("GET", "api.example.test", "/", "exact"),
    ("GET", "API.Example.Test", "/v2", "exact"),
    ("GET", "api.example.test", "/v1/chat/7", "exact-chat"),
    ("GET", "api.example.test", "/v1/chat", "exact-chat"),
    ("POST", "api.example.test", "/v1/chat", "exact-chat"),
    ("POST", "api.example.test", "/v1/orders", "exact-writes"),
    ("PUT", "api.example.test", "/v1/orders", "exact-writes"),
    ("GET", "api.example.test", "/v1/orders", "exact"),
    ("DELETE", "api.example.test", "/", "exact"),
    ("GET", "other.example.test", "/", "labels"),
    ("GET", "a.eu.example.test", "/", "more-labels"),
    ("GET", "example.test", "/", "none"),
    ("GET", "two.test", "/shared/x", "several"),
    ("GET", "one.test", "/", "several"),
    ("GET", "elsewhere.test", "/shared/x", "paths"),
    ("DELETE", "elsewhere.test", "/", "deletes"),
    ("GET", "elsewhere.test", "/", "none"),
];

async fn failing(requests: usize) -> FaultServer {
    FaultServer::start(std::iter::repeat_n(Act::status(503), requests)).await
}

/// A client that sends whatever it is given to one address, as it stands.
fn dialling(
    address: SocketAddr,
) -> impl tower::Service<
    Request<Full<Bytes>>,
    Response = Response<hyper::body::Incoming>,
    Error = hyper::Error,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static {
    service_fn(move |request: Request<Full<Bytes>>| async move {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        sender.send_request(request).await
    })
}

/// The rule that judged the only attempt.
fn judge(report: Option<&RetryReport>) -> String {
    let attempts = &report.expect("a report").attempts;
    assert_eq!(attempts.len(), 1);
    attempts[0].rule.as_deref().unwrap().to_owned()
}

/// The service that a tower stack chooses.
async fn by_tower(config: &RetryConfig, address: SocketAddr, request: Request<Bytes>) -> String {
    let layer = RetryLayer::from_config(config).runtime(Clock::new());
    let service = layer.layer(dialling(address));
    let response = in_time(service.oneshot(request.map(Full::new)))
        .await
        .unwrap();
    judge(response.extensions().get())
}

/// The service that reqwest in this stack chooses; every name leads to this address.
async fn by_reqwest(
    stack: Stack,
    config: &RetryConfig,
    address: SocketAddr,
    mut request: Request<Bytes>,
) -> String {
    let host = request.uri().host().unwrap().to_ascii_lowercase();
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .resolve(&host, address)
        .build()
        .unwrap();
    let mut extensions = std::mem::take(request.extensions_mut());
    let request = reqwest::Request::try_from(request).unwrap();
    let response = if stack == Stack::Direct {
        let layer = RetryLayer::from_config(config).runtime(Clock::new());
        in_time(layer.layer(client).oneshot(request)).await.unwrap()
    } else {
        let middleware = RetryMiddleware::from_config(config).runtime(Clock::new());
        let client = ClientBuilder::new(client).with(middleware).build();
        let sent = client.execute_with_extensions(request, &mut extensions);
        in_time(sent).await.unwrap()
    };
    judge(response.extensions().get())
}

fn request(method: &str, uri: &str) -> Request<Bytes> {
    let request = Request::builder().method(method).uri(uri);
    request.body(Bytes::new()).unwrap()
}

fn config() -> RetryConfig {
    RetryConfig::load(&document(services())).unwrap()
}

fn first_line(request: &Received) -> &str {
    request.head.lines().next().unwrap()
}

#[tokio::test]
async fn reqwest_chooses_by_host_path_and_method() {
    let config = config();
    for stack in [Stack::Middleware, Stack::Direct] {
        let server = failing(CASES.len()).await;
        for (method, host, path, expected) in CASES {
            let port = server.address().port();
            let request = request(method, &format!("http://{host}:{port}{path}?q=/v1/chat"));
            let chosen = by_reqwest(stack, &config, server.address(), request).await;
            assert_eq!(chosen, expected, "{stack:?} {method} {host}{path}");
        }
        assert_eq!(server.received().len(), CASES.len());
    }
}

#[tokio::test]
async fn tower_chooses_by_a_whole_uri() {
    let config = config();
    let server = failing(CASES.len()).await;
    for (method, host, path, expected) in CASES {
        let request = request(method, &format!("http://{host}:8080{path}?q=/v1/chat"));
        let chosen = by_tower(&config, server.address(), request).await;
        assert_eq!(chosen, expected, "{method} {host}{path}");
    }
}

#[tokio::test]
async fn tower_chooses_by_the_host_header_of_a_bare_path() {
    let config = config();
    let server = failing(CASES.len() * 2).await;
    for port in ["", ":8080"] {
        for (method, host, path, expected) in CASES {
            let mut request = request(method, &format!("{path}?q=/v1/chat"));
            let host = format!("{host}{port}");
            request.headers_mut().insert("host", host.parse().unwrap());
            let chosen = by_tower(&config, server.address(), request).await;
            assert_eq!(chosen, expected, "{method} {host} {path}");
            let received = server.received().pop().unwrap();
            let line = format!("{method} {path}?q=/v1/chat HTTP/1.1");
            assert_eq!(first_line(&received), line);
        }
    }
}

#[tokio::test]
async fn nobody_may_name_the_scheme_of_a_bare_path() {
    let server = failing(2).await;
    let mut request = request("GET", "/");
    request
        .headers_mut()
        .insert("host", "one.test".parse().unwrap());
    let chosen = by_tower(&config(), server.address(), request).await;
    assert_eq!(chosen, "several", "and not the one for https");
}

fn named(mut request: Request<Bytes>, name: &'static str) -> Request<Bytes> {
    let own = RetryOverride::new().service(name);
    request.extensions_mut().insert(own);
    request
}

#[tokio::test]
async fn a_name_beats_every_match() {
    let config = config();
    for stack in STACKS.into_iter().filter(|stack| stack.has_extensions()) {
        // The last is no service of the document's: its request is what it is like.
        for (name, expected) in [
            ("by-name", "by-name"),
            ("paths", "paths"),
            ("unknown", "exact"),
        ] {
            let server = failing(1).await;
            let port = server.address().port();
            let uri = format!("http://api.example.test:{port}/");
            let request = named(request("GET", &uri), name);
            let chosen = if stack.is_reqwest() {
                by_reqwest(stack, &config, server.address(), request).await
            } else {
                by_tower(&config, server.address(), request).await
            };
            assert_eq!(chosen, expected, "{stack:?} {name}");
        }
    }
}

#[tokio::test]
async fn events_and_budgets_are_those_of_the_service() {
    for stack in STACKS {
        let server = failing(1).await;
        let kit = Kit::new(json!({
            "version": 1,
            "budgets": {"four": {"capacity": 4, "initial": 4, "per_success": 0}},
            "retry": {"max_retries": 1, "backoff": "none"},
            "services": {
                "here": {"match": {"host": server.address().to_string()}, "budget": "four"},
                "there": {"match": {"host": "127.0.0.1:1"}},
            },
        }));
        let told = kit.send(stack, request("GET", &server.url("/"))).await;
        let left = told.report.unwrap().tokens_left.unwrap();
        assert_eq!(left, 3.into(), "{stack:?}");
        assert!(
            kit.events().iter().all(|(service, _)| service == "here"),
            "{stack:?}"
        );
        assert_eq!(kit.events().len(), 6, "{stack:?}");
    }
}

#[tokio::test]
async fn routes_are_asked_in_their_order() {
    for stack in STACKS {
        let server = failing(3).await;
        let route = |name: &str, matching: Value| {
            let rules = json!([{"name": name, "when": {"status": 503}, "do": "stop"}]);
            json!({"name": name, "match": matching, "rules": rules})
        };
        let kit = Kit::new(json!({"version": 1, "services": {"all": {
            "match": {"host": server.address().to_string()},
            "routes": [
                route("writes", json!({"path": "/v1/*", "method": "PUT"})),
                route("all", json!({"path": "/v1/*"})),
                route("never", json!({"path": "/v1/chat"})),
            ],
            "rules": [{"name": "rest", "do": "stop"}],
        }}}));
        for (method, path, expected) in [
            ("PUT", "/v1/chat", "writes"),
            ("GET", "/v1/chat", "all"),
            ("GET", "/v2", "rest"),
        ] {
            let told = kit.send(stack, request(method, &server.url(path))).await;
            assert_eq!(
                judge(told.report.as_ref()),
                expected,
                "{stack:?} {method} {path}"
            );
        }
    }
}
