//! Requests that go on to another service.

use super::*;
use crate::policy::outcome::earlier::EarlierRequests;
use crate::policy::outcome::ext::OutcomeExt;
use crate::policy::rules::Failover;

/// Returns why a failed request does not go to the second service, or `None` if it does.
fn stays(
    session: RetrySession,
    to: fn(Failover) -> Failover,
    server: Server,
    outcome: &Outcome<'_>,
) -> Option<StopReason> {
    let mut session = session;
    let rule = Rule::when(failure()).failover(to(Failover::to("second")));
    session.policy = session.policy.to_builder().rule(rule).build().unwrap();
    session.set_servers(vec![("second".into(), server)]);
    session.plan(outcome, Moment::default()).err()
}

fn stays_here(session: RetrySession, outcome: &Outcome<'_>) -> Option<StopReason> {
    stays(session, |to| to, Server::Other, outcome)
}

#[test]
fn a_request_in_doubt_goes_on_only_if_safe_without_keys() {
    let (unsent, reset) = (
        Outcome::error(ErrorKind::Connect),
        Outcome::error(ErrorKind::Reset),
    );
    let of = |method| session(&policy(), &method);
    let harmless = || of(Method::POST).with_override(&RetryOverride::new().idempotent(true));
    let unsafe_twice = Some(StopReason::NotIdempotent);
    assert_eq!(stays_here(of(Method::POST), &unsent), None);
    assert_eq!(stays_here(of(Method::GET), &reset), None);
    assert_eq!(stays_here(of(Method::POST), &reset), unsafe_twice);
    // The caller has said so of the first server, which may know a key that the second does not.
    assert_eq!(stays_here(harmless(), &reset), unsafe_twice);
    let same_keys = |session| stays(session, Failover::same_keys, Server::Other, &reset);
    assert_eq!(same_keys(harmless()), None);
    assert_eq!(same_keys(of(Method::POST)), unsafe_twice);
    assert_eq!(stays(harmless(), |to| to, Server::Same, &reset), None);
}

#[test]
fn a_response_head_leaves_doubt_whatever_a_classifier_says() {
    let none = HeaderMap::new();
    let refused = |outcome: Outcome<'static>| outcome.with(Class::Transient, Reach::Refused);
    let early = refused(Outcome::error(ErrorKind::Reset));
    let answered = refused(Outcome::error(ErrorKind::Reset).after_a_response());
    let keyed =
        || session(&policy(), &Method::POST).with_override(&RetryOverride::new().idempotent(true));
    assert_eq!(stays_here(keyed(), &early), None);
    assert_eq!(
        stays_here(keyed(), &answered),
        Some(StopReason::NotIdempotent)
    );
    assert_eq!(
        stays_here(session(&policy(), &Method::GET), &answered),
        None
    );
    assert_eq!(
        stays_here(keyed(), &response(503, &none)),
        Some(StopReason::NotIdempotent)
    );
}

#[test]
fn a_get_that_is_not_idempotent_stays_at_its_server_in_doubt() {
    let redirected = EarlierRequests::RedirectsUnknown { harmless: true };
    let unsent = Outcome::error(ErrorKind::Connect).after_others(redirected);
    let harmful = RetryOverride::new().idempotent(false);
    let get = || session(&policy(), &Method::GET);
    assert_eq!(stays_here(get(), &unsent), None);
    let stopped = stays_here(get().with_override(&harmful), &unsent);
    assert_eq!(stopped, Some(StopReason::RedirectsUnknown));
}
