//! What one server knows of a request, another need not: orders are counted at each.

use super::super::super::server::{Act, FaultServer};
use super::super::stacks::{Kit, STACKS, Stack};
use super::{Pair, header, never, order};
use bytes::Bytes;
use http::{HeaderValue, Request};
use http_retry::{RetryOverride, StopReason};
use serde_json::{Value, json};

/// What a server does that may have processed the order.
fn doubtful() -> [Act; 5] {
    [
        Act::status(500),
        Act::status(503),
        Act::CloseAfterRequest,
        Act::ResetAfterRequest,
        Act::CloseInHead,
    ]
}

fn keyed(url: &str) -> Request<Bytes> {
    let mut request = order(url, "POST");
    let key = HeaderValue::from_static("order-7");
    request.headers_mut().insert("idempotency-key", key);
    request
}

/// A first service without retries that fails over to the second once they are exhausted, or by a rule.
fn documents(pair: &Pair, more: &Value) -> [Value; 2] {
    let failover = |more: &Value| {
        let mut failover = json!({"failover": "second"});
        for (key, value) in more.as_object().into_iter().flatten() {
            failover[key] = value.clone();
        }
        failover
    };
    let exhausted = json!({"max_retries": 0, "on_exhausted": failover(more)});
    let exhausted = pair.with_paths(("", ""), &exhausted, &never());
    let mut by_rule = pair.with_paths(("", ""), &json!({"max_retries": 0}), &never());
    let errors = json!({"any": [{"status": "5xx"}, {"error": "any"}]});
    let mut rule = failover(more);
    rule["when"] = errors;
    by_rule["services"]["first"]["rules"] = json!([rule]);
    [exhausted, by_rule]
}

/// How many requests came to each server, for each thing that the first one does and for either document.
async fn orders(
    stack: Stack,
    more: &Value,
    request: fn(&str) -> Request<Bytes>,
) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for act in doubtful() {
        for which in [0, 1] {
            let pair = Pair::start([act.clone()], []).await;
            let document = documents(&pair, more)[which].clone();
            Kit::new(document)
                .send(stack, request(&pair.first.url("/orders")))
                .await;
            all.push(pair.counts());
        }
    }
    all
}

#[tokio::test]
async fn a_key_that_the_first_server_knows_is_none_to_the_second() {
    for stack in STACKS {
        let orders = orders(stack, &json!({}), keyed).await;
        assert_eq!(orders, [(1, 0); 10], "{stack:?}");
    }
}

#[tokio::test]
async fn where_both_servers_know_the_same_keys_it_goes_on() {
    for stack in STACKS {
        let same = json!({"same_keys": true});
        assert_eq!(orders(stack, &same, keyed).await, [(1, 1); 10], "{stack:?}");
        let without = |url: &str| order(url, "POST");
        let orders = orders(stack, &same, without).await;
        assert_eq!(orders, [(1, 0); 10], "{stack:?}");
    }
}

#[tokio::test]
async fn a_method_that_may_be_repeated_goes_on_anywhere() {
    for stack in STACKS {
        let put = |url: &str| order(url, "PUT");
        let orders = orders(stack, &json!({}), put).await;
        assert_eq!(orders, [(1, 1); 10], "{stack:?}");
    }
}

#[tokio::test]
async fn a_callers_word_is_about_the_server_that_was_called() {
    let said = |url: &str| {
        let mut request = order(url, "POST");
        let own = RetryOverride::new().idempotent(true);
        request.extensions_mut().insert(own);
        request
    };
    for stack in STACKS.into_iter().filter(|stack| stack.has_extensions()) {
        let apart = orders(stack, &json!({}), said).await;
        assert_eq!(apart, [(1, 0); 10], "{stack:?}");
        let same = orders(stack, &json!({"same_keys": true}), said).await;
        assert_eq!(same, [(1, 1); 10], "{stack:?}");
    }
}

#[tokio::test]
async fn a_policy_of_all_methods_holds_at_both() {
    for stack in STACKS {
        let pair = Pair::start([Act::status(500)], []).await;
        let retry =
            json!({"max_retries": 0, "methods": "all", "on_exhausted": {"failover": "second"}});
        let kit = Kit::new(pair.with_paths(("", ""), &retry, &never()));
        let told = kit.send(stack, order(&pair.first.url("/"), "POST")).await;
        assert_eq!((told.status(), pair.counts()), (200, (1, 1)), "{stack:?}");
    }
}

#[tokio::test]
async fn an_earlier_attempt_that_may_count_is_not_forgotten() {
    // The first attempt may have been processed; the second, which the key allows, was refused.
    for stack in STACKS {
        let pair = Pair::start([Act::status(500), Act::status(429)], []).await;
        let retry = json!({
            "max_retries": 1, "backoff": "none", "on_exhausted": {"failover": "second"}
        });
        let kit = Kit::new(pair.with_paths(("", ""), &retry, &never()));
        let told = kit.send(stack, keyed(&pair.first.url("/orders"))).await;
        assert_eq!((told.status(), pair.counts()), (429, (2, 0)), "{stack:?}");

        let pair = Pair::start([Act::status(429), Act::status(429)], []).await;
        let kit = Kit::new(pair.with_paths(("", ""), &retry, &never()));
        let told = kit.send(stack, keyed(&pair.first.url("/orders"))).await;
        assert_eq!((told.status(), pair.counts()), (200, (2, 1)), "{stack:?}");
        let key = header(&pair.second.received()[0], "idempotency-key").len();
        assert_eq!(key, 1, "{stack:?}");
    }
}

#[tokio::test]
async fn nor_is_it_at_the_second_server() {
    // The first may have processed it and shares its keys with the second, which refuses; the third knows neither.
    for stack in STACKS {
        let [first, second, third] = [
            FaultServer::start([Act::status(500)]).await,
            FaultServer::start([Act::status(429)]).await,
            FaultServer::start([]).await,
        ];
        let to = |next: Value| json!({"max_retries": 0, "on_exhausted": next});
        let kit = Kit::new(json!({"version": 1, "services": {
            "first": {
                "match": {"host": first.address().to_string()},
                "retry": to(json!({"failover": "second", "same_keys": true})),
            },
            "second": {"base_url": second.url(""), "retry": to(json!({"failover": "third"}))},
            "third": {"base_url": third.url("")},
        }}));
        let told = kit.send(stack, keyed(&first.url("/orders"))).await;
        let counts = [first, second, third].map(|server| server.received().len());
        assert_eq!((told.status(), counts), (429, [1, 1, 0]), "{stack:?}");
    }
}

#[tokio::test]
async fn on_the_same_server_a_key_holds() {
    for stack in STACKS {
        let server = FaultServer::start([Act::status(500)]).await;
        let retry = json!({"max_retries": 0, "on_exhausted": {"failover": "second"}});
        let kit = Kit::new(json!({"version": 1, "services": {
            "first": {"match": {"host": server.address().to_string()}, "retry": retry},
            "second": {"base_url": server.url("/v2")},
        }}));
        let told = kit.send(stack, keyed(&server.url("/orders"))).await;
        assert_eq!(
            (told.status(), server.received().len()),
            (200, 2),
            "{stack:?}"
        );
    }
}

#[tokio::test]
async fn a_rule_that_may_not_says_why() {
    for stack in STACKS {
        let pair = Pair::start([Act::status(500)], []).await;
        let [_, by_rule] = documents(&pair, &json!({}));
        let told = Kit::new(by_rule)
            .send(stack, keyed(&pair.first.url("/")))
            .await;
        assert_eq!(told.stop(), StopReason::NotIdempotent, "{stack:?}");
        assert!(told.stop().explain().contains("same_keys"));
    }
}
