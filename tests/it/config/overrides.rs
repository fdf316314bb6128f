//! What a request may say for itself, on both stacks.

use super::client::{Client, Ended, STACKS, Stack, get, post, send, statuses, with_own};
use super::{config, delays, seconds};
use http_retry::{RetryOverride, StopReason};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// A service that retries every 2 s, with these settings besides.
fn at(rest: &str, retry: &str) -> String {
    format!(
        "
version: 1
services:
  api:
    match: {{host: api.example}}
    {rest}
    retry: {{backoff: fixed, base: 2s, jitter: none{retry}}}
"
    )
}

fn overrides(word: &str, retry: &str) -> String {
    at(&format!("request_overrides: {word}"), retry)
}

fn sent(stack: Stack, text: &str, own: RetryOverride) -> Ended {
    let client = Client::new(statuses(&[500]));
    send(stack, &config(text), &client, with_own(get(), own))
}

fn attempts(stack: Stack, text: &str, own: RetryOverride) -> (u32, StopReason) {
    let ended = sent(stack, text, own);
    (ended.attempts(), ended.stop())
}

const EXHAUSTED: StopReason = StopReason::AttemptsExhausted;

#[test]
fn a_request_may_say_everything_unless_that_is_denied() {
    let given = ", max_attempts: 3, deadline: 1h";
    for text in [at("", given), overrides("allow", given)] {
        for stack in STACKS {
            let attempts = |own| attempts(stack, &text, own);
            assert_eq!(attempts(RetryOverride::new()), (3, EXHAUSTED));
            assert_eq!(attempts(RetryOverride::off()), (1, StopReason::Disabled));
            assert_eq!(
                attempts(RetryOverride::new().max_retries(5)),
                (6, EXHAUSTED)
            );
            assert_eq!(
                attempts(RetryOverride::new().max_retries(0)),
                (1, EXHAUSTED)
            );
            let short = RetryOverride::new().deadline(Duration::from_secs(3));
            assert_eq!(attempts(short), (2, StopReason::DeadlineExceeded));
        }
    }
}

#[test]
fn a_request_may_say_nothing_where_overrides_are_denied() {
    let text = overrides("deny", ", max_attempts: 3");
    for stack in STACKS {
        for own in [
            RetryOverride::off(),
            RetryOverride::new().max_retries(9),
            RetryOverride::new().deadline(Duration::from_secs(1)),
        ] {
            assert_eq!(attempts(stack, &text, own), (3, EXHAUSTED));
        }
    }
}

#[test]
fn a_request_may_fill_what_the_document_leaves_open() {
    let text = overrides("fill_only", "");
    for stack in STACKS {
        let attempts = |own| attempts(stack, &text, own);
        assert_eq!(attempts(RetryOverride::off()), (1, StopReason::Disabled));
        assert_eq!(
            attempts(RetryOverride::new().max_retries(1)),
            (2, EXHAUSTED)
        );
        let short = RetryOverride::new().deadline(Duration::from_secs(3));
        assert_eq!(attempts(short), (2, StopReason::DeadlineExceeded));
    }
}

#[test]
fn a_request_may_not_fill_what_the_document_has_given() {
    let text = overrides("fill_only", ", max_attempts: 3, deadline: 1h");
    for stack in STACKS {
        let attempts = |own| attempts(stack, &text, own);
        assert_eq!(attempts(RetryOverride::off()), (3, EXHAUSTED));
        assert_eq!(
            attempts(RetryOverride::new().max_retries(1)),
            (3, EXHAUSTED)
        );
        let short = RetryOverride::new().deadline(Duration::from_secs(3));
        assert_eq!(attempts(short), (3, EXHAUSTED));
    }
}

#[test]
fn what_any_layer_gives_is_given() {
    let by_preset = overrides("fill_only", ", use: llm");
    let by_document = format!("{}\nretry: {{max_retries: 2}}", overrides("fill_only", ""));
    let by_policy = format!(
        "{}\npolicies: {{short: {{max_retries: 2}}}}",
        overrides("fill_only", ", use: short")
    );
    for text in [by_preset, by_document, by_policy] {
        let own = RetryOverride::new().max_retries(7);
        assert_eq!(attempts(Stack::Tower, &text, own).0, 3, "{text}");
    }
}

#[test]
fn each_field_is_filled_by_itself() {
    let limited = overrides("fill_only", ", max_attempts: 5");
    let own = RetryOverride::new().max_retries(9).deadline(MINUTE / 12);
    let ended = sent(Stack::Tower, &limited, own);
    assert_eq!(
        (ended.attempts(), ended.stop()),
        (3, StopReason::DeadlineExceeded)
    );

    let timed = overrides("fill_only", ", deadline: 1h");
    let own = RetryOverride::new().max_retries(1).deadline(MINUTE / 60);
    let ended = sent(Stack::Tower, &timed, own);
    assert_eq!((ended.attempts(), ended.stop()), (2, EXHAUSTED));
}

#[test]
fn a_request_says_if_it_is_idempotent_unless_denied() {
    for stack in STACKS {
        for (word, wanted) in [("allow", 3), ("fill_only", 3), ("deny", 1)] {
            let client = Client::new(statuses(&[500]));
            let own = RetryOverride::new().idempotent(true);
            let config = config(&overrides(word, ", max_attempts: 3"));
            let ended = send(stack, &config, &client, with_own(post(), own));
            assert_eq!(ended.attempts(), wanted, "{word} on {stack:?}");
        }
        let client = Client::new(statuses(&[500]));
        let own = RetryOverride::new().idempotent(false);
        let config = config(&overrides("allow", ", max_attempts: 3"));
        let ended = send(stack, &config, &client, with_own(get(), own));
        assert_eq!(ended.stop(), StopReason::NotIdempotent);
    }
}

#[test]
fn a_request_names_its_service_whatever_its_overrides_may_say() {
    let text = "
version: 1
retry: {jitter: none}
services:
  api: {match: {host: api.example}, request_overrides: deny, retry: {max_attempts: 2}}
  named: {request_overrides: deny, retry: {max_attempts: 3, backoff: [1s, 5s]}}
";
    for stack in STACKS {
        let ended = |own| sent(stack, text, own);
        assert_eq!(ended(RetryOverride::new()).attempts(), 2);
        let named = ended(RetryOverride::new().service("named").max_retries(9));
        assert_eq!(delays(&named.report), seconds(&[1, 5]));
        let unknown = ended(RetryOverride::new().service("nobody"));
        assert_eq!(unknown.attempts(), 2);
    }
}

#[test]
fn a_named_service_has_routes_too() {
    let text = "
version: 1
services:
  named:
    retry: {max_attempts: 2}
    routes:
      - {name: other, match: {path: /v2/*}, retry: {max_attempts: 3}}
      - {name: items, match: {path: /v1/*, method: GET}, retry: {max_attempts: 4}}
";
    for stack in STACKS {
        let own = RetryOverride::new().service("named");
        assert_eq!(sent(stack, text, own).attempts(), 4);
    }
}

#[test]
fn a_request_that_belongs_to_no_service_goes_by_the_document() {
    let text = "
version: 1
retry: {max_attempts: 2}
services: {other: {match: {host: other.example}, request_overrides: deny, retry: never}}
";
    for stack in STACKS {
        assert_eq!(sent(stack, text, RetryOverride::new()).attempts(), 2);
        let own = RetryOverride::new().max_retries(2);
        assert_eq!(sent(stack, text, own).attempts(), 3);
    }
}

/// The request is the most specific layer, above a rule.
#[test]
fn a_request_has_the_last_word_over_a_rule() {
    let text = "
version: 1
retry: {jitter: none}
rules: [{when: {status: 500}, retry: {max_retries: 1, deadline: 1h}}]
";
    for stack in STACKS {
        assert_eq!(sent(stack, text, RetryOverride::new()).attempts(), 2);
        let more = RetryOverride::new().max_retries(3);
        assert_eq!(sent(stack, text, more).attempts(), 4);
        let off = sent(stack, text, RetryOverride::off());
        assert_eq!((off.attempts(), off.stop()), (1, StopReason::Disabled));
        let short = RetryOverride::new().deadline(Duration::from_secs(1));
        assert_eq!(
            sent(stack, text, short).stop(),
            StopReason::DeadlineExceeded
        );
    }
}
