//! The log says what a policy cannot do if responses or errors keep their type.

use super::journal::Journal;
use futures_util::FutureExt;
use http_retry::rules::{Action, CannedResponse, Condition, OnExhausted, Rule};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryPolicy, RetryPolicyBuilder};
use std::time::Duration;
use tower::{Layer, ServiceExt};

/// The warnings of two calls that are answered so.
fn warnings(policy: RetryPolicy, status: u16) -> Vec<String> {
    let layer = RetryLayer::new(policy).runtime(ManualRuntime::new());
    let client = Script::new().status(status).status(status);
    let service = layer.keep_response_type().layer(client);
    let (lines, ()) = Journal::of(|| {
        for _ in 0..2 {
            let request = http::Request::get("http://api.example/").body(String::new());
            let sent = service.clone().oneshot(request.unwrap()).now_or_never();
            assert_eq!(sent.unwrap().unwrap().status(), status);
        }
    });
    let warned = |line: &String| line.contains("keep_response_type");
    lines.into_iter().filter(warned).collect()
}

#[test]
fn the_first_call_warns_of_respond_and_later_calls_do_not() {
    let canned = OnExhausted::Respond(CannedResponse::new(http::StatusCode::OK));
    let policy = RetryPolicy::never().to_builder().on_exhausted(canned);
    let warned = warnings(policy.build().unwrap(), 200);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].starts_with("WARN"), "{warned:?}");
    assert!(warned[0].contains("`respond`"), "{warned:?}");
    assert!(warnings(RetryPolicy::never(), 200).is_empty());
}

/// The log says so once in a process, and so in one test.
#[test]
fn the_first_body_that_would_be_read_is_warned_of() {
    let busy = Condition::message("busy").unwrap();
    let policy = RetryPolicy::never()
        .to_builder()
        .rule(Rule::when(busy).stop());
    let warned = warnings(policy.build().unwrap(), 503);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("bodies"), "{warned:?}");
}

/// The warnings of a layer that is told to leave errors as they are.
fn warnings_of_errors(policy: RetryPolicyBuilder) -> Vec<String> {
    let policy = policy.build().unwrap();
    let (lines, _) = Journal::of(|| RetryLayer::new(policy).unchanged_errors());
    lines
}

#[test]
fn unchanged_errors_warn_of_what_they_cannot_report() {
    let policy = || RetryPolicy::user_facing().to_builder();
    let second = Duration::from_secs(1);
    let cases = [
        (policy().deadline(second), "no time limit"),
        (policy().attempt_timeout(second), "no time limit"),
        (policy().on_exhausted(OnExhausted::Fail), "`fail`"),
        (policy().otherwise(Action::ByOutcome), "`fail`"),
    ];
    for (policy, lost) in cases {
        let warned = warnings_of_errors(policy);
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(warned[0].starts_with("WARN"), "{warned:?}");
        assert!(warned[0].contains("`unchanged_errors`"), "{warned:?}");
        assert!(warned[0].contains(lost), "{warned:?}");
    }
    assert!(warnings_of_errors(policy()).is_empty());
}
