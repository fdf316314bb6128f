//! Platforms of developers and operators: GitHub, GitLab, Atlassian, Linear, Kubernetes, Docker Hub, Datadog, PagerDuty,
//! InfluxDB, Elasticsearch, Akamai, Okta, Auth0, gRPC.

use super::{HOUR, MINUTE, on, seconds};
use crate::dialect::{Interpretation, Location, Row};
use http_retry_core::policy::rules::Value;
use http_retry_core::policy::{Reason, Scope, Unit};

pub(super) fn github() -> Vec<Row> {
    let reset = || Location::head("x-ratelimit-reset");
    let primary = || Interpretation::throttled().delay(reset(), Unit::Unix);
    // "You have exceeded a secondary rate limit": wait at least a minute, then longer each time.
    let secondary = || Interpretation::throttled().at_least(MINUTE);
    let refused = || on([403, 429]);
    let graphql = || on([200]).path("*/graphql");
    vec![
        refused()
            .head("x-ratelimit-remaining", 0)
            .is(primary().scope_from(Location::head("x-ratelimit-resource"))),
        refused().text("secondary rate limit").is(secondary()),
        refused().text("abuse detection mechanism").is(secondary()),
        refused()
            .has_head("retry-after")
            .is(Interpretation::throttled()),
        graphql()
            .json("/errors/*/type", "RATE_LIMITED")
            .is(primary().scope(Scope::Route)),
        // Besides `message` there is no data that could hold somebody else's text.
        graphql()
            .json("/message", Value::any())
            .text("secondary rate limit")
            .is(secondary().scope(Scope::Route)),
    ]
}

pub(super) fn gitlab() -> Vec<Row> {
    let refused = || on([429]);
    vec![
        refused()
            .has_head("retry-after")
            .is(Interpretation::throttled().scope(Scope::Route)),
        refused()
            .head("ratelimit-remaining", 0)
            .is(Interpretation::throttled().delay(Location::head("ratelimit-reset"), Unit::Auto)),
        // Another limit than the one in the headers was reached; its window is a minute or more.
        refused().is(Interpretation::throttled()
            .at_least(MINUTE)
            .scope(Scope::Route)),
    ]
}

pub(super) fn atlassian() -> Vec<Row> {
    let limit = |reasons: &[&str]| {
        let reasons = Value::is(reasons.iter().copied());
        on([429]).head("ratelimit-reason", reasons)
    };
    vec![
        limit(&["jira-burst-based"]).is(Interpretation::throttled().scope(Scope::MethodRoute)),
        limit(&["jira-per-issue-on-write"]).is(Interpretation::throttled().scope(Scope::Route)),
        limit(&["jira-quota-global-based", "jira-quota-tenant-based"])
            .is(Interpretation::throttled().scope(Scope::Account)),
        // "A 503 with Retry-After" is a rate limit of an older kind, and refuses the request.
        on([503])
            .has_head("retry-after")
            .is(Interpretation::throttled().refused()),
        // A window of 10 s, in which refused calls count too.
        on([429])
            .json(
                "/error",
                [
                    "API_TOKEN_LIMIT_EXCEEDED",
                    "API_KEY_LIMIT_EXCEEDED",
                    "API_TOKEN_DB_LIMIT_EXCEEDED",
                ],
            )
            .is(Interpretation::throttled().at_least(seconds(10))),
    ]
}

pub(super) fn linear() -> Vec<Row> {
    // Linear refuses requests over its limits with 400; the quota headers have the time of the reset.
    vec![
        on([200, 400])
            .path("*/graphql")
            .json("/errors/*/extensions/code", "RATELIMITED")
            .is(Interpretation::throttled()),
    ]
}

pub(super) fn kubernetes() -> Vec<Row> {
    let delay = "/details/retryAfterSeconds";
    let level = "x-kubernetes-pf-prioritylevel-uid";
    let timed = |meaning: Interpretation| meaning.delay(Location::json(delay), Unit::S);
    vec![
        on([429])
            .has_head(level)
            .is(timed(Interpretation::throttled()).scope_from(Location::head(level))),
        on([429])
            .json(delay, Value::any())
            .is(timed(Interpretation::throttled())),
        on([500, 503, 504])
            .json(delay, Value::any())
            .is(timed(Interpretation::transient())),
    ]
}

pub(super) fn docker_hub() -> Vec<Row> {
    // "You have reached your pull rate limit." Its window is hours long, and the response does not name its end.
    // `Retry-After` and `x-retry-after`, seconds or a Unix time, need no row.
    vec![
        on([429])
            .text("pull rate limit")
            .is(Interpretation::throttled()
                .at_least(HOUR)
                .because(Reason::RateLimited)),
    ]
}

pub(super) fn pagerduty() -> Vec<Row> {
    // An event was not ingested. "We suggest retrying 3 times with each request being 30 seconds apart."
    let slow = || {
        Interpretation::throttled()
            .at_least(seconds(30))
            .scope(Scope::Route)
    };
    vec![
        // Version 1 of the Events API has 403 for it.
        on([403]).path("/generic/*/create_event.json").is(slow()),
        on([429]).path("/v2/*enqueue").is(slow()),
    ]
}

pub(super) fn influxdb() -> Vec<Row> {
    vec![
        // The plan's number of series, which no wait changes.
        on([503])
            .text("series cardinality exceeds")
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        // "Temporarily unavailable to accept writes. The Retry-After header describes when to try the write again."
        on([503])
            .path("*/write")
            .has_head("retry-after")
            .is(Interpretation::throttled()),
    ]
}

pub(super) fn datadog() -> Vec<Row> {
    let named = || Interpretation::throttled().scope_from(Location::head("x-ratelimit-name"));
    let refused = || on([429]);
    vec![
        refused()
            .has_head("x-ratelimit-reset")
            .is(named().delay(Location::head("x-ratelimit-reset"), Unit::S)),
        // Without a reset, the window is the shortest delay.
        refused().is(named().at_least_from(Location::head("x-ratelimit-period"), Unit::S)),
    ]
}

pub(super) fn elasticsearch() -> Vec<Row> {
    vec![
        // The memory is held for long, and waiting does not free it.
        on([429])
            .json("/error/durability", "PERMANENT")
            .is(Interpretation::permanent()),
        on([503])
            .json("/error/type", "es_rejected_execution_exception")
            .is(Interpretation::throttled()),
    ]
}

pub(super) fn akamai() -> Vec<Row> {
    // "Please try after 2026-08-21T12:00:25.071Z."
    vec![on([429]).is(Interpretation::throttled().delay(Location::prose(), Unit::Auto))]
}

pub(super) fn okta() -> Vec<Row> {
    vec![on([429]).is(Interpretation::throttled().scope(Scope::Route))]
}

pub(super) fn auth0() -> Vec<Row> {
    // The limit of all calls of a free tenant; the headers describe another limit.
    vec![
        on([500])
            .text("global limit has been reached")
            .is(Interpretation::throttled()),
    ]
}

pub(super) fn grpc() -> Vec<Row> {
    let pushback = "grpc-retry-pushback-ms";
    let ended = || {
        let head = on([200]).has_head("grpc-status");
        head.head("content-type", Value::starts("application/grpc"))
    };
    let told = || ended().head(pushback, Value::any_number());
    let after =
        |meaning: Interpretation| meaning.refused().delay(Location::head(pushback), Unit::Ms);
    vec![
        ended().head("grpc-status", 0).is(Interpretation::success()),
        told()
            .head("grpc-status", 8)
            .is(after(Interpretation::throttled())),
        // A server that names a time to retry has not processed the request.
        told().is(after(Interpretation::transient())),
        // Negative or unreadable: do not retry at all.
        ended().has_head(pushback).is(Interpretation::permanent()),
        ended()
            .head("grpc-status", 14)
            .is(Interpretation::transient()),
        ended().is(Interpretation::permanent()),
    ]
}
