//! What is sent again and when: headers, lists of what is retried, and what the server asks for.

use super::super::client::{Client, STACKS, Stack, get, on_tower, send, statuses};
use super::super::{SECOND, config, delays, seconds};
use super::{get_on, with_rules};
use http_retry::StopReason;
use http_retry::config::RetryConfig;
use http_retry::policy::DelaySource;
use http_retry::testing::Script;

/// A document that retries after 1 s, and twice at most.
fn with_retry(retry: &str) -> RetryConfig {
    config(&format!(
        "version: 1\nretry: {{backoff: fixed, base: 1s, jitter: none, max_retries: 2, {retry}}}"
    ))
}

#[test]
fn the_headers_of_a_rule_are_on_all_later_attempts() {
    let rules = with_rules(
        "
- when: {status: 400}
  do: retry
  set: {headers: {x-shorter: \"yes\", accept: [a/b, c/d]}}
",
    );
    for stack in STACKS {
        let client = Client::new(statuses(&[503, 400, 503, 200]));
        let mut request = get();
        request
            .headers_mut()
            .insert("accept", "old/one".parse().unwrap());
        let ended = send(stack, &rules, &client, request);
        assert_eq!(ended.statuses(), [503, 400, 503, 200]);
        let yes = vec!["yes".to_owned()];
        assert_eq!(
            client.header("x-shorter"),
            [vec![], vec![], yes.clone(), yes]
        );
        let old = vec!["old/one".to_owned()];
        let new = vec!["a/b".to_owned(), "c/d".to_owned()];
        assert_eq!(
            client.header("accept"),
            [old.clone(), old, new.clone(), new]
        );
    }
}

#[test]
fn a_wait_and_a_failover_set_headers_too() {
    let text = "
version: 1
services:
  api:
    match: {host: api.example}
    rules:
      - {when: {status: 202}, wait: {delay: 1s, at_most: 1}, set: {headers: {x-poll: again}}}
      - {when: {status: 503}, failover: spare, set: {headers: {x-from: api}}}
  spare: {base_url: \"http://spare.example\"}
";
    for stack in STACKS {
        let client = Client::new(statuses(&[202, 503, 200]));
        send(stack, &config(text), &client, get());
        let one = |value: &str| vec![value.to_owned()];
        assert_eq!(
            client.header("x-poll"),
            [vec![], one("again"), one("again")]
        );
        assert_eq!(client.header("x-from"), [vec![], vec![], one("api")]);
    }
}

#[test]
fn retry_on_names_all_that_is_retried() {
    let config = with_retry("retry_on: [404, {status: 5xx, header: x-busy}]");
    for stack in STACKS {
        assert_eq!(get_on(stack, &config, &[404]).attempts(), 3);
        let ended = get_on(stack, &config, &[503]);
        assert_eq!(
            (ended.attempts(), ended.stop()),
            (1, StopReason::NotRetryable)
        );
        let busy = Script::new().status(500).header("x-busy", "1");
        assert_eq!(
            send(stack, &config, &Client::new(busy), get()).attempts(),
            3
        );
    }
}

#[test]
fn retry_on_can_name_a_success() {
    let config = with_retry("retry_on: [{status: 202}]");
    for stack in STACKS {
        assert_eq!(
            get_on(stack, &config, &[202, 202, 200]).statuses(),
            [202, 202, 200]
        );
        assert_eq!(get_on(stack, &config, &[200]).attempts(), 1);
    }
}

#[test]
fn stop_on_is_never_retried_by_class_list_or_rule() {
    let stop = "stop_on: [{status: 503, header: x-done}]";
    let by_class = with_retry(stop);
    let by_list = with_retry(&format!("retry_on: [503], {stop}"));
    let by_rule = config(&format!(
        "
version: 1
retry: {{backoff: none, {stop}}}
rules: [{{when: {{status: 503}}, retry: {{max_retries: 2}}}}]
"
    ));
    for config in [by_class, by_list, by_rule] {
        for stack in STACKS {
            let sent = |script| send(stack, &config, &Client::new(script), get());
            assert_eq!(sent(statuses(&[503])).attempts(), 3);
            let done = sent(Script::new().status(503).header("x-done", "1"));
            assert_eq!(
                (done.attempts(), done.stop()),
                (1, StopReason::NotRetryable)
            );
        }
    }
}

#[test]
fn a_list_of_an_outer_layer_does_not_narrow_what_a_rule_retries() {
    let text = "
version: 1
retry: {backoff: none, max_retries: 2, retry_on: [502]}
rules: [{when: {status: 404}, do: retry}, {when: {status: 405}, retry: {retry_on: [503]}}]
";
    for stack in STACKS {
        assert_eq!(get_on(stack, &config(text), &[404]).attempts(), 3);
        assert_eq!(get_on(stack, &config(text), &[405]).attempts(), 1);
        assert_eq!(get_on(stack, &config(text), &[503]).attempts(), 1);
    }
}

fn asking(seconds: &str) -> Script {
    Script::new().status(503).header("retry-after", seconds)
}

#[test]
fn a_wish_of_the_server_is_kept_up_to_what_the_document_allows() {
    for stack in STACKS {
        let sent = |retry, wish| send(stack, &with_retry(retry), &Client::new(asking(wish)), get());
        for retry in [
            "retry_after: respect",
            "retry_after: {max: 20s}",
            "retry_after: {max: 20s, over: stop}",
        ] {
            let ended = sent(retry, "10");
            for attempt in &ended.report.attempts[1..] {
                assert!(
                    (SECOND * 10..=SECOND * 12).contains(&attempt.delay),
                    "{retry}"
                );
                assert_eq!(attempt.delay_source, Some(DelaySource::Server));
            }
            assert_eq!(ended.attempts(), 3);
        }
        let ended = sent("retry_after: {max: 20s}", "21");
        assert_eq!(
            (ended.attempts(), ended.stop()),
            (1, StopReason::ServerDelayTooLong)
        );
        let ended = sent("retry_after: {max: none}", "100000");
        assert!(delays(&ended.report)[0] >= SECOND * 100_000);
    }
}

#[test]
fn a_long_wish_can_be_clamped_and_every_wish_ignored() {
    for stack in STACKS {
        let sent = |retry| {
            send(
                stack,
                &with_retry(retry),
                &Client::new(asking("100")),
                get(),
            )
        };
        let ended = sent("retry_after: {max: 5s, over: clamp}");
        assert_eq!(ended.attempts(), 3);
        for delay in delays(&ended.report) {
            assert!((SECOND * 5..=SECOND * 6).contains(&delay), "{delay:?}");
        }
        let ended = sent("retry_after: ignore");
        assert_eq!(delays(&ended.report), seconds(&[1, 1]));
    }
}

#[test]
fn a_rule_treats_the_servers_wish_in_its_own_way() {
    let rules = with_rules("[{when: {status: 503}, retry: {retry_after: ignore}}]");
    let ended = send(Stack::Tower, &rules, &Client::new(asking("100")), get());
    assert_eq!(delays(&ended.report), seconds(&[1, 1, 1]));
}

#[test]
fn a_rule_can_pay_from_another_budget() {
    let text = "
version: 1
budgets:
  main: {capacity: 10, per_success: 0}
  few: {capacity: 1, per_success: 0}
retry: {backoff: none, max_retries: 5, budget: main}
rules: [{when: {status: 409}, retry: {budget: few}}]
";
    let config = config(text);
    let ended = on_tower(&config, statuses(&[409]));
    assert_eq!(
        (ended.attempts(), ended.stop()),
        (2, StopReason::BudgetExhausted)
    );
    assert_eq!(config.routes()[0].tokens.unwrap(), 10.into());
    assert_eq!(on_tower(&config, statuses(&[503])).attempts(), 6);
    assert_eq!(config.routes()[0].tokens.unwrap(), 5.into());
}

#[test]
fn what_becomes_of_a_request_without_retries_can_be_a_rules_own() {
    let text = "
version: 1
retry: {backoff: none, max_retries: 1, on_exhausted: {respond: {status: 599, body: none left}}}
rules: [{when: {status: 409}, retry: {on_exhausted: last}}]
";
    for stack in STACKS {
        let ended = get_on(stack, &config(text), &[503]);
        assert_eq!(
            (ended.status, ended.body.as_str()),
            (Some(599), "none left")
        );
        assert_eq!(get_on(stack, &config(text), &[409]).status, Some(409));
    }
}
