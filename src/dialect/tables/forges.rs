//! Where code and work are kept: GitHub, GitLab, Atlassian, Linear.

use super::{MINUTE, seconds};
use crate::dialect::{At, Dialect, Meaning, Row};
use crate::policy::rules::Value;
use crate::policy::{Scope, Unit};

pub(super) fn github() -> Dialect {
    let reset = || At::head("x-ratelimit-reset");
    let primary = || Meaning::throttled().delay(reset(), Unit::Unix);
    // "You have exceeded a secondary rate limit": wait at least a minute, then longer each time.
    let secondary = || Meaning::throttled().at_least(MINUTE);
    let refused = || Row::when().status([403, 429]);
    let graphql = || Row::when().status(200).path("*/graphql");
    Dialect::built_in(
        "github",
        "docs.github.com, rate limits for the REST API and the GraphQL API; octokit/plugin-throttling.js",
    )
    .rows([
        refused()
            .head("x-ratelimit-remaining", 0)
            .is(primary().scope_from(At::head("x-ratelimit-resource"))),
        refused().text("secondary rate limit").is(secondary()),
        refused().text("abuse detection mechanism").is(secondary()),
        refused().has_head("retry-after").is(Meaning::throttled()),
        graphql()
            .json("/errors/*/type", "RATE_LIMITED")
            .is(primary().scope(Scope::Route)),
        // Beside `message` there is no data in which somebody else's words could stand.
        graphql()
            .json("/message", Value::any())
            .text("secondary rate limit")
            .is(secondary().scope(Scope::Route)),
    ])
}

pub(super) fn gitlab() -> Dialect {
    let refused = || Row::when().status(429);
    Dialect::built_in(
        "gitlab",
        "docs.gitlab.com, rate limits; gitlab-org/gitlab#199738, !206603",
    )
    .rows([
        refused()
            .has_head("retry-after")
            .is(Meaning::throttled().scope(Scope::Route)),
        refused()
            .head("ratelimit-remaining", 0)
            .is(Meaning::throttled().delay(At::head("ratelimit-reset"), Unit::Auto)),
        // Another limit than the one in the headers was met; its window is a minute, or more.
        refused().is(Meaning::throttled().at_least(MINUTE).scope(Scope::Route)),
    ])
}

pub(super) fn atlassian() -> Dialect {
    let limit = |reasons: &[&str]| {
        let reasons = Value::is(reasons.iter().copied());
        Row::when().status(429).head("ratelimit-reason", reasons)
    };
    Dialect::built_in(
        "atlassian",
        "developer.atlassian.com, Jira Cloud rate limiting and Trello rate limits; JRACLOUD-69262",
    )
    .rows([
        limit(&["jira-burst-based"]).is(Meaning::throttled().scope(Scope::MethodRoute)),
        limit(&["jira-per-issue-on-write"]).is(Meaning::throttled().scope(Scope::Route)),
        limit(&["jira-quota-global-based", "jira-quota-tenant-based"])
            .is(Meaning::throttled().scope(Scope::Account)),
        // "A 503 with Retry-After" is a rate limit of an older kind, and refuses.
        Row::when()
            .status(503)
            .has_head("retry-after")
            .is(Meaning::throttled().refused()),
        // A window of 10 s, in which refused calls count on.
        Row::when()
            .status(429)
            .json(
                "/error",
                [
                    "API_TOKEN_LIMIT_EXCEEDED",
                    "API_KEY_LIMIT_EXCEEDED",
                    "API_TOKEN_DB_LIMIT_EXCEEDED",
                ],
            )
            .is(Meaning::throttled().at_least(seconds(10))),
    ])
}

pub(super) fn linear() -> Dialect {
    // Linear refuses what is over its limits with 400; when they are back stands in headers of quotas.
    Dialect::built_in("linear", "linear.app/developers, rate limiting").rows([Row::when()
        .status([200, 400])
        .path("*/graphql")
        .json("/errors/*/extensions/code", "RATELIMITED")
        .is(Meaning::throttled())])
}
