//! What other services run on: Kubernetes, Docker Hub, Datadog, Elasticsearch, Akamai, Okta, Auth0, gRPC.

use super::HOUR;
use crate::dialect::{At, Dialect, Meaning, Row};
use crate::policy::rules::Value;
use crate::policy::{Reason, Scope, Unit};

pub(super) fn kubernetes() -> Dialect {
    let delay = "/details/retryAfterSeconds";
    let level = "x-kubernetes-pf-prioritylevel-uid";
    let timed = |meaning: Meaning| meaning.delay(At::json(delay), Unit::S);
    Dialect::built_in(
        "kubernetes",
        "kubernetes.io, API priority and fairness; metav1.Status",
    )
    .rows([
        Row::when()
            .status(429)
            .has_head(level)
            .is(timed(Meaning::throttled()).scope_from(At::head(level))),
        Row::when()
            .status(429)
            .json(delay, Value::any())
            .is(timed(Meaning::throttled())),
        Row::when()
            .status([500, 503, 504])
            .json(delay, Value::any())
            .is(timed(Meaning::transient())),
    ])
}

pub(super) fn docker_hub() -> Dialect {
    Dialect::built_in(
        "docker_hub",
        "docs.docker.com, Docker Hub usage and pulls; Hub API reference",
    )
    .rows([
        // "A unix timestamp of when you can call the API again". Since June 2025 the reference names Retry-After, in seconds,
        // which needs no row and goes before this.
        Row::when()
            .status(429)
            .has_head("x-retry-after")
            .is(Meaning::throttled().delay(At::head("x-retry-after"), Unit::Auto)),
        // "You have reached your pull rate limit." Its window is of hours, and the refusal does not tell when it ends.
        Row::when()
            .status(429)
            .text("pull rate limit")
            .is(Meaning::throttled()
                .at_least(HOUR)
                .because(Reason::RateLimited)),
    ])
}

pub(super) fn datadog() -> Dialect {
    let named = || Meaning::throttled().scope_from(At::head("x-ratelimit-name"));
    let refused = || Row::when().status(429);
    Dialect::built_in("datadog", "docs.datadoghq.com, rate limits").rows([
        refused()
            .has_head("x-ratelimit-reset")
            .is(named().delay(At::head("x-ratelimit-reset"), Unit::S)),
        // Where nothing else is said, the window is the least to wait.
        refused().is(named().at_least_from(At::head("x-ratelimit-period"), Unit::S)),
    ])
}

pub(super) fn elasticsearch() -> Dialect {
    Dialect::built_in(
        "elasticsearch",
        "elastic.co: rejected requests, circuit breaker errors",
    )
    .rows([
        // The memory is held for long: a wait does not free it.
        Row::when()
            .status(429)
            .json("/error/durability", "PERMANENT")
            .is(Meaning::permanent()),
        Row::when()
            .status(503)
            .json("/error/type", "es_rejected_execution_exception")
            .is(Meaning::throttled()),
    ])
}

pub(super) fn akamai() -> Dialect {
    // "Please try after 2026-08-21T12:00:25.071Z."
    Dialect::built_in("akamai", "techdocs.akamai.com/cloudlets, 429").rows([Row::when()
        .status(429)
        .is(Meaning::throttled().delay(At::prose(), Unit::Auto))])
}

pub(super) fn okta() -> Dialect {
    Dialect::built_in("okta", "developer.okta.com, rate limit best practices").rows([Row::when()
        .status(429)
        .is(Meaning::throttled().scope(Scope::Route))])
}

pub(super) fn auth0() -> Dialect {
    // The limit of all calls of a free tenant; the headers are of another one.
    Dialect::built_in("auth0", "community.auth0.com 77440").rows([Row::when()
        .status(500)
        .text("global limit has been reached")
        .is(Meaning::throttled())])
}

pub(super) fn grpc() -> Dialect {
    let pushback = "grpc-retry-pushback-ms";
    let ended = || {
        let head = Row::when().status(200).has_head("grpc-status");
        head.head("content-type", Value::starts("application/grpc"))
    };
    let told = || ended().head(pushback, Value::any_number());
    let after = |meaning: Meaning| meaning.refused().delay(At::head(pushback), Unit::Ms);
    Dialect::built_in("grpc", "grpc/proposal A6, client retries").rows([
        ended().head("grpc-status", 0).is(Meaning::success()),
        told()
            .head("grpc-status", 8)
            .is(after(Meaning::throttled())),
        // A server that says when to come back has not done it.
        told().is(after(Meaning::transient())),
        // Negative or unreadable: do not retry at all.
        ended().has_head(pushback).is(Meaning::permanent()),
        ended().head("grpc-status", 14).is(Meaning::transient()),
        ended().is(Meaning::permanent()),
    ])
}
