//! What one server was trusted with is not told to another.

use super::super::exhausted::{Way, each};
use super::super::stacks::{Kit, STACKS, get};
use super::{Pair, header, never};
use crate::wire::server::{Act, FaultServer, Received};
use bytes::Bytes;
use http::{HeaderValue, Request};
use serde_json::{Value, json};

/// The headers that are credentials whatever the document says.
const BUILT_IN: [&str; 9] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "cookie2",
    "api-key",
    "x-api-key",
    "x-auth-token",
    "x-goog-api-key",
    "x-amz-security-token",
];

/// A request with every credential, with a secret that is none by its name, and with a header for everybody.
fn trusting(url: &str) -> Request<Bytes> {
    let mut request = get(url);
    for name in BUILT_IN {
        request
            .headers_mut()
            .insert(name, HeaderValue::from_static("secret"));
    }
    let mut sensitive = HeaderValue::from_static("secret");
    sensitive.set_sensitive(true);
    let headers = request.headers_mut();
    headers.insert("x-own-signature", sensitive);
    headers.insert("x-vendor-key", HeaderValue::from_static("secret"));
    headers.insert("x-order", HeaderValue::from_static("7"));
    request
}

/// The names of the secrets that came.
fn secrets(request: &Received) -> Vec<&str> {
    let mut names: Vec<&str> = request
        .fields()
        .filter(|(_, value)| *value == "secret")
        .map(|(name, _)| name)
        .collect();
    names.sort_unstable();
    names
}

fn all() -> Vec<&'static str> {
    let mut all = BUILT_IN.to_vec();
    all.extend(["x-own-signature", "x-vendor-key"]);
    all.sort_unstable();
    all
}

/// A rule of the first service that fails over.
fn by_rule(pair: &Pair, rule: &Value) -> Value {
    let mut document = pair.document(Way::Attempts, &never());
    document["services"]["first"]["rules"] = json!([rule]);
    document
}

#[tokio::test]
async fn credentials_stay_with_the_server_that_they_are_for() {
    for (stack, way) in each() {
        let pair = Pair::start(way.acts(), []).await;
        let kit = Kit::new(pair.document(way, &never()));
        let told = kit.send(stack, trusting(&pair.first.url("/a?b=c"))).await;
        assert_eq!(told.status(), 200, "{stack:?} {way:?}");
        for received in pair.first.received() {
            assert_eq!(secrets(&received), all(), "{stack:?} {way:?}");
        }
        let received = pair.second.received();
        assert_eq!(secrets(&received[0]), ["x-vendor-key"], "{stack:?} {way:?}");
        assert_eq!(header(&received[0], "x-order"), ["7"], "{stack:?} {way:?}");
    }
}

#[tokio::test]
async fn a_rule_leaves_them_behind_as_well() {
    for stack in STACKS {
        let pair = Pair::start([Act::status(503)], []).await;
        let kit = Kit::new(by_rule(&pair, &json!({"when": 503, "failover": "second"})));
        kit.send(stack, trusting(&pair.first.url("/"))).await;
        assert_eq!(
            secrets(&pair.second.received()[0]),
            ["x-vendor-key"],
            "{stack:?}"
        );
    }
}

#[tokio::test]
async fn a_rule_gives_those_of_the_new_place() {
    let set =
        json!({"headers": {"authorization": "Bearer of-the-second", "X-Api-Key": ["one", "two"]}});
    for stack in STACKS {
        let pair = Pair::start([Act::status(503)], [Act::status(503)]).await;
        let rule = json!({"when": 503, "failover": "second", "set": set});
        let mut document = by_rule(&pair, &rule);
        document["services"]["second"]["retry"] = json!({"max_retries": 1, "backoff": "none"});
        let told = Kit::new(document)
            .send(stack, trusting(&pair.first.url("/")))
            .await;
        assert_eq!(told.status(), 200, "{stack:?}");
        let received = pair.second.received();
        assert_eq!(received.len(), 2, "{stack:?}");
        for received in received {
            assert_eq!(secrets(&received), ["x-vendor-key"], "{stack:?}");
            let given = header(&received, "authorization");
            assert_eq!(given, ["Bearer of-the-second"], "{stack:?}");
            assert_eq!(header(&received, "x-api-key"), ["one", "two"], "{stack:?}");
        }
    }
}

#[tokio::test]
async fn on_the_same_server_they_stay() {
    for stack in STACKS {
        let server = FaultServer::start([Act::status(503)]).await;
        let retry = json!({"max_retries": 0, "on_exhausted": {"failover": "second"}});
        let kit = Kit::new(json!({"version": 1, "services": {
            "first": {"match": {"host": server.address().to_string()}, "retry": retry},
            "second": {"base_url": server.url("/v2")},
        }}));
        kit.send(stack, trusting(&server.url("/a"))).await;
        let received = server.received();
        assert_eq!(received.len(), 2, "{stack:?}");
        assert_eq!(secrets(&received[1]), all(), "{stack:?}");
    }
}

#[tokio::test]
async fn user_info_of_the_url_stays_behind() {
    for stack in STACKS {
        let pair = Pair::start(Way::Budget.acts(), []).await;
        let kit = Kit::new(pair.document(Way::Budget, &never()));
        let url = pair.first.url("/a").replace("http://", "http://me:pass@");
        let told = kit.send(stack, get(&url)).await;
        let url = told.result.unwrap().url;
        assert_eq!(
            url,
            stack.is_reqwest().then(|| pair.second.url("/a")),
            "{stack:?}"
        );
        let head = pair.second.received().remove(0).head;
        assert!(
            !head.contains("pass") && !head.contains("authorization"),
            "{head}"
        );
    }
}

#[tokio::test]
async fn what_the_second_was_given_does_not_come_to_the_third() {
    for stack in STACKS {
        let [first, second, third] = [
            FaultServer::start([Act::status(503)]).await,
            FaultServer::start([Act::status(503)]).await,
            FaultServer::start([]).await,
        ];
        let set = json!({"headers": {"authorization": "secret", "x-of-second": "public"}});
        let kit = Kit::new(json!({"version": 1, "services": {
            "first": {
                "match": {"host": first.address().to_string()},
                "rules": [{"when": 503, "failover": "second", "set": set}],
            },
            "second": {
                "base_url": second.url(""),
                "rules": [{"when": 503, "failover": "third"}],
            },
            "third": {"base_url": third.url("")},
        }}));
        kit.send(stack, get(&first.url("/"))).await;
        assert_eq!(
            secrets(&second.received()[0]),
            ["authorization"],
            "{stack:?}"
        );
        let last = third.received().remove(0);
        assert_eq!(secrets(&last), [""; 0], "{stack:?}");
        assert_eq!(header(&last, "x-of-second"), ["public"], "{stack:?}");
    }
}

#[tokio::test]
async fn a_retrys_headers_are_not_those_of_the_new_place() {
    for stack in STACKS {
        let pair = Pair::start([Act::status(503), Act::status(503)], []).await;
        let mut document = pair.document(Way::Attempts, &never());
        document["services"]["first"]["rules"] = json!([
            {"when": 503, "do": "retry", "set": {"headers": {"authorization": "secret", "x-again": "yes"}}}
        ]);
        Kit::new(document)
            .send(stack, get(&pair.first.url("/")))
            .await;
        assert_eq!(
            secrets(&pair.first.received()[1]),
            ["authorization"],
            "{stack:?}"
        );
        let received = pair.second.received().remove(0);
        assert_eq!(secrets(&received), [""; 0], "{stack:?}");
        assert_eq!(header(&received, "x-again"), ["yes"], "{stack:?}");
    }
}

#[tokio::test]
async fn what_any_layer_of_the_document_lists_stays_too() {
    let listed = ["document", "service", "rule"].map(|layer| format!("x-of-{layer}"));
    let secret = |url: &str| {
        let mut request = trusting(url);
        for name in &listed {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            let value = HeaderValue::from_static("secret");
            request.headers_mut().insert(name, value);
        }
        request
    };
    for stack in STACKS {
        let pair = Pair::start([Act::status(503)], []).await;
        let mut document = pair.document(Way::Attempts, &never());
        document["retry"] = json!({"credentials": ["X-Of-Document", "x-vendor-key"]});
        document["services"]["first"]["retry"]["credentials"] = json!("x-of-service");
        document["services"]["first"]["rules"] = json!([{"when": 503, "retry": {
            "max_retries": 0, "credentials": ["x-of-rule"], "on_exhausted": {"failover": "second"},
        }}]);
        Kit::new(document)
            .send(stack, secret(&pair.first.url("/")))
            .await;
        let received = pair.second.received().remove(0);
        assert_eq!(secrets(&received), [""; 0], "{stack:?}");
        assert_eq!(header(&received, "x-order"), ["7"], "{stack:?}");
    }
}

#[tokio::test]
async fn the_first_services_list_holds_on_the_whole_way() {
    let retry = |to: &str, more: Value| {
        let mut retry =
            json!({"max_retries": 0, "on_exhausted": {"failover": to, "set": {"headers": more}}});
        retry["credentials"] = json!(["x-vendor-key"]);
        retry
    };
    for stack in STACKS {
        let [first, second, third] = [
            FaultServer::start([Act::status(503)]).await,
            FaultServer::start([Act::status(503)]).await,
            FaultServer::start([]).await,
        ];
        let second_key = json!({"x-vendor-key": "secret", "x-for-all": "yes"});
        let mut to_third = retry("third", json!({"authorization": "Bearer of-the-third"}));
        to_third.as_object_mut().unwrap().remove("credentials");
        let kit = Kit::new(json!({"version": 1, "services": {
            "first": {
                "match": {"host": first.address().to_string()},
                "retry": retry("second", second_key),
            },
            "second": {"base_url": second.url(""), "retry": to_third},
            "third": {"base_url": third.url("")},
        }}));
        kit.send(stack, trusting(&first.url("/"))).await;
        let [given, last] = [second, third].map(|server| server.received().remove(0));
        assert_eq!(secrets(&given), ["x-vendor-key"], "{stack:?}");
        assert_eq!(header(&given, "x-for-all"), ["yes"], "{stack:?}");
        assert_eq!(secrets(&last), [""; 0], "{stack:?}");
        let own = header(&last, "authorization");
        assert_eq!(own, ["Bearer of-the-third"], "{stack:?}");
    }
}
