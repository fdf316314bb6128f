//! What the rules of a document decide.

mod causes;
mod conditions;
mod elsewhere;
mod in_code;
mod limits;
mod methods;
mod otherwise;
mod resend;
mod waits;

use super::client::{Client, Ended, STACKS, Stack, get, on_tower, post, send, statuses};
use super::{config, delays, seconds};
use http_retry::StopReason;
use http_retry::config::RetryConfig;

/// A document with these rules, which retries after 1 s, and three times at most.
fn with_rules(rules: &str) -> RetryConfig {
    config(&format!(
        "
version: 1
retry: {{backoff: fixed, base: 1s, jitter: none, max_retries: 3}}
rules: {rules}
"
    ))
}

fn get_on(stack: Stack, config: &RetryConfig, list: &[u16]) -> Ended {
    send(stack, config, &Client::new(statuses(list)), get())
}

#[test]
fn the_route_goes_before_the_service_and_the_document() {
    let rule = |name| format!("[{{name: {name}, when: {{status: 500}}, do: stop}}]");
    let text = |route: bool, service: bool| {
        let of = |given, name| {
            if given {
                format!(", rules: {}", rule(name))
            } else {
                String::new()
            }
        };
        format!(
            "
version: 1
rules: {}
services:
  api: {{match: {{host: api.example}}{}, routes: [{{name: r, match: {{path: /v1/*}}{}}}]}}
",
            rule("document"),
            of(service, "service"),
            of(route, "route")
        )
    };
    for (route, service, wanted) in [
        (true, true, "route"),
        (false, true, "service"),
        (true, false, "route"),
        (false, false, "document"),
    ] {
        for stack in STACKS {
            let ended = get_on(stack, &config(&text(route, service)), &[500]);
            assert_eq!(ended.rules(), [Some(wanted)]);
        }
    }
}

#[test]
fn the_first_rule_that_holds_decides() {
    let rules = with_rules(
        "
- {name: narrow, when: {status: 503}, do: stop}
- {name: wide, when: {status: 5xx}, do: accept}
- {name: wider, when: {outcome: error}, do: fail}
- {name: rest, do: accept}
",
    );
    for stack in STACKS {
        for (status, rule, stop) in [
            (503, "narrow", StopReason::Stopped),
            (500, "wide", StopReason::Accepted),
            (404, "wider", StopReason::Failed),
            (200, "rest", StopReason::Succeeded),
        ] {
            let ended = get_on(stack, &rules, &[status]);
            assert_eq!((ended.rules(), ended.stop()), (vec![Some(rule)], stop));
        }
    }
}

#[test]
fn a_rule_without_a_name_is_called_by_its_place() {
    let text = "
version: 1
rules: [{when: {status: 500}, do: stop}]
services: {api: {match: {host: api.example}, rules: [{when: {status: 502}, do: stop}, {when: {status: 503}, do: stop}]}}
";
    let ended = on_tower(&config(text), statuses(&[503]));
    assert_eq!(ended.rules(), [Some("services.api.rules[1]")]);
    let ended = on_tower(&config(text), statuses(&[500]));
    assert_eq!(ended.rules(), [Some("rules[0]")]);
}

#[test]
fn each_verdict_gives_the_caller_what_it_says() {
    for stack in STACKS {
        for (verdict, status, failed, stop) in [
            ("accept", Some(500), false, StopReason::Accepted),
            ("stop", Some(500), false, StopReason::Stopped),
            ("fail", None, true, StopReason::Failed),
        ] {
            let rules = with_rules(&format!("[{{when: {{status: 500}}, do: {verdict}}}]"));
            let ended = get_on(stack, &rules, &[500]);
            let got = (ended.status, ended.failed, ended.stop());
            assert_eq!(got, (status, failed, stop), "{verdict} on {stack:?}");
            assert_eq!(ended.attempts(), 1);
        }
    }
}

#[test]
fn the_words_of_other_systems_mean_the_same() {
    let rule = |verdict: &str| {
        config(&format!(
            "
version: 1
retry: {{backoff: fixed, base: 1s, jitter: none}}
services:
  api: {{match: {{host: api.example}}, rules: [{{name: r, when: {{status: 503}}, {verdict}}}]}}
  spare: {{base_url: \"http://spare.example\"}}
"
        ))
    };
    for (word, ours) in [
        ("do: continue", "do: accept"),
        ("do: break", "do: stop"),
        ("do: prune", "do: stop"),
        ("jump: spare", "failover: spare"),
        (
            "requeue: {delay: 2s, at_most: 2}",
            "wait: {delay: 2s, at_most: 2}",
        ),
    ] {
        for stack in STACKS {
            let told = |verdict| {
                let client = Client::new(statuses(&[503, 503, 200]));
                let ended = send(stack, &rule(verdict), &client, get());
                let story = (ended.statuses(), ended.stop(), delays(&ended.report));
                (story, client.uris())
            };
            assert_eq!(told(word), told(ours), "{word} on {stack:?}");
        }
    }
}

#[test]
fn a_failover_goes_to_the_other_base_url_by_the_other_policy() {
    let text = "
version: 1
services:
  api: {match: {host: api.example}, rules: [{when: {status: 503}, failover: spare}]}
  spare: {base_url: \"https://spare.example/mirror\", retry: {backoff: [4s], jitter: none, max_retries: 1}}
";
    for stack in STACKS {
        let client = Client::new(statuses(&[503, 500, 500, 500]));
        let ended = send(stack, &config(text), &client, get());
        assert_eq!(ended.statuses(), [503, 500, 500]);
        assert_eq!(delays(&ended.report), seconds(&[0, 4]));
        let there = "https://spare.example/mirror/v1/items";
        assert_eq!(client.uris(), ["http://api.example/v1/items", there, there]);
    }
}

#[test]
fn a_rule_repeats_no_post_that_may_have_been_processed() {
    for stack in STACKS {
        for verdict in [
            "do: retry",
            "retry: {max_retries: 2}",
            "wait: {at_most: 3}",
            "retry: {methods: idempotent}",
        ] {
            let rules = with_rules(&format!("[{{when: {{status: 500}}, {verdict}}}]"));
            let ended = send(stack, &rules, &Client::new(statuses(&[500])), post());
            let got = (ended.attempts(), ended.stop());
            assert_eq!(
                got,
                (1, StopReason::NotIdempotent),
                "{verdict} on {stack:?}"
            );
        }
        let all = with_rules("[{when: {status: 500}, retry: {methods: all}}]");
        let ended = send(stack, &all, &Client::new(statuses(&[500])), post());
        assert_eq!(
            (ended.attempts(), ended.stop()),
            (4, StopReason::AttemptsExhausted)
        );
    }
}
