//! The place that a stop is due to: in the report, and in its text.

use super::super::client::{Client, STACKS, get, send, statuses, with_own};
use super::super::config;
use http::Request;
use http_retry::RetryOverride;
use http_retry::StopReason::{
    Accepted, AttemptsExhausted, Failed, NotRetryable, ServerDelayTooLong, Stopped, Succeeded,
    WaitsExhausted,
};
use http_retry::testing::Script;

/// Services in which one thing each ends a request that a 503 meets.
const DOCUMENT: &str = "
version: 1
retry: {backoff: none, max_retries: 1, retry_after: {max: 1m}}
otherwise: by_outcome
policies: {calm: {stop_on: [503]}}
dialects: {ours: {rows: [{when: {status: 503}, as: permanent}]}}
services:
  never: {retry: {stop_on: [503]}, otherwise: classify}
  others: {retry: {retry_on: [500]}, otherwise: classify}
  both: {retry: {retry_on: [500], stop_on: [5xx]}, otherwise: classify}
  shared: {retry: calm, otherwise: classify}
  routed: {match: {host: api.example}, otherwise: classify, routes: [{name: all, match: {path: /**}, retry: {stop_on: [503]}}]}
  dialect: {dialect: ours, otherwise: classify}
  class: {rules: [{name: gone, when: {status: 503}, as: permanent}], otherwise: classify}
  rule: {rules: [{when: {status: 404}, do: fail}, {name: down, when: {status: 503}, do: stop}]}
  accept: {rules: [{name: down, when: {status: 503}, do: accept}]}
  fail: {rules: [{when: {status: 503}, do: fail}]}
  again: {rules: [{name: twice, when: {status: 503}, retry: {max_retries: 2}}]}
  listed: {retry: {stop_on: [503]}, rules: [{when: {status: 5xx}, retry: {max_retries: 2}}]}
  narrow: {rules: [{when: {status: 5xx}, retry: {stop_on: [503]}}]}
  polls: {rules: [{name: poll, when: {status: 503}, wait: {delay: 1s, at_most: 2}}]}
  rest: {}
  limit: {otherwise: classify}
";

fn to(service: &str) -> Request<String> {
    with_own(get(), RetryOverride::new().service(service))
}

#[test]
fn a_stop_names_the_place_that_it_is_due_to() {
    let document = config(DOCUMENT);
    for (service, stop, place) in [
        ("never", NotRetryable, "services.never.retry.stop_on"),
        ("others", NotRetryable, "services.others.retry.retry_on"),
        ("both", NotRetryable, "services.both.retry.stop_on"),
        ("shared", NotRetryable, "policies.calm.stop_on"),
        (
            "routed",
            NotRetryable,
            "services.routed.routes[0].retry.stop_on",
        ),
        ("dialect", NotRetryable, "dialects.ours.rows[0]"),
        ("class", NotRetryable, "services.class.rules[0]"),
        ("rule", Stopped, "services.rule.rules[1]"),
        ("accept", Accepted, "services.accept.rules[0]"),
        ("fail", Failed, "services.fail.rules[0]"),
        ("again", AttemptsExhausted, "services.again.rules[0]"),
        ("listed", NotRetryable, "services.listed.retry.stop_on"),
        (
            "narrow",
            NotRetryable,
            "services.narrow.rules[0].retry.stop_on",
        ),
        ("polls", WaitsExhausted, "services.polls.rules[0]"),
        ("rest", Failed, "otherwise"),
    ] {
        for stack in STACKS {
            let client = Client::new(statuses(&[503; 4]));
            let report = send(stack, &document, &client, to(service)).report;
            let got = (report.stop, report.stopped_by.as_deref());
            assert_eq!(got, (stop, Some(place)), "{service}");
            let text = report.to_string();
            let end = text.lines().last().unwrap();
            assert!(end.contains(place), "{end}");
            assert!(!end.contains("as far as"), "{end}");
        }
    }
}

#[test]
fn a_stop_by_a_limit_of_the_policy_names_no_place() {
    let document = config(DOCUMENT);
    let asks = || Script::new().status(503).header("retry-after", "3600");
    for stack in STACKS {
        for (script, stop) in [
            (statuses(&[503; 2]), AttemptsExhausted),
            (statuses(&[404]), NotRetryable),
            (asks(), ServerDelayTooLong),
            (statuses(&[503, 200]), Succeeded),
        ] {
            let report = send(stack, &document, &Client::new(script), to("limit")).report;
            assert_eq!((report.stop, report.stopped_by.as_deref()), (stop, None));
        }
    }
}

#[test]
fn an_explanation_says_where_otherwise_is_written() {
    let document = config("{version: 1, services: {a: {otherwise: accept}}}");
    let text = document.routes()[0].policy.explain();
    let lines = text.lines().filter(|line| line.contains("otherwise"));
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines, ["  otherwise: accept (from services.a.otherwise)"]);
}
