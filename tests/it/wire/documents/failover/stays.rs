//! A request that may have been processed stays where it was.

use super::super::super::server::Act;
use super::super::exhausted::Way;
use super::super::stacks::{Kit, STACKS};
use super::{Pair, never, order};
use crate::listening::nobody;
use http_retry::StopReason;
use serde_json::json;

#[tokio::test]
async fn a_request_that_may_have_been_processed_stays_where_it_was() {
    let doubtful = [
        Act::status(500),
        Act::status(503),
        Act::CloseAfterRequest,
        Act::ResetAfterRequest,
        Act::CloseInHead,
    ];
    for stack in STACKS {
        for act in &doubtful {
            let why = format!("{stack:?} {act:?}");
            let pair = Pair::start([act.clone()], []).await;
            let kit = Kit::new(pair.document(Way::Attempts, &never()));
            let told = kit.send(stack, order(&pair.first.url("/"), "POST")).await;
            assert_eq!(pair.counts(), (1, 0), "{why}");
            let stop = told.report.map(|report| report.stop);
            assert!(
                matches!(stop, None | Some(StopReason::NotIdempotent)),
                "{why} {stop:?}"
            );
        }
    }
}

#[tokio::test]
async fn without_a_retry_left_it_stays_there_as_well() {
    for stack in STACKS {
        let pair = Pair::start([Act::status(500)], []).await;
        let retry = json!({"max_retries": 0, "on_exhausted": {"failover": "second"}});
        let kit = Kit::new(pair.with_paths(("", ""), &retry, &never()));
        let told = kit.send(stack, order(&pair.first.url("/"), "POST")).await;
        assert_eq!((pair.counts(), told.status()), ((1, 0), 500), "{stack:?}");
    }
}

#[tokio::test]
async fn a_rule_does_not_send_it_to_another_service_either() {
    for (stack, method) in STACKS
        .into_iter()
        .flat_map(|stack| [(stack, "POST"), (stack, "PUT")])
    {
        let pair = Pair::start([Act::status(500)], []).await;
        let mut document = pair.document(Way::Attempts, &never());
        document["services"]["first"]["rules"] =
            json!([{"when": {"status": "5xx"}, "failover": "second"}]);
        let told = Kit::new(document)
            .send(stack, order(&pair.first.url("/"), method))
            .await;
        let seconds = usize::from(method == "PUT");
        assert_eq!(pair.counts(), (1, seconds), "{stack:?} {method}");
        assert_eq!(
            told.status(),
            if method == "PUT" { 200 } else { 500 },
            "{stack:?}"
        );
    }
}

#[tokio::test]
async fn a_request_that_was_refused_or_never_sent_goes_on() {
    for stack in STACKS {
        let pair = Pair::start([Act::status(429), Act::status(429)], []).await;
        let kit = Kit::new(pair.document(Way::Attempts, &never()));
        let told = kit.send(stack, order(&pair.first.url("/"), "POST")).await;
        assert_eq!((told.status(), pair.counts()), (200, (2, 1)), "{stack:?}");

        let (_socket, address) = nobody();
        let url = format!("http://{address}/a/b?c=d");
        let pair = Pair::start([], []).await;
        let mut document = pair.document(Way::Attempts, &never());
        document["services"]["first"]["match"]["host"] = json!(address.to_string());
        let told = Kit::new(document).send(stack, order(&url, "POST")).await;
        assert_eq!((told.status(), pair.counts()), (200, (0, 1)), "{stack:?}");
        assert_eq!(pair.second.received()[0].target(), "/a/b?c=d", "{stack:?}");
    }
}
