//! Requests that go on at another service.

mod credentials;
mod keys;
mod stays;
mod there;

use super::super::connections::client::Speaks;
use super::super::connections::http2_server::{self, Http2Server};
use super::super::server::{Act, Answer, FaultServer, Received};
use super::exhausted::{Way, budgets, each};
use super::stacks::{Kit, STACKS, get};
use bytes::Bytes;
use http::{Request, Version};
use http_retry::StopReason;
use serde_json::{Value, json};

/// Two services; where the second is, and what the document says of each.
struct Pair {
    first: FaultServer,
    second: FaultServer,
}

impl Pair {
    async fn start(
        first: impl IntoIterator<Item = Act>,
        second: impl IntoIterator<Item = Act>,
    ) -> Self {
        Self {
            first: FaultServer::start(first).await,
            second: FaultServer::start(second).await,
        }
    }

    /// A document in which the first service fails over to the second, which goes by this.
    fn document(&self, way: Way, second: &Value) -> Value {
        self.with_paths(("", ""), &way.retry(&json!({"failover": "second"})), second)
    }

    fn with_paths(&self, (first, second): (&str, &str), retry: &Value, other: &Value) -> Value {
        let mut document = json!({
            "version": 1,
            "gate": "off",
            "budgets": budgets(),
            "services": {
                "first": {
                    "match": {"host": self.first.address().to_string()},
                    "base_url": self.first.url(first),
                    "retry": retry,
                },
                "second": {"base_url": self.second.url(second)},
            }
        });
        for (key, value) in other.as_object().into_iter().flatten() {
            document["services"]["second"][key] = value.clone();
        }
        document
    }

    fn counts(&self) -> (usize, usize) {
        (self.first.received().len(), self.second.received().len())
    }
}

fn header<'a>(request: &'a Received, name: &str) -> Vec<&'a str> {
    let fields = request.fields();
    let named = fields.filter(|(own, _)| own.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value).collect()
}

fn never() -> Value {
    json!({"retry": {"max_retries": 0}})
}

fn order(url: &str, method: &str) -> Request<Bytes> {
    Request::builder()
        .method(method)
        .uri(url)
        .header("x-order", "7")
        .header("x-order", "8")
        .header("accept", "text/plain")
        .body(Bytes::from_static(b"two of them"))
        .unwrap()
}

#[tokio::test]
async fn the_whole_request_comes_to_the_other_service() {
    for (stack, way) in each() {
        let why = format!("{stack:?} {way:?}");
        let pair = Pair::start(way.acts(), [Act::Answer(Answer::new(200).body("here"))]).await;
        let kit = Kit::new(pair.document(way, &never()));
        let path = "/v1/orders?limit=5&b=%20";
        let told = kit.send(stack, order(&pair.first.url(path), "PUT")).await;
        assert_eq!(pair.counts(), (way.acts().len(), 1), "{why}");
        assert_whole(&pair, path, &why);
        assert_eq!(told.stop(), StopReason::Succeeded, "{why}");
        let whole = told.whole().await;
        let answer = (whole.status.as_u16(), whole.body);
        assert_eq!(answer, (200, "here".into()), "{why}");
        let url = stack.is_reqwest().then(|| pair.second.url(path));
        let place = (url, Some(pair.second.address()));
        assert_eq!((whole.url, whole.remote), place, "{why}");
    }
}

/// Each service has got the request as it should come there.
fn assert_whole(pair: &Pair, path: &str, why: &str) {
    let [from, to] = [&pair.first, &pair.second].map(|server| server.received().remove(0));
    assert_eq!((to.method(), to.target()), ("PUT", path), "{why}");
    assert_eq!((&*to.body, to.whole), (&b"two of them"[..], true), "{why}");
    assert_eq!(header(&to, "x-order"), ["7", "8"], "{why}");
    assert_eq!(header(&to, "accept"), ["text/plain"], "{why}");
    let [first, second] = [&pair.first, &pair.second].map(|server| server.address().to_string());
    assert_eq!(header(&from, "host"), [first], "{why}");
    assert_eq!(header(&to, "host"), [second], "{why}");
}

#[tokio::test]
async fn over_http2_it_goes_to_a_connection_of_the_other_service() {
    for stack in STACKS {
        let first = Http2Server::start([http2_server::Act::Answer(503)]).await;
        let second = Http2Server::start([]).await;
        let retry = json!({"max_retries": 0, "on_exhausted": {"failover": "second"}});
        let host = first.url("").replace("http://", "");
        let kit = Kit::new(json!({"version": 1, "services": {
            "first": {"match": {"host": host}, "retry": retry},
            "second": {"base_url": second.url("/api")},
        }}));
        let kit = kit.speaking(Speaks::Http2);
        let told = kit.send(stack, order(&first.url("/a?b=c"), "PUT")).await;
        let whole = told.whole().await;
        assert_eq!(
            (whole.status.as_u16(), whole.version),
            (200, Version::HTTP_2),
            "{stack:?}"
        );
        let url = stack.is_reqwest().then(|| second.url("/api/a?b=c"));
        assert_eq!(whole.url, url, "{stack:?}");
        let received = second.received();
        assert_eq!(
            (first.received().len(), received.len()),
            (1, 1),
            "{stack:?}"
        );
        assert!(
            received[0].whole && received[0].body == b"two of them",
            "{stack:?}"
        );
        assert_eq!(
            received[0].headers.get_all("x-order").iter().count(),
            2,
            "{stack:?}"
        );
        assert!(!received[0].headers.contains_key("host"), "{stack:?}");
    }
}

#[tokio::test]
async fn a_host_header_of_the_callers_own_stays_behind() {
    for stack in STACKS {
        let pair = Pair::start(Way::Budget.acts(), []).await;
        let kit = Kit::new(pair.document(Way::Budget, &never()));
        let mut request = get(&pair.first.url("/"));
        let host = http::HeaderValue::from_static("first.example");
        request.headers_mut().insert("host", host);
        kit.send(stack, request).await.result.unwrap();
        assert_eq!(
            header(&pair.first.received()[0], "host"),
            ["first.example"],
            "{stack:?}"
        );
        let second = [pair.second.address().to_string()];
        assert_eq!(
            header(&pair.second.received()[0], "host"),
            second,
            "{stack:?}"
        );
    }
}

#[tokio::test]
async fn a_request_moves_from_below_one_base_url_to_below_the_other() {
    let moves = [
        (("", "/api"), "/v1/chat?n=1", "/api/v1/chat?n=1"),
        (("/v1", "/api/v2/"), "/v1/chat?n=1", "/api/v2/chat?n=1"),
        (("/v1/", "/api/v2"), "/v1/chat", "/api/v2/chat"),
        (("/v1", ""), "/v1/chat", "/chat"),
        (("/v1", "/api"), "/v10/chat", "/api/v10/chat"),
        (("/v1", "/api"), "/v1/", "/api/"),
        (("/v1", "/api"), "/v1", "/api"),
        (("/v1", "/api"), "/v1?n=1", "/api?n=1"),
        (("/v1", ""), "/v1?n=1", "/?n=1"),
    ];
    for stack in STACKS {
        for (paths, from, to) in moves {
            let pair = Pair::start([Act::status(503)], []).await;
            let retry = json!({"max_retries": 0, "on_exhausted": {"failover": "second"}});
            let kit = Kit::new(pair.with_paths(paths, &retry, &never()));
            kit.send(stack, get(&pair.first.url(from)))
                .await
                .result
                .unwrap();
            let received = pair.second.received();
            assert_eq!(received[0].target(), to, "{stack:?} {paths:?} {from}");
        }
    }
}
