//! The settings that a builder refuses.

use super::*;
use crate::policy::Backoff;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn refused(builder: RetryPolicyBuilder) -> (String, String, String) {
    let error = builder.build().unwrap_err();
    (error.field.into(), error.given, error.allowed.into())
}

#[test]
fn max_attempts_must_be_above_0_and_excludes_max_retries() {
    let both = RetryPolicy::builder().max_retries(2).max_attempts(3);
    assert_eq!(refused(both).0, "max_attempts");
    assert_eq!(
        refused(RetryPolicy::builder().max_attempts(0)).0,
        "max_attempts"
    );
    let policy = RetryPolicy::builder().max_attempts(3).build().unwrap();
    assert_eq!(policy.0.max_retries, 2);
    let adjusted = policy.to_builder().max_retries(7).build().unwrap();
    assert_eq!(adjusted.0.max_retries, 7);
}

#[test]
fn zero_times_and_a_timeout_beyond_the_deadline_are_refused() {
    let builder = RetryPolicy::builder;
    assert_eq!(refused(builder().deadline(Duration::ZERO)).0, "deadline");
    assert_eq!(
        refused(builder().attempt_timeout(Duration::ZERO)).0,
        "attempt_timeout"
    );
    assert_eq!(
        refused(builder().attempt_timeout(SECOND * 3).deadline(SECOND * 2)),
        (
            "attempt_timeout".into(),
            "3s".into(),
            "must be at most the deadline, which is 2s".into()
        )
    );
    assert!(
        builder()
            .attempt_timeout(SECOND)
            .deadline(SECOND)
            .build()
            .is_ok()
    );
}

#[test]
fn build_refuses_a_backoff_that_cannot_work() {
    let backoff = Backoff::exponential(SECOND).max_delay(SECOND / 2);
    assert_eq!(
        refused(RetryPolicy::builder().backoff(backoff)),
        (
            "backoff.base".into(),
            "1s".into(),
            "must be at most max_delay, which is 500ms".into()
        )
    );
}

#[test]
fn max_refused_needs_a_gate_and_retries() {
    let given = |builder: RetryPolicyBuilder| refused(builder.max_refused(5));
    let without = |why: &str| {
        (
            "max_refused".into(),
            "5".into(),
            format!("has no effect without {why}"),
        )
    };
    let ungated = RetryPolicy::user_facing().to_builder();
    assert_eq!(
        given(ungated.clone()),
        without("a gate: set max_gate_wait too")
    );
    assert_eq!(
        given(RetryPolicy::builder().max_retries(0)),
        without("retries: set max_attempts to 2 or more")
    );
    assert!(ungated.max_refused(0).build().is_ok());
    assert!(
        RetryPolicy::rate_limited()
            .to_builder()
            .max_gate_wait(None)
            .build()
            .is_ok()
    );
}
