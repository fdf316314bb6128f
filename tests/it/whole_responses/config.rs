//! The key of the document: at a place, in a rule, and under a request's own word.

use super::server::{Reply, Server};
use super::{End, Ended, STACKS, Stack, call, get, with};
use crate::config::config;
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;
use http_retry::{RetryOverride, RetryPolicy};

fn send(stack: Stack, text: &str, replies: &[Reply], own: RetryOverride) -> Ended {
    let config = config(text);
    let layer = RetryLayer::from_config(&config);
    let middleware = RetryMiddleware::from_config(&config).redirects_off();
    let server = Server::new(replies.iter().cloned());
    call(stack, (layer, middleware), server, with(get(), own))
}

#[test]
fn a_document_says_which_answers_are_read_whole() {
    let replies = [Reply::broken(), Reply::fine()];
    for stack in STACKS {
        for (size, attempts) in [("2MiB", 2), ("512 KiB", 2), ("100", 2), ("5B", 1), ("0", 1)] {
            let text = format!("version: 1\nretry: {{backoff: none, whole_responses: {size}}}");
            let ended = send(stack, &text, &replies, RetryOverride::new());
            assert_eq!(ended.attempts(), attempts, "{stack:?} {size}");
        }
    }
}

#[test]
fn the_attempt_that_a_rule_orders_is_read_whole() {
    let text = "
version: 1
rules: [{when: {status: 503}, retry: {max_retries: 3, backoff: none, whole_responses: 2MiB}}]
";
    let failed = Reply::fine().status(503);
    for stack in STACKS {
        let replies = [failed.clone(), Reply::broken(), Reply::fine()];
        let ended = send(stack, text, &replies, RetryOverride::new());
        assert!(ended.is_whole(b"all of it"), "{stack:?} {ended:?}");
        let first = send(stack, text, &replies[1..], RetryOverride::new());
        assert_eq!((first.attempts(), first.end), (1, End::Broken));
    }
}

#[test]
fn a_request_may_say_it_as_far_as_the_document_lets_it() {
    let replies = [Reply::broken(), Reply::fine()];
    let attempts = |stack, word: &str, given: &str, own| {
        let text = format!(
            "version: 1\nservices: {{a: {{match: {{host: api.example}}, request_overrides: {word}, \
             retry: {{backoff: none{given}}}}}}}"
        );
        send(stack, &text, &replies, own).attempts()
    };
    for stack in STACKS {
        let on = || RetryOverride::new().whole_responses(1 << 20);
        let off = || RetryOverride::new().whole_responses(0);
        let given = ", whole_responses: 1MiB";
        assert_eq!(attempts(stack, "allow", "", on()), 2);
        assert_eq!(attempts(stack, "allow", given, off()), 1);
        assert_eq!(attempts(stack, "fill_only", "", on()), 2);
        assert_eq!(attempts(stack, "fill_only", given, off()), 2);
        assert_eq!(attempts(stack, "deny", "", on()), 1);
        assert_eq!(attempts(stack, "deny", given, off()), 2);
    }
}

#[test]
fn a_policy_says_what_it_reads() {
    let policy = RetryPolicy::background()
        .to_builder()
        .whole_responses(2 << 20);
    let policy = policy.attempt_timeout(super::SECOND).build().unwrap();
    let text = policy.explain();
    assert!(
        text.contains("a body of at most 2097152 bytes is read whole"),
        "{text}"
    );
    assert!(
        text.contains("one attempt: at most 1s to the end of such a body"),
        "{text}"
    );
}
