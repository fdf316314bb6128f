//! Platforms of developers and operators: GitHub, GitLab, Atlassian, Linear, Sentry, Kubernetes, Docker Hub, Datadog,
//! PagerDuty, InfluxDB, Elasticsearch, Vault, Akamai, Cloudflare, Fastly, Hetzner, Okta, Auth0, gRPC.

use super::{HOUR, MINUTE, on, says, seconds, unless_head};
use crate::dialect::{Interpretation, Location, Row};
use http::header::RETRY_AFTER;
use http_retry_core::policy::{Reason, Scope, Unit};
use http_retry_rules::Value;

pub(super) fn github() -> Vec<Row> {
    let reset = || Location::header("x-ratelimit-reset");
    let primary = || Interpretation::throttled().delay(reset(), Unit::Unix);
    // "You have exceeded a secondary rate limit": wait at least a minute, then longer each time.
    let secondary = || Interpretation::throttled().at_least(MINUTE);
    let refused = || on([403, 429]);
    let graphql = || on([200]).path("*/graphql");
    vec![
        refused()
            .header("x-ratelimit-remaining", 0)
            .is(primary().scope_from(Location::header("x-ratelimit-resource"))),
        refused().message("secondary rate limit").is(secondary()),
        refused()
            .message("abuse detection mechanism")
            .is(secondary()),
        refused()
            .has_header("retry-after")
            .is(Interpretation::throttled()),
        // "Otherwise, wait for at least one minute before retrying."
        on([429]).is(secondary()),
        graphql()
            .json("/errors/*/type", "RATE_LIMITED")
            .is(primary().scope(Scope::Route)),
        // Besides `message` there is no data that could hold somebody else's text.
        graphql()
            .json("/message", Value::any())
            .message("secondary rate limit")
            .is(secondary().scope(Scope::Route)),
    ]
}

pub(super) fn gitlab() -> Vec<Row> {
    let refused = || on([429]);
    vec![
        refused()
            .has_header("retry-after")
            .is(Interpretation::throttled().scope(Scope::Route)),
        refused()
            .header("ratelimit-remaining", 0)
            .is(Interpretation::throttled().delay(Location::header("ratelimit-reset"), Unit::Auto)),
        // Another limit than the one in the headers was reached; its window is a minute or more.
        refused().is(Interpretation::throttled()
            .at_least(MINUTE)
            .scope(Scope::Route)),
    ]
}

pub(super) fn atlassian() -> Vec<Row> {
    let limit = |reasons: &[&str]| {
        let reasons = Value::is(reasons.iter().copied());
        on([429]).header("ratelimit-reason", reasons)
    };
    vec![
        limit(&["jira-burst-based"]).is(Interpretation::throttled().scope(Scope::MethodRoute)),
        limit(&["jira-per-issue-on-write"]).is(Interpretation::throttled().scope(Scope::Route)),
        limit(&["jira-quota-global-based", "jira-quota-tenant-based"])
            .is(Interpretation::throttled().scope(Scope::Account)),
        // "A 503 with Retry-After" is a rate limit of an older kind, and refuses the request.
        on([503])
            .has_header("retry-after")
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
        // Statuspage, beside 429.
        on([420]).is(Interpretation::throttled()),
        // Opsgenie, whose limits are of a second and of a minute.
        on([429])
            .header("x-ratelimit-state", "THROTTLED")
            .is(Interpretation::throttled()
                .at_least_from(Location::header("x-ratelimit-period-in-sec"), Unit::S)),
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
            .has_header(level)
            .is(timed(Interpretation::throttled()).scope_from(Location::header(level))),
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
            .message("pull rate limit")
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
            .message("series cardinality exceeds")
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        // "Temporarily unavailable to accept writes. The Retry-After header describes when to try the write again."
        on([503])
            .path("*/write")
            .has_header("retry-after")
            .is(Interpretation::throttled()),
    ]
}

pub(super) fn datadog() -> Vec<Row> {
    let named = || Interpretation::throttled().scope_from(Location::header("x-ratelimit-name"));
    let refused = || on([429]);
    vec![
        refused()
            .has_header("x-ratelimit-reset")
            .is(named().delay(Location::header("x-ratelimit-reset"), Unit::S)),
        // Without a reset, the window is the shortest delay.
        refused().is(named().at_least_from(Location::header("x-ratelimit-period"), Unit::S)),
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
        // A full queue, of one kind of work on one node.
        on([429])
            .json("/error/type", "es_rejected_execution_exception")
            .is(Interpretation::throttled().scope(Scope::Route)),
    ]
}

pub(super) fn akamai() -> Vec<Row> {
    // "Please try after 2026-08-21T12:00:25.071Z.", "Retry after: 21 seconds", or a member.
    let slow = || {
        Interpretation::throttled()
            .delay(Location::prose(), Unit::Auto)
            .delay(Location::json("/rateLimitNext"), Unit::Iso)
    };
    vec![
        // "Too many overall requests to the service. This is unrelated to your client's rate limit."
        on([429])
            .and(says([
                "global-rate-limit-exceeded",
                "unrelated to your client",
            ]))
            .is(slow().scope(Scope::Request)),
        on([429]).is(slow()),
    ]
}

pub(super) fn cloudflare() -> Vec<Row> {
    // What Cloudflare itself says of its error, and not the server behind it.
    let said = |statuses: Vec<u16>, retryable: &str| {
        on(statuses)
            .json("/cloudflare_error", "true")
            .json("/retryable", retryable)
    };
    let timed = |meaning: Interpretation| meaning.delay(Location::json("/retry_after"), Unit::S);
    vec![
        said((400..=599).collect(), "false").is(Interpretation::permanent()),
        said(vec![429], "true").is(timed(Interpretation::throttled())),
        said((500..=599).collect(), "true").is(timed(Interpretation::transient())),
    ]
}

pub(super) fn fastly() -> Vec<Row> {
    let reset = "fastly-ratelimit-reset";
    let slow = Interpretation::throttled().delay(Location::header(reset), Unit::Unix);
    vec![on([429]).has_header(reset).is(slow)]
}

pub(super) fn sentry() -> Vec<Row> {
    let refused = || on([429]);
    let one = || Interpretation::throttled().scope(Scope::MethodRoute);
    let reset = Location::header("x-sentry-rate-limit-reset");
    let limits = "x-sentry-rate-limits";
    vec![
        // Events: `60:error:organization, 2700:default:key`.
        refused()
            .has_header(limits)
            .is(Interpretation::throttled().delay(Location::header_starts(limits), Unit::S)),
        // "The limit is applied to each unique combination of caller and endpoint."
        refused()
            .header("x-sentry-rate-limit-remaining", 0)
            .is(one().delay(reset, Unit::Unix)),
        // Too many requests at a time; the reset is that of another limit.
        refused()
            .has_header("x-sentry-rate-limit-remaining")
            .is(one()),
        // "In this case, use 60 seconds as a default value for Retry-After."
        refused()
            .path("/api/*/envelope/")
            .and(unless_head(RETRY_AFTER))
            .is(Interpretation::throttled().at_least(MINUTE)),
    ]
}

pub(super) fn hetzner() -> Vec<Row> {
    vec![
        // "The resource has changed during the request, please retry."
        on([409])
            .json("/error/code", "conflict")
            .is(Interpretation::transient()),
    ]
}

pub(super) fn vault() -> Vec<Row> {
    vec![
        // The state of a standby node, and no limit.
        on([429])
            .path("/v1/sys/health")
            .is(Interpretation::permanent()),
        // "Required index state not present": the node lags behind, and has not begun.
        on([412])
            .message("required index state not present")
            .is(Interpretation::transient().refused()),
    ]
}

pub(super) fn okta() -> Vec<Row> {
    vec![on([429]).is(Interpretation::throttled().scope(Scope::Route))]
}

pub(super) fn auth0() -> Vec<Row> {
    // The limit of all calls of a free tenant; the headers describe another limit.
    vec![
        on([500])
            .message("global limit has been reached")
            .is(Interpretation::throttled()),
    ]
}

pub(super) fn grpc() -> Vec<Row> {
    let pushback = "grpc-retry-pushback-ms";
    let ended = || {
        let head = on([200]).has_header("grpc-status");
        head.header("content-type", Value::starts("application/grpc"))
    };
    let told = || ended().header(pushback, Value::any_number());
    let after = |meaning: Interpretation| {
        meaning
            .refused()
            .delay(Location::header(pushback), Unit::Ms)
    };
    vec![
        ended()
            .header("grpc-status", 0)
            .is(Interpretation::success()),
        told()
            .header("grpc-status", 8)
            .is(after(Interpretation::throttled())),
        // A server that names a time to retry has not processed the request.
        told().is(after(Interpretation::transient())),
        // Negative or unreadable: do not retry at all.
        ended().has_header(pushback).is(Interpretation::permanent()),
        ended()
            .header("grpc-status", 14)
            .is(Interpretation::transient()),
        ended().is(Interpretation::permanent()),
    ]
}
