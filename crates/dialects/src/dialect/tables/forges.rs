//! Code and project hosting: GitHub, GitLab, Atlassian, Linear.

use super::{MINUTE, on, seconds};
use crate::dialect::{Interpretation, Location, Row};
use http_retry_core::policy::rules::Value;
use http_retry_core::policy::{Scope, Unit};

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
