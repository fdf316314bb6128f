//! Conditions on the request and its attempts.

use super::super::super::client::{Client, STACKS, get, post, send, statuses};
use super::super::super::config;
use super::{check, errors, meets, of};
use std::io::ErrorKind;

#[test]
fn a_method() {
    for stack in STACKS {
        let met = |when, request| meets(stack, when, statuses(&[500]), request);
        assert!(met("{method: GET}", get()));
        assert!(met("{method: get}", get()));
        assert!(met("{method: [PUT, POST]}", post()));
        assert!(!met("{method: GET}", post()));
        assert!(!met("{method: [PUT, POST]}", get()));
    }
}

#[test]
fn whether_it_is_idempotent() {
    let keyed = || {
        let mut request = post();
        let key = "idempotency-key";
        request.headers_mut().insert(key, "1".parse().unwrap());
        request
    };
    for stack in STACKS {
        let met = |when, request| meets(stack, when, statuses(&[500]), request);
        for request in [get(), keyed()] {
            assert!(met("{idempotent: true}", request.clone()));
            assert!(!met("{idempotent: false}", request));
        }
        assert!(met("{idempotent: false}", post()));
        assert!(!met("{idempotent: true}", post()));
    }
}

#[test]
fn whether_it_is_worth_a_retry() {
    let refused = || errors(&[ErrorKind::ConnectionRefused]);
    let worth = || [of(&[500, 501, 503, 429, 408]), refused()].concat();
    check("{retryable: true}", worth(), of(&[200, 404, 421]));
    check("{retryable: false}", of(&[200, 404, 421]), worth());
}

#[test]
fn the_number_of_the_attempt() {
    let hits = |stack, when: &str| {
        let rules = config(&format!(
            "
version: 1
retry: {{backoff: none, max_retries: 3}}
rules: [{{name: hit, when: {{attempt: {when}}}, do: retry}}]
"
        ));
        let ended = send(stack, &rules, &Client::new(statuses(&[500])), get());
        let hits = ended.rules().into_iter().map(|rule| rule.is_some());
        hits.collect::<Vec<bool>>()
    };
    for stack in STACKS {
        assert_eq!(hits(stack, "1"), [true, false, false, false]);
        assert_eq!(hits(stack, "\"<3\""), [true, true, false, false]);
        assert_eq!(hits(stack, "\"2-3\""), [false, true, true, false]);
        assert_eq!(hits(stack, "\">=2\""), [false, true, true, true]);
        assert_eq!(hits(stack, "[1, 4]"), [true, false, false, true]);
        assert_eq!(hits(stack, "9"), [false; 4]);
    }
}

/// Waits count as attempts, though not as retries.
#[test]
fn a_wait_is_an_attempt() {
    let rules = config(
        "
version: 1
rules:
  - {name: late, when: {attempt: \">=3\"}, do: stop}
  - {name: poll, when: {status: 202}, wait: {delay: 1s, at_most: 9}}
",
    );
    for stack in STACKS {
        let ended = send(stack, &rules, &Client::new(statuses(&[202])), get());
        assert_eq!(ended.rules(), [Some("poll"), Some("poll"), Some("late")]);
    }
}
