//! The same rule by code and by document.

mod cases;
mod refused;

use super::super::client::{Client, Decides, Ended, STACKS, Stack, get, send, statuses};
use super::super::{config, delays};
use cases::{Case, LISTS, RETRIES, VERDICTS};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use http_retry::rules::{Action, Condition, Rule};
use http_retry::{Backoff, Jitter, RetryPolicy, RetryPolicyBuilder, StopReason};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn base() -> RetryPolicyBuilder {
    RetryPolicy::builder()
        .max_retries(3)
        .backoff(Backoff::fixed(SECOND).jitter(Jitter::None))
        .max_gate_wait(None)
}

fn headers(name: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(name, HeaderValue::from_static("yes"));
    headers
}

fn on(stack: Stack, decides: &impl Decides, case: &Case) -> (Ended, Vec<Vec<String>>) {
    let client = Client::new((case.script)());
    let ended = send(stack, decides, &client, get());
    (ended, client.header("x-again"))
}

#[test]
fn a_rule_in_code_decides_as_the_same_in_a_document() {
    for case in VERDICTS.iter().chain(&RETRIES).chain(&LISTS) {
        let Case {
            retry, document, ..
        } = case;
        let text = format!(
            "version: 1\ngate: off\nretry: {{backoff: fixed, base: 1s, jitter: none, max_retries: 3{retry}}}\n{document}\n"
        );
        let (said, built) = (config(&text), (case.code)(base()).unwrap().build().unwrap());
        for stack in STACKS {
            let (by_document, sent) = on(stack, &said, case);
            let (by_code, sent_by_code) = on(stack, &built, case);
            assert_eq!((&*by_code.statuses(), by_code.stop()), case.met, "{text}");
            assert_eq!(told(&by_code), told(&by_document), "{text} on {stack:?}");
            assert_eq!(sent_by_code, sent, "{text} on {stack:?}");
        }
        let text = said.routes().pop().unwrap().policy.explain();
        for line in built
            .explain()
            .lines()
            .filter(|line| line.contains("rule "))
        {
            assert!(text.contains(line), "{line} is not in {text}");
        }
    }
}

/// All that a caller can see.
fn told(ended: &Ended) -> impl PartialEq + std::fmt::Debug + '_ {
    (
        (ended.status, ended.failed, &*ended.body),
        ended.headers.get(CONTENT_TYPE),
        (ended.statuses(), ended.rules(), ended.stop()),
        delays(&ended.report),
    )
}

#[test]
fn a_rule_may_leave_an_outcome_to_its_class() {
    let teapots = Condition::status([418, 503]).unwrap();
    let policy = base()
        .rule(Rule::when(teapots).then(Action::Classify))
        .otherwise(Action::Fail)
        .build()
        .unwrap();
    assert_eq!(policy.worst_case().attempts, Some(4));
    for (list, met, stop) in [
        (&[503, 418][..], &[503, 418][..], StopReason::NotRetryable),
        (&[500], &[500], StopReason::Failed),
    ] {
        for stack in STACKS {
            let ended = send(stack, &policy, &Client::new(statuses(list)), get());
            assert_eq!((&*ended.statuses(), ended.stop()), (met, stop));
        }
    }
}
