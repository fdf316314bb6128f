//! A request that names a service which the document does not have: it goes by another, and says so.

use super::client::{Client, STACKS, get, send, statuses, with_own};
use super::{config, load};
use futures_util::FutureExt;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::run::Runner;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryOverride, RetryPolicy, RetryReport};
use std::sync::{Arc, Mutex};
use tower::{Layer, ServiceExt};

const DOCUMENT: &str = "
version: 1
retry: {max_retries: 1, base: 1s}
services:
  api: {match: {host: api.example}, retry: {max_retries: 2}}
  orders: {retry: {max_retries: 3}}
";

fn named(name: &str) -> RetryOverride {
    RetryOverride::new().service(name)
}

#[test]
fn a_report_names_the_service_that_is_unknown() {
    let config = config(DOCUMENT);
    for stack in STACKS {
        let ended = |own| {
            let client = Client::new(statuses(&[503]));
            send(stack, &config, &client, with_own(get(), own))
        };
        for (own, unknown, attempts) in [
            (named("ordres"), Some("ordres"), 3),
            (named("orders"), None, 4),
            (named("api"), None, 3),
            (RetryOverride::new(), None, 3),
        ] {
            let ended = ended(own);
            assert_eq!(
                ended.report.unknown_service.as_deref(),
                unknown,
                "{stack:?}"
            );
            assert_eq!(ended.attempts(), attempts, "{stack:?}");
            let told = "The document has no service \"ordres\".";
            let printed = ended.report.to_string();
            assert_eq!(printed.ends_with(told), unknown.is_some(), "{printed}");
        }
    }
}

#[test]
fn a_success_names_it_and_so_does_a_silenced_request() {
    let text = DOCUMENT.replace("{match", "{request_overrides: deny, match");
    for text in [DOCUMENT, &text] {
        for stack in STACKS {
            let client = Client::new(statuses(&[200]));
            let request = with_own(get(), named("ordres"));
            let ended = send(stack, &config(text), &client, request);
            assert_eq!(ended.report.unknown_service.as_deref(), Some("ordres"));
        }
    }
}

/// What observers hear of unknown services in a call of this layer.
fn heard(layer: RetryLayer, name: &str) -> Vec<Option<String>> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    let layer = layer
        .runtime(ManualRuntime::new())
        .observe(move |event: &RetryEvent<'_>| {
            if let RetryEventKind::Stopped(report) = event.kind {
                let unknown = report.unknown_service.as_deref().map(str::to_owned);
                told.lock().unwrap().push(unknown);
            }
        });
    let service = layer.layer(Script::new().status(200));
    let call = service.oneshot(with_own(get(), named(name)));
    assert!(call.now_or_never().unwrap().is_ok());
    std::mem::take(&mut *heard.lock().unwrap())
}

#[test]
fn observers_hear_of_it_where_a_document_is_in_force() {
    let by_document = || RetryLayer::from_config(&config(DOCUMENT));
    assert_eq!(heard(by_document(), "ordres"), [Some("ordres".to_owned())]);
    assert_eq!(heard(by_document(), "orders"), [None]);
    // Without a document every name is one of the caller's own.
    assert_eq!(
        heard(RetryLayer::new(RetryPolicy::background()), "x"),
        [None]
    );
}

#[tokio::test(start_paused = true)]
async fn an_operation_names_it_unless_it_names_none() {
    let config = load(DOCUMENT).unwrap();
    for (name, unknown) in [("ordres", Some("ordres")), ("orders", None), ("", None)] {
        let slot = RetryReport::slot();
        let runner = Runner::from_config(&config)
            .service(name)
            .report_to(slot.clone());
        let run = runner.run_by_policy(|_| async { Ok::<_, std::io::Error>(()) });
        run.await.unwrap();
        assert_eq!(
            slot.take().unwrap().unknown_service.as_deref(),
            unknown,
            "{name}"
        );
    }
}
