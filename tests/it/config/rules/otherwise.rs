//! What becomes of an outcome that no rule speaks of.

use super::super::client::{Client, STACKS, Stack, send, statuses};
use super::super::{config, delays, seconds};
use super::get_on;
use http_retry::StopReason;
use http_retry::config::RetryConfig;

fn otherwise(word: &str) -> RetryConfig {
    config(&format!(
        "
version: 1
retry: {{backoff: fixed, base: 1s, jitter: none, max_retries: 1}}
rules: [{{name: teapot, when: {{status: 418}}, do: accept}}]
otherwise: {word}
"
    ))
}

#[test]
fn without_a_word_of_a_rule_the_class_decides() {
    for stack in STACKS {
        for word in ["classify", "null"] {
            let config = otherwise(word);
            let ended = get_on(stack, &config, &[503]);
            assert_eq!((ended.status, ended.attempts()), (Some(503), 2));
            let ended = get_on(stack, &config, &[404]);
            assert_eq!(
                (ended.attempts(), ended.stop()),
                (1, StopReason::NotRetryable)
            );
        }
    }
}

#[test]
fn otherwise_accept_hands_everything_over() {
    for stack in STACKS {
        for word in ["accept", "continue"] {
            let ended = get_on(stack, &otherwise(word), &[503]);
            assert_eq!(
                (ended.status, ended.stop()),
                (Some(503), StopReason::Accepted)
            );
            assert_eq!(ended.attempts(), 1);
        }
    }
}

#[test]
fn otherwise_fail_fails_even_a_success_that_no_rule_speaks_of() {
    for stack in STACKS {
        for status in [200, 404, 503] {
            let ended = get_on(stack, &otherwise("fail"), &[status]);
            let got = (ended.failed, ended.stop(), ended.attempts());
            assert_eq!(got, (true, StopReason::Failed, 1), "{status} on {stack:?}");
        }
        assert_eq!(get_on(stack, &otherwise("fail"), &[418]).status, Some(418));
    }
}

#[test]
fn otherwise_by_outcome_accepts_a_success_and_fails_the_rest() {
    for stack in STACKS {
        let ended = get_on(stack, &otherwise("by_outcome"), &[200]);
        assert_eq!(
            (ended.status, ended.stop()),
            (Some(200), StopReason::Succeeded)
        );
        for status in [404, 503] {
            let ended = get_on(stack, &otherwise("by_outcome"), &[status]);
            assert_eq!((ended.failed, ended.attempts()), (true, 1));
        }
    }
}

#[test]
fn otherwise_retry_repeats_failures_by_its_own_block() {
    let config = otherwise("{retry: {max_retries: 2, base: 3s}}");
    for stack in STACKS {
        assert_eq!(get_on(stack, &config, &[200]).attempts(), 1);
        let ended = get_on(stack, &config, &[404, 503, 200]);
        assert_eq!(ended.statuses(), [404, 503, 200]);
        assert_eq!(delays(&ended.report), seconds(&[3, 3]));
        assert_eq!(get_on(stack, &config, &[404]).attempts(), 3);
    }
}

#[test]
fn the_nearest_otherwise_holds() {
    let text = "
version: 1
otherwise: fail
services:
  api:
    match: {host: api.example}
    otherwise: accept
    routes: [{name: r, match: {path: /v1/*}, otherwise: by_outcome}, {name: s, match: {path: /v2/*}}]
  named: {}
";
    let config = config(text);
    let uri = |path: &str| http::Request::get(format!("http://api.example{path}"));
    let on = |path| {
        let request = uri(path).body(String::new()).unwrap();
        send(
            Stack::Tower,
            &config,
            &Client::new(statuses(&[503])),
            request,
        )
        .stop()
    };
    assert_eq!(on("/v1/x"), StopReason::Failed);
    assert_eq!(on("/v2/x"), StopReason::Accepted);
    assert_eq!(on("/v3/x"), StopReason::Accepted);
    let elsewhere = http::Request::get("http://other.example/").body(String::new());
    let client = Client::new(statuses(&[200]));
    let ended = send(Stack::Tower, &config, &client, elsewhere.unwrap());
    assert_eq!(ended.stop(), StopReason::Failed);
}
