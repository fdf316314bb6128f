//! Retries that a session plans once a request: after a 408 of a server that closes idle connections, a 421 on another
//! connection.

use super::*;
use crate::policy::outcome::ext::OutcomeExt;

/// Returns the wait after an outcome, once it is paid for; or the reason for the end.
fn waited(
    session: &mut RetrySession,
    outcome: Outcome<'_>,
    after: Duration,
) -> Result<Duration, StopReason> {
    match seen(session, outcome, after) {
        Decision::Retry(plan) => {
            let budget = RetryBudget::unlimited();
            let paid = budget.withdraw(plan, Duration::ZERO).unwrap();
            let delay = paid.delay();
            session.apply(&paid);
            paid.commit();
            Ok(delay)
        }
        Decision::Finish(why) => Err(why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_408_soon_after_its_attempt_is_repeated_at_once() {
    let (none, soon) = (HeaderMap::new(), SECOND / 2);
    let policy = policy().to_builder().max_retries(4).build().unwrap();
    let mut one = session(&policy, &Method::POST);
    assert_eq!(
        waited(&mut one, response(408, &none), soon),
        Ok(Duration::ZERO)
    );
    assert_eq!(one.retries(), 1, "it is a retry like any other");
    // Once: a server that answers each request so is no such server.
    assert_eq!(waited(&mut one, response(408, &none), soon), Ok(SECOND));
    let mut late = session(&policy, &Method::POST);
    assert_eq!(waited(&mut late, response(408, &none), SECOND), Ok(SECOND));
    // The start of its own attempt counts, and not of the request.
    assert_eq!(
        waited(&mut late, response(408, &none), soon),
        Ok(Duration::ZERO)
    );
}

#[test]
fn a_408_that_names_a_time_is_waited_for() {
    let headers = retry_after("5");
    let mut one = session(&policy(), &Method::GET);
    let delay = waited(&mut one, response(408, &headers), Duration::ZERO).unwrap();
    assert!((SECOND * 5..=SECOND * 6).contains(&delay), "{delay:?}");
}

#[test]
fn a_408_that_is_not_proven_unprocessed_waits_for_the_backoff() {
    let none = HeaderMap::new();
    let answered = response(408, &none).after_a_response();
    let mut get = session(&policy(), &Method::GET);
    assert_eq!(waited(&mut get, answered, Duration::ZERO), Ok(SECOND));
    let mut limited = session(
        &policy().to_builder().max_retries(0).build().unwrap(),
        &Method::GET,
    );
    let stopped = waited(&mut limited, response(408, &none), Duration::ZERO);
    assert_eq!(stopped, Err(StopReason::AttemptsExhausted));
}

#[test]
fn a_rules_own_backoff_stands_for_a_408() {
    use crate::policy::rules::Rule;
    let rule = Rule::when(status(408)).retry(policy());
    let policy = RetryPolicy::background()
        .to_builder()
        .max_gate_wait(None)
        .rule(rule);
    let mut one = session(&policy.build().unwrap(), &Method::GET);
    let none = HeaderMap::new();
    assert_eq!(
        waited(&mut one, response(408, &none), Duration::ZERO),
        Ok(SECOND)
    );
}

#[test]
fn a_421_is_repeated_once_if_its_connection_can_be_left() {
    let none = HeaderMap::new();
    let misdirected = response(421, &none).on_changeable_connection();
    let mut one = session(&policy(), &Method::POST);
    assert_eq!(waited(&mut one, misdirected, Duration::ZERO), Ok(SECOND));
    let again = waited(&mut one, misdirected, Duration::ZERO);
    assert_eq!(again, Err(StopReason::NotRetryable));
    let mut unknown = session(&policy(), &Method::GET);
    let stopped = waited(&mut unknown, response(421, &none), Duration::ZERO);
    assert_eq!(stopped, Err(StopReason::NotRetryable));
    let other = response(404, &none).on_changeable_connection();
    assert!(!other.is_misdirected());
}

#[test]
fn a_421_after_a_redirect_proves_nothing() {
    use crate::policy::outcome::earlier::EarlierRequests;
    let none = HeaderMap::new();
    let misdirected = response(421, &none).on_changeable_connection();
    let redirected = misdirected.after_others(EarlierRequests::Some);
    let mut post = session(&policy(), &Method::POST);
    let stopped = waited(&mut post, redirected, Duration::ZERO);
    assert_eq!(stopped, Err(StopReason::NotIdempotent));
    let mut get = session(&policy(), &Method::GET);
    assert_eq!(waited(&mut get, redirected, Duration::ZERO), Ok(SECOND));
}
