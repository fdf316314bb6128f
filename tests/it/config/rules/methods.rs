//! Methods that are repeated at all, by a policy and by a document.

use super::super::client::{
    Client, Decides, Ended, STACKS, Stack, get, post, send, statuses, with_own,
};
use super::super::config;
use http_retry::testing::Script;
use http_retry::{Methods, RetryOverride, RetryPolicy, StopReason};
use std::io::ErrorKind;

const DOCUMENT: &str = "{version: 1, retry: {methods: {only: [head, GET]}, max_retries: 2}}";

/// What a POST comes to that no server has processed, has a key, and is said to be safe.
fn safe_order(stack: Stack, decides: &impl Decides, server: Script) -> Ended {
    let mut order = with_own(post(), RetryOverride::new().idempotent(true));
    let key = http::HeaderValue::from_static("order-7");
    order.headers_mut().insert("idempotency-key", key);
    send(stack, decides, &Client::new(server), order)
}

#[test]
fn a_method_that_is_not_listed_is_never_repeated() {
    let document = config(DOCUMENT);
    let only = Methods::only([http::Method::GET, http::Method::HEAD]);
    let policy = RetryPolicy::builder().methods(only).max_retries(2);
    let policy = policy.build().unwrap();
    for stack in STACKS {
        for server in [
            statuses(&[429]),
            statuses(&[500]),
            Script::new().error(ErrorKind::ConnectionRefused),
        ] {
            let by_document = safe_order(stack, &document, server.clone());
            assert_eq!(by_document.attempts(), 1);
            assert_eq!(by_document.stop(), StopReason::NotRetryable);
            assert_eq!(
                by_document.report.stopped_by.as_deref(),
                Some("retry.methods")
            );
            let by_policy = safe_order(stack, &policy, server);
            assert_eq!(by_policy.attempts(), 1);
            assert_eq!(by_policy.report.stopped_by.as_deref(), Some("methods"));
        }
        let repeated = send(stack, &document, &Client::new(statuses(&[500])), get());
        assert_eq!(repeated.attempts(), 3, "{stack:?}");
    }
}

#[test]
fn no_rule_repeats_a_method_that_is_not_listed() {
    for rule in ["do: retry", "wait: {at_most: 3}"] {
        let document = config(&format!(
            "{{version: 1, retry: {{methods: {{only: GET}}}}, rules: [{{when: {{status: 409}}, {rule}}}]}}"
        ));
        for stack in STACKS {
            let ended = safe_order(stack, &document, statuses(&[409]));
            assert_eq!(ended.attempts(), 1, "{rule} on {stack:?}");
        }
    }
}

#[test]
fn a_post_in_the_list_needs_a_reason_as_without_a_list() {
    let document = config("{version: 1, retry: {methods: {only: [POST]}, max_retries: 2}}");
    for stack in STACKS {
        let attempts =
            |list: &[u16]| send(stack, &document, &Client::new(statuses(list)), post()).attempts();
        assert_eq!((attempts(&[429]), attempts(&[500])), (3, 1));
    }
}

#[test]
fn a_permanent_response_is_not_for_the_list() {
    let ended = safe_order(Stack::Tower, &config(DOCUMENT), statuses(&[404]));
    let stop = (ended.stop(), ended.report.stopped_by.as_deref());
    assert_eq!(stop, (StopReason::NotRetryable, None));
}
