//! The hedges of a document: when a slow request is sent once more, how often and at what cost.

use super::{config, origin, policy};
use http_retry::policy::Hedge;
use http_retry::{RetryOverride, RetryPolicy};
use http_retry_core::settings::PolicyExt;
use std::time::Duration;

/// The policy of the service `a` in this document.
fn of_service(said: &str) -> RetryPolicy {
    policy(&config(&format!("{{version: 1, {said}}}")), Some("a"), None)
}

#[test]
fn a_service_has_the_hedges_that_are_nearest_to_it() {
    let percentile = Hedge::default();
    let fixed = Hedge::after(Duration::from_millis(200));
    for (said, wanted, origin_of) in [
        ("services: {a: {}}", None, None),
        (
            "hedge: on, services: {a: {}}",
            Some(percentile),
            Some(("after p95, max 1, cost 1", "hedge")),
        ),
        (
            "services: {a: {hedge: {}}}",
            Some(percentile),
            Some(("after p95, max 1, cost 1", "services.a.hedge")),
        ),
        (
            "hedge: on, services: {a: {hedge: {after: 200ms}}}",
            Some(fixed),
            Some(("after 200ms, max 1, cost 1", "services.a.hedge")),
        ),
        (
            "services: {a: {hedge: {after: p99, max: 2, cost: 0.5}}}",
            Some(Hedge::percentile(99).max(2).cost(0.5)),
            Some(("after p99, max 2, cost 0.5", "services.a.hedge")),
        ),
        (
            "hedge: on, services: {a: {hedge: off}}",
            Some(percentile.max(0)),
            Some(("off", "services.a.hedge")),
        ),
        // Not a setting of retries.
        (
            "retry: never, hedge: on, services: {a: {}}",
            Some(percentile),
            Some(("after p95, max 1, cost 1", "hedge")),
        ),
    ] {
        let found = of_service(said);
        assert_eq!(found.hedging(), wanted, "{said}");
        let origin_of = origin_of.map(|(value, from)| (value.to_owned(), from.to_owned()));
        assert_eq!(origin(&found, "hedge"), origin_of, "{said}");
    }
}

#[test]
fn a_route_has_hedges_of_its_own() {
    let said = "{version: 1, services: {a: {match: {host: api.example}, hedge: on, \
                routes: [{name: r, match: {path: /x}, hedge: off}]}}}";
    let found = policy(&config(said), Some("a"), Some("r"));
    assert_eq!(found.hedging().map(|hedge| hedge.max), Some(0));
}

#[test]
fn an_explanation_has_the_most_requests_of_a_call() {
    let found =
        of_service("services: {a: {retry: {max_attempts: 3}, hedge: {after: p95, max: 2}}}");
    let worst = found.worst_case();
    assert_eq!((worst.attempts, worst.requests), (Some(3), Some(9)));
    let line = "  hedge: later than 95 of 100 responses, at most 2 for an attempt, 1 token each; at most 9 requests in all\n";
    assert!(found.explain().contains(line), "{}", found.explain());
}

#[test]
fn a_request_may_be_kept_from_hedges() {
    assert!(RetryOverride::new().may_hedge());
    assert!(!RetryOverride::new().hedge(false).may_hedge());
    assert!(!RetryOverride::off().may_hedge());
}
