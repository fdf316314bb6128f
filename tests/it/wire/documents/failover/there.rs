//! At the other service its own document's word holds; the deadline goes on.

use super::super::exhausted::Way;
use super::super::stacks::{Kit, STACKS, Stack, Told, get};
use super::{Pair, header, order};
use crate::wire::server::{Act, FaultServer, Received};
use http_retry::StopReason;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn the_deadline_goes_on() {
    for stack in STACKS {
        let failing = || [(); 9].map(|()| Act::status(503));
        let pair = Pair::start(failing(), failing()).await;
        let every = |delay: &str, retries: u32| json!({"max_retries": retries, "backoff": "fixed", "base": delay, "jitter": "none"});
        let mut first = every("900s", 1);
        first["deadline"] = json!("2000s 1ms");
        first["on_exhausted"] = json!({"failover": "second"});
        let second = json!({"retry": every("700s", 5)});
        let kit = Kit::new(pair.with_paths(("", ""), &first, &second));
        let told = kit.send(stack, get(&pair.first.url("/"))).await;
        // At 0 s and 900 s; at 900 s and 1600 s; 2300 s is too late.
        assert_eq!(pair.counts(), (2, 2), "{stack:?}");
        assert_eq!(told.stop(), StopReason::DeadlineExceeded, "{stack:?}");
        let waits: Vec<_> = kit.clock.waits().iter().map(Duration::as_secs).collect();
        assert_eq!(waits, [900, 700], "{stack:?}");
    }
}

#[tokio::test]
async fn another_services_deadline_begins_there_ends_no_later() {
    for (own, seconds) in [("1000s 1ms", 2), ("100000s 1ms", 3)] {
        for stack in STACKS {
            let failing = || [(); 9].map(|()| Act::status(503));
            let pair = Pair::start(failing(), failing()).await;
            let first = json!({
                "max_retries": 1, "backoff": "fixed", "base": "900s", "jitter": "none",
                "deadline": "2500s 1ms", "on_exhausted": {"failover": "second"}
            });
            let second = json!({"retry": {
                "max_retries": 9, "backoff": "fixed", "base": "700s", "jitter": "none", "deadline": own
            }});
            let kit = Kit::new(pair.with_paths(("", ""), &first, &second));
            let told = kit.send(stack, get(&pair.first.url("/"))).await;
            assert_eq!(pair.counts(), (2, seconds), "{stack:?} {own}");
            assert_eq!(told.stop(), StopReason::DeadlineExceeded, "{stack:?} {own}");
        }
    }
}

/// The second service with rules, limits and a budget of its own.
fn second_of_its_own() -> Value {
    json!({
        "budget": "ten",
        "retry": {"max_retries": 2, "backoff": ["30s", "40s"], "jitter": "none"},
        "rules": [{
            "name": "teapot", "when": {"status": 418},
            "retry": {"max_retries": 1, "backoff": "fixed", "base": "50s", "jitter": "none"},
            "set": {"headers": {"x-again": "yes"}}
        }],
        "routes": [{
            "name": "chat", "match": {"path": "/api/chat"},
            "rules": [{"name": "gone", "when": {"status": 410}, "do": "retry"}]
        }],
    })
}

fn services(kit: &Kit) -> Vec<String> {
    kit.events()
        .into_iter()
        .map(|(service, event)| format!("{service} {event}"))
        .collect()
}

#[tokio::test]
async fn the_other_services_policy_rules_and_budget_hold_there() {
    for stack in STACKS {
        let second = [503, 418, 200].map(Act::status);
        let pair = Pair::start(Way::Attempts.acts(), second).await;
        let kit = Kit::new(pair.document(Way::Attempts, &second_of_its_own()));
        let told = kit.send(stack, get(&pair.first.url("/"))).await;
        let expected = [
            (503, None),
            (503, None),
            (503, None),
            (418, Some("teapot")),
            (200, None),
        ];
        // The rule's one retry is the request's second at this service, and the limit counts both.
        let short = &expected[..4];
        assert_eq!(told.attempts(), short, "{stack:?}");
        assert_eq!(told.stop(), StopReason::AttemptsExhausted, "{stack:?}");
        let waits: Vec<_> = kit.clock.waits().iter().map(Duration::as_secs).collect();
        assert_eq!(waits, [30], "{stack:?}: only the rule waits");
        let left = told.report.as_ref().unwrap().tokens_left.unwrap();
        assert_eq!(left, 9.into(), "{stack:?}: one retry of ten is spent");
        let expected = [
            "first starts 1",
            "first ends 1",
            "first plans 1",
            "first starts 2",
            "first ends 2",
            "first plans 2",
            "second starts 3",
            "second ends 3",
            "second plans 3",
            "second starts 4",
            "second ends 4",
            "second stops: attempts_exhausted",
        ];
        assert_eq!(services(&kit), expected, "{stack:?}");
    }
}

#[tokio::test]
async fn a_rule_of_the_other_service_sets_headers_there_only() {
    for stack in STACKS {
        let pair = Pair::start(Way::Budget.acts(), [418, 200].map(Act::status)).await;
        let kit = Kit::new(pair.document(Way::Budget, &second_of_its_own()));
        let told = kit.send(stack, get(&pair.first.url("/"))).await;
        assert_eq!(
            told.attempts(),
            [(503, None), (418, Some("teapot")), (200, None)],
            "{stack:?}"
        );
        let set: Vec<_> = pair
            .second
            .received()
            .iter()
            .map(|r| header(r, "x-again").len())
            .collect();
        assert_eq!(
            (header(&pair.first.received()[0], "x-again").len(), set),
            (0, vec![0, 1])
        );
    }
}

#[tokio::test]
async fn the_other_services_route_is_chosen_by_the_path_there() {
    for stack in STACKS {
        let pair = Pair::start(Way::Budget.acts(), [410, 200].map(Act::status)).await;
        let retry = Way::Budget.retry(&json!({"failover": "second"}));
        let kit = Kit::new(pair.with_paths(("/v1", "/api"), &retry, &second_of_its_own()));
        let told = kit.send(stack, get(&pair.first.url("/v1/chat"))).await;
        assert_eq!(pair.second.received()[0].target(), "/api/chat", "{stack:?}");
        assert_eq!(
            told.attempts(),
            [(503, None), (410, Some("gone")), (200, None)],
            "{stack:?}"
        );
    }
}

/// Three services, each failing over to the next.
async fn three(stack: Stack) -> (Told, Vec<Vec<Received>>, Kit) {
    let first = FaultServer::start([Act::status(503)]).await;
    let second = FaultServer::start([Act::status(500), Act::status(502)]).await;
    let third = FaultServer::start([Act::status(504)]).await;
    let on = |max: u32, next: &str| json!({"max_retries": max, "backoff": "none", "on_exhausted": {"failover": next}});
    let kit = Kit::new(json!({
        "version": 1,
        "services": {
            "first": {
                "match": {"host": first.address().to_string()},
                "base_url": first.url("/one"),
                "retry": on(0, "second"),
            },
            "second": {"base_url": second.url("/two/2"), "retry": on(1, "third")},
            "third": {
                "base_url": third.url("/three"),
                "retry": {"max_retries": 1, "backoff": "none"},
            },
        }
    }));
    let told = kit
        .send(stack, order(&first.url("/one/a?b=c"), "PUT"))
        .await;
    let received = [first, second, third].map(|server| server.received());
    (told, received.to_vec(), kit)
}

#[tokio::test]
async fn a_failover_may_lead_to_another_one() {
    for stack in STACKS {
        let (told, received, kit) = three(stack).await;
        let targets: Vec<Vec<&str>> = received
            .iter()
            .map(|r| r.iter().map(Received::target).collect())
            .collect();
        let expected = [
            vec!["/one/a?b=c"],
            vec!["/two/2/a?b=c"; 2],
            vec!["/three/a?b=c"; 2],
        ];
        assert_eq!(targets, expected, "{stack:?}");
        assert!(
            received.iter().flatten().all(|r| r.body == b"two of them"),
            "{stack:?}"
        );
        let statuses: Vec<u16> = told.attempts().iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [503, 500, 502, 504, 200], "{stack:?}");
        let last = kit.events().pop().unwrap();
        assert_eq!(
            last,
            ("third".to_owned(), "stops: succeeded".to_owned()),
            "{stack:?}"
        );
    }
}

#[tokio::test]
async fn the_last_of_the_services_has_the_last_word() {
    for stack in STACKS {
        let respond = json!({"retry": {
            "max_retries": 0, "on_exhausted": {"respond": {"status": 203, "body": "from the second"}}
        }});
        let pair = Pair::start(Way::Budget.acts(), [Act::status(503)]).await;
        let kit = Kit::new(pair.document(Way::Budget, &respond));
        let url = pair.first.url("/a?b=c");
        let whole = kit.send(stack, get(&url)).await.whole().await;
        assert_eq!(
            (whole.status.as_u16(), whole.body),
            (203, "from the second".into()),
            "{stack:?}"
        );
        assert_eq!(whole.url, stack.is_reqwest().then_some(url), "{stack:?}");
    }
}
