//! Time limits cover the reading of an answer.

use super::server::Reply;
use super::{End, SECOND, STACKS, Stack, get, post, send, whole};
use http_retry::{AttemptTimeout, ErrorKind, RetryPolicyBuilder, StopReason};

fn limited() -> RetryPolicyBuilder {
    whole(100).attempt_timeout(SECOND)
}

#[test]
fn an_answer_that_stalls_is_a_timeout_and_asked_for_again() {
    for stack in STACKS {
        let replies = [Reply::stalled(), Reply::fine()];
        let ended = send(stack, limited(), replies, get());
        assert!(ended.is_whole(b"all of it"), "{stack:?} {ended:?}");
        let report = ended.report.unwrap();
        assert_eq!(report.attempts[0].error, Some(ErrorKind::Timeout));
        assert_eq!(
            (report.attempt_count, ended.tokens),
            (2, 9),
            "a timeout costs double"
        );
    }
}

#[test]
fn a_deadline_covers_the_reading_too() {
    for stack in STACKS {
        let policy = whole(100).deadline(SECOND * 3);
        let ended = send(stack, policy, [Reply::stalled()], get());
        assert_eq!(ended.stop(), StopReason::DeadlineExceeded, "{stack:?}");
        check_last(stack, &ended, 1);
    }
}

#[test]
fn the_last_answer_that_stalls_is_a_timeout_if_it_can_be() {
    for stack in STACKS {
        let ended = send(stack, limited(), [Reply::stalled()], get());
        assert_eq!(ended.stop(), StopReason::AttemptsExhausted);
        check_last(stack, &ended, 3);
        let posted = send(stack, limited(), [Reply::stalled(), Reply::fine()], post());
        assert_eq!(posted.stop(), StopReason::NotIdempotent);
        check_last(stack, &posted, 1);
    }
}

/// A timeout, or the answer as far as it came, where the error type cannot say that.
fn check_last(stack: Stack, ended: &super::Ended, attempts: u32) {
    let end = match stack {
        Stack::Tower => (Some(200), End::Open, &b"all of"[..]),
        Stack::Boxed | Stack::Middleware => (None, End::TimedOut, &b""[..]),
    };
    assert_eq!((ended.status, ended.end, &*ended.body), end, "{stack:?}");
    assert_eq!(ended.attempts(), attempts, "{stack:?}");
}

#[test]
fn without_a_limit_nothing_ends_the_reading() {
    let policy = whole(100).build().unwrap();
    let service = http_retry::tower::RetryLayer::new(policy);
    let service = tower::Layer::layer(&service, super::Server::new([Reply::stalled()]));
    let call = tower::ServiceExt::oneshot(service, get());
    assert!(futures_util::FutureExt::now_or_never(call).is_none());
}

#[test]
fn a_timeout_says_what_was_missing() {
    let timeout = last_timeout(limited().max_retries(0));
    assert_eq!(timeout.to_string(), "no whole response within 1s");
    assert_eq!(timeout.after(), SECOND);
    let timeout = last_timeout(whole(100).deadline(SECOND * 3));
    let text = "the deadline passed: no whole response within 3s";
    assert_eq!(timeout.to_string(), text);
}

/// The error of a call whose answer stalls.
fn last_timeout(policy: RetryPolicyBuilder) -> AttemptTimeout {
    let layer = http_retry::tower::RetryLayer::new(policy.build().unwrap());
    let layer = layer.runtime(http_retry::testing::ManualRuntime::new());
    let service = tower::Layer::layer(&layer, super::Server::new([Reply::stalled()]));
    let call = tower::ServiceExt::oneshot(service, get());
    let error = futures_util::FutureExt::now_or_never(call)
        .unwrap()
        .unwrap_err();
    assert!(AttemptTimeout::is(&*error));
    *error.downcast::<AttemptTimeout>().unwrap()
}
