//! Responses that keep the type that the inner service gives them.

use super::stack::{Response, body_of, endless, get, guarded, policy, report, text};
use futures_util::FutureExt;
use http::StatusCode;
use http_retry::rules::{CannedResponse, Condition, OnExhausted, Rule};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{RetryPolicyBuilder, StopReason};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// The last response of a call whose attempts get these; the type says that it is the server's own.
fn answered(policy: RetryPolicyBuilder, responses: Vec<Response>) -> Response {
    let responses = Arc::new(Mutex::new(VecDeque::from(responses)));
    let server = service_fn(move |_: http::Request<String>| {
        let next = responses.lock().unwrap().pop_front();
        std::future::ready(next.ok_or_else(|| BoxError::from("one attempt too many")))
    });
    let layer = RetryLayer::new(policy.build().unwrap()).runtime(ManualRuntime::new());
    let sent = layer.keep_response_type().layer(server).oneshot(get());
    sent.now_or_never().expect("the call is over").unwrap()
}

#[test]
fn a_success_after_failures_has_the_inner_type() {
    let responses = [(503, "one"), (503, "two"), (200, "three")];
    let responses = responses.map(|(status, body)| text(status, body));
    let response = answered(policy(), responses.into());
    assert_eq!(report(&response).attempts.len(), 3);
    assert_eq!(body_of(response), "three");
}

#[test]
fn the_last_failure_comes_back_whole() {
    let responses = ["one", "two", "three"].map(|body| text(503, body));
    let response = answered(policy(), responses.into());
    assert_eq!(report(&response).stop, StopReason::AttemptsExhausted);
    assert_eq!(body_of(response), "three");
    let refused = answered(policy(), vec![text(400, "no")]);
    assert_eq!(body_of(refused), "no");
}

#[test]
fn a_failed_response_is_dropped_before_the_retry() {
    let (ends, ended) = guarded(503, "sorry");
    let (goes_on, gone) = endless(503);
    let response = answered(policy(), vec![ends, goes_on, text(200, "here")]);
    assert_eq!(body_of(response), "here");
    assert!(ended.upgrade().is_none() && gone.upgrade().is_none());
}

/// The body is not read for them, so they hold for no body.
#[test]
fn rules_about_a_body_judge_by_the_head() {
    let rules = |condition: Condition| policy().rule(Rule::when(condition).stop());
    let busy = || text(503, "busy");
    let body = || Condition::message("busy").unwrap();
    let response = answered(rules(body()), vec![busy(), text(200, "")]);
    assert_eq!(response.status(), StatusCode::OK);
    let status = Condition::status([503]).unwrap();
    assert_eq!(body_of(answered(rules(status), vec![busy()])), "busy");
}

#[test]
fn a_response_of_the_policy_does_not_take_its_place() {
    let canned = CannedResponse::new(StatusCode::IM_A_TEAPOT);
    let policy = policy().on_exhausted(OnExhausted::Respond(canned));
    let responses = ["one", "two", "three"].map(|body| text(503, body));
    let response = answered(policy, responses.into());
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(body_of(response), "three");
}
