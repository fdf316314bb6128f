//! The costs of requests that fail over.

use super::*;

fn fixed(retries: u32) -> RetryPolicyBuilder {
    RetryPolicy::builder()
        .max_retries(retries)
        .backoff(Backoff::fixed(SECOND))
        .max_server_delay(SECOND * 50)
        .attempt_timeout(SECOND * 2)
        .max_gate_wait(None)
}

fn cost(policy: RetryPolicyBuilder) -> WorstCase {
    policy.build().unwrap().worst_case()
}

#[test]
fn what_follows_a_failover_is_added_within_the_deadline() {
    let timed = |retries, deadline| cost(fixed(retries).deadline(deadline));
    let (open, bounded) = (timed(1, None), timed(2, Some(SECOND * 30)));
    assert_eq!(open.and_then(open).attempts, Some(4));
    assert_eq!(open.and_then(open).time(), Some(SECOND * (60 + 60 + 8)));
    assert_eq!(bounded.and_then(open).time(), Some(SECOND * 30));
    assert_eq!(open.and_then(bounded).time(), Some(SECOND * (60 + 4 + 30)));
    assert_eq!(open.max(bounded).time(), Some(SECOND * 64));
    assert_eq!(open.max(bounded).attempts, Some(3));
}

#[test]
fn two_gates_are_waited_at_as_long_as_the_more_patient_allows() {
    let gated = |millis| {
        let builder = fixed(1).max_gate_wait(Duration::from_millis(millis));
        cost(builder.max_refused(100))
    };
    let (worst, patient) = (gated(4_500), gated(9_000));
    let twice = worst.time().unwrap() * 2 - Duration::from_millis(4_500);
    assert_eq!(worst.and_then(worst).time(), Some(twice));
    assert_eq!(worst.and_then(worst).gated_attempts, 5);
    assert_eq!(worst.max(patient).gated_attempts, 9);
}

#[test]
fn refused_attempts_count_anew_after_a_failover() {
    let gated = |refused| cost(fixed(1).max_gate_wait(SECOND * 10).max_refused(refused));
    assert_eq!(gated(3).and_then(gated(4)).gated_attempts, 7);
    assert_eq!(gated(8).and_then(gated(4)).gated_attempts, 10);
    assert_eq!(gated(3).max(gated(4)).gated_attempts, 4);
}
