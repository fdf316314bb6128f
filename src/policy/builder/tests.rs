//! What a builder refuses.

use super::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn refused(builder: RetryPolicyBuilder) -> (String, String, String) {
    let error = builder.build().unwrap_err();
    (
        error.field().into(),
        error.given().into(),
        error.allowed().into(),
    )
}

#[test]
fn limits_are_given_one_way() {
    let both = RetryPolicy::builder().max_retries(2).max_attempts(3);
    assert_eq!(refused(both).0, "max_attempts");
    assert_eq!(
        refused(RetryPolicy::builder().max_attempts(0)).0,
        "max_attempts"
    );
    let policy = RetryPolicy::builder().max_attempts(3).build().unwrap();
    assert_eq!(policy.max_retries(), 2);
    let adjusted = policy.to_builder().max_retries(7).build().unwrap();
    assert_eq!(adjusted.max_retries(), 7);
}

#[test]
fn times_must_fit_each_other() {
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
fn a_backoff_that_cannot_work_is_found_by_the_policy() {
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
